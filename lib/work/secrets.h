/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets and grants as their rows are understood, for who holds the key and who does not. */
#ifndef WORK_SECRETS_H
#define WORK_SECRETS_H

#include "policy/secret/secret_constraint.h"
#include "policy/secret/secret_subject.h"
#include "seal/grant.h"
#include "store/secret.h"
#include "work/keyed.h"

/* The secret with that id or name; CL_ENOTFOUND says what became of one that was deleted. */
int secret_find(struct keyed *k, const char *ref, struct store_secret *out, struct cl_err *e);
/* Opens a secret's payload. */
int secret_open(
	struct keyed *k, const struct store_secret *r, struct seal_buf *out, struct cl_err *e);
/*
 * The labels that the hub records for an executor: of its configuration, under those it signed. None
 * where those were altered, or taken away without a word: nobody knows what they said.
 */
int secret_labels(struct keyed *k, const char *executor, struct sec_labels *out, struct cl_err *e);

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

/*
 * Whether a grant's row is genuine (DECISIONS K8): signed with this hub's key, and with its end still in
 * it, which no signature tells: a process without the key can put a grant back that was revoked, or
 * whose secret was deleted (store/undone.h). Of one that is not nothing counts that its row says.
 */
enum grant_proof { GRANT_NOT_ASKED, GRANT_GENUINE, GRANT_UNSIGNED, GRANT_PUT_BACK };
/* *out is left as it is on failure: of the store, or of .cloop/grants.pub. */
int grant_prove(
	struct keyed *k, const struct store_grant *g, enum grant_proof *out, struct cl_err *e);
/* 0 for GRANT_GENUINE; else CL_EREFUSED, slug "forged_grant", and the fix is to revoke it. */
int grant_admit(const struct store_grant *g, enum grant_proof proof, struct cl_err *e);
/* Both, for who asks once. */
int grant_check(struct keyed *k, const struct store_grant *g, struct cl_err *e);
/* An administrator's word that stands: signed for this grant, and not withdrawn since. */
bool secret_word_stands(
	struct keyed *k, const unsigned char public_key[SEAL_KEY], const struct store_grant *g);
/* "repos=a perms=contents:read", or "none"; owned. */
char *grant_summary(const struct store_grant *g);
/* What an audit row says of a grant; owned. */
json_t *grant_audit(const struct store_grant *g);

/*
 * An audit row of a refused request, then the error goes on as it is. The error's text is the
 * reason; detail is consumed.
 */
int secret_deny(
	struct keyed *k, const char *action, const char *id, json_t *take_detail, struct cl_err *e);

#endif
