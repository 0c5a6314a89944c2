/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a command needs of its hub: found from the command line and the environment. */
#ifndef WORK_CTX_H
#define WORK_CTX_H

#include "cli/cli.h"
#include "store/store.h"
#include "sys/hub.h"

/* The question to hub_find: -C, the environment and the current directory. Strings that
 * are not the environment's are kept in `cwd`. */
struct hub_env {
	struct hub_ask ask;
	char *cwd; /* owned */
};
#define HUB_ENV_INIT ((struct hub_env){0})
void hub_env_from_ctx(const struct cl_ctx *c, struct hub_env *out);
void hub_env_release(struct hub_env *h);
#define cleanup_hub_env __attribute__((cleanup(hub_env_release)))

/* hub_find for this command line. *out is HUB_INIT. */
int hub_from_ctx(const struct cl_ctx *c, struct hub *out, struct cl_err *e);
/* The same with its state file opened. */
int hub_store_from_ctx(const struct cl_ctx *c, enum store_mode mode, struct hub *hub,
	struct store **store, struct cl_err *e);
/*
 * The configuration in force: hub_config, and each issue as a warning on stderr. What a
 * command that runs something calls; `cloop hub config check` prints them itself.
 */
int hub_config_for_run(const struct cl_ctx *c, const struct hub *hub, struct cl_doc *d,
	struct cfg *cfg, struct cl_err *e);

#endif
