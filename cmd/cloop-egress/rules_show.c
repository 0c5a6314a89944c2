/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `rules show`: the stored sets. */
#include "rules.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

static void since(const struct store_rules *r, char out[32])
{
	cl_format_time(r->created_at / 1000, out);
}

static int show_one(
	const struct cl_ctx *c, const struct store_rules *r, const struct rules_scope *s)
{
	cleanup_free char *name = work_level_name(s->of.level, s->of.subject), *text = NULL;
	char at[32];
	json_t *j;

	if (!r->rules) {
		if (c->json)
			cl_take_json(json_null());
		else
			(void)printf("%s: none\n", name);
		return 1;
	}
	if (c->json) {
		cl_take_json(store_rules_json(r));
		return 0;
	}
	since(r, at);
	(void)printf("%s: version %lld, since %s by %s\n", name, (long long)r->version, at,
		r->created_by);
	j = json_loads(r->rules, 0, NULL);
	text = j ? json_dumps(j, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
	json_decref(j);
	(void)printf("%s\n", text ? text : r->rules);
	return 0;
}

struct listing {
	struct cl_ctx *c;
	const struct rules_scope *scope;
	json_t *list; /* or NULL: */
	struct cl_table table;
};

static int add_row(const struct store_rules *r, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	const struct store_rules_of of = {r->level, r->subject};
	cleanup_rules struct store_rules again = STORE_RULES_INIT;
	char version[24], at[32];
	struct cl_err ignored;

	(void)e;
	if (vouch_newest(&l->scope->hub, l->scope->store, &of, 1, &again, &ignored))
		cl_warn(l->c, "%s", ignored.msg);
	if (l->list)
		return json_array_append_new(l->list, store_rules_json(r));
	(void)snprintf(version, sizeof(version), "%lld", (long long)r->version);
	since(r, at);
	cl_table_add(&l->table, r->level);
	cl_table_add(&l->table, r->subject);
	cl_table_add(&l->table, version);
	cl_table_add(&l->table, at);
	cl_table_add(&l->table, r->created_by);
	cl_table_add(&l->table, r->rules);
	return 0;
}

static int show_all(struct cl_ctx *c, const struct rules_scope *s, struct cl_err *e)
{
	static const char *const heads[] = {"LEVEL", "SUBJECT", "VERSION", "SINCE", "BY", "RULES"};
	struct listing l = {.c = c, .scope = s, .list = c->json ? json_array() : NULL};
	int rc;

	cl_table_init(&l.table, CL_ARRAY_LEN(heads));
	for (size_t i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&l.table, heads[i]);
	rc = store_rules_each(s->store, add_row, &l, e);
	if (!rc && l.list)
		cl_take_json(json_incref(l.list));
	else if (!rc)
		cl_table_print(&l.table, stdout);
	json_decref(l.list);
	cl_table_release(&l.table);
	return rc;
}

int egress_rules_show(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_rules_scope struct rules_scope s = RULES_SCOPE_INIT;
	cleanup_rules struct store_rules r = STORE_RULES_INIT;

	if (rules_scope_open(c, STORE_RO, false, false, &s, e))
		return -1;
	if (!s.of.subject)
		return show_all(c, &s, e);
	if (vouch_newest(&s.hub, s.store, &s.of, 1, &r, e))
		return -1;
	return show_one(c, &r, &s);
}
