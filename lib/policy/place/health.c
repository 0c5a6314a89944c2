/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/health.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const struct hl_rules hl_defaults = {1, 3, 5000, 300000};

bool hl_find(const char *name, enum pl_health *out)
{
	for (unsigned i = 0; i < PL_NHEALTHS; i++)
		if (!strcmp(pl_health_name((enum pl_health)i), name)) {
			*out = (enum pl_health)i;
			return true;
		}
	return false;
}

bool hl_schedulable(enum pl_health h)
{
	return h == PL_READY || h == PL_DEGRADED;
}

bool hl_held(enum pl_health h)
{
	return h == PL_CORDONED || h == PL_DRAINING;
}

struct hl_rules hl_rules_normal(struct hl_rules r)
{
	if (r.degrade_after < 1)
		r.degrade_after = 1;
	if (r.unreachable_after < r.degrade_after)
		r.unreachable_after = r.degrade_after;
	return r;
}

int64_t hl_backoff(const struct hl_rules *r, int64_t failures)
{
	int64_t ms = r->first_ms;

	if (failures < 1)
		return 0;
	while (--failures > 0 && ms < r->most_ms)
		ms *= 2;
	return ms < r->most_ms ? ms : r->most_ms;
}

int64_t hl_jitter(int64_t ms, double share, uint64_t random)
{
	double part = (double)(random >> 11) / (double)(UINT64_C(1) << 53);

	/* Not a number is no jitter either. */
	if (!(share > 0))
		return ms;
	if (share > 0.9)
		share = 0.9;
	return (int64_t)((double)ms * (1 + share * (2 * part - 1)));
}

static void set_reason(struct hl_health *h, const char *why)
{
	size_t len = strcspn(why, "\r\n"), kept = cl_utf8_cut(why, len, HL_REASON);

	(void)snprintf(
		h->reason, sizeof(h->reason), "%.*s%s", (int)kept, why, kept < len ? "…" : "");
	cl_mask(h->reason, "");
}

static void move(struct hl_health *h, enum pl_health to, int64_t now)
{
	if (h->state != to)
		h->changed_at = now;
	h->state = to;
}

/* Where the count of failures puts an executor. */
static enum pl_health justified(const struct hl_rules *r, int64_t failures)
{
	if (failures >= r->unreachable_after)
		return PL_UNREACHABLE;
	return failures >= r->degrade_after ? PL_DEGRADED : PL_READY;
}

bool hl_observe(struct hl_health *h, const struct hl_rules *given, bool ok, const char *why,
	int64_t now, uint64_t random, enum pl_health *from)
{
	const struct hl_rules r = hl_rules_normal(*given);
	enum pl_health to;

	*from = h->state;
	h->last_probe = now;
	if (ok)
		h->last_seen = now;
	if (ok)
		h->failures = 0;
	else if (h->failures < INT64_MAX)
		h->failures++;
	h->next_probe = ok ? 0 : now + hl_jitter(hl_backoff(&r, h->failures), HL_JITTER, random);
	if (hl_held(h->state))
		return false;
	/* One that is unreachable is not made degraded by a count that was lost. */
	to = !ok && h->state == PL_UNREACHABLE ? PL_UNREACHABLE : justified(&r, h->failures);
	set_reason(h, ok ? "" : why);
	move(h, to, now);
	return *from != to;
}

int64_t hl_due(
	const struct hl_health *h, const struct hl_rules *given, int64_t now, uint64_t random)
{
	const struct hl_rules r = hl_rules_normal(*given);
	int64_t most = r.most_ms > HL_INTERVAL_MS ? r.most_ms : HL_INTERVAL_MS;
	int64_t due = h->next_probe   ? h->next_probe
		      : h->last_probe ? h->last_probe + hl_jitter(HL_INTERVAL_MS, HL_JITTER, random)
				      : 0;

	return due - now > most * 2 ? 0 : due;
}

bool hl_hold(struct hl_health *h, enum pl_health to, const char *why, int64_t now)
{
	if (h->state == to)
		return false;
	set_reason(h, why);
	move(h, to, now);
	return true;
}

bool hl_release(struct hl_health *h, const struct hl_rules *given, int64_t now)
{
	const struct hl_rules r = hl_rules_normal(*given);

	if (!hl_held(h->state))
		return false;
	h->next_probe = 0;
	move(h, justified(&r, h->failures), now);
	set_reason(h, h->state == PL_READY ? "" : "probes failed while it was held");
	return true;
}
