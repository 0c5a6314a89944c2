/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets: stored sealed, granted narrowed, leased for a quarter of an hour. */
#ifndef CLOOP_SECRET_H
#define CLOOP_SECRET_H

#include "cli/cli.h"
#include "policy/secret_constraint.h"
#include "policy/secret_subject.h"
#include "seal/grant.h"
#include "store/secret.h"
#include "work/keyed.h"

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
int cmd_secret_names(struct cl_ctx *c, struct cl_err *e);

/*
 * What somebody typed, fit to be said again: people paste tokens where a name belongs. At most
 * twelve characters, and none of what looks like a credential; owned.
 */
char *secret_said(const char *typed);
/* The secret with that id or name; CL_ENOTFOUND says what became of one that was deleted. */
int secret_find(struct keyed *k, const char *ref, struct store_secret *out, struct cl_err *e);
void secret_print_of(const struct store_secret *r, char out[SEC_FINGERPRINT]);
/* A grant as its columns are understood. */
struct grant_view {
	enum sec_kind kind;
	struct sec_subject subject;
	struct sec_constraints constraints;
};
#define GRANT_VIEW_INIT ((struct grant_view){.subject = SEC_SUBJECT_INIT})
void grant_view_release(struct grant_view *v);
#define cleanup_view __attribute__((cleanup(grant_view_release)))
/* CL_EDATA for a row that nobody of ours wrote. */
int grant_view(const struct store_grant *g, struct grant_view *out, struct cl_err *e);
/* "repos=a perms=contents:read", or "none"; owned. */
char *grant_summary(const struct store_grant *g);
json_t *grant_audit(const struct store_grant *g);

/* The labels that the hub records for an executor: those of its configuration. */
int secret_labels(
	const struct keyed *k, const char *executor, struct sec_labels *out, struct cl_err *e);
/* Opens a secret's payload. */
int secret_open(
	struct keyed *k, const struct store_secret *r, struct seal_buf *out, struct cl_err *e);
/*
 * What an allowlist of local_repo, host_device or host_interface opens on this host: nothing at
 * all is CL_EREFUSED (DECISIONS K4). Other kinds, and a root that is on another host, pass.
 */
int secret_matches(struct keyed *k, const struct store_secret *r, enum sec_kind kind,
	const struct sec_constraints *c, struct cl_err *e);

/*
 * An audit row of a refused request, then the error goes on as it is. The error's text is the
 * reason; detail is consumed.
 */
int secret_deny(
	struct keyed *k, const char *action, const char *id, json_t *take_detail, struct cl_err *e);

#endif
