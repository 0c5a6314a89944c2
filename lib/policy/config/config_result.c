/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions to a configuration that was read, its JSON and its end. */
#include "base/credpat.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/config/config_internal.h"

#include <stdlib.h>
#include <string.h>

static void executor_release(struct cfg_executor *x)
{
	char *const owned[] = {x->id, x->kind, x->driver, x->disabled_reason, x->disabled_fix,
		x->key, x->runtime, x->oci_runtime, x->image, x->network, x->selinux_label,
		x->address_pool};

	for (size_t i = 0; i < CL_ARRAY_LEN(owned); i++)
		free(owned[i]);
	cl_strv_release(&x->allow_hosts);
	cl_strv_release(&x->extra_args);
	eg_auth_release(&x->egress.auth);
	json_decref(x->labels);
}

void cfg_release(struct cfg *c)
{
	for (size_t i = 0; i < c->nexecutors; i++)
		executor_release(&c->executors[i]);
	for (size_t i = 0; i < c->nvalues; i++) {
		free(c->values[i].path);
		json_decref(c->values[i].value);
	}
	for (size_t i = 0; i < c->nissues; i++) {
		free(c->issues[i].key);
		free(c->issues[i].msg);
		free(c->issues[i].fix);
	}
	free(c->executors);
	free(c->values);
	free(c->issues);
	free(c->file);
	free(c->key_file);
	cl_strv_release(&c->refused);
	ip_policy_release(&c->image_policy);
	*c = CFG_INIT;
}

int cfg_first_error(const struct cfg *c, struct cl_err *e)
{
	for (size_t i = 0; i < c->nissues; i++) {
		const struct cfg_issue *s = &c->issues[i];

		if (s->severity != CFG_ERROR)
			continue;
		(void)cl_fail(e, CL_ECONFIG, "%s: %s", s->key, s->msg);
		if (s->fix)
			(void)cl_fix(e, "%s", s->fix);
		return cl_at(e, c->file, s->line, s->column);
	}
	return 0;
}

bool cfg_has_errors(const struct cfg *c)
{
	for (size_t i = 0; i < c->nissues; i++)
		if (c->issues[i].severity == CFG_ERROR)
			return true;
	return false;
}

/* The only id that starts so, else the nearest one. */
static const char *meant(const char *id, const char *const *ids, size_t n)
{
	const char *found = NULL;

	for (size_t i = 0; *id && i < n; i++) {
		if (!cl_starts(ids[i], id))
			continue;
		if (found)
			return cl_nearest(id, ids, n);
		found = ids[i];
	}
	return found ? found : cl_nearest(id, ids, n);
}

int cfg_name_executors(const char *id, const char *const *ids, size_t n, struct cl_err *e)
{
	const char *near = id && *id ? meant(id, ids, n) : NULL;
	cleanup_free char *all = cl_join(ids, n, ", ");

	if (near)
		(void)cl_fix(e, "did you mean '%s'?", near);
	else if (n)
		(void)cl_fix(e, "there are: %s", all);
	else
		(void)cl_fix(e, "turn one on in the hub's configuration");
	return cl_constraint(e, "executor");
}

int cfg_no_executor(const char *id, const char *const *ids, size_t n, struct cl_err *e)
{
	char echo[CP_ECHO];

	cp_echo(id, echo);
	(void)cl_fail(e, CL_ENOTFOUND, "there is no executor '%s'", echo);
	return cfg_name_executors(id, ids, n, e);
}

/* The caller's word is bad input; that there is none at all is the configuration's. */
static int no_executor(const struct cfg *c, const char *id, struct cl_err *e)
{
	cleanup_free const char **ids = cl_calloc(c->nexecutors + 1, sizeof(*ids));
	char echo[CP_ECHO];

	for (size_t i = 0; i < c->nexecutors; i++)
		ids[i] = c->executors[i].id;
	cp_echo(id ? id : "", echo);
	if (id)
		(void)cl_fail(e, CL_ENOTFOUND, "%s configures no executor '%s'", c->file, echo);
	else
		(void)cl_fail(e, CL_ECONFIG, "%s configures no executor", c->file);
	(void)cfg_name_executors(id, ids, c->nexecutors, e);
	return c->nexecutors ? -1 : cl_fix(e, "turn executors.container on in %s", c->file);
}

static int refuse_executor(const struct cfg *c, const struct cfg_executor *x, struct cl_err *e)
{
	(void)cl_at(e, c->file, x->line, x->column);
	return cl_constraint(e, "executor");
}

int cfg_executor_find(
	const struct cfg *c, const char *id, const struct cfg_executor **out, struct cl_err *e)
{
	const struct cfg_executor *x = NULL;

	*out = NULL;
	for (size_t i = 0; i < c->nexecutors && !x; i++)
		if (id ? !strcmp(c->executors[i].id, id) : !c->executors[i].row->named_only)
			x = &c->executors[i];
	if (!x)
		return no_executor(c, id, e);
	if (!x->disabled_reason) {
		*out = x;
		return 0;
	}
	(void)cl_fail(e, CL_ECONFIG, "the executor '%s' is out of service: %s", x->id,
		x->disabled_reason);
	(void)cl_fix(e, "%s", x->disabled_fix ? x->disabled_fix : "cloop hub config check");
	return refuse_executor(c, x, e);
}

int cfg_executor(
	const struct cfg *c, const char *id, const struct cfg_executor **out, struct cl_err *e)
{
	const struct cfg_executor *x;

	if (cfg_executor_find(c, id, out, e))
		return -1;
	x = *out;
	if (x->enabled)
		return 0;
	*out = NULL;
	(void)cl_fail(e, CL_ECONFIG, "the executor '%s' is off", x->id);
	(void)cl_fix(e, "set %s.enabled: true in %s", x->key, c->file);
	return refuse_executor(c, x, e);
}

int cfg_feature(const struct cfg *c, const char *feature, struct cl_err *e)
{
	if (!cl_strv_has(&c->refused, feature))
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL, "%s asks for '%s', which this release does not have", c->file,
		feature);
	return cl_fix(e, "turn it off, or use a release that has it");
}

static json_t *executors_json(const struct cfg *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->nexecutors; i++) {
		const struct cfg_executor *x = &c->executors[i];
		bool up = x->enabled && !x->disabled_reason;

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:b, s:s?}", "id", x->id, "key", x->key,
				      "enabled", x->enabled, "in_service", up, "reason",
				      x->disabled_reason));
	}
	return list;
}

json_t *cfg_json(const struct cfg *c)
{
	json_t *o = json_object(), *values = json_object(), *refused = json_array();

	for (size_t i = 0; i < c->nvalues; i++) {
		const struct cfg_value *v = &c->values[i];
		cleanup_free char *from =
			v->line ? cl_asprintf("%s:%u", c->file, v->line) : cl_strdup("default");
		json_t *one = json_pack("{s:O?, s:s, s:b, s:b}", "value", v->value, "source", from,
			"built", cfg_built(v->key->feature), "rejected", v->rejected);

		(void)json_object_set_new(values, v->path, one);
	}
	for (size_t i = 0; i < c->refused.n; i++)
		(void)json_array_append_new(refused, json_string(c->refused.v[i]));
	(void)json_object_set_new(o, "file", json_string(c->file));
	(void)json_object_set_new(o, "values", values);
	(void)json_object_set_new(o, "executors", executors_json(c));
	(void)json_object_set_new(o, "not_in_this_release", refused);
	return o;
}
