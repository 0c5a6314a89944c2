/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON form of a stack. */
#include "policy/egress/egress_stack.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void eg_stack_release(struct eg_stack *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		eg_auth_release(&s->v[i].auth);
	}
	free(s->v);
	*s = EG_STACK_INIT;
}

struct eg_auth *eg_stack_add(struct eg_stack *s, const char *name, int64_t version)
{
	s->v = cl_grow(s->v, &s->cap, s->n + 1, sizeof(*s->v));
	s->v[s->n] = (struct eg_level){.name = name ? cl_strdup(name) : NULL, .version = version};
	return &s->v[s->n++].auth;
}

/* It is printed to terminals and reports, and may be somebody else's. */
static bool is_name(const char *s)
{
	cleanup_free char *masked = cl_strdup(s);
	size_t len = strlen(s);

	cl_mask(masked, "");
	return len && len <= EG_MAX_LEVEL && !strcmp(masked, s);
}

static int read_name(
	struct cl_doc *d, json_t *obj, const struct eg_stack *s, const char **out, struct cl_err *e)
{
	if (cl_doc_str(d, obj, "level", out, e))
		return -1;
	if (!*out || !is_name(*out)) {
		(void)cl_doc_fail(d, obj, "level", 0, CL_EDATA, e,
			"level %zu has no name that answers could give", s->n);
		return cl_fix(
			e, "name it under 'level', in at most %d bytes on one line", EG_MAX_LEVEL);
	}
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->v[i].name, *out) != 0)
			continue;
		(void)cl_doc_fail(
			d, obj, "level", 0, CL_EDATA, e, "level '%.200s' is there twice", *out);
		return cl_fix(e, "give each level a name of its own");
	}
	return 0;
}

static int read_level(
	struct cl_doc *d, json_t *list, size_t i, struct eg_stack *out, struct cl_err *e)
{
	static const char *const known[] = {"level", "version", "policy"};
	json_t *obj = json_array_get(list, i), *policy = NULL;
	const char *name = NULL;
	int64_t version = 0;

	if (!json_is_object(obj))
		return cl_doc_fail(d, list, NULL, i, CL_EDATA, e, "a level must be an object");
	if (cl_doc_closed(d, obj, "levels", known, CL_ARRAY_LEN(known), e) ||
		read_name(d, obj, out, &name, e) ||
		cl_doc_int(d, obj, "version", 0, EG_MAX_VERSION, &version, e) ||
		cl_doc_map(d, obj, "policy", &policy, e))
		return -1;
	if (!policy) {
		(void)cl_doc_fail(
			d, list, NULL, i, CL_EDATA, e, "level '%.200s' has no 'policy'", name);
		return cl_fix(e, "write one; {} reaches nothing");
	}
	return eg_auth_read(d, policy, eg_stack_add(out, name, version), e);
}

int eg_stack_read(struct cl_doc *d, json_t *obj, struct eg_stack *out, struct cl_err *e)
{
	static const char *const known[] = {"levels"};
	json_t *list = NULL;

	if (!json_is_object(obj) || !cl_doc_has(obj, "levels")) {
		struct eg_auth *a = eg_stack_add(out, NULL, 0);

		a->max_cidrs = out->max_cidrs;
		return eg_auth_read(d, obj, a, e);
	}
	if (cl_doc_closed(d, obj, "the egress policy", known, 1, e) ||
		cl_doc_list(d, obj, "levels", &list, e))
		return -1;
	if (!json_array_size(list) || json_array_size(list) > EG_MAX_LEVELS) {
		(void)cl_doc_fail(d, obj, "levels", 0, CL_EDATA, e, "%zu levels are not 1 to %d",
			json_array_size(list), EG_MAX_LEVELS);
		return cl_fix(e, "list the levels, the outermost first");
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_level(d, list, i, out, e))
			return -1;
	return 0;
}

json_t *eg_stack_json(const struct eg_stack *s)
{
	json_t *list, *out;

	if (s->n == 1 && !s->v[0].name)
		return eg_auth_json(&s->v[0].auth);
	list = json_array();
	for (size_t i = 0; i < s->n; i++) {
		json_t *o = json_object();

		(void)json_object_set_new(o, "level", cl_json_string(s->v[i].name));
		if (s->v[i].version)
			(void)json_object_set_new(o, "version", json_integer(s->v[i].version));
		(void)json_object_set_new(o, "policy", eg_auth_json(&s->v[i].auth));
		(void)json_array_append_new(list, o);
	}
	out = json_object();
	(void)json_object_set_new(out, "levels", list);
	return out;
}
