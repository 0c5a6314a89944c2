/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The normalised form of a spec: its hash (DECISIONS S3) and its JSON. */
#include "policy/sandbox/sandbox.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void line(struct cl_buf *b, const char *key, const char *value)
{
	cl_buf_addf(b, "%s=%s\n", key, value ? value : "");
}

static void lines(struct cl_buf *b, const char *key, const struct cl_strv *v, bool sorted)
{
	cleanup_strv struct cl_strv copy = CL_STRV_INIT;

	for (size_t i = 0; i < v->n; i++)
		cl_strv_add(&copy, v->v[i]);
	if (sorted)
		cl_strv_sort(&copy);
	for (size_t i = 0; i < copy.n; i++)
		line(b, key, copy.v[i]);
}

static void flag(struct cl_buf *b, const char *key, bool v)
{
	line(b, key, v ? "true" : "false");
}

/* "4096m"; nothing when there is no limit. */
static void size(struct cl_buf *b, const char *key, int64_t mb)
{
	char text[32] = "";

	if (mb)
		(void)snprintf(text, sizeof(text), "%" PRId64 "m", mb);
	line(b, key, text);
}

static int by_target(const void *a, const void *b)
{
	const struct sb_mount *x = *(const struct sb_mount *const *)a;
	const struct sb_mount *y = *(const struct sb_mount *const *)b;

	return strcmp(x->target, y->target);
}

static void mounts(struct cl_buf *b, const struct sb_spec *s)
{
	const struct sb_mount *sorted[SB_MAX_MOUNTS] = {NULL};

	for (size_t i = 0; i < s->nmounts; i++)
		sorted[i] = &s->mounts[i];
	qsort(sorted, s->nmounts, sizeof(sorted[0]), by_target);
	for (size_t i = 0; i < s->nmounts; i++)
		cl_buf_addf(b, "mount=%s:%s:%s\n", sorted[i]->source, sorted[i]->target,
			sorted[i]->read_only ? "true" : "false");
}

/* No value can hold a line break, so lines cannot be forged. */
void sb_hash(const struct sb_spec *s, char out[65])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char text[32];

	line(&b, "image", s->image);
	lines(&b, "setup", &s->setup, false);
	lines(&b, "env", &s->env, true);
	cl_format_double(s->cpu, text);
	line(&b, "cpu", text);
	size(&b, "memory", s->memory_mb);
	cl_buf_addf(&b, "pids=%" PRId64 "\n", s->pids);
	size(&b, "disk", s->disk_mb);
	flag(&b, "git", s->git);
	line(&b, "network", s->network);
	flag(&b, "virtualized", s->virtualized);
	flag(&b, "kernel_isolated", s->kernel_isolated);
	line(&b, "egress", sb_egress_name(s->egress));
	lines(&b, "device", &s->devices, true);
	lines(&b, "interface", &s->interfaces, true);
	mounts(&b, s);
	cl_sha256_hex(b.p, b.len, out);
}

void sb_setup_hash(const struct sb_spec *s, char out[65])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	*out = '\0';
	if (!s->setup.n)
		return;
	line(&b, "image", s->image);
	lines(&b, "run", &s->setup, false);
	cl_sha256_hex(b.p, b.len, out);
}

const char *sb_egress_name(enum sb_egress e)
{
	static const char *const names[] = {
		[SB_EGRESS_UNSET] = "", [SB_EGRESS_PUBLIC] = "public", [SB_EGRESS_NONE] = "none"};

	return names[e];
}

/* Sets obj[key] and drops what is empty. */
static void set(json_t *obj, const char *key, json_t *v)
{
	bool empty = (json_is_array(v) && !json_array_size(v)) ||
		     (json_is_object(v) && !json_object_size(v));

	if (v && !empty)
		(void)json_object_set(obj, key, v);
	json_decref(v);
}

static json_t *strings(const struct cl_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, json_string(v->v[i]));
	return a;
}

static json_t *size_json(int64_t mb)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64 "%s", mb, mb ? "m" : "");
	return json_string(text);
}

static json_t *cpu_json(double cpu)
{
	/* Whole cores as written by everybody; within SB_MAX_CPU the cast is exact. */
	return cpu == (double)(int)cpu ? json_integer((int)cpu) : json_real(cpu);
}

static json_t *resources_json(const struct sb_spec *s)
{
	json_t *j = json_object();

	set(j, "cpu", s->has_cpu ? cpu_json(s->cpu) : NULL);
	set(j, "memory", s->has_memory ? size_json(s->memory_mb) : NULL);
	set(j, "disk", s->has_disk ? size_json(s->disk_mb) : NULL);
	set(j, "pids", s->has_pids ? json_integer(s->pids) : NULL);
	return j;
}

static json_t *capabilities_json(const struct sb_spec *s)
{
	json_t *j = json_object();

	set(j, "git", s->git ? json_true() : NULL);
	set(j, "network", s->network ? json_string(s->network) : NULL);
	set(j, "virtualized", s->virtualized ? json_true() : NULL);
	set(j, "kernel_isolated", s->kernel_isolated ? json_true() : NULL);
	set(j, "egress", s->egress ? json_string(sb_egress_name(s->egress)) : NULL);
	set(j, "devices", strings(&s->devices));
	set(j, "interfaces", strings(&s->interfaces));
	return j;
}

json_t *sb_json(const struct sb_spec *s)
{
	json_t *j = json_object(), *m = json_array();

	for (size_t i = 0; i < s->nmounts; i++)
		(void)json_array_append_new(
			m, json_pack("{s:s, s:s, s:b}", "source", s->mounts[i].source, "target",
				   s->mounts[i].target, "read_only", s->mounts[i].read_only));
	set(j, "image", s->image ? json_string(s->image) : NULL);
	set(j, "setup", strings(&s->setup));
	if (s->has_env)
		(void)json_object_set_new(j, "env", strings(&s->env));
	set(j, "resources", resources_json(s));
	set(j, "capabilities", capabilities_json(s));
	set(j, "mounts", m);
	return j;
}

json_t *sb_notes_json(const struct sb_spec *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->nnotes; i++) {
		const struct sb_note *n = &s->notes[i];
		json_t *j = json_pack(
			"{s:s, s:s, s:s}", "rule", n->rule, "key", n->key, "message", n->text);

		set(j, "remediation", n->fix ? json_string(n->fix) : NULL);
		set(j, "requested", n->asked ? json_string(n->asked) : NULL);
		set(j, "effective", n->given ? json_string(n->given) : NULL);
		set(j, "line", n->line ? json_integer(n->line) : NULL);
		set(j, "column", n->column ? json_integer(n->column) : NULL);
		(void)json_array_append_new(a, j);
	}
	return a;
}
