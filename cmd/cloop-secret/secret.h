/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets: stored sealed, granted narrowed, leased for a quarter of an hour. */
#ifndef CLOOP_SECRET_H
#define CLOOP_SECRET_H

#include "cli/cli.h"
#include "policy/secret_kind.h"
#include "store/secret.h"
#include "work/keyed.h"

extern const struct cl_spec secret_spec;

int cmd_secret_mint(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_list(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_show(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_delete(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_names(struct cl_ctx *c, struct cl_err *e);

/*
 * What somebody typed, fit to be said again: people paste tokens where a name belongs. At most
 * twelve characters, and none of what looks like a credential; owned.
 */
char *secret_said(const char *typed);
/* The secret with that id or name; CL_ENOTFOUND says what became of one that was deleted. */
int secret_find(struct keyed *k, const char *ref, struct store_secret *out, struct cl_err *e);
void secret_print_of(const struct store_secret *r, char out[SEC_FINGERPRINT]);
/*
 * An audit row of a refused request, then the error goes on as it is. The error's text is the
 * reason; detail is consumed.
 */
int secret_deny(
	struct keyed *k, const char *action, const char *id, json_t *take_detail, struct cl_err *e);

#endif
