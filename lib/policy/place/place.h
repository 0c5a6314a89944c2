/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement: which executor takes a workload, or for each of them every reason why not
 * (facts/executors.md 4, guide "Placement"). One table of constraints, in the order in which
 * they are judged. Pure: candidates, requirements and policy are arguments, and strings in
 * them are borrowed.
 */
#ifndef POLICY_PLACE_H
#define POLICY_PLACE_H

#include "base/buf.h"
#include "base/err.h"
#include "policy/place/capability.h"
#include "policy/sandbox/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

#define PL_MAX_CANDIDATES 100000
#define PL_MAX_ID         128 /* bytes */
#define PL_MAX_LIST       64  /* labels, harnesses, runtimes of one candidate or request */
#define PL_MAX_WORD       256 /* bytes of a label's key or value, a harness, ... */

/* ---- what is asked about ---- */

enum pl_health { PL_READY, PL_DEGRADED, PL_UNREACHABLE, PL_CORDONED, PL_DRAINING, PL_NHEALTHS };
const char *pl_health_name(enum pl_health h);

/* What the isolation probe made of the claim in a runtime's name. */
enum pl_standing { PL_UNVERIFIED, PL_VERIFIED, PL_CONTRADICTED, PL_NSTANDINGS };

struct pl_label {
	const char *key, *value;
};
struct pl_labels {
	const struct pl_label *v;
	size_t n;
};
struct pl_words {
	const char *const *v;
	size_t n;
};

struct pl_candidate {
	const char *executor_id;
	const char *kind; /* "container", "kubernetes", "remote", "localprocess", ... */
	enum pl_health health;
	const char *health_reason, *health_fix; /* "" */
	struct pl_labels labels;
	struct pl_words harnesses; /* empty: unknown, which passes */
	struct pl_words runtimes;  /* container runtimes found there */
	int64_t memory_mb;         /* 0: unknown, which passes */
	int64_t in_flight;         /* counts only with in_flight_known */
	bool in_flight_known;
	const char *build; /* of a remote agent; "": it reports none */
	uint64_t release;  /* of build, see pl_release; 0: not a release */
	enum pl_standing standing;
	const char *verdict, *evidence, *evidence_at; /* "" where unknown */
	struct cap_set caps;                          /* with max_concurrent, platform and arch */
};
#define PL_CANDIDATE_INIT                         \
	((struct pl_candidate){.executor_id = "", \
		.kind = "",                       \
		.health_reason = "",              \
		.health_fix = "",                 \
		.build = "",                      \
		.verdict = "",                    \
		.evidence = "",                   \
		.evidence_at = "",                \
		.caps = CAP_SET_INIT})

/* One boolean a constraint; in the order of judgement. */
enum pl_need {
	PL_NEED_ISOLATION,
	PL_NEED_VIRTUALIZATION,
	PL_NEED_KERNEL_ISOLATION,
	PL_NEED_CONTAINER_RUNTIME,
	PL_NEED_NETWORK_EGRESS,
	PL_NEED_RESOURCE_LIMITS,
	PL_NEED_DISK_LIMIT,
	PL_NEED_IMAGE_OVERRIDE,
	PL_NEED_SANDBOX_BUILD,
	PL_NEED_SANDBOX_MOUNTS,
	PL_NEED_HOST_MOUNTS,
	PL_NEED_DEVICES,
	PL_NEED_INTERFACES,
	PL_NEED_EGRESS_SCOPE,
	PL_NEED_WORKSPACE_PROVISIONING,
	PL_NEED_HOST_FILESYSTEM_WORKSPACE,
	PL_NEED_WRITE_BACK,
	PL_NEED_BRANCH_BUNDLE,
	PL_NEED_PROJECT_SEED,
	PL_NEED_SECRET_FILES,
	PL_NEED_REVOCATION,
	PL_NEED_STREAM,
	PL_NEED_SIGNAL,
	PL_NNEEDS
};
#define PL_NEED_BIT(n) (UINT32_C(1) << (n))
const char *pl_need_name(enum pl_need n); /* "virtualization"; static */

/* Zero asks for anything healthy. */
struct pl_requirements {
	const char *executor_id; /* "": not pinned */
	struct pl_labels labels;
	struct pl_words harnesses;
	const char *platform, *arch; /* "": any */
	int64_t min_memory_mb;
	uint32_t isolations; /* bits of cap_isolation that are accepted; 0: any */
	uint32_t needs;      /* PL_NEED_BIT of each */
	bool forbid_degraded, ignore_capacity;
};
#define PL_REQUIREMENTS_INIT \
	((struct pl_requirements){.executor_id = "", .platform = "", .arch = ""})

/* The keys of config.yaml below `executors` that bear on it. */
struct pl_policy {
	bool allow_host_process;
	bool evidence_required; /* isolation_evidence: required */
	uint64_t floor;         /* min_agent_build as pl_release has it; 0: none */
};
#define PL_POLICY_INIT ((struct pl_policy){.allow_host_process = true})

/* "v1.2.3" as a number that orders; 0 for what is no release. */
uint64_t pl_release(const char *build);

/* ---- judging ---- */

/* The rows of the table, in order. */
enum pl_row {
	PL_PIN,
	PL_HEALTH,
	PL_NOT_DEGRADED,
	PL_HOST_POLICY,
	PL_AGENT_BUILD,
	PL_ISOLATION,
	PL_ISOLATION_SET,
	PL_VIRTUALIZATION,
	PL_KERNEL_ISOLATION,
	PL_EVIDENCE,
	PL_LABELS,
	PL_PLATFORM,
	PL_ARCH,
	PL_HARNESS,
	PL_RUNTIME,
	PL_NETWORK_EGRESS,
	PL_RESOURCE_LIMITS,
	PL_DISK_LIMIT,
	PL_IMAGE_OVERRIDE,
	PL_SANDBOX_BUILD,
	PL_SANDBOX_MOUNTS,
	PL_HOST_MOUNTS,
	PL_DEVICES,
	PL_INTERFACES,
	PL_EGRESS_SCOPE,
	PL_PROVISIONING,
	PL_HOST_FILESYSTEM,
	PL_WRITE_BACK,
	PL_BRANCH_BUNDLE,
	PL_PROJECT_SEED,
	PL_SECRET_FILES,
	PL_REVOCATION,
	PL_STREAM,
	PL_SIGNAL,
	PL_MEMORY,
	PL_CAPACITY,
	PL_NROWS
};
#define PL_ROW_BIT(r) (UINT64_C(1) << (r))
/* "virtualization": the name of a row's constraint; some rows share one. Static. */
const char *pl_constraint(enum pl_row r);

/* A request that is ready to be held against candidates; borrows from both. */
struct pl_query {
	const struct pl_requirements *r;
	const struct pl_policy *p;
	bool bound; /* the executor is given: its health and load are not asked */
	/* Which rows ask for something: those of one capability, and the others. */
	const char *arch_alias; /* another name of what r->arch asks for */
	uint32_t caps;
	uint8_t row_of_cap[CAP_N];
	uint8_t rows[PL_NROWS];
	size_t nrows;
};
void pl_query_init(struct pl_query *q, const struct pl_requirements *r, const struct pl_policy *p);
/* True when the request asks for something by this row. */
bool pl_asked(const struct pl_query *q, enum pl_row r);
/* PL_ROW_BIT of every row that the candidate fails; 0: it takes the workload. */
uint64_t pl_failed(const struct pl_query *q, const struct pl_candidate *c);
/* The first of them in order; failed is not 0. */
enum pl_row pl_first(uint64_t failed);
/* What the candidate lacks, and what to do about it; for a row that it fails. Added to out. */
void pl_detail(
	const struct pl_query *q, const struct pl_candidate *c, enum pl_row r, struct cl_buf *out);
void pl_remedy(
	const struct pl_query *q, const struct pl_candidate *c, enum pl_row r, struct cl_buf *out);
/*
 * A claim of isolation that the request relies on and nobody has verified: true, and *out
 * says so; it is admitted with a warning unless the policy requires evidence.
 */
bool pl_unverified(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out);

/*
 * The better of two that take the workload first: ready, more free slots, isolating, a newer
 * build (one without an agent runs this release itself), id. As qsort(3) wants it.
 */
int pl_rank(const struct pl_candidate *a, const struct pl_candidate *b);
/* The criterion that puts a before b, in words; added to out. */
void pl_rank_reason(const struct pl_candidate *a, const struct pl_candidate *b, struct cl_buf *out);

struct pl_result {
	const struct pl_candidate *chosen; /* NULL: nobody takes it */
	uint64_t *failed;                  /* by candidate; owned */
	size_t nfit;
	size_t considered;                /* with entries that were null */
	size_t nheadline;                 /* how many fail the headline first */
	const char *constraint;           /* headline of a refusal: what most fail first; static */
	const struct pl_candidate *bound; /* of a refusal by pl_check */
};
#define PL_RESULT_INIT ((struct pl_result){0})
void pl_result_release(struct pl_result *r);
#define cleanup_pl_result __attribute__((cleanup(pl_result_release)))

/* Judges all and chooses. *out is PL_RESULT_INIT. `nulls` are counted as considered. */
void pl_select(const struct pl_query *q, const struct pl_candidate *v, size_t n, size_t nulls,
	struct pl_result *out);
/*
 * The one executor that a project is bound to (guide: CheckSandboxSupport): at most v[which]
 * is chosen, whatever its health and load. q->bound is set by it.
 */
void pl_check(struct pl_query *q, const struct pl_candidate *v, size_t n, size_t which,
	struct pl_result *out);
/*
 * True when a refusal by this row on this candidate reads as "this executor does not isolate"
 * rather than as a placement: code host_execution. Rows about what only an isolated executor
 * can lack (workspace, write_back, secret_files) and about no capability are placements.
 */
bool pl_is_host_denial(const struct pl_candidate *c, enum pl_row r);

/* ---- the way out ---- */

struct pl_change {
	const char *executor_id; /* borrowed; NULL: the request, or an executor that is new */
	const char *constraint;  /* which it meets; static */
	char *text;              /* "give b the label gpu=true" */
};
struct pl_fixes {
	struct pl_change *v;
	size_t n, cap;
};
#define PL_FIXES_INIT ((struct pl_fixes){NULL, 0, 0})
void pl_fixes_release(struct pl_fixes *f);
#define cleanup_pl_fixes __attribute__((cleanup(pl_fixes_release)))

/*
 * The fewest changes after which one executor takes the workload: to one of those there are,
 * else a new executor, else to the request. They were made to a copy and the copy was judged
 * again. None (n is 0) when no change that may be recommended does it.
 */
void pl_fix(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, struct pl_fixes *out);

/* ---- requests as JSON ---- */

struct pl_request {
	struct cl_scan scan;
	struct pl_candidate *v;
	size_t n, cap, nulls;
	struct pl_requirements requirements;
	struct pl_policy policy;
	void **lists; /* what labels and words point to; owned */
	size_t nlists, lists_cap;
};
#define PL_REQUEST_INIT                               \
	((struct pl_request){.scan = CL_SCAN_INIT,    \
		.requirements = PL_REQUIREMENTS_INIT, \
		.policy = PL_POLICY_INIT})
void pl_request_release(struct pl_request *r);
#define cleanup_pl_request __attribute__((cleanup(pl_request_release)))
/*
 * Reads {candidates, requirements, policy} (share/json-schema/place-request.json) from
 * text[0..len), which is written into and must outlive *out; text[len] is NUL. *out is
 * PL_REQUEST_INIT. CL_EDATA with the place: unknown keys, ids that stand twice, more than
 * PL_MAX_CANDIDATES.
 */
int pl_request_read(
	const char *name, char *text, size_t len, struct pl_request *out, struct cl_err *e);

/* ---- requests from what a run has ---- */

/* Room for what the requirements of a spec point to. */
struct pl_spec_words {
	const char *harnesses[SB_NEEDS_MAX];
};
/* What a project's spec asks of its executor (sandbox.h: sb_needs). */
void pl_of_spec(const struct sb_spec *s, struct pl_spec_words *words, struct pl_requirements *out);

/*
 * An executor of the configuration as a candidate. `labels` has room for PL_MAX_LIST. Only
 * the capabilities of containers follow from the configuration; of another kind none is set,
 * and its driver is to be asked.
 */
void pl_of_executor(const struct cfg_executor *x, bool root, const char *arch,
	struct pl_label *labels, struct pl_candidate *out);
/* The policy in the configuration. */
void pl_of_config(const struct cfg *c, struct pl_policy *out);
/* What pl_request_read takes; owned text. */
char *pl_request_text(const struct pl_candidate *v, size_t n, const struct pl_requirements *r,
	const struct pl_policy *p);

/* ---- answers as JSON, one line each, keys sorted (share/json-schema/place-*.json) ---- */

/* {executor_id, kind, considered, others:[ids, best first], warnings}; `all`: rejections too. */
void pl_choice_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, bool all, struct cl_buf *out);
/* [{executor_id, constraint, detail, remedy, also:[{constraint, detail, remedy}]}], by id. */
void pl_rejections_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, struct cl_buf *out);
/* {error:{code, constraint, considered, rejections, fixes, alternatives?, message, ...}}. */
void pl_refusal_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, const struct pl_fixes *f, struct cl_buf *out);
/* The same as an error value: CL_EREFUSED with constraint, message and fix. Returns -1. */
int pl_refusal_err(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, const struct pl_fixes *f, struct cl_err *e);
/* The candidates that take the workload, best first; owned. r->nfit of them. */
const struct pl_candidate **pl_ranked(
	const struct pl_candidate *v, size_t n, const struct pl_result *r);

#endif
