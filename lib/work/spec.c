/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/spec.h"
#include "base/mem.h"

#include <string.h>

void work_spec_release(struct work_spec *s)
{
	cl_strv_release(&s->argv);
	cl_strv_release(&s->env);
	cl_strv_release(&s->setup);
	cl_strv_release(&s->devices);
	cl_strv_release(&s->interfaces);
	eg_stack_release(&s->egress);
	cfg_release(&s->cfg);
	cl_doc_release(&s->doc);
	*s = WORK_SPEC_INIT;
}

static const char *const known[] = {"hub", "run_id", "executor", "project", "argv", "env", "image",
	"image_from", "setup", "resources", "network", "egress", "mounts", "labels", "timeout_ms",
	"stdin", "detached", "spec_sha256", "setup_sha256", "min_free_disk_mb", "image_policy",
	"image_pinned", "image_registry", "image_provenance", "lease"};

/* The executor's mapping is read by the one reader of the configuration. */
static int read_executor(const char *section, struct work_spec *s, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *text = NULL;
	json_t *ex = NULL, *whole;
	int rc;

	if (cl_doc_map(&s->doc, s->doc.root, "executor", &ex, e))
		return -1;
	if (!ex)
		return cl_doc_fail(
			&s->doc, s->doc.root, "executor", 0, CL_EDATA, e, "'executor' is missing");
	whole = json_pack("{s:{s:O}}", "executors", section, ex);
	text = cl_json_text(whole);
	json_decref(whole);
	rc = cl_doc_parse(&d, CL_DOC_JSON, "executor", text, strlen(text), NULL, e);
	if (rc || cfg_read(&d, &s->cfg, e))
		return -1;
	/* The only one; by its name, which is how those are found that nothing chooses. */
	return cfg_executor(
		&s->cfg, s->cfg.nexecutors ? s->cfg.executors[0].id : NULL, &s->executor, e);
}

static int absolute(struct work_spec *s, const char *key, const char **out, struct cl_err *e)
{
	if (cl_doc_str(&s->doc, s->doc.root, key, out, e))
		return -1;
	if (!*out || **out != '/')
		return cl_doc_fail(&s->doc, s->doc.root, key, 0, CL_EDATA, e,
			"'%s' must be an absolute path", key);
	return 0;
}

static int read_env(struct work_spec *s, struct cl_err *e)
{
	json_t *env = NULL, *v;
	const char *key;

	if (cl_doc_map(&s->doc, s->doc.root, "env", &env, e))
		return -1;
	json_object_foreach (env, key, v) {
		const char *text = NULL;

		if (cl_doc_str(&s->doc, env, key, &text, e))
			return -1;
		if (!*key || strchr(key, '='))
			return cl_doc_fail(&s->doc, env, key, 0, CL_EDATA, e,
				"'%s' is no name of a variable", key);
		cl_strv_addf(&s->env, "%s=%s", key, text ? text : "");
	}
	return 0;
}

static int read_limits(struct work_spec *s, struct cl_err *e)
{
	static const struct {
		const char *key;
		enum sb_resource r;
		int64_t min, max;
	} rows[] = {
		{"cpu_milli", SB_CPU, 0, SB_MAX_CPU * 1000},
		{"memory_mb", SB_MEMORY, 0, SB_MAX_MB},
		{"disk_mb", SB_DISK, 0, SB_MAX_MB},
		{"pids", SB_PIDS, -1, SB_MAX_PIDS},
	};
	static const char *const keys[] = {
		"cpu_milli", "memory_mb", "disk_mb", "pids", "disk_source"};
	json_t *m = NULL;

	s->disk_source = "";
	if (cl_doc_map(&s->doc, s->doc.root, "resources", &m, e) ||
		cl_doc_closed(&s->doc, m, "resources", keys, CL_ARRAY_LEN(keys), e) ||
		cl_doc_str(&s->doc, m, "disk_source", &s->disk_source, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (cl_doc_int(&s->doc, m, rows[i].key, rows[i].min, rows[i].max,
			    &s->limits.v[rows[i].r], e))
			return -1;
	return 0;
}

static int read_network(struct work_spec *s, struct cl_err *e)
{
	static const char *const keys[] = {"disabled", "scope"};
	const char *scope = "";
	json_t *m = NULL, *auth = NULL;

	if (cl_doc_map(&s->doc, s->doc.root, "network", &m, e) ||
		cl_doc_closed(&s->doc, m, "network", keys, 2, e) ||
		cl_doc_bool(&s->doc, m, "disabled", &s->network_disabled, e) ||
		cl_doc_str(&s->doc, m, "scope", &scope, e) ||
		cl_doc_map(&s->doc, s->doc.root, "egress", &auth, e))
		return -1;
	for (int i = 0; i < 3; i++)
		if (!strcmp(scope, sb_egress_name((enum sb_egress)i)))
			s->scope = (enum sb_egress)i;
	if (strcmp(scope, sb_egress_name(s->scope)) != 0)
		return cl_doc_fail(&s->doc, m, "scope", 0, CL_EDATA, e,
			"'scope' is '%s', not public, none or empty", scope);
	s->has_egress = auth != NULL;
	return auth ? eg_stack_read(&s->doc, auth, &s->egress, e) : 0;
}

static int read_mounts(struct work_spec *s, struct cl_err *e)
{
	static const char *const keys[] = {"source", "target", "read_only"};
	json_t *list = NULL;

	if (cl_doc_list(&s->doc, s->doc.root, "mounts", &list, e))
		return -1;
	if (json_array_size(list) > SB_MAX_MOUNTS)
		return cl_doc_fail(&s->doc, s->doc.root, "mounts", 0, CL_EDATA, e,
			"%zu mounts, more than the %d allowed", json_array_size(list),
			SB_MAX_MOUNTS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *m = json_array_get(list, i);
		struct work_mount *w = &s->mounts[i];

		if (!json_is_object(m))
			return cl_doc_fail(
				&s->doc, list, NULL, i, CL_EDATA, e, "a mount must be an object");
		if (cl_doc_closed(&s->doc, m, "mounts", keys, 3, e) ||
			cl_doc_str(&s->doc, m, "source", &w->source, e) ||
			cl_doc_str(&s->doc, m, "target", &w->target, e) ||
			cl_doc_bool(&s->doc, m, "read_only", &w->read_only, e))
			return -1;
		if (!w->source || !w->target)
			return cl_doc_fail(&s->doc, list, NULL, i, CL_EDATA, e,
				"a mount needs source and target");
		s->nmounts++;
	}
	return 0;
}

static int read_image(struct work_spec *s, struct cl_err *e)
{
	const char *from = "operator", *provenance = "warn";

	s->spec_sha256 = s->setup_sha256 = "";
	if (cl_doc_str(&s->doc, s->doc.root, "image", &s->image, e) ||
		cl_doc_str(&s->doc, s->doc.root, "image_from", &from, e) ||
		cl_doc_str(&s->doc, s->doc.root, "spec_sha256", &s->spec_sha256, e) ||
		cl_doc_str(&s->doc, s->doc.root, "setup_sha256", &s->setup_sha256, e) ||
		cl_doc_strv(&s->doc, s->doc.root, "setup", SB_MAX_SETUP, &s->setup, e) ||
		cl_doc_map(&s->doc, s->doc.root, "image_policy", &s->image_policy, e) ||
		cl_doc_map(&s->doc, s->doc.root, "image_registry", &s->image_registry, e) ||
		cl_doc_str(&s->doc, s->doc.root, "image_provenance", &provenance, e) ||
		cl_doc_map(&s->doc, s->doc.root, "image_pinned", &s->pinned, e))
		return -1;
	s->image_from_project = !strcmp(from, "project");
	if (!s->image_from_project && strcmp(from, "operator") != 0)
		return cl_doc_fail(&s->doc, s->doc.root, "image_from", 0, CL_EDATA, e,
			"'image_from' is '%s', not project or operator", from);
	s->provenance_required = !strcmp(provenance, "required");
	if (!s->provenance_required && strcmp(provenance, "warn") != 0)
		return cl_doc_fail(&s->doc, s->doc.root, "image_provenance", 0, CL_EDATA, e,
			"'image_provenance' is '%s', not warn or required", provenance);
	if (!s->image)
		s->image = s->executor->image;
	return 0;
}

static int read_labels(struct work_spec *s, struct cl_err *e)
{
	const char *key, *text;
	json_t *v;

	if (cl_doc_map(&s->doc, s->doc.root, "labels", &s->labels, e))
		return -1;
	json_object_foreach (s->labels, key, v)
		if (cl_doc_str(&s->doc, s->labels, key, &text, e))
			return -1;
	return 0;
}

static int read_lease(struct work_spec *s, struct cl_err *e)
{
	static const char *const keys[] = {"key_file", "key_passed", "devices", "interfaces"};
	json_t *m = NULL;

	if (cl_doc_map(&s->doc, s->doc.root, "lease", &m, e) ||
		cl_doc_closed(&s->doc, m, "lease", keys, CL_ARRAY_LEN(keys), e) ||
		cl_doc_str(&s->doc, m, "key_file", &s->key_file, e) ||
		cl_doc_bool(&s->doc, m, "key_passed", &s->key_passed, e) ||
		cl_doc_strv(&s->doc, m, "devices", SB_MAX_DEVICES, &s->devices, e) ||
		cl_doc_strv(&s->doc, m, "interfaces", SB_MAX_INTERFACES, &s->interfaces, e))
		return -1;
	s->lend = m != NULL;
	s->has_devices = m && cl_doc_has(m, "devices");
	s->has_interfaces = m && cl_doc_has(m, "interfaces");
	if (s->key_file && *s->key_file != '/')
		return cl_doc_fail(&s->doc, m, "key_file", 0, CL_EDATA, e,
			"'key_file' must be an absolute path");
	return 0;
}

/* Whatever is wrong with a driver's input, one page says what is right. */
static int with_fix(int rc, struct cl_err *e)
{
	if (rc && !e->fix[0])
		(void)cl_fix(e, "see cloop-exec(7) for what a driver reads");
	return rc;
}

static int read_head(
	const char *section, const char *text, size_t len, struct work_spec *s, struct cl_err *e)
{
	struct cl_doc_limits limits = {.max_bytes = 4 << 20};

	if (cl_doc_parse(&s->doc, CL_DOC_JSON, "spec", text, len, &limits, e))
		return -1;
	if (!json_is_object(s->doc.root))
		return cl_fail(e, CL_EDATA, "the spec is not a JSON object");
	if (cl_doc_closed(&s->doc, s->doc.root, "", known, CL_ARRAY_LEN(known), e) ||
		absolute(s, "hub", &s->hub, e))
		return -1;
	return read_executor(section, s, e);
}

int work_executor_read(
	const char *section, const char *text, size_t len, struct work_spec *s, struct cl_err *e)
{
	return with_fix(read_head(section, text, len, s, e), e);
}

static int read_whole(
	const char *section, const char *text, size_t len, struct work_spec *s, struct cl_err *e)
{
	json_t *root;

	if (read_head(section, text, len, s, e))
		return -1;
	root = s->doc.root;
	if (absolute(s, "project", &s->project, e) ||
		cl_doc_str(&s->doc, root, "run_id", &s->run_id, e) ||
		cl_doc_strv(&s->doc, root, "argv", 0, &s->argv, e) || read_env(s, e) ||
		read_image(s, e) || read_limits(s, e) || read_network(s, e) || read_mounts(s, e) ||
		read_labels(s, e) || read_lease(s, e) ||
		cl_doc_int(&s->doc, root, "timeout_ms", 0, INT64_MAX / 2, &s->timeout_ms, e) ||
		cl_doc_int(
			&s->doc, root, "min_free_disk_mb", 0, INT64_MAX / 2, &s->min_free_mb, e) ||
		cl_doc_bool(&s->doc, root, "stdin", &s->wants_stdin, e) ||
		cl_doc_bool(&s->doc, root, "detached", &s->detached, e))
		return -1;
	if (!s->argv.n)
		return cl_doc_fail(&s->doc, root, "argv", 0, CL_EDATA, e, "'argv' is empty");
	return 0;
}

int work_spec_read(
	const char *section, const char *text, size_t len, struct work_spec *s, struct cl_err *e)
{
	return with_fix(read_whole(section, text, len, s, e), e);
}
