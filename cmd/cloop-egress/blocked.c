/* SPDX-License-Identifier: GPL-3.0-or-later */
/* blocked: what sandboxes tried to reach and were refused, live and stored. */
#include "blocked.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void blocked_scope_release(struct blocked_scope *b)
{
	store_run_release(&b->run);
	free(b->project);
	free(b->run_base);
	store_close(b->store);
	hub_release(&b->hub);
}

int blocked_scope_open(struct cl_ctx *c, struct blocked_scope *b, struct cl_err *e)
{
	const char *run = cl_str(c, "run"), *project = cl_str(c, "project");

	*b = (struct blocked_scope){.hub = HUB_INIT, .run = STORE_RUN_INIT};
	if (run && project)
		return cl_usage(c, e, "--run and --project cannot go together");
	if (hub_store_from_ctx(c, STORE_RO, &b->hub, &b->store, e))
		return -1;
	b->run_base = work_run_base();
	if (run && store_run_get(b->store, run, &b->run, e))
		return -1;
	if (!project)
		return 0;
	/* One that is gone has its rows still. */
	b->project = realpath(project, NULL);
	if (!b->project)
		b->project = cl_strdup(project);
	return 0;
}

bool blocked_in_scope(const struct blocked_scope *b, const struct store_handle *h)
{
	if (b->run.id)
		return h->run_id && !strcmp(h->run_id, b->run.id);
	return !b->project || !strcmp(h->project, b->project);
}

struct reading {
	struct cl_ctx *c;
	const struct blocked_scope *scope;
	struct store_blocked_list rows, live;
	struct cl_strv handles; /* that live */
	int64_t unrecorded;
	bool warned;
};

/* A handle outlives its run by the time that cleaning up takes. */
static bool goes_on(struct store *s, const struct store_handle *h)
{
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	struct cl_err e;

	return !h->run_id || store_run_get(s, h->run_id, &run, &e) ||
	       strcmp(run.state, "finished") != 0;
}

static int read_live(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct reading *r = arg;
	struct cl_err why;

	(void)e;
	if (!blocked_in_scope(r->scope, h))
		return 0;
	if (goes_on(r->scope->store, h))
		cl_strv_add(&r->handles, h->id);
	if (!blocked_live(h, r->scope->run_base, &r->live, &r->unrecorded, &why) || r->warned)
		return 0;
	r->warned = true;
	cl_warn(r->c, "what live runs were refused is not shown: %s", why.msg);
	return 0;
}

/* The kernel first: what moves to the store meanwhile is seen twice, and joined. */
static int read_all(struct reading *r, struct cl_err *e)
{
	const struct blocked_scope *b = r->scope;

	if (store_handle_each(b->store, NULL, false, read_live, r, e) ||
		store_blocked_read(b->store, b->run.id, NULL, b->project, &r->rows, e))
		return -1;
	blocked_merge(&r->rows, &r->live);
	return 0;
}

static void add_row(
	struct cl_table *t, const struct store_blocked *row, const struct blocked_meaning *m)
{
	cleanup_free char *text = blocked_text(m);
	char first[32], last[32];

	cl_format_time(row->first_at / 1000, first);
	cl_format_time(row->last_at / 1000, last);
	cl_table_add(t, first);
	cl_table_add(t, last);
	cl_strv_addf(&t->cells, "%lld", (long long)row->packets);
	cl_table_add(t, row->run_id ? row->run_id : row->handle_id);
	cl_table_add(t, text);
}

static void print(struct reading *r, size_t from)
{
	static const char *const head[] = {"FIRST", "LAST", "TIMES", "RUN", "WHAT"};
	cleanup_blocked_reader struct blocked_reader reader = BLOCKED_READER_INIT;
	struct cl_table t;

	reader.store = r->scope->store;
	cl_table_init(&t, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&t, head[i]);
	for (size_t i = from; i < r->rows.n; i++) {
		cleanup_meaning struct blocked_meaning m = {0};
		const struct store_blocked *row = &r->rows.v[i];

		blocked_explain(&reader, row, &m);
		if (r->c->json)
			cl_take_json(
				blocked_json(row, &m, cl_strv_has(&r->handles, row->handle_id)));
		else
			add_row(&t, row, &m);
	}
	if (!r->c->json && from < r->rows.n)
		cl_table_print(&t, stdout);
	else if (!r->c->json)
		(void)puts("nothing was blocked");
	cl_table_release(&t);
}

/* What the rows do not show. */
static void say_missing(const struct reading *r, size_t from)
{
	const struct store_run *run = &r->scope->run;
	json_t *sums = run->blocked ? json_loads(run->blocked, 0, NULL) : NULL;
	long long all = json_integer_value(json_object_get(sums, "destinations"));
	long long lost = r->unrecorded + json_integer_value(json_object_get(sums, "unrecorded"));

	json_decref(sums);
	if (from)
		cl_say(r->c, "%zu older rows are not shown (--limit)", from);
	if (all > (long long)r->rows.n)
		cl_say(r->c, "%lld older destinations of this run are not kept",
			all - (long long)r->rows.n);
	if (lost > 0)
		cl_say(r->c,
			"the record was full: %lld refused packets are in no row, of all "
			"sandboxes on the network",
			lost);
}

static int trace(struct cl_ctx *c, const struct blocked_scope *scope, struct cl_err *e)
{
	if (cl_given(c, "limit"))
		return cl_usage(c, e, "--trace and --limit cannot go together");
	if (scope->run.id && !strcmp(scope->run.state, "finished")) {
		(void)cl_fail(e, CL_EDATA, "%s has ended: nothing more comes of it", scope->run.id);
		return cl_fix(e, "cloop egress blocked --run %s", scope->run.id);
	}
	return egress_trace(c, scope, e);
}

int egress_blocked(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_blocked_scope struct blocked_scope scope;
	struct reading r = {.c = c, .scope = &scope};
	size_t limit = (size_t)cl_int(c, "limit", 100), from = 0;
	int rc = blocked_scope_open(c, &scope, e);

	if (!rc && cl_flag(c, "trace"))
		return trace(c, &scope, e);
	if (!rc && cl_given(c, "group"))
		return cl_usage(c, e, "--group goes with --trace");
	if (!rc)
		rc = read_all(&r, e);
	if (!rc) {
		from = limit && r.rows.n > limit ? r.rows.n - limit : 0;
		print(&r, from);
		say_missing(&r, from);
	}
	store_blocked_release(&r.rows);
	store_blocked_release(&r.live);
	cl_strv_release(&r.handles);
	return rc;
}
