/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The constraints of a grant: what narrows it. facts/secrets.md 2 and 3. One value from the
 * flags of a command, a request body or the stored row; one canonical text to sign; and the
 * answer to whether one set of them covers another. Pure.
 */
#ifndef CL_POLICY_SECRET_CONSTRAINT_H
#define CL_POLICY_SECRET_CONSTRAINT_H

#include "base/doc.h"
#include "policy/secret/secret_kind.h"

/* Zero is "none". Lists keep the order they were given in: the first concrete entry counts. */
struct sec_constraints {
	struct cl_strv list[SEC_NLISTS];
	bool writable; /* the one that widens */
};
#define SEC_CONSTRAINTS_INIT ((struct sec_constraints){0})
void sec_constraints_release(struct sec_constraints *c);
#define cleanup_constraints __attribute__((cleanup(sec_constraints_release)))

/*
 * Adds the value of a flag: entries separated by commas, blanks around them cut, later
 * duplicates dropped. An empty entry and more entries than sec_lists[l].max are CL_EDATA,
 * slug "invalid_constraint".
 */
int sec_constraints_add(
	struct sec_constraints *c, enum sec_list l, const char *text, struct cl_err *e);

/*
 * Reads a JSON object with the keys of sec_lists and "writable"; absent and null are none.
 * Closed. Entries as above, but a comma does not separate. *out is SEC_CONSTRAINTS_INIT.
 * d may be an empty document. CL_EDATA.
 */
int sec_constraints_read(
	struct cl_doc *d, json_t *obj, struct sec_constraints *out, struct cl_err *e);

/*
 * Judges them for a kind, as creating a grant does and as every lease does again: each entry
 * by its language, what the kind requires, what it refuses. Permissions and verbs become
 * lower case. Lists that the kind ignores are checked, named in notes (may be NULL) and
 * emptied. CL_EDATA, slug "invalid_constraint".
 */
int sec_constraints_check(
	enum sec_kind k, struct sec_constraints *c, struct cl_strv *notes, struct cl_err *e);

/* The object again, keys of what is set only, lists in their order; owned. */
json_t *sec_constraints_json(const struct sec_constraints *c);
/* Its text with sorted keys and no blanks: what is signed and hashed; owned. */
char *sec_constraints_canonical(const struct sec_constraints *c);
/* "repos=a|b perms=contents:read writable", values sorted; "none". Adds to *out. */
void sec_constraints_summary(const struct sec_constraints *c, struct cl_buf *out);
struct sec_constraints sec_constraints_copy(const struct sec_constraints *c);

/* True when the grant lets its holder push: contents:write, contents or '*'. */
bool sec_constraints_push(const struct sec_constraints *c);
/* The verbs of a kubeconfig grant: what it lists, or get, list, watch. Owned entries. */
void sec_constraints_verbs(const struct sec_constraints *c, struct cl_strv *out);
/* True when they are all eight. */
bool sec_constraints_all_verbs(const struct sec_constraints *c);

/* How a successor relates to the grant it replaces. */
enum sec_change {
	SEC_SAME,
	SEC_WIDENS,  /* allows all the old one did, and more: the old one is superseded */
	SEC_NARROWS, /* takes something away, whatever it adds: the old one is revoked */
};
const char *sec_change_name(enum sec_change c); /* "same", "widens", "narrows" */
/*
 * Compares two sets that sec_constraints_check has accepted for the kind. Only literal
 * coverage counts: acme/app replaced by acme/<star> narrows. `why` (may be NULL, else empty)
 * takes each thing taken away: "repos acme/app", "writable", "a branch list was added".
 */
enum sec_change sec_constraints_compare(enum sec_kind k, const struct sec_constraints *was,
	const struct sec_constraints *now, struct cl_strv *why);

#endif
