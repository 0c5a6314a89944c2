/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worktree_cmd.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "work/ctx.h"
#include "work/worktree.h"

#include <stdlib.h>
#include <unistd.h>

/* The hub, which knows what runs, and the project. */
struct asked {
	struct hub hub;
	struct store *store;
	char *path;
	struct work_worktrees trees;
};
#define ASKED_INIT ((struct asked){.hub = HUB_INIT, .trees = WORK_WORKTREES_INIT})

static void asked_release(struct asked *a)
{
	work_worktrees_release(&a->trees);
	free(a->path);
	store_close(a->store);
	hub_release(&a->hub);
}
#define cleanup_asked __attribute__((cleanup(asked_release)))

static int ask(const struct cl_ctx *c, struct asked *a, struct cl_err *e)
{
	cleanup_fd int fd = -1;

	if (hub_store_from_ctx(c, STORE_RO, &a->hub, &a->store, e))
		return -1;
	fd = sys_resolve_dir(cl_str_or(c, "project", "."), &a->path, e);
	if (fd < 0)
		return -1;
	a->trees.min_age = cl_int(c, "min-age", 0);
	return work_worktrees_read(a->path, &a->trees, e);
}

static json_t *tree_json(const struct worktree *w, bool stale, const char *why)
{
	json_t *o = json_pack("{s:o, s:o, s:b, s:b, s:b, s:s}", "name", cl_json_string(w->name),
		"branch", *w->branch ? cl_json_string(w->branch) : json_null(), "registered",
		w->admin != NULL, "present", w->present, "stale", stale, "why", why);
	char at[32];

	if (w->changed_at > 0) {
		cl_format_time(w->changed_at / 1000, at);
		(void)json_object_set_new(o, "changed_at", json_string(at));
	}
	return o;
}

/* Names are a workload's: nothing of them reaches a terminal as it is. */
static void add_cell(struct cl_table *t, const char *text)
{
	cleanup_free char *shown = cl_strdup(text);

	cl_mask(shown, "");
	cl_table_add(t, shown);
}

static void add_row(struct cl_table *t, const struct worktree *w, const char *why)
{
	char age[24] = "-";

	if (w->changed_at > 0)
		cl_format_age(sys_now_ms() - w->changed_at, age);
	add_cell(t, w->name);
	add_cell(t, *w->branch ? w->branch : "-");
	cl_table_add(t, age);
	cl_table_add(t, !w->present ? "its directory is gone" : w->admin ? "" : "not registered");
	cl_table_add(t, why);
}

int cmd_worktree_list(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const head[] = {"WORKTREE", "BRANCH", "CHANGED", "NOTE", "STATE"};
	cleanup_asked struct asked a = ASKED_INIT;
	struct cl_table t;

	if (ask(c, &a, e))
		return -1;
	cl_table_init(&t, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&t, head[i]);
	for (size_t i = 0; i < a.trees.all.n; i++) {
		const struct worktree *w = &a.trees.all.v[i];
		const char *why;
		bool stale = work_worktree_stale(a.store, &a.trees, w, &why);

		if (c->json)
			cl_take_json(tree_json(w, stale, why));
		else
			add_row(&t, w, why);
	}
	if (!c->json && a.trees.all.n)
		cl_table_print(&t, stdout);
	else if (!c->json)
		(void)puts("no worktrees");
	cl_table_release(&t);
	return 0;
}

static json_t *strings(const struct cl_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, cl_json_string(v->v[i]));
	return a;
}

static void say(const char *verb, const struct cl_strv *v)
{
	for (size_t i = 0; i < v->n; i++) {
		cl_mask(v->v[i], "");
		(void)printf("%s %s\n", verb, v->v[i]);
	}
}

int cmd_worktree_prune(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_strv struct cl_strv removed = CL_STRV_INIT, troubles = CL_STRV_INIT;
	cleanup_strv struct cl_strv branches = CL_STRV_INIT;
	cleanup_asked struct asked a = ASKED_INIT;

	if (ask(c, &a, e))
		return -1;
	work_worktrees_prune(a.store, &a.trees, 0, &removed, &troubles);
	for (size_t i = 0; i < troubles.n; i++)
		cl_warn(c, "%s", troubles.v[i]);
	if (cl_flag(c, "delete-branches") && work_worktrees_branches(&a.trees, &branches, e))
		return -1;
	if (c->json) {
		cl_take_json(json_pack("{s:o, s:o, s:o, s:I}", "project", cl_json_string(a.path),
			"removed", strings(&removed), "branches_deleted", strings(&branches),
			"kept", (json_int_t)(a.trees.all.n - removed.n)));
	} else {
		say("removed", &removed);
		say("deleted the branch", &branches);
		(void)printf("%zu removed, %zu kept\n", removed.n, a.trees.all.n - removed.n);
	}
	return troubles.n ? 1 : 0;
}
