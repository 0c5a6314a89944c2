/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run was refused, in a few lines at its end. */
#include "run.h"
#include "base/mem.h"
#include "work/blocked.h"

#include <stdlib.h>

#define SHOWN 3 /* destinations */

json_t *run_blocked(const struct run_plan *p)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err e;

	if (store_run_get(p->store, p->id, &r, &e) || !r.blocked)
		return NULL;
	return json_loads(r.blocked, 0, NULL);
}

static int most_first(const void *pa, const void *pb)
{
	const struct store_blocked *a = pa, *b = pb;

	if (a->packets != b->packets)
		return a->packets > b->packets ? -1 : 1;
	return store_blocked_cmp(a, b);
}

void run_say_blocked(const struct cl_ctx *c, const struct run_plan *p, const json_t *sums)
{
	cleanup_blocked_rows struct store_blocked_list rows = STORE_BLOCKED_INIT;
	cleanup_blocked_reader struct blocked_reader reader = BLOCKED_READER_INIT;
	long long destinations = json_integer_value(json_object_get(sums, "destinations"));
	long long packets = json_integer_value(json_object_get(sums, "packets"));
	size_t shown = 0;
	struct cl_err e;

	cl_say(c, "%lld packet%s to %lld destination%s %s refused:", packets,
		packets == 1 ? "" : "s", destinations, destinations == 1 ? "" : "s",
		packets == 1 ? "was" : "were");
	if (!store_blocked_read(p->store, p->id, NULL, NULL, &rows, &e) && rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), most_first);
	reader.store = p->store;
	for (; shown < rows.n && shown < SHOWN; shown++) {
		cleanup_meaning struct blocked_meaning m = {0};
		const struct store_blocked *row = &rows.v[shown];
		cleanup_free char *text = NULL;

		blocked_explain(&reader, row, &m);
		text = blocked_text(&m);
		if (row->packets == 1)
			cl_say(c, "  %s", text);
		else
			cl_say(c, "  %s, %lld times", text, (long long)row->packets);
	}
	if (destinations > (long long)shown)
		cl_say(c, "  and %lld more: cloop egress blocked --run %s",
			destinations - (long long)shown, p->id);
}
