/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One executor out of the values that were read, and what is wrong with it as a whole. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/config/config_internal.h"
#include "policy/place/runtime_name.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const json_t *cfg_json_value(const struct cfg *c, const char *base, const char *name)
{
	cleanup_free char *path = cl_asprintf("%s.%s", base, name);
	const struct cfg_value *v = cfg_value(c, path);

	return v ? v->value : NULL;
}

static const char *text(const struct cfg *c, const struct cfg_executor *x, const char *name)
{
	const char *s = json_string_value(cfg_json_value(c, x->key, name));

	return s ? s : "";
}

static void strings(const struct cfg *c, const char *base, const char *name, struct cl_strv *out)
{
	const json_t *list = cfg_json_value(c, base, name);

	for (size_t i = 0; i < json_array_size(list); i++)
		cl_strv_add(out, json_string_value(json_array_get(list, i)));
}

static bool flag(const struct cfg *c, const char *base, const char *name)
{
	return json_is_true(cfg_json_value(c, base, name));
}

static const struct cfg_kind kinds[] = {
	{"executors.container", "container", "cloop-exec-container", false},
	{"executors.drivers", NULL, NULL, false},
	{"executors.local", "localprocess", "cloop-exec-local", true},
	{NULL, NULL, NULL, false},
};

const struct cfg_kind *cfg_kinds(void)
{
	return kinds;
}

/* Members that are copied as they are. */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{"runtime", offsetof(struct cfg_executor, runtime)},
	{"oci_runtime", offsetof(struct cfg_executor, oci_runtime)},
	{"image", offsetof(struct cfg_executor, image)},
	{"network", offsetof(struct cfg_executor, network)},
	{"selinux_label", offsetof(struct cfg_executor, selinux_label)},
	{"address_pool", offsetof(struct cfg_executor, address_pool)},
};

/* The index of a word among those of its row; the table and the enums agree in order. */
static int word(const struct cfg *c, const struct cfg_executor *x, const char *name)
{
	cleanup_free char *path = cl_asprintf("executors.container.%s", name);
	const struct cfg_key *k = cfg_key_find(path);
	const char *s = text(c, x, name);

	for (int i = 0; k->values[i]; i++)
		if (!strcmp(k->values[i], s))
			return i;
	return 0;
}

static void numbers(const struct cfg *c, struct cfg_executor *x)
{
	const char *memory = text(c, x, "memory");
	int64_t n;
	struct cl_err e;

	x->defaults.v[SB_CPU] =
		(int64_t)(json_number_value(cfg_json_value(c, x->key, "cpus")) * 1000 + 0.5);
	if (!sb_size_mb(memory, "memory", &n, NULL, &e))
		x->defaults.v[SB_MEMORY] = n;
	n = json_integer_value(cfg_json_value(c, x->key, "pids_limit"));
	x->defaults.v[SB_PIDS] = n ? n : SB_DEFAULT_PIDS;
	n = json_integer_value(cfg_json_value(c, x->key, "orphan_grace_period_seconds"));
	x->orphan_grace_seconds = n ? n : 600;
}

/* A range that is not written whole means the whole range, and its author hears so. */
static void note_masked(struct cfg *c, const char *path, const struct cfg_value *at,
	const char *text, const char *fix)
{
	struct pol_prefix p;
	struct cl_err e;

	if (!pol_prefix_parse(text, true, "", &p, &e) && pol_prefix_masked(text, &p, &e))
		cfg_note(c, CFG_WARNING, path, at->line, at->column, e.msg, fix ? fix : e.fix);
}

static void note_masked_ranges(struct cfg *c, const struct cfg_executor *x, const char *base)
{
	cleanup_free char *list = cl_asprintf("%s.allow_cidrs", base);
	cleanup_free char *pool = cl_asprintf("%s.address_pool", x->key);
	const struct cfg_value *v = cfg_value(c, list);

	for (size_t i = 0; i < json_array_size(v->value); i++) {
		cleanup_free char *path = cl_asprintf("%s[%zu]", list, i);

		note_masked(c, path, v, json_string_value(json_array_get(v->value, i)), NULL);
	}
	note_masked(c, pool, cfg_value(c, pool), x->address_pool, "write the range as it is read");
}

static void read_auth(const struct cfg *c, const char *base, struct eg_auth *a)
{
	cleanup_strv struct cl_strv cidrs = CL_STRV_INIT, resolvers = CL_STRV_INIT;
	const json_t *ports = cfg_json_value(c, base, "allow_ports");
	const char *broker = json_string_value(cfg_json_value(c, base, "broker"));
	struct pol_endpoint p;
	struct pol_prefix range;
	struct cl_err e;

	a->internet = flag(c, base, "allow_public_internet");
	a->block_special_use = flag(c, base, "block_special_use");
	a->silent = flag(c, base, "silent");
	strings(c, base, "allow_cidrs", &cidrs);
	strings(c, base, "resolvers", &resolvers);
	strings(c, base, "host_patterns", &a->hosts);
	/* Each has passed the grammar of its row. */
	for (size_t i = 0; i < cidrs.n; i++)
		if (!pol_prefix_parse(cidrs.v[i], true, "", &range, &e))
			eg_auth_add_allow(a, &range);
	for (size_t i = 0; i < resolvers.n; i++)
		if (!pol_endpoint_parse(resolvers.v[i], 53, "", &p, &e))
			eg_auth_add_resolver(a, &p);
	for (size_t i = 0; i < json_array_size(ports); i++)
		eg_auth_add_port(a, (uint16_t)json_integer_value(json_array_get(ports, i)));
	if (broker && *broker && !pol_endpoint_parse(broker, 0, "", &p, &e))
		eg_auth_add_broker(a, &p);
}

/* A flaw of the executor as a whole: it is out of service, at the place of `name`. */
static void flaw(
	struct cfg *c, struct cfg_executor *x, const char *name, const char *msg, const char *fix)
{
	cleanup_free char *path = *name ? cl_asprintf("%s.%s", x->key, name) : cl_strdup(x->key);
	const struct cfg_value *v = cfg_value(c, path);
	cleanup_free char *why = cl_asprintf("%s: %s", path, msg);

	/* What follows from a value that was refused already is not said again. */
	if (!v || !v->rejected)
		cfg_note(c, CFG_ERROR, path, v && v->line ? v->line : x->line,
			v && v->line ? v->column : x->column, msg, fix);
	cfg_disable(x, why, fix);
}

/* The key that was to allow something and was refused, else `otherwise`. */
static const char *refused_allow(
	const struct cfg *c, const struct cfg_executor *x, const char *otherwise)
{
	static const char *const names[] = {"egress_filter.allow_cidrs",
		"egress_filter.allow_public_internet", "egress_filter.resolvers",
		"egress_filter.broker"};

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		cleanup_free char *path = cl_asprintf("%s.%s", x->key, names[i]);

		if (cfg_value(c, path)->rejected)
			return names[i];
	}
	return otherwise;
}

/*
 * What an enabled filter needs (facts/egress.md 1.7, facts/executors.md 6.7, DECISIONS E10);
 * how far it reaches is for preflight to say.
 */
static void judge_filter(struct cfg *c, struct cfg_executor *x)
{
	static const char filter[] = "egress_filter.enabled";
	const struct eg_auth *a = &x->egress.auth;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_err e;

	cl_err_init(&e);
	if (!x->egress.enabled)
		return;
	if (!strcmp(x->network, "none")) {
		flaw(c, x, filter, "there is nothing to filter with network 'none'",
			"set network: bridge, or turn the filter off");
	} else if (!x->egress.internal && !a->internet && !a->nallow && !a->nbrokers &&
		   !a->nresolvers) {
		flaw(c, x, refused_allow(c, x, filter), "the filter allows nothing at all",
			"set network: none instead, or allow something");
	} else if ((a->internet || a->nallow) && !a->nports) {
		flaw(c, x, "egress_filter.allow_ports", "what is allowed is bound to no port",
			"name the ports, for example allow_ports: [443]");
	} else if (eg_check_metadata(a, "allow_cidrs", NULL, &e) || eg_compile(a, &p, &e)) {
		flaw(c, x, "egress_filter.allow_cidrs", e.msg, e.fix);
	}
}

/* Rules that were written down and that nothing puts into force, unless it says `enabled: false`. */
static void note_idle_filter(struct cfg *c, const struct cfg_executor *x, const char *base)
{
	cleanup_free char *enabled = cl_asprintf("%s.enabled", base);
	cleanup_free char *below = cl_asprintf("%s.", base);
	const struct cfg_value *v = cfg_value(c, enabled), *first = NULL;

	if (x->egress.enabled || v->line)
		return;
	for (size_t i = 0; i < c->nvalues; i++)
		if (c->values[i].line && cl_starts(c->values[i].path, below) &&
			(!first || c->values[i].line < first->line))
			first = &c->values[i];
	if (first)
		cfg_note(c, CFG_WARNING, base, first->line, first->column,
			"the filter is off, because 'enabled' is not set: these rules are in force "
			"only for projects with 'egress: public'",
			"add enabled: true, or enabled: false where that is meant");
}

static void note_runtime(struct cfg *c, const struct cfg_executor *x)
{
	cleanup_free char *path = cl_asprintf("%s.oci_runtime", x->key);
	const struct cfg_value *v = cfg_value(c, path);
	struct cl_err e;

	if (v->line && !v->rejected && rn_near(x->oci_runtime, &e))
		cfg_note(c, CFG_WARNING, path, v->line, v->column, e.msg, e.fix);
}

/* An id of its own: the file's, and no other's. */
static void judge_id(struct cfg *c, struct cfg_executor *x)
{
	cleanup_free char *path = cl_asprintf("%s.id", x->key);
	const struct cfg_value *v = cfg_value(c, path);

	if (cl_ends(x->key, "]") && !v->line && !x->disabled_reason)
		flaw(c, x, "", "an executor of a list needs an id",
			"add for example: id: build-box");
	for (const struct cfg_executor *y = c->executors; y < x; y++)
		if (!strcmp(y->id, x->id) && !(y->disabled_reason && !strcmp(y->key, x->id)))
			flaw(c, x, "id", "another executor has this id", "give each its own");
}

static void judge_hosts(struct cfg *c, struct cfg_executor *x)
{
	if (!x->allow_hosts.n || strcmp(x->network, "none") != 0)
		return;
	flaw(c, x, "allow_hosts", "there is nobody to reach with network 'none'",
		"take the entries out, or set network: bridge");
}

/* A list's entry without an id is shown under its key, which nobody can type as an id. */
static char *id_of(const struct cfg *c, const struct cfg_executor *x)
{
	cleanup_free char *path = cl_asprintf("%s.id", x->key);
	const struct cfg_value *v = cfg_value(c, path);
	const char *id = text(c, x, "id");

	return cl_strdup(*id && ((v->line && !v->rejected) || !cl_ends(x->key, "]")) ? id : x->key);
}

/* What drives it: cloop's own, or what the file names. */
static void fill_driver(struct cfg *c, struct cfg_executor *x)
{
	const char *path = text(c, x, "driver"), *slash = strrchr(path, '/');

	x->driver = cl_strdup(x->row->program ? x->row->program : path);
	x->kind = cl_strdup(x->row->name ? x->row->name
			    : slash      ? slash + sizeof("/cloop-exec-") - 1
					 : "driver");
	if (!x->row->program && !*path)
		flaw(c, x, "driver", "it names no driver",
			"add driver: /usr/local/lib/cloop-exec-NAME");
	if (x->row->named_only && x->enabled && !c->allow_host_process)
		cfg_note(c, CFG_WARNING, x->key, x->line, x->column,
			"executors.allow_host_process is false, so nothing runs here",
			"set it to true, or set enabled: false");
}

static void fill_container(struct cfg *c, struct cfg_executor *x)
{
	cleanup_free char *filter = cl_asprintf("%s.egress_filter", x->key);

	x->network_backend = (enum cfg_network_backend)word(c, x, "network_backend");
	x->seccomp = (enum cfg_seccomp)word(c, x, "seccomp");
	strings(c, x->key, "allow_hosts", &x->allow_hosts);
	strings(c, x->key, "extra_args", &x->extra_args);
	x->egress.enabled = flag(c, filter, "enabled");
	x->egress.internal = flag(c, filter, "internal");
	read_auth(c, filter, &x->egress.auth);
	note_masked_ranges(c, x, filter);
	note_idle_filter(c, x, filter);
	note_runtime(c, x);
	judge_hosts(c, x);
	judge_filter(c, x);
}

void cfg_executor_fill(struct cfg *c, struct cfg_executor *x)
{
	const json_t *labels = cfg_json_value(c, x->key, "labels");
	bool container = !strcmp(x->row->section, kinds[0].section);

	x->id = id_of(c, x);
	for (size_t i = 0; i < CL_ARRAY_LEN(texts); i++)
		*(char **)(void *)((char *)x + texts[i].offset) =
			cl_strdup(text(c, x, texts[i].name));
	if (!*x->network) {
		free(x->network);
		x->network = cl_strdup(container ? "none" : "host");
	}
	x->enabled = flag(c, x->key, "enabled");
	x->allow_root_user = flag(c, x->key, "allow_root_user");
	x->labels = labels ? json_deep_copy(labels) : NULL;
	numbers(c, x);
	if (!x->row->program)
		x->defaults.v[SB_PIDS] = -1; /* what is not said is its driver's own business */
	fill_driver(c, x);
	judge_id(c, x);
	if (container)
		fill_container(c, x);
}
