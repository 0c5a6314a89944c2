/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox_cmd.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* A row of the table: nothing is printed for an empty value. */
static void row(struct cl_table *t, const char *name, const char *value)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	if (!value || !*value)
		return;
	/* The table prints bytes as they are. */
	for (const unsigned char *p = (const unsigned char *)value; *p; p++)
		cl_buf_addc(&b, (char)(*p < 0x20 || *p == 0x7f ? '?' : *p));
	cl_table_add(t, name);
	cl_table_add(t, b.p);
}

static void rows(struct cl_table *t, const char *name, const struct cl_strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		row(t, i ? "" : name, v->v[i]);
}

static void joined(struct cl_table *t, const char *name, const struct cl_strv *v)
{
	cleanup_free char *text = cl_join((const char *const *)v->v, v->n, ", ");

	row(t, name, text);
}

static void resource(struct cl_table *t, bool has, enum sb_resource r, const struct sb_limits *l)
{
	char text[40];

	if (!has)
		return;
	sb_amount(r, l->v[r], text);
	row(t, sb_resource_name(r), l->v[r] ? text : "no limit of its own");
}

static void mounts(struct cl_table *t, const struct sb_spec *s)
{
	for (size_t i = 0; i < s->nmounts; i++) {
		cleanup_free char *text = cl_asprintf("%s -> %s%s", s->mounts[i].source,
			s->mounts[i].target, s->mounts[i].read_only ? " (read-only)" : "");

		row(t, i ? "" : "mounts", text);
	}
}

static void needs(struct cl_table *t, const struct sb_spec *s)
{
	struct sb_need need[SB_NEEDS_MAX];
	size_t n = sb_needs(s, need);

	for (size_t i = 0; i < n; i++) {
		cleanup_free char *text = cl_asprintf("%s%s%s (%s)", need[i].constraint,
			need[i].value ? " " : "", need[i].value ? need[i].value : "", need[i].key);

		row(t, i ? "" : "requires", text);
	}
}

static const char *network_words(enum sb_net n)
{
	static const char *const words[] = {
		[SB_NET_UNTOUCHED] = "the executor's, untouched",
		[SB_NET_OFF] = "none",
		[SB_NET_PUBLIC] = "the executor's, narrowed to the public Internet",
		[SB_NET_GRANT] = "the executor's, with a proxy session under the grant",
		[SB_NET_GRANT_PUBLIC] = "narrowed to the public Internet, and a proxy session",
	};

	return words[n];
}

static void as_text(const struct sbx_target *target)
{
	const struct sb_spec *s = &target->spec;
	char hash[65], setup[65];
	struct sb_limits l;
	struct cl_table t;

	sb_limits_of(s, &l);
	sb_hash(s, hash);
	sb_setup_hash(s, setup);
	cl_table_init(&t, 2);
	row(&t, "file", target->found ? target->name : "none: the executor's defaults apply");
	row(&t, "image", s->image ? s->image : "the executor's");
	rows(&t, "setup", &s->setup);
	row(&t, "env", !s->has_env ? "passed through" : s->env.n ? NULL : "nothing is forwarded");
	joined(&t, "env", &s->env);
	resource(&t, s->has_cpu, SB_CPU, &l);
	resource(&t, s->has_memory, SB_MEMORY, &l);
	resource(&t, s->has_disk, SB_DISK, &l);
	resource(&t, s->has_pids, SB_PIDS, &l);
	row(&t, "network", network_words(sb_network(s)));
	row(&t, "grant", s->network);
	joined(&t, "devices", &s->devices);
	joined(&t, "interfaces", &s->interfaces);
	mounts(&t, s);
	needs(&t, s);
	row(&t, "sha256", hash);
	row(&t, "setup sha256", setup);
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

static json_t *needs_json(const struct sb_spec *s)
{
	struct sb_need need[SB_NEEDS_MAX];
	size_t n = sb_needs(s, need);
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *j = json_pack(
			"{s:s, s:s}", "constraint", need[i].constraint, "key", need[i].key);

		if (need[i].value)
			(void)json_object_set_new(j, "value", json_string(need[i].value));
		(void)json_array_append_new(a, j);
	}
	return a;
}

/* Clamps are the notes that lowered something; the rest are warnings. */
static void split_notes(const struct sb_spec *s, json_t **clamps, json_t **warnings)
{
	json_t *all = sb_notes_json(s), *v;
	size_t i;

	*clamps = json_array();
	*warnings = json_array();
	json_array_foreach (all, i, v) {
		(void)json_array_append(s->notes[i].asked ? *clamps : *warnings, v);
	}
	json_decref(all);
}

static json_t *name_json(const char *name)
{
	json_t *j = json_string(name);

	return j ? j : json_string("(not UTF-8)");
}

static void as_json(const struct sbx_target *t)
{
	const struct sb_spec *s = &t->spec;
	char hash[65], setup[65];
	json_t *j, *clamps, *warnings;
	struct sb_limits l;

	sb_limits_of(s, &l);
	sb_hash(s, hash);
	sb_setup_hash(s, setup);
	split_notes(s, &clamps, &warnings);
	j = json_pack("{s:o, s:b, s:b, s:o, s:s, s:o, s:o, s:o}", "file", name_json(t->name),
		"found", t->found, "asks_nothing", sb_asks_nothing(s), "spec", sb_json(s),
		"network", sb_net_name(sb_network(s)), "requirements", needs_json(s), "clamps",
		clamps, "warnings", warnings);
	(void)json_object_set_new(j, "limits",
		json_pack("{s:I, s:I, s:I, s:I}", "cpu_milli", (json_int_t)l.v[SB_CPU], "memory_mb",
			(json_int_t)l.v[SB_MEMORY], "disk_mb", (json_int_t)l.v[SB_DISK], "pids",
			(json_int_t)l.v[SB_PIDS]));
	(void)json_object_set_new(j, "sandbox_spec_scheme", json_integer(SB_SPEC_SCHEME));
	(void)json_object_set_new(j, "sandbox_spec_sha256", json_string(hash));
	(void)json_object_set_new(
		j, "sandbox_setup_sha256", *setup ? json_string(setup) : json_null());
	(void)json_object_set_new(
		j, "sandbox_image_requested", s->image ? json_string(s->image) : json_null());
	cl_take_json(j);
}

static void warn(const struct cl_ctx *c, const struct sbx_target *t)
{
	for (size_t i = 0; i < t->spec.nnotes; i++) {
		const struct sb_note *n = &t->spec.notes[i];

		cl_warn(c, "%s:%u:%u: %s", t->name, n->line, n->column, n->text);
	}
}

int sbx_resolve(struct cl_ctx *c, struct cl_err *e)
{
	const char *project = cl_str(c, "project"), *operand = cl_operand(c, 0);
	struct sbx_target t = SBX_TARGET_INIT;
	int rc;

	if (project && operand)
		return cl_usage(c, e, "give -p %s or %s, not both", project, operand);
	rc = sbx_load(project ? project : operand ? operand : ".", &t, e);
	if (t.invalid)
		rc = -1;
	if (!rc && c->json)
		as_json(&t);
	if (!rc && !c->json) {
		as_text(&t);
		warn(c, &t);
	}
	sbx_target_release(&t);
	return rc;
}
