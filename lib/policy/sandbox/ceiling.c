/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/sandbox/ceiling.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *name, *unit;
} resources[SB_NRESOURCES] = {
	[SB_CPU] = {"cpu", "m"},
	[SB_MEMORY] = {"memory", " MB"},
	[SB_DISK] = {"disk", " MB"},
	[SB_PIDS] = {"pids", ""},
};

static const char *const sources[SB_NSOURCES] = {
	[SB_FLEET] = "fleet",
	[SB_EXECUTOR] = "executor",
	[SB_PROJECT] = "project",
};

const char *sb_resource_name(enum sb_resource r)
{
	return resources[r].name;
}

const char *sb_source_name(enum sb_source s)
{
	return sources[s];
}

void sb_amount(enum sb_resource r, int64_t value, char out[40])
{
	(void)snprintf(out, 40, "%" PRId64 "%s", value, resources[r].unit);
}

int sb_size_mb(const char *text, const char *what, int64_t *mb, bool *too_large, struct cl_err *e)
{
	cleanup_free char *trimmed = cl_trim_dup(text);
	int64_t bytes = 0, v;

	if (too_large)
		*too_large = false;
	if (*trimmed && cl_parse_size(trimmed, CL_SIZE_MB, what, &bytes, e))
		return cl_fix(e, "write a whole number with one of b, k, m, g, t, for example 4g");
	if (bytes < 0) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' is negative", what, trimmed);
		return cl_fix(e, "leave the key out for no limit");
	}
	v = cl_bytes_to_mb(bytes);
	if (v && v < SB_MIN_MB) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' is below the minimum of %d MB", what, trimmed,
			SB_MIN_MB);
		return cl_fix(e, "ask for 64m or more; a bare number counts megabytes");
	}
	if (v > SB_MAX_MB && !too_large) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' is above the maximum of %d MB", what, trimmed,
			SB_MAX_MB);
		return cl_fix(e, "write 1t or less");
	}
	if (v > SB_MAX_MB) {
		*too_large = true;
		v = SB_MAX_MB;
	}
	*mb = v;
	return 0;
}

/* The first field below zero, or -1. */
static int negative(const struct sb_limits *c)
{
	for (int r = 0; r < SB_NRESOURCES; r++)
		if (c->v[r] < 0)
			return r;
	return -1;
}

int sb_ceiling_check(const struct sb_limits *c, const char *what, struct cl_err *e)
{
	int r = negative(c);

	if (r < 0)
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "%s: the %s ceiling %" PRId64 " is negative", what,
		resources[r].name, c->v[r]);
	return cl_fix(e, "leave it out for no ceiling");
}

void sb_ceiling_ratchet(struct sb_limits *fleet, const struct sb_limits *more)
{
	if (negative(more) >= 0)
		return;
	for (int r = 0; r < SB_NRESOURCES; r++)
		if (more->v[r] && (!fleet->v[r] || more->v[r] < fleet->v[r]))
			fleet->v[r] = more->v[r];
}

int64_t sb_cap(const struct sb_ceilings *c, enum sb_resource r, enum sb_source *source)
{
	int64_t cap = 0;

	for (int s = 0; s < SB_NSOURCES; s++) {
		int64_t v = c->of[s].v[r];

		/* A ceiling that makes no sense in one field is not trusted in another. */
		if (!v || negative(&c->of[s]) >= 0 || (cap && v >= cap))
			continue;
		cap = v;
		if (source)
			*source = (enum sb_source)s;
	}
	return cap;
}

size_t sb_clamp(
	const struct sb_ceilings *c, struct sb_limits *stated, struct sb_clamp out[SB_NRESOURCES])
{
	size_t n = 0;

	for (int r = 0; r < SB_NRESOURCES; r++) {
		enum sb_source source = SB_FLEET;
		int64_t cap = sb_cap(c, (enum sb_resource)r, &source);

		if (!cap || stated->v[r] <= cap)
			continue;
		out[n++] = (struct sb_clamp){(enum sb_resource)r, stated->v[r], cap, source};
		stated->v[r] = cap;
	}
	return n;
}

void sb_clamp_text(const struct sb_clamp *c, struct cl_buf *out)
{
	char asked[40], given[40];

	sb_amount(c->resource, c->requested, asked);
	sb_amount(c->resource, c->effective, given);
	cl_buf_addf(out, "%s: asked for %s, the %s ceiling allows %s",
		sb_resource_name(c->resource), asked, sb_source_name(c->source), given);
}

json_t *sb_clamp_json(const struct sb_clamp *c)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	sb_clamp_text(c, &text);
	return json_pack("{s:s, s:I, s:I, s:s, s:s}", "resource", sb_resource_name(c->resource),
		"requested", (json_int_t)c->requested, "effective", (json_int_t)c->effective,
		"source", sb_source_name(c->source), "text", text.p);
}

int64_t sb_effective(int64_t dflt, int64_t request, int64_t cap)
{
	int64_t v = request > 0 ? request : dflt;

	return cap > 0 && (v <= 0 || v > cap) ? cap : v;
}

void sb_effective_limits(const struct sb_limits *defaults, const struct sb_limits *stated,
	const struct sb_ceilings *c, struct sb_limits *out)
{
	for (int r = 0; r < SB_NRESOURCES; r++) {
		int64_t dflt = r == SB_DISK ? 0 : defaults->v[r];

		if (r == SB_PIDS && !dflt)
			dflt = SB_DEFAULT_PIDS;
		out->v[r] = sb_effective(dflt, stated->v[r], sb_cap(c, (enum sb_resource)r, NULL));
		if (out->v[r] < 0)
			out->v[r] = r == SB_PIDS ? -1 : 0;
	}
}

int64_t sb_fetch_limit(int64_t existing, int64_t disk, int64_t cap)
{
	int64_t bounded = sb_effective(0, disk, cap);

	if (existing <= 0 || (bounded > 0 && bounded < existing))
		return bounded > 0 ? bounded : 0;
	return existing;
}

const char *sb_unenforced(
	const struct sb_ceilings *c, size_t nclamps, bool enforces_limits, bool enforces_disk)
{
	if (nclamps && !enforces_limits)
		return "a request was lowered to a ceiling, but this executor enforces no limits";
	if (sb_cap(c, SB_DISK, NULL) && !enforces_disk)
		return "a disk ceiling is set, but this executor cannot enforce it";
	return NULL;
}
