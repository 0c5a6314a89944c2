/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/session.h"
#include "base/mem.h"

/* True unless it is certain that `ms` have passed: a time that is missing, or in the future,
 * means that clocks disagree. */
static bool within(int64_t since, int64_t ms, int64_t now)
{
	return since <= 0 || since > now || now - since < ms;
}

static bool is_live(const struct ses_facts *f)
{
	return f->handle == SES_LIVE;
}

static bool unanswered(const struct ses_facts *f)
{
	return f->handle == SES_NO_ANSWER;
}

static bool may_be_starting(const struct ses_facts *f)
{
	return f->handle == SES_NO_HANDLE && within(f->created_at, SES_STARTING_MS, f->now);
}

static bool may_be_settling(const struct ses_facts *f)
{
	return f->handle == SES_ENDED && within(f->ended_at, SES_SETTLING_MS, f->now);
}

static bool never_started(const struct ses_facts *f)
{
	return f->starting;
}

static bool is_gone(const struct ses_facts *f)
{
	return !f->registered && f->handle == SES_NO_HANDLE;
}

static bool is_over(const struct ses_facts *f)
{
	return f->handle == SES_ENDED;
}

static bool is_unknown(const struct ses_facts *f)
{
	return f->handle == SES_NO_HANDLE;
}

static const struct {
	bool (*fits)(const struct ses_facts *f);
	enum ses_verdict verdict;
	const char *why;
} rows[] = {
	{is_live, SES_KEEP, "its workload is live"},
	{unanswered, SES_KEEP, "whether its workload is live could not be asked"},
	{may_be_starting, SES_KEEP, "it may be starting"},
	{may_be_settling, SES_KEEP, "its end may be being written down"},
	{never_started, SES_FAIL, "it never started"},
	{is_gone, SES_FAIL, "its executor is not configured any more, and nobody saw how it ended"},
	{is_over, SES_FAIL, "its workload is over, and nobody saw how it ended"},
	{is_unknown, SES_FAIL, "nothing is left of its workload, and nobody saw how it ended"},
};

enum ses_verdict ses_judge(const struct ses_facts *f, const char **why)
{
	for (unsigned i = 0; i < CL_ARRAY_LEN(rows); i++) {
		if (!rows[i].fits(f))
			continue;
		*why = rows[i].why;
		return rows[i].verdict;
	}
	*why = "nothing is certain of it";
	return SES_KEEP;
}
