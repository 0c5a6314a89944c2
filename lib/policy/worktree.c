/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/worktree.h"
#include "base/mem.h"

static bool is_odd(const struct wt_facts *f)
{
	return !f->plain;
}

static bool is_unread(const struct wt_facts *f)
{
	return !f->readable;
}

static bool is_locked(const struct wt_facts *f)
{
	return f->locked;
}

static bool is_used(const struct wt_facts *f)
{
	return f->live;
}

static bool is_ageless(const struct wt_facts *f)
{
	return f->changed_at <= 0 || f->changed_at > f->now;
}

static bool is_young(const struct wt_facts *f)
{
	return f->now - f->changed_at < (f->min_age > 0 ? f->min_age : WT_MIN_AGE_MS);
}

static const struct {
	bool (*spares)(const struct wt_facts *f);
	const char *why;
} rows[] = {
	{is_odd, "it is no directory"},
	{is_unread, "not all of it can be read"},
	{is_locked, "it is locked"},
	{is_used, "a run of the project is live"},
	{is_ageless, "its age is not known"},
	{is_young, "it is young"},
};

bool wt_stale(const struct wt_facts *f, const char **why)
{
	for (unsigned i = 0; i < CL_ARRAY_LEN(rows); i++) {
		if (!rows[i].spares(f))
			continue;
		*why = rows[i].why;
		return false;
	}
	*why = "left over";
	return true;
}
