/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an executor is: what a probe's answer and an operator's word make of it
 * (facts/executors.md 9, guide "Supervision, health and failover"). Pure: the time and the
 * random number are arguments.
 *
 * ready, degraded and unreachable belong to the probes; cordoned and draining to an operator.
 * A probe never moves an executor into or out of those, but goes on counting meanwhile, so
 * that letting go puts the executor where the probes say it is.
 */
#ifndef POLICY_HEALTH_H
#define POLICY_HEALTH_H

#include "policy/place/place.h"

#define HL_REASON 199 /* bytes of a reason that are kept */

struct hl_health {
	enum pl_health state;
	char reason[HL_REASON + sizeof("…")];
	int64_t failures; /* consecutive probes */
	/* Unix milliseconds, 0 for never. */
	int64_t last_seen, last_probe, next_probe, changed_at;
};
#define HL_HEALTH_INIT ((struct hl_health){.state = PL_READY})

/* False: no state has that name. */
bool hl_find(const char *name, enum pl_health *out);
bool hl_schedulable(enum pl_health h); /* takes new work */
bool hl_held(enum pl_health h);        /* by an operator */

struct hl_rules {
	int64_t degrade_after, unreachable_after; /* consecutive failures */
	int64_t first_ms, most_ms;                /* of the back-off */
};
/* 1, 3, 5 s, 5 min. */
extern const struct hl_rules hl_defaults;
/* At least 1, and the second no smaller than the first. */
struct hl_rules hl_rules_normal(struct hl_rules r);

/* first_ms x 2^(failures - 1), at most most_ms; 0 for no failure. */
int64_t hl_backoff(const struct hl_rules *r, int64_t failures);
/*
 * ms made longer or shorter by at most `share` of it (0 to 0.9; beyond is taken as that);
 * `random` is a number of 64 uniform bits.
 */
int64_t hl_jitter(int64_t ms, double share, uint64_t random);
/* The share that probes use. */
#define HL_JITTER 0.2

/* How often one is asked that answers, and HL_JITTER more or less. */
#define HL_INTERVAL_MS 30000
/*
 * When one is to be asked again, Unix milliseconds: after a failure as its back-off says, else
 * HL_INTERVAL_MS after the last time; 0: at once. A time after `now` by more than any of these
 * is of a clock that has jumped, and counts as 0. `random` as above, the same for the same answer.
 */
int64_t hl_due(const struct hl_health *h, const struct hl_rules *r, int64_t now, uint64_t random);
/*
 * Notes a probe's answer. `why` is the failure, of which the first line is kept. True when the
 * state changed: *from is what it was.
 */
bool hl_observe(struct hl_health *h, const struct hl_rules *r, bool ok, const char *why,
	int64_t now, uint64_t random, enum pl_health *from);
/* An operator takes it out of service: PL_CORDONED or PL_DRAINING. False: it was that. */
bool hl_hold(struct hl_health *h, enum pl_health to, const char *why, int64_t now);
/* Lets go: the state that the probes justify, and they are due at once. False: it was not held. */
bool hl_release(struct hl_health *h, const struct hl_rules *r, int64_t now);

#endif
