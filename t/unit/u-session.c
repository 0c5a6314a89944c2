/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of runs that nobody says the end of: t/cases/session/verdicts.tsv. */
#include "tsv.h"
#include "policy/place/session.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1000000000000)

static int64_t ago(const char *text)
{
	return strcmp(text, "-") ? NOW - strtoll(text, NULL, 10) : 0;
}

static void judge(const struct tsv_row *r)
{
	static const char *const handles[] = {"none", "live", "ended", "unanswered"};
	struct ses_facts f = {.registered = !strcmp(r->field[0], "yes"),
		.starting = !strcmp(r->field[1], "yes"),
		.created_at = ago(r->field[3]),
		.ended_at = ago(r->field[4]),
		.now = NOW};
	const char *why = "";
	bool kept;

	if (r->n != 7) {
		TSV_FAIL(r, "%d fields", r->n);
		return;
	}
	while (f.handle < SES_NO_ANSWER && strcmp(handles[f.handle], r->field[2]) != 0)
		f.handle++;
	CHECK_STR(handles[f.handle], r->field[2]);
	kept = ses_judge(&f, &why) == SES_KEEP;
	if (kept != !strcmp(r->field[5], "keep") || !strstr(why, r->field[6]))
		TSV_FAIL(r, "%s: %s", kept ? "keep" : "fail", why);
}

void test_session__verdicts(void)
{
	tsv_each("session/verdicts.tsv", judge);
}
