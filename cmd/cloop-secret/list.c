/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

static json_t *as_json(const struct store_secret *r)
{
	json_t *o = store_secret_json(r);
	char print[SEC_FINGERPRINT];

	secret_print_of(r, print);
	(void)json_object_set_new(o, "fingerprint", json_string(print));
	return o;
}

static int one_json(const struct store_secret *r, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	cl_take_json(as_json(r));
	return 0;
}

static int one_row(const struct store_secret *r, void *arg, struct cl_err *e)
{
	struct cl_table *t = arg;
	char when[32], print[SEC_FINGERPRINT];

	(void)e;
	cl_format_time(r->created_at / 1000, when);
	secret_print_of(r, print);
	cl_table_add(t, r->name);
	cl_table_add(t, r->kind);
	cl_table_add(t, r->id);
	cl_table_add(t, print);
	cl_table_add(t, *r->owner ? r->owner : "shared");
	cl_table_add(t, when);
	return 0;
}

int cmd_secret_list(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const heads[] = {
		"NAME", "KIND", "ID", "FINGERPRINT", "OWNER", "CREATED"};
	cleanup_keyed struct keyed k = KEYED_INIT;
	struct cl_table t;
	int rc;

	if (keyed_without(c, STORE_RO, &k, e))
		return -1;
	if (c->json)
		return store_secret_each(k.store, one_json, NULL, e);
	cl_table_init(&t, CL_ARRAY_LEN(heads));
	for (size_t i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&t, heads[i]);
	rc = store_secret_each(k.store, one_row, &t, e);
	if (!rc)
		cl_table_print(&t, stdout);
	cl_table_release(&t);
	return rc;
}

int cmd_secret_show(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_secret_row struct store_secret r = STORE_SECRET_INIT;
	char when[32], print[SEC_FINGERPRINT];

	if (keyed_without(c, STORE_RO, &k, e) || secret_find(&k, cl_operand(c, 0), &r, e))
		return -1;
	if (c->json) {
		cl_take_json(as_json(&r));
		return 0;
	}
	cl_format_time(r.created_at / 1000, when);
	secret_print_of(&r, print);
	(void)printf("%s (%s)\n  id:          %s\n  fingerprint: %s\n  owner:       %s\n"
		     "  created:     %s by %s\n  sealed:      under %s\n",
		r.name, r.kind, r.id, print, *r.owner ? r.owner : "shared", when, r.created_by,
		r.key_id);
	if (strcmp(r.metadata, "{}") != 0)
		(void)printf("  metadata:    %s\n", r.metadata);
	return 0;
}

static int one_name(const struct store_secret *r, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	(void)printf("%s\n", r->name);
	return 0;
}

static int one_grant(const struct store_grant *g, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	(void)printf("%s\n", g->id);
	return 0;
}

/* What shell completion asks for: names that exist, one a line, and silence otherwise. */
int cmd_secret_names(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	struct store_grant_filter f = {0};
	const char *kind = cl_operand(c, 0);
	struct cl_err ignored;

	if (strcmp(kind, "secret") != 0 && strcmp(kind, "grant") != 0)
		return cl_usage(c, e, "'%s' is neither secret nor grant", kind);
	if (keyed_without(c, STORE_RO, &k, &ignored))
		return 0;
	f.active_at = k.now;
	if (*kind == 's')
		(void)store_secret_each(k.store, one_name, NULL, &ignored);
	else
		(void)store_grant_each(k.store, &f, one_grant, NULL, &ignored);
	return 0;
}
