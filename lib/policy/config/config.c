/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a whole config.yaml means (DECISIONS D9). */
#include "policy/config/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/config/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough to mend a file by; a file of noise must not become a report of noise. */
#define MAX_ISSUES    100
#define MAX_EXECUTORS 64
#define MAX_MAPS      256

/* Keys and messages quote the file. */
static char *masked(const char *text)
{
	char *copy = cl_strdup(text);

	cl_mask(copy, "");
	return copy;
}

void cfg_note(struct cfg *c, enum cfg_severity severity, const char *key, unsigned line,
	unsigned column, const char *msg, const char *fix)
{
	if (c->nissues == MAX_ISSUES) {
		c->more_issues = true;
		return;
	}
	c->issues = cl_grow(c->issues, &c->issues_cap, c->nissues + 1, sizeof(*c->issues));
	c->issues[c->nissues++] = (struct cfg_issue){
		.severity = severity,
		.line = line,
		.column = column,
		.key = masked(key),
		.msg = masked(msg),
		.fix = fix && *fix ? masked(fix) : NULL,
	};
}

static void note_err(struct cfg *c, const char *key, const struct cl_err *e)
{
	cfg_note(c, CFG_ERROR, key, e->line, e->column, e->msg, e->fix);
}

void cfg_disable(struct cfg_executor *x, const char *reason, const char *fix)
{
	if (x->disabled_reason)
		return;
	x->disabled_reason = cl_strdup(reason);
	x->disabled_fix = fix && *fix ? cl_strdup(fix) : NULL;
}

/* What a flaw in the value of `k` takes out of service. */
static void harm(
	struct cfg_reader *r, enum cfg_harm how, const char *path, const char *msg, const char *fix)
{
	cleanup_free char *why = cl_asprintf("%s: %s", path, msg);

	if (how == CFG_HARM_EXECUTOR && r->executor)
		cfg_disable(r->executor, why, fix);
	if (how != CFG_HARM_ALL || r->stop)
		return;
	r->stop = cl_steal(&why);
	r->stop_fix = cl_strdup(fix);
}

static struct cfg_value *add_value(struct cfg *c, const char *path, const struct cfg_key *k)
{
	struct cfg_value *v;

	c->values = cl_grow(c->values, &c->values_cap, c->nvalues + 1, sizeof(*c->values));
	v = &c->values[c->nvalues++];
	*v = (struct cfg_value){.path = cl_strdup(path), .key = k};
	return v;
}

const struct cfg_value *cfg_value(const struct cfg *c, const char *path)
{
	for (size_t i = 0; i < c->nvalues; i++)
		if (!strcmp(c->values[i].path, path))
			return &c->values[i];
	return NULL;
}

/* ---- walking the document ---- */

static const struct cfg_key *child(const struct cfg_key *map, const char *key)
{
	cleanup_free char *path = NULL;
	const struct cfg_key *k;

	/* The table's own notation is no key of anybody's. */
	if (strpbrk(key, ".[]"))
		return NULL;
	if (!map)
		path = cl_strdup(key);
	else
		path = cl_asprintf("%s%s.%s", map->path, map->type == CFG_MAPS ? "[]" : "", key);
	k = cfg_key_find(path);
	return k && !strcmp(k->path, path) ? k : NULL;
}

static const char *last_word(const struct cfg_key *k)
{
	const char *dot = strrchr(k->path, '.');

	return dot ? dot + 1 : k->path;
}

/* How far a key is from the mapping that somebody wrote in; the least is what was meant. */
static unsigned farness(const struct cfg_key *map, const struct cfg_key *k)
{
	size_t len = map ? strlen(map->path) : 0;
	bool below = !len || (!strncmp(k->path, map->path, len) && strchr(".[", k->path[len]));
	unsigned far = below ? 0 : 1000;

	for (const char *p = k->path; *p; p++)
		far += *p == '.';
	return far + (cfg_built(k->feature) ? 0 : 100);
}

/* What was meant by a key that is not there: a sibling, else that word elsewhere. */
static void suggest(const struct cfg_key *map, const char *key, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT, words = CL_STRV_INIT;
	const struct cfg_key *best = NULL;
	size_t n;
	const struct cfg_key *all = cfg_keys(&n);
	const char *near;

	for (size_t i = 0; i < n; i++) {
		/* Nobody mistypes a key of what is not there. */
		if (cfg_built(all[i].feature) || !strcmp(last_word(&all[i]), key))
			cl_strv_add(&words, last_word(&all[i]));
		if (child(map, last_word(&all[i])) == &all[i])
			cl_strv_add(&names, last_word(&all[i]));
	}
	near = cl_nearest(key, (const char *const *)names.v, names.n);
	if (near) {
		(void)cl_fix(e, "did you mean '%s'?", near);
		return;
	}
	near = cl_nearest(key, (const char *const *)words.v, words.n);
	for (size_t i = 0; near && i < n; i++)
		if (!strcmp(last_word(&all[i]), near) &&
			(!best || farness(map, &all[i]) < farness(map, best)))
			best = &all[i];
	if (best)
		(void)cl_fix(e, "did you mean '%s'?", best->path);
	else
		(void)cl_fix(e, "'cloop hub config keys' lists every key");
}

static void unknown(struct cfg_reader *r, const json_t *obj, const struct cfg_key *map,
	const char *path, const char *key)
{
	struct cl_err e;

	(void)cl_doc_fail(r->d, obj, key, 0, CL_ECONFIG, &e, "there is no such key");
	/* The place of the key, not of its value. */
	cl_doc_where(r->d, obj, key, 0, true, &e.line, &e.column);
	suggest(map, key, &e);
	note_err(r->c, path, &e);
	harm(r, CFG_HARM_EXECUTOR, path, e.msg, e.fix);
}

static void read_map(
	struct cfg_reader *r, json_t *obj, const struct cfg_key *map, const char *path);

static void read_leaf(struct cfg_reader *r, const json_t *obj, const char *key,
	const struct cfg_key *k, const char *path)
{
	struct cl_err e;
	json_t *v = cfg_value_read(r->d, obj, key, k, &e);
	struct cfg_value *to = add_value(r->c, path, k);

	cl_doc_where(r->d, obj, key, 0, true, &to->line, &to->column);
	to->value = v;
	if (v)
		return;
	to->rejected = true;
	to->value = cfg_value_default(k, k->bad ? k->bad : k->def);
	note_err(r->c, path, &e);
	harm(r, k->harm, path, e.msg, e.fix);
}

#define SHAPE_FIX "write 'KEY: VALUE' lines below it; cloop-config.yaml(5) shows them"

/* A mapping or a list that is something else: its whole meaning is lost. */
static void misshapen(struct cfg_reader *r, const json_t *obj, const char *key,
	const struct cfg_key *k, const char *path, const char *want)
{
	struct cl_err e;

	(void)cl_doc_fail(r->d, obj, key, 0, CL_ECONFIG, &e, "'%s' is no %s", key, want);
	(void)cl_fix(&e, SHAPE_FIX);
	note_err(r->c, path, &e);
	harm(r, k->harm == CFG_HARM_ALL ? CFG_HARM_ALL : CFG_HARM_EXECUTOR, path, e.msg, e.fix);
}

static struct cfg_executor *new_executor(struct cfg *c, const char *path)
{
	struct cfg_executor *x = &c->executors[c->nexecutors++];

	*x = (struct cfg_executor){.key = cl_strdup(path)};
	return x;
}

/* executors.container and its like: one mapping, or a list of them. */
static void read_executors(struct cfg_reader *r, const json_t *obj, const char *key,
	const struct cfg_key *k, const char *path)
{
	json_t *v = json_object_get(obj, key);
	bool list = json_is_array(v);
	size_t n = list ? json_array_size(v) : 1;

	if (!list && !json_is_object(v)) {
		misshapen(r, obj, key, k, path, "mapping and no list of mappings");
		return;
	}
	if (r->c->nexecutors + n > MAX_EXECUTORS) {
		misshapen(r, obj, key, k, path, "list of 64 executors at most");
		return;
	}
	if (!r->c->executors)
		r->c->executors = cl_calloc(MAX_EXECUTORS, sizeof(*r->c->executors));
	for (size_t i = 0; i < n; i++) {
		cleanup_free char *at = list ? cl_asprintf("%s[%zu]", path, i) : cl_strdup(path);
		json_t *item = list ? json_array_get(v, i) : v;
		struct cfg_executor *x = new_executor(r->c, at);
		struct cl_err e;

		r->executor = x;
		if (!list)
			cl_doc_where(r->d, obj, key, 0, true, &x->line, &x->column);
		else
			cl_doc_where(r->d, v, NULL, i, false, &x->line, &x->column);
		if (json_is_object(item)) {
			read_map(r, item, k, at);
		} else {
			(void)cl_doc_fail(r->d, v, NULL, i, CL_ECONFIG, &e, "it is no mapping");
			(void)cl_fix(&e, SHAPE_FIX);
			note_err(r->c, at, &e);
			harm(r, CFG_HARM_EXECUTOR, at, e.msg, e.fix);
		}
		r->executor = NULL;
	}
}

static void read_maps(struct cfg_reader *r, const json_t *obj, const char *key,
	const struct cfg_key *k, const char *path)
{
	json_t *list = json_object_get(obj, key), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > MAX_MAPS) {
		misshapen(r, obj, key, k, path, "list of mappings, 256 at most");
		return;
	}
	json_array_foreach (list, i, item) {
		cleanup_free char *at = cl_asprintf("%s[%zu]", path, i);
		struct cl_err e;

		if (json_is_object(item)) {
			read_map(r, item, k, at);
			continue;
		}
		(void)cl_doc_fail(r->d, list, NULL, i, CL_ECONFIG, &e, "it is no mapping");
		(void)cl_fix(&e, SHAPE_FIX);
		note_err(r->c, at, &e);
		harm(r, CFG_HARM_EXECUTOR, at, e.msg, e.fix);
	}
}

static void read_key(struct cfg_reader *r, json_t *obj, const char *key, const struct cfg_key *k,
	const char *path)
{
	json_t *v = json_object_get(obj, key);

	/* An empty section ("limits:" and nothing below) is an absent one. */
	if (json_is_null(v))
		return;
	if (k->type == CFG_ONE_OR_MAPS)
		read_executors(r, obj, key, k, path);
	else if (k->type == CFG_MAPS)
		read_maps(r, obj, key, k, path);
	else if (k->type != CFG_MAP)
		read_leaf(r, obj, key, k, path);
	else if (json_is_object(v))
		read_map(r, v, k, path);
	else
		misshapen(r, obj, key, k, path, "mapping");
}

static void read_map(struct cfg_reader *r, json_t *obj, const struct cfg_key *map, const char *path)
{
	const char *key;
	json_t *v;

	json_object_foreach (obj, key, v) {
		cleanup_free char *at = map ? cl_asprintf("%s.%s", path, key) : cl_strdup(key);
		const struct cfg_key *k = child(map, key);

		if (k)
			read_key(r, obj, key, k, at);
		else
			unknown(r, obj, map, at, key);
	}
}

/* ---- defaults ---- */

/* Of the first n values, which the file has: no two defaults are of one path. */
static void default_value(struct cfg *c, size_t n, const struct cfg_key *k, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (c->values[i].key == k && !strcmp(c->values[i].path, path))
			return;
	add_value(c, path, k)->value = cfg_value_default(k, k->def);
}

static bool leaf(const struct cfg_key *k)
{
	return k->type != CFG_MAP && k->type != CFG_MAPS && k->type != CFG_ONE_OR_MAPS;
}

/* The kind whose section a key is in, or NULL. */
static const struct cfg_kind *section(const char *path)
{
	for (const struct cfg_kind *k = cfg_kinds(); k->section; k++) {
		size_t len = strlen(k->section);

		if (!strncmp(path, k->section, len) && strchr(".[", path[len]))
			return k;
	}
	return NULL;
}

/* Which kind each executor is; those that are only for whoever names them come last. */
static void sort_executors(struct cfg *c)
{
	struct cfg_executor *sorted =
		c->executors ? cl_calloc(MAX_EXECUTORS, sizeof(*sorted)) : NULL;
	size_t n = 0;

	for (int named = 0; named < 2; named++)
		for (size_t i = 0; i < c->nexecutors; i++) {
			struct cfg_executor *x = &c->executors[i];

			x->row = section(x->key);
			if (x->row->named_only == (named == 1))
				sorted[n++] = *x;
		}
	free(c->executors);
	c->executors = sorted;
}

/* Keys of what is built, where the file says nothing; those of executors once for each. */
static void defaults(struct cfg *c)
{
	size_t n, written = c->nvalues;
	const struct cfg_key *k = cfg_keys(&n);

	for (size_t i = 0; i < n; i++) {
		if (!leaf(&k[i]) || !cfg_built(k[i].feature) || strchr(k[i].path, '['))
			continue;
		const struct cfg_kind *of = section(k[i].path);

		if (!of)
			default_value(c, written, &k[i], k[i].path);
		for (size_t x = 0; of && x < c->nexecutors; x++) {
			cleanup_free char *path = cl_asprintf(
				"%s%s", c->executors[x].key, k[i].path + strlen(of->section));

			if (c->executors[x].row == of)
				default_value(c, written, &k[i], path);
		}
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct cfg_value *)a)->path, ((const struct cfg_value *)b)->path);
}

/* ---- features that this release does not have ---- */

static bool has_switch(const struct cfg_key *k)
{
	size_t n;
	const struct cfg_key *all = cfg_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].feature, k->feature) && cl_ends(all[i].path, ".enabled") &&
			!cl_ends(all[i].path, "egress_filter.enabled"))
			return true;
	return false;
}

/* True when a value asks for its feature: the switch is on, or there is none. */
static bool asks(const struct cfg_value *v)
{
	if (!has_switch(v->key))
		return true;
	return json_is_true(v->value) && cl_ends(v->path, ".enabled") &&
	       !cl_ends(v->path, "egress_filter.enabled");
}

static void not_built(struct cfg_reader *r, const struct cfg_value *v)
{
	cleanup_free char *msg = cl_asprintf(
		"this release does not have '%s': what needs it is refused", v->key->feature);

	if (cl_strv_has(&r->c->refused, v->key->feature))
		return;
	cl_strv_add(&r->c->refused, v->key->feature);
	cfg_note(r->c, CFG_WARNING, v->path, v->line, v->column, msg,
		"switch it off, or take it out of the file");
}

static void features(struct cfg_reader *r)
{
	for (size_t i = 0; i < r->c->nvalues; i++) {
		const struct cfg_value *v = &r->c->values[i];

		if (!cfg_built(v->key->feature) && v->line && asks(v))
			not_built(r, v);
	}
}

/* ---- the typed members ---- */

static int64_t milli(const struct cfg *c, const char *path)
{
	const struct cfg_value *v = cfg_value(c, path);

	return v && v->value ? (int64_t)(json_number_value(v->value) * 1000 + 0.5) : 0;
}

static int64_t number(const struct cfg *c, const char *path)
{
	const struct cfg_value *v = cfg_value(c, path);

	return v ? json_integer_value(v->value) : 0;
}

static int64_t megabytes(const struct cfg *c, const char *path)
{
	const struct cfg_value *v = cfg_value(c, path);
	const char *text = v ? json_string_value(v->value) : NULL;
	int64_t mb = 0;
	struct cl_err e;

	return text && !sb_size_mb(text, path, &mb, NULL, &e) ? mb : 0;
}

static void image_policy(struct cfg_reader *r)
{
	json_t *sandbox = json_object_get(r->d->root, "sandbox");
	json_t *policy = json_object_get(sandbox, "image_policy");
	size_t before = r->c->nissues;
	struct cl_err e;

	if (sandbox && !json_is_object(sandbox) && !json_is_null(sandbox)) {
		ip_policy_break(&r->c->image_policy, "sandbox is no mapping");
		return;
	}
	if (!policy || json_is_null(policy) ||
		!ip_policy_read(r->d, policy, &r->c->image_policy, &e))
		return;
	/* The walk has seen what the table knows; the policy's own rules may say more. */
	for (size_t i = 0; i < before; i++)
		if (cl_starts(r->c->issues[i].key, "sandbox.image_policy"))
			return;
	note_err(r->c, "sandbox.image_policy", &e);
}

static void fill(struct cfg_reader *r)
{
	struct cfg *c = r->c;
	const struct cfg_value *v = cfg_value(c, "secrets.key_file");

	c->limits.v[SB_CPU] = milli(c, "executors.limits.max_cpu");
	c->limits.v[SB_MEMORY] = megabytes(c, "executors.limits.max_memory");
	c->limits.v[SB_DISK] = megabytes(c, "executors.limits.max_disk");
	c->limits.v[SB_PIDS] = number(c, "executors.limits.max_pids");
	c->min_free_disk_mb = number(c, "orchestrator.min_free_disk_mb");
	c->sweep_minutes = number(c, "executors.orphan_sweep_interval_minutes");
	c->key_file = v && json_is_string(v->value) ? cl_strdup(json_string_value(v->value)) : NULL;
	c->lease_seconds = number(c, "secrets.lease_seconds");
	v = cfg_value(c, "executors.allow_host_process");
	c->allow_host_process = v && json_is_true(v->value);
	v = cfg_value(c, "executors.image_provenance");
	c->provenance_required =
		v && json_is_string(v->value) && !strcmp(json_string_value(v->value), "required");
	image_policy(r);
	for (size_t i = 0; i < c->nexecutors; i++) {
		cfg_executor_fill(c, &c->executors[i]);
		if (r->stop)
			cfg_disable(&c->executors[i], r->stop, r->stop_fix);
	}
}

static int by_line(const void *a, const void *b)
{
	const struct cfg_issue *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

int cfg_read(struct cl_doc *d, struct cfg *out, struct cl_err *e)
{
	struct cfg_reader r = {.d = d, .c = out};

	out->file = cl_strdup(d->name);
	if (d->root && !json_is_object(d->root) && !json_is_null(d->root)) {
		(void)cl_fail(e, CL_ECONFIG, "the configuration is no mapping of keys");
		(void)cl_at(e, d->name, 1, 1);
		return cl_fix(e, "start it with a key at the left margin, such as 'executors:'");
	}
	if (json_is_object(d->root))
		read_map(&r, d->root, NULL, "");
	sort_executors(out);
	features(&r);
	defaults(out);
	fill(&r);
	qsort(out->values, out->nvalues, sizeof(*out->values), by_path);
	if (out->nissues)
		qsort(out->issues, out->nissues, sizeof(*out->issues), by_line);
	free(r.stop);
	free(r.stop_fix);
	return 0;
}
