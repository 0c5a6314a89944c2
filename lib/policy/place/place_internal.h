/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of placement share; nobody else includes this. */
#ifndef POLICY_PLACE_INTERNAL_H
#define POLICY_PLACE_INTERNAL_H

#include "policy/place/place.h"

/* One constraint. What asks for it is `need`, or `asked`; what fails is `cap` missing, or `fails`. */
struct pl_rule {
	const char *constraint;
	const char *key; /* what in the request asks, as its author knows it */
	int need;        /* enum pl_need, or -1 */
	int cap;         /* enum cap, or -1 */
	bool gap;        /* of a capability: on an executor that does not isolate, a host denial */
	bool (*asked)(const struct pl_query *q);
	bool (*fails)(const struct pl_query *q, const struct pl_candidate *c);
	const char *detail, *remedy; /* or the functions */
	void (*say)(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
	void (*cure)(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
};
extern const struct pl_rule pl_rules[PL_NROWS];

/* Of place_rows.c: who asks, who fails, and in which words. */
bool plr_asks_isolation(const struct pl_query *q);
bool plr_counts_capacity(const struct pl_query *q);
bool plr_forbids_degraded(const struct pl_query *q);
bool plr_has_arch(const struct pl_query *q);
bool plr_has_floor(const struct pl_query *q);
bool plr_has_harnesses(const struct pl_query *q);
bool plr_has_labels(const struct pl_query *q);
bool plr_has_platform(const struct pl_query *q);
bool plr_has_set(const struct pl_query *q);
bool plr_pinned(const struct pl_query *q);
bool plr_strict(const struct pl_query *q);
bool plr_unbound(const struct pl_query *q);
bool plr_wants_memory(const struct pl_query *q);
bool plr_another(const struct pl_query *q, const struct pl_candidate *c);
bool plr_arch_differs(const struct pl_query *q, const struct pl_candidate *c);
bool plr_below_floor(const struct pl_query *q, const struct pl_candidate *c);
bool plr_degraded(const struct pl_query *q, const struct pl_candidate *c);
bool plr_full(const struct pl_query *q, const struct pl_candidate *c);
bool plr_labels_differ(const struct pl_query *q, const struct pl_candidate *c);
bool plr_lacks_harness(const struct pl_query *q, const struct pl_candidate *c);
bool plr_less_memory(const struct pl_query *q, const struct pl_candidate *c);
bool plr_no_disk(const struct pl_query *q, const struct pl_candidate *c);
bool plr_no_evidence(const struct pl_query *q, const struct pl_candidate *c);
bool plr_no_isolation(const struct pl_query *q, const struct pl_candidate *c);
bool plr_no_runtime(const struct pl_query *q, const struct pl_candidate *c);
bool plr_not_in_set(const struct pl_query *q, const struct pl_candidate *c);
bool plr_out_of_service(const struct pl_query *q, const struct pl_candidate *c);
bool plr_platform_differs(const struct pl_query *q, const struct pl_candidate *c);
void plr_cure_build(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_cure_disk(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_cure_evidence(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_cure_health(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_cure_labels(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_cure_scope(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_arch(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_build(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_degraded(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_evidence(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_full(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_harness(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_health(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_labels(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_memory(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_pin(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_platform(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);
void plr_say_set(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);

/* The value of a label, or NULL. */
const char *pl_label_of(const struct pl_labels *l, const char *key);
/* Ignoring ASCII case. */
bool pl_word_in(const struct pl_words *w, const char *word);
/* The other name of the same machine ("amd64" of "x86_64"), or the same again. */
const char *pl_arch_alias(const char *arch);
/* "v1.2.3" of a release's number. */
void pl_release_text(uint64_t release, struct cl_buf *out);
/* Finds the rows that ask for something, after the request was changed. */
void pl_query_ask(struct pl_query *q);
int64_t pl_free_slots(const struct pl_candidate *c);
bool pl_kind_is(const struct pl_candidate *c, const char *kind);

/* A candidate and a request that changes are tried on. */
struct pl_copy {
	struct pl_query q;
	struct pl_requirements r;
	struct pl_candidate c;
	struct pl_label labels[2 * PL_MAX_LIST];
	const char *words[2][2 * PL_MAX_LIST]; /* harnesses, runtimes */
	uint64_t done; /* rows that were mended: a second time would go on for ever */
	size_t changes;
	const char *origin;   /* the candidate's id */
	struct pl_fixes *out; /* NULL: only count */
};
/* A copy of the candidate, and of the query's request. */
void pl_copy_init(struct pl_copy *m, const struct pl_query *q, const struct pl_candidate *c);
/* Mends what the copy fails by this row; false when no change of this executor does. */
bool pl_mend(struct pl_copy *m, enum pl_row row);
/* Asks for less by this row; false when it asks for nothing, or that may not be recommended. */
bool pl_relax(struct pl_copy *m, enum pl_row row);
/* The capabilities of this release's container driver, as root, with a network. */
void pl_driver_caps(const char *oci_runtime, const char *arch, struct cap_set *out);

#endif
