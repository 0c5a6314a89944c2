/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The filters that should stand now: what the rows of live workloads and of their runs say, held
 * to what their drivers wrote down when they installed them (work/standing.h).
 * A network has one table for all of its workloads, with the policy of the newest.
 */
#ifndef CL_WORK_FILTERS_H
#define CL_WORK_FILTERS_H

#include "policy/egress/egress_stack.h"
#include "policy/verify/verify.h"
#include "store/run.h"

struct work_filter_user {
	char *handle, *run_id, *project;
	struct pol_addr address[2]; /* family 0: not known */
};

struct work_filter {
	char *table, *bridge;
	bool prepared; /* a network of ours (sys/net/net.h), not the engine's */
	bool filtered; /* false: everything leaves, and nobody connects in */
	struct eg_policy policy;
	/* why what the state file says of it is not believed, or NULL; of any of its workloads */
	char *unvouched;
	int64_t since; /* when that started */
	struct work_filter_user *users;
	size_t nusers, users_cap;
};
struct work_filters {
	struct work_filter *v;
	size_t n, cap;
};
#define WORK_FILTERS_INIT ((struct work_filters){NULL, 0, 0})
void work_filters_release(struct work_filters *f);
#define cleanup_filters __attribute__((cleanup(work_filters_release)))

/* hub: its directory; run_base: where drivers keep their records. *out is WORK_FILTERS_INIT. */
int work_filters_read(struct store *s, const char *hub, const char *run_base,
	struct work_filters *out, struct cl_err *e);

/* What was found of one. */
struct work_finding {
	struct vf_report report;
	struct cl_strv tables; /* others of the same network that are not as they were made */
	bool gone; /* its network is not here, and with it nothing that could be filtered */
	bool same;
};
#define WORK_FINDING_INIT ((struct work_finding){.report = {.notes = NULL}})
void work_finding_release(struct work_finding *f);
#define cleanup_finding __attribute__((cleanup(work_finding_release)))
/*
 * Reads the kernel. *out is WORK_FINDING_INIT. Of a network that is gone (the machine was started
 * anew, or this is another network namespace) and of one that is unvouched nothing is compared.
 */
int work_filter_verify(const struct work_filter *f, const char *run_base, struct work_finding *out,
	struct cl_err *e);
/* The error that says so, CL_EDATA with constraint "egress_unvouched"; -1. */
int work_filter_unvouched(const struct work_filter *f, struct cl_err *e);
/*
 * Puts it back; *there false: its workloads have ended meanwhile, nothing was done. *cut:
 * connections that were ended because the policy denies them (added to). Never one that is unvouched.
 */
int work_filter_restore(const struct work_filter *f, const char *run_base, bool *there, size_t *cut,
	struct cl_err *e);
/* Writes down what was found and put back: the project's journal, and the audit. */
int work_filter_record(struct store *s, const struct work_filter *f, const struct work_finding *was,
	const char *who, size_t cut, struct cl_err *e);

#endif
