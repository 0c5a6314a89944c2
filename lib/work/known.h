/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Grants and labels as a process has read them, for who lends again and again: read and understood
 * once for as long as the state file is what it was (store_mark), each signature verified once. Public
 * facts and sealed rows only, never a payload. Whoever holds one may keep pointers into it.
 */
#ifndef WORK_KNOWN_H
#define WORK_KNOWN_H

#include "store/secret.h"
#include "work/secrets.h"

struct known_grant {
	struct store_grant row;
	struct grant_view view;
	struct cl_err *unreadable; /* no row of ours; else NULL */
	struct store_secret secret;
	bool secret_read;
	/* What was found of the signatures; asked when somebody first needs to know. */
	enum grant_proof proof;
	enum { KNOWN_NOT_ASKED, KNOWN_HOLDS, KNOWN_FORGED } unguarded;
};

struct known {
	unsigned refs;
	struct store_mark mark;
	int64_t at; /* those that had not lapsed by then */
	struct known_grant *v;
	size_t n, cap;
	char *executor; /* whose labels were asked for last, or NULL */
	struct sec_labels labels;
};

/*
 * All grants that are active at that time, those lost with their secret among them, and some that
 * have lapsed since they were read. *out is held: known_drop.
 */
int known_grants(struct keyed *k, int64_t at, struct known **out, struct cl_err *e);
void known_drop(struct known *k); /* takes NULL */

/* As grant_prove has it. */
int known_proof(struct keyed *k, struct known_grant *g, enum grant_proof *out, struct cl_err *e);
/* As secret_word_stands has it, by the first key that was asked for; k->public_key must be known. */
bool known_unguarded(struct keyed *k, struct known_grant *g);
/* Of an executor, as secret_labels has them; *out is the snapshot's until another's are asked for. */
int known_labels(struct keyed *k, struct known *snapshot, const char *executor,
	const struct sec_labels **out, struct cl_err *e);
/* The secret that it names, as secret_find has it. */
int known_secret(
	struct keyed *k, struct known_grant *g, const struct store_secret **out, struct cl_err *e);

#endif
