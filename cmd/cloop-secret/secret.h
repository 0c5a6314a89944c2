/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets: stored sealed, granted narrowed, leased for a quarter of an hour. */
#ifndef CLOOP_SECRET_H
#define CLOOP_SECRET_H

#include "cli/cli.h"
#include "store/token.h"
#include "work/lease/revoke.h"
#include "work/secrets.h"

extern const struct cl_spec secret_spec;

int cmd_secret_mint(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_list(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_show(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_delete(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_grant(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_grant_edit(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_grants(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_revoke(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_lease(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_why(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_leases(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_holders(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_access(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_blast(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_sweep(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_take(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_drop(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_hardware(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_renew(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_app_installations(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_app_repositories(struct cl_ctx *c, struct cl_err *e);
int cmd_secret_names(struct cl_ctx *c, struct cl_err *e);

void secret_print_of(const struct store_secret *r, char out[SEC_FINGERPRINT]);
/*
 * What an allowlist of local_repo, host_device or host_interface opens on this host: nothing at
 * all is CL_EREFUSED (DECISIONS K4), as is a variable that an env payload does not have. Other
 * kinds, a root that is on another host, and variables under a key that is not at hand pass.
 */
int secret_matches(struct keyed *k, const struct store_secret *r, enum sec_kind kind,
	const struct sec_constraints *c, struct cl_err *e);
/*
 * Why a kubeconfig goes out although nothing enforces its limits, and who said so, fit for a terminal:
 * "lab cluster (cli:root)", or NULL. Whether the word is signed is not asked. Owned.
 */
char *secret_unguarded(const struct store_grant *g);
/* "files, variables": how a holder has it (enum sec_by); owned. */
char *secret_how(int64_t how);
/* A line about one who holds something. */
void secret_print_holder(const struct holder *h, const char *indent, int64_t now);
json_t *secret_holder_json(const struct holder *h);
/* Tokens of GitHub Apps as an array; owned, also after a failure. */
int secret_tokens(
	struct store *s, const struct store_token_filter *f, json_t **out, struct cl_err *e);

#endif
