/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of `cloop hub` that holds keys; its table is cmd/cloop-hub/key_spec.h. */
#ifndef CLOOP_HUB_KEY_H
#define CLOOP_HUB_KEY_H

#include "cli/cli.h"
#include "work/keyed.h"

int key_status(struct cl_ctx *c, struct cl_err *e);
int key_rotate(struct cl_ctx *c, struct cl_err *e);
int key_retire(struct cl_ctx *c, struct cl_err *e);
int key_escrow_export(struct cl_ctx *c, struct cl_err *e);
int key_escrow_import(struct cl_ctx *c, struct cl_err *e);
int key_unguarded(struct cl_ctx *c, struct cl_err *e);

/*
 * The passphrase of --passphrase-file, or of standard input, one line end at its end dropped; on a
 * terminal it is asked for without an echo, twice where `twice` says so. CL_EDATA when empty.
 */
int key_passphrase(struct cl_ctx *c, bool twice, struct seal_buf *out, struct cl_err *e);

#endif
