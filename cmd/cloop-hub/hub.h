/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hub's own affairs: its directory, its configuration, its keys, its audit trail. */
#ifndef CLOOP_HUB_H
#define CLOOP_HUB_H

#include "cli/cli.h"

extern const struct cl_spec hub_spec;

int cmd_hub_bootstrap(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_config_check(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_config_show(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_config_keys(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_audit_list(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_audit_verify(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_key(struct cl_ctx *c, struct cl_err *e);
int cmd_hub_names(struct cl_ctx *c, struct cl_err *e);

#endif
