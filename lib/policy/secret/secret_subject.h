/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who a grant is for, and whether a requester is that. facts/secrets.md 4. A requester is
 * what the hub knows: a project's path, an executor's id and the labels of the hub's own
 * records, never what a device says of itself. Pure.
 */
#ifndef CL_POLICY_SECRET_SUBJECT_H
#define CL_POLICY_SECRET_SUBJECT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct sec_label {
	char *key, *value;
};
/* Keys are unique; sorted by key. Zero is none. */
struct sec_labels {
	struct sec_label *v;
	size_t n, cap;
};
#define SEC_LABELS_INIT ((struct sec_labels){0})
void sec_labels_release(struct sec_labels *l);
#define cleanup_labels __attribute__((cleanup(sec_labels_release)))

/*
 * Adds KEY=VALUE, or sets what the first one said: CL_EDATA, slug "invalid_label", for what
 * no selector could name: an empty key, a key with a blank, ',' or '=', a value with ',',
 * control characters.
 */
int sec_label_set(struct sec_labels *l, const char *key, const char *value, struct cl_err *e);
/* "gpu=true,region=eu", or "" for none; adds to *out. */
void sec_labels_text(const struct sec_labels *l, struct cl_buf *out);

enum sec_subject_kind { SEC_PROJECT, SEC_EXECUTOR, SEC_LABEL, SEC_ANY };

struct sec_subject {
	enum sec_subject_kind kind;
	char *value; /* of a project or an executor; "*" is all of them */
	struct sec_labels labels;
};
#define SEC_SUBJECT_INIT ((struct sec_subject){.kind = SEC_PROJECT})
void sec_subject_release(struct sec_subject *s);
#define cleanup_subject __attribute__((cleanup(sec_subject_release)))

/*
 * project:PATH, executor:ID, label:K=V[,K=V], any or '*'; the word before ':' in any case. A
 * path is cleaned by its text. *out is SEC_SUBJECT_INIT. CL_EDATA, slug "invalid_subject".
 */
int sec_subject_parse(const char *text, struct sec_subject *out, struct cl_err *e);
/* The one text of a subject: "project:/srv/app", "label:gpu=true,region=eu", "any". */
void sec_subject_text(const struct sec_subject *s, struct cl_buf *out);
/* True for any, project:* and executor:*: everybody, or all of a sort. */
bool sec_subject_everybody(const struct sec_subject *s);

/* NULL: there is none, and no grant to one matches. */
struct sec_requester {
	const char *project, *executor;
	const struct sec_labels *labels;
};
bool sec_subject_matches(const struct sec_subject *s, const struct sec_requester *r);
/*
 * Why it does not: "is for project /srv/app, and the run is of /srv/other"; adds to *out,
 * nothing when it matches.
 */
void sec_subject_why_not(
	const struct sec_subject *s, const struct sec_requester *r, struct cl_buf *out);

#endif
