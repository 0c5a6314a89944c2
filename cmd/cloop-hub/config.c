/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hub.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/ctx.h"

#include <string.h>
#include <unistd.h>

/* ---- check ---- */

static void issue_text(const struct cfg *c, const struct cfg_issue *s)
{
	(void)fprintf(stderr, "%s:%u:%u: %s: %s: %s\n", c->file, s->line, s->column,
		s->severity == CFG_ERROR ? "error" : "warning", s->key, s->msg);
	if (s->fix)
		(void)fprintf(stderr, "  fix: %s\n", s->fix);
}

static json_t *issue_json(const struct cfg_issue *s)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:s, s:s?}", "severity",
		s->severity == CFG_ERROR ? "error" : "warning", "line", (int)s->line, "column",
		(int)s->column, "key", s->key, "message", s->msg, "remediation", s->fix);
}

static int verdict(const struct cl_ctx *ctx, const struct cfg *c, struct cl_err *e)
{
	json_t *issues = json_array();
	size_t errors = 0;

	for (size_t i = 0; i < c->nissues; i++) {
		errors += c->issues[i].severity == CFG_ERROR;
		(void)json_array_append_new(issues, issue_json(&c->issues[i]));
		if (!ctx->json)
			issue_text(c, &c->issues[i]);
	}
	if (ctx->json)
		cl_take_json(json_pack("{s:s, s:b, s:O, s:b}", "file", c->file, "ok", !errors,
			"issues", issues, "more", c->more_issues));
	else if (!errors)
		(void)printf("%s: right\n", c->file);
	json_decref(issues);
	if (!errors)
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "%s has %zu%s error%s", c->file, errors,
		c->more_issues ? " or more" : "", errors == 1 ? "" : "s");
	return cl_fix(e, "mend %s above, then 'cloop hub config check' again",
		errors == 1 ? "what is named" : "each that is named");
}

/* A file of anybody's: only read, never trusted. */
static int load(const char *path, struct cl_doc *d, struct cfg *c, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (cl_read_file(path, 1 << 20, &text, e) ||
		cl_doc_parse(d, CL_DOC_YAML, path, text.p, text.len, NULL, e)) {
		if (e->code == CL_EDATA)
			e->code = CL_ECONFIG;
		return -1;
	}
	return cfg_read(d, c, e);
}

int cmd_hub_config_check(struct cl_ctx *ctx, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	cleanup_hub struct hub h = HUB_INIT;
	const char *file = cl_operand(ctx, 0);

	if (file ? load(file, &d, &c, e)
		 : hub_from_ctx(ctx, &h, e) || hub_config(&h, geteuid(), &d, &c, e))
		return -1;
	return verdict(ctx, &c, e);
}

/* ---- show ---- */

/* The key itself, or one below it. */
static bool below(const char *path, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(path, key, len) && (!path[len] || path[len] == '.' || path[len] == '[');
}

static char *shown(const struct cfg_value *v)
{
	if (!v->value)
		return cl_strdup("-");
	if (json_is_string(v->value) && *json_string_value(v->value))
		return cl_strdup(json_string_value(v->value));
	return cl_json_text(v->value);
}

static void show_text(const struct cfg *c, const char *key)
{
	struct cl_table t;

	(void)printf("# %s\n", c->file);
	cl_table_init(&t, 3);
	for (size_t i = 0; i < c->nvalues; i++) {
		const struct cfg_value *v = &c->values[i];
		cleanup_free char *value = shown(v), *from = NULL;

		if (key && !below(v->path, key))
			continue;
		from = v->line ? cl_asprintf("line %u%s%s", v->line,
					 v->rejected ? ", but its value is bad" : "",
					 cfg_built(v->key->feature) ? "" : ", not in this release")
			       : cl_strdup("default");
		cl_table_add(&t, v->path);
		cl_table_add(&t, value);
		cl_table_add(&t, from);
	}
	cl_table_print(&t, stdout);
	cl_table_release(&t);
	for (size_t i = 0; !key && i < c->nexecutors; i++)
		if (c->executors[i].disabled_reason)
			(void)printf("\nThe executor '%s' is out of service: %s\n",
				c->executors[i].id, c->executors[i].disabled_reason);
}

static void show_json(const struct cfg *c, const char *key)
{
	json_t *o = cfg_json(c), *values = json_object_get(o, "values"), *v;
	const char *path;
	void *next;

	json_object_foreach_safe (values, next, path, v)
		if (key && !below(path, key))
			(void)json_object_del(values, path);
	cl_take_json(o);
}

static int no_key(const char *key, struct cl_err *e)
{
	const char *names[400], *near;
	size_t n;
	const struct cfg_key *k = cfg_keys(&n);

	for (size_t i = 0; i < n && i < CL_ARRAY_LEN(names); i++)
		names[i] = k[i].path;
	near = cl_nearest(key, names, n);
	(void)cl_fail(e, CL_EUSAGE, "there is no key '%s'", key);
	if (near)
		return cl_fix(e, "did you mean '%s'?", near);
	return cl_fix(e, "'cloop hub config keys' lists every key");
}

int cmd_hub_config_show(struct cl_ctx *ctx, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	cleanup_hub struct hub h = HUB_INIT;
	const char *key = cl_operand(ctx, 0);

	if (key && !cfg_key_find(key))
		return no_key(key, e);
	if (hub_from_ctx(ctx, &h, e) || hub_config(&h, geteuid(), &d, &c, e))
		return -1;
	if (cfg_has_errors(&c))
		cl_warn(ctx, "%s has errors; see 'cloop hub config check'", c.file);
	if (ctx->json)
		show_json(&c, key);
	else
		show_text(&c, key);
	return 0;
}

/* ---- keys ---- */

int cmd_hub_config_keys(struct cl_ctx *ctx, struct cl_err *e)
{
	size_t n;
	const struct cfg_key *k = cfg_keys(&n);
	struct cl_table t;

	(void)e;
	cl_table_init(&t, 4);
	for (size_t i = 0; i < n; i++) {
		if (ctx->json) {
			cl_take_json(cfg_key_json(&k[i]));
			continue;
		}
		cl_table_add(&t, k[i].path);
		cl_table_add(&t, cfg_type_name(k[i].type));
		cl_table_add(&t, k[i].def ? k[i].def : "-");
		cl_table_add(&t, cfg_built(k[i].feature) ? k[i].help : "(not in this release)");
	}
	cl_table_print(&t, stdout);
	cl_table_release(&t);
	return 0;
}
