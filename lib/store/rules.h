/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rule sets that narrow what an executor's configuration allows (facts 8): of an executor, a
 * device, a virtual executor, a project. Every change is a row of its own with a version that
 * counts up, so that a run can say which one it had, and removing a set is a version too.
 */
#ifndef STORE_RULES_H
#define STORE_RULES_H

#include "store/store.h"

#include <jansson.h>

struct store_rules {
	char *level;   /* "executor", "device", "virtual", "project" */
	char *subject; /* the executor's id, or the project's directory, absolute and resolved */
	int64_t version;
	char *rules; /* JSON of eg_auth_json; NULL: the set was cleared */
	char *sha256;
	int64_t created_at; /* Unix milliseconds */
	char *created_by;   /* "uid:0" */
	char *key_id, *signature;
};
#define STORE_RULES_INIT ((struct store_rules){.level = NULL})
void store_rules_release(struct store_rules *r);
#define cleanup_rules __attribute__((cleanup(store_rules_release)))

struct store_rules_of {
	const char *level, *subject; /* subject NULL: nobody's, and none is found */
};
#define STORE_RULES_MAX 8

/*
 * The newest rows of n subjects, in one read of the database: what is read is what stood at
 * one moment. out[i] is STORE_RULES_INIT and stays so where there never was a set. CL_ECONFIG
 * with constraint "egress_rules" for a row that is not as it was written.
 */
int store_rules_newest(struct store *s, const struct store_rules_of *of, size_t n,
	struct store_rules *out, struct cl_err *e);
/*
 * Adds the next version of a subject's set; rules NULL: none from here on. *version is the new
 * one. Call it in the transaction that judged the rules.
 */
int store_rules_put(struct store *s, const struct store_rules_of *of, const char *rules,
	const char *actor, int64_t at, int64_t *version, struct cl_err *e);
/* The newest row of every subject that has a set, by level and subject; fn as in store/run.h. */
typedef int (*store_rules_fn)(const struct store_rules *r, void *arg, struct cl_err *e);
int store_rules_each(struct store *s, store_rules_fn fn, void *arg, struct cl_err *e);
json_t *store_rules_json(const struct store_rules *r);

/*
 * Whose they are, as options of `cloop egress rules`: "--executor box --level device",
 * "--project /srv/shop"; fit for a shell, owned.
 */
char *store_rules_words(const struct store_rules_of *of);

/* What sha256 is of: canonical JSON of the row without them and key_id; owned. */
char *store_rules_text(const struct store_rules *r);

#endif
