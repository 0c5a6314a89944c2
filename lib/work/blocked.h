/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What workloads were refused (DECISIONS E4): the kernel's record of a live workload, joined
 * with what is stored of those that ended, and with the policy that each had.
 */
#ifndef CL_WORK_BLOCKED_H
#define CL_WORK_BLOCKED_H

#include "policy/egress/egress_cause.h"
#include "policy/egress/egress_stack.h"
#include "store/blocked.h"
#include "store/run.h"

#include <jansson.h>

/*
 * The kernel's rows of one live workload, added to out; *unrecorded (added to) counts packets
 * that found no room since it started, of all sandboxes of its network. A workload without
 * a filter, or whose address nobody knows, has none. run_base: for a record of its address.
 */
int blocked_live(const struct store_handle *h, const char *run_base, struct store_blocked_list *out,
	int64_t *unrecorded, struct cl_err *e);

/* The addresses that a live workload has, family 0 for none; false: none is known. */
bool blocked_sources(const struct store_handle *h, const char *run_base, struct pol_addr out[2]);

/*
 * At the end of a workload, before its network goes: stores its rows and their sums in the
 * run's row (store_run.blocked), and takes them out of the kernel. Again does no harm.
 */
int blocked_settle(
	struct store *s, const struct store_handle *h, const char *run_base, struct cl_err *e);

/* Joins live rows into a list: same workload and destination are one row. Sorts by last_at. */
void blocked_merge(struct store_blocked_list *into, struct store_blocked_list *take_rows);
/* {"destinations","packets","unrecorded"}; NULL when there is nothing; owned. */
json_t *blocked_sums(const struct store_blocked_list *rows, int64_t unrecorded);

/* What a row means, by the policy of its run. One policy is kept: rows of a run come together. */
struct blocked_reader {
	struct store *store;
	char *run_id;
	bool known; /* the run's policy is below */
	struct eg_stack stack;
	struct eg_policy whole;
	struct eg_policy *levels; /* of the stack, each alone */
};
#define BLOCKED_READER_INIT ((struct blocked_reader){.store = NULL})
void blocked_reader_release(struct blocked_reader *r);
#define cleanup_blocked_reader __attribute__((cleanup(blocked_reader_release)))

struct blocked_meaning {
	char *what;  /* "1.0.0.1:443/tcp" */
	char *level; /* whose policy it was: "executor container" */
	char *cause; /* "in executor container's deny list (1.0.0.1/32)" */
	char *reason;
	int rule; /* number in the list of the policy, from 1; 0: none */
};
void blocked_meaning_release(struct blocked_meaning *m);
#define cleanup_meaning __attribute__((cleanup(blocked_meaning_release)))
/* *out is zero before. What a stored row does not say any more is said to be unknown. */
void blocked_explain(
	struct blocked_reader *r, const struct store_blocked *row, struct blocked_meaning *out);
/* "blocked <what>, <cause>" for a terminal: names of others are in it. Owned. */
char *blocked_text(const struct blocked_meaning *m);
/* One row as an object with its meaning; owned. live: the workload has not ended. */
json_t *blocked_json(const struct store_blocked *row, const struct blocked_meaning *m, bool live);

#endif
