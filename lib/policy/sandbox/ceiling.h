/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resource limits: what a spec asks for, the operator's ceilings over it, and what a
 * driver enforces in the end. facts/executors.md 5. Pure.
 *
 * Units everywhere: CPU in milli-cores, memory and disk in MB (MiB), pids as a count.
 * 0 means "says nothing". A driver's pids of -1 mean "no limit".
 */
#ifndef CL_POLICY_CEILING_H
#define CL_POLICY_CEILING_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sb_resource { SB_CPU, SB_MEMORY, SB_DISK, SB_PIDS, SB_NRESOURCES };
/* "cpu", "memory", "disk", "pids". */
const char *sb_resource_name(enum sb_resource r);
/* An amount as people read it: "1500m", "4096 MB", "512". */
void sb_amount(enum sb_resource r, int64_t value, char out[40]);

/* Bounds of .cloop/sandbox.yaml, and of an operator's own sizes. */
#define SB_MAX_CPU      1024 /* cores */
#define SB_MIN_MB       64
#define SB_MAX_MB       1048576 /* 1 TiB */
#define SB_MAX_PIDS     65536
#define SB_DEFAULT_PIDS 1024 /* a container executor that sets none */

struct sb_limits {
	int64_t v[SB_NRESOURCES];
};

/*
 * A size (facts 1.3): optional b k m g t, a bare number is MB, rounded up to MB; "" and
 * "0" are 0. Below SB_MIN_MB, negative or malformed: CL_EDATA. Above SB_MAX_MB sets
 * *too_large and *mb = SB_MAX_MB; with too_large NULL that is CL_EDATA (operators).
 */
int sb_size_mb(const char *text, const char *what, int64_t *mb, bool *too_large, struct cl_err *e);

/* Where a ceiling comes from, in the order in which they are applied. */
enum sb_source { SB_FLEET, SB_EXECUTOR, SB_PROJECT, SB_NSOURCES };
const char *sb_source_name(enum sb_source s); /* "fleet", "executor", "project" */

struct sb_ceilings {
	struct sb_limits of[SB_NSOURCES];
};

/* CL_ECONFIG when a field is negative; `what` names the ceiling ("executors.limits"). */
int sb_ceiling_check(const struct sb_limits *c, const char *what, struct cl_err *e);
/* The fleet's ceiling only ever tightens: the smaller non-zero value stays. An invalid
 * `more` changes nothing. */
void sb_ceiling_ratchet(struct sb_limits *fleet, const struct sb_limits *more);
/*
 * The cap on one resource: the smallest non-zero of the three, 0 for none; *source (may
 * be NULL) is the first that says it. A ceiling with a negative field is left out whole.
 */
int64_t sb_cap(const struct sb_ceilings *c, enum sb_resource r, enum sb_source *source);

/* One lowered request. */
struct sb_clamp {
	enum sb_resource resource;
	int64_t requested, effective;
	enum sb_source source;
};

/*
 * Lowers what *stated asks for above a cap, in place; an unset request stays unset. Returns how
 * many were lowered, in out[] in order of sb_resource.
 */
size_t sb_clamp(
	const struct sb_ceilings *c, struct sb_limits *stated, struct sb_clamp out[SB_NRESOURCES]);
/* "memory: asked for 16384 MB, the fleet ceiling allows 8192 MB"; out is added to. */
void sb_clamp_text(const struct sb_clamp *c, struct cl_buf *out);
/* {resource, requested, effective, source, text}; owned. */
json_t *sb_clamp_json(const struct sb_clamp *c);

/*
 * What a driver enforces: the request, else the executor's default, brought under the
 * cap: a value that is not positive (unset, or "no limit") becomes the cap too.
 */
int64_t sb_effective(int64_t dflt, int64_t request, int64_t cap);
/*
 * The same for all four; defaults' disk is not used (there is none), pids of 0 default to
 * SB_DEFAULT_PIDS, and pids of -1 in *out mean no limit.
 */
void sb_effective_limits(const struct sb_limits *defaults, const struct sb_limits *stated,
	const struct sb_ceilings *c, struct sb_limits *out);
/* The limit of a fetched tree in MB: the smaller of `existing` and the capped disk; 0 none. */
int64_t sb_fetch_limit(int64_t existing, int64_t disk, int64_t cap);

/*
 * What is to be said of a driver that cannot hold it: a request was lowered and it has no
 * limits at all, or a disk ceiling stands and it measures no disk. NULL: nothing.
 */
const char *sb_unenforced(
	const struct sb_ceilings *c, size_t nclamps, bool enforces_limits, bool enforces_disk);

#endif
