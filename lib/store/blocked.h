/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What workloads tried to reach and were refused (DECISIONS E4): one row a workload and
 * destination, merged from as many readings of the kernel's counters as there were. Bounded:
 * the newest STORE_BLOCKED_EACH of a workload, and STORE_BLOCKED_ALL of all.
 */
#ifndef STORE_BLOCKED_H
#define STORE_BLOCKED_H

#include "store/store.h"

#define STORE_BLOCKED_EACH 1000
#define STORE_BLOCKED_ALL  100000

struct store_blocked {
	char *handle_id;
	char *run_id; /* or NULL */
	char *project, *executor_id;
	char *source, *destination; /* addresses */
	int64_t proto;              /* IPPROTO_* */
	int64_t port;               /* 0: a protocol without ports */
	int64_t packets, bytes;
	int64_t first_at, last_at; /* Unix milliseconds */
};
struct store_blocked_list {
	struct store_blocked *v;
	size_t n, cap;
};
#define STORE_BLOCKED_INIT ((struct store_blocked_list){.v = NULL})
void store_blocked_release(struct store_blocked_list *l);
#define cleanup_blocked_rows __attribute__((cleanup(store_blocked_release)))
/* Handle, destination, protocol, port. */
int store_blocked_cmp(const struct store_blocked *a, const struct store_blocked *b);
/*
 * Counters are cumulative, so two readings of one destination are the higher counts, the
 * earlier first and the later last time. `into` gets them.
 */
void store_blocked_join(struct store_blocked *into, const struct store_blocked *other);

/* Merges rows of one workload into what is stored, as one transaction. */
int store_blocked_merge(struct store *s, const struct store_blocked_list *rows, struct cl_err *e);
/* Rows of a run, a handle or a project (NULL: any), the oldest last_at first; added to out. */
int store_blocked_read(struct store *s, const char *run_id, const char *handle_id,
	const char *project, struct store_blocked_list *out, struct cl_err *e);
/* Forgets what was last tried before `before`, and the oldest beyond STORE_BLOCKED_ALL. */
int store_blocked_expire(struct store *s, int64_t before, int64_t *gone, struct cl_err *e);

#endif
