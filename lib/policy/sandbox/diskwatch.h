/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The disk limit of a workload: when to measure its workspace again, what a measurement
 * means, and what a stop may be put down to. Pure; sys/diskwalk.h measures. The limit is
 * held by sampling: between two samples a burst can pass it (the free-space floor stops
 * that), so samples come the denser the nearer the limit looks.
 */
#ifndef CL_POLICY_DISKWATCH_H
#define CL_POLICY_DISKWATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Every figure of it, in one place. */
enum {
	DW_START_DEADLINE_MS = 30000, /* the measurement before the start */
	DW_STATE_DEADLINE_MS = 10000, /* of that, .cloop alone */
	DW_FIRST_MS = 15000,          /* from the start's measurement to the first sample */
	DW_MIN_MS = 5000,
	DW_MAX_MS = 120000,
	DW_COST_FACTOR = 10, /* a wait is so many walks long at least; beats DW_MAX_MS */
	DW_WALK_DEADLINE_MS = 60000,
	DW_NEAR_PERCENT = 90,   /* from here on, DW_MIN_MS */
	DW_GROWTH_DIVISOR = 2,  /* of the time in which growth would reach the limit */
	DW_CHECK_ENTRIES = 128, /* between two looks at clock and cancellation */
	DW_BATCH_ENTRIES = 1024,
	DW_NAMED = 3 /* directories that could not be read, by name */
};

/* One measurement. */
struct dw_sample {
	int64_t at_ms;   /* when it ended, on any steady clock */
	int64_t bytes;   /* dw_total of what was counted; a lower bound if partial */
	int64_t cost_ms; /* how long it took */
	bool partial;    /* it missed its deadline, or could not read everything */
};

/* What is known of one workload; zeroed but for the limit at first. */
struct dw_watch {
	int64_t limit; /* bytes, > 0 */
	bool started;  /* the start's measurement was complete and no sample came since */
	bool stopping; /* over, and the stop has not succeeded yet */
	unsigned n;    /* complete samples kept, 0 to 2 */
	struct dw_sample last, before;
	int64_t cost_ms; /* of the latest walk, complete or not */
	bool unknown;    /* the latest walk was partial */
};

/* Limit in bytes from a limit in MB (MiB), saturating. */
int64_t dw_limit_bytes(int64_t mb);

/*
 * What counts, from its parts: the tree without .cloop, and of .cloop what was added to
 * its size at the start. `baseline` < 0: that size is not known and .cloop counts nothing.
 */
int64_t dw_total(int64_t tree, int64_t state, int64_t baseline);

enum dw_verdict { DW_UNDER, DW_OVER, DW_UNKNOWN };
/* Strictly more is over, also when only a part was counted; else a part says nothing. */
enum dw_verdict dw_judge(int64_t limit, int64_t bytes, bool partial);

/* Takes a measurement in: the one before the start, then each sample. */
void dw_note_start(struct dw_watch *w, const struct dw_sample *s);
void dw_note(struct dw_watch *w, const struct dw_sample *s);
/* Milliseconds from the end of the latest measurement (or from now, for an adopted
 * workload, of which none is known) to the start of the next. */
int64_t dw_wait_ms(const struct dw_watch *w);

/*
 * Refuses to start in a workspace that is over the limit already: CL_EREFUSED, constraint
 * disk_limit, with both sizes, `source` of the limit ("resources.disk in .cloop/sandbox.yaml")
 * and what to do. A partial count below the limit passes.
 */
int dw_check_start(const char *workspace, int64_t bytes, bool partial, int64_t limit_mb,
	const char *source, struct cl_err *e);

/* How a workload that we killed for its disk use ended. */
struct dw_end {
	bool intent;      /* the stop was recorded before the kill */
	int status;       /* exit status, 128+n for a signal */
	bool oom;         /* it ran out of memory */
	bool other_cause; /* a timeout, a person, a revocation killed it too */
};
/* True when the outcome is disk_limit; else it keeps the outcome it has of its own. */
bool dw_credited(const struct dw_end *end);

#endif
