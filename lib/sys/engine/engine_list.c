/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What containers the engine has, and how to be rid of one. */
#include "sys/engine/engine.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A fleet of containers is listed in one answer. */
#define LIST_MAX ((size_t)64 << 20)

void engine_containers_release(struct engine_containers *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].id);
		free(c->v[i].name);
		free(c->v[i].status);
		json_decref(c->v[i].labels);
	}
	free(c->v);
	*c = ENGINE_CONTAINERS_INIT;
}

const char *engine_container_label(const struct engine_container *c, const char *key)
{
	return json_string_value(json_object_get(c->labels, key));
}

static struct engine_container *add(struct engine_containers *out)
{
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
	out->v[out->n] = (struct engine_container){0};
	return &out->v[out->n++];
}

static char *text_of(const json_t *j, const char *dflt)
{
	const char *s = json_string_value(j);

	return cl_strdup(s ? s : dflt);
}

/* Unix seconds; an engine writes "never" as the year 1. */
static int64_t seconds(const json_t *j)
{
	int64_t t = 0;
	struct cl_err e;

	if (json_is_integer(j))
		t = json_integer_value(j);
	else if (json_is_string(j) && cl_parse_time(json_string_value(j), "time", &t, &e))
		t = 0;
	return t > 0 ? t : 0;
}

static int no_list(struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "the engine's list of containers is no list");
	return cl_fix(e, "look at what it prints for 'ps -a --format json' by hand");
}

static int parse(
	const struct engine *en, const struct cl_buf *text, struct cl_doc *d, struct cl_err *e)
{
	const struct cl_doc_limits limits = {.max_bytes = LIST_MAX, .depth = 32, .nodes = 4000000};

	if (cl_doc_parse(d, CL_DOC_JSON, en->path, text->p, text->len, &limits, e))
		return cl_wrap(e, "the engine's list of containers");
	if (!json_is_array(d->root))
		return no_list(e);
	return 0;
}

/* podman looks again at each container that it has listed; one that went meanwhile fails it. */
static int podman_ps(const struct engine *en, struct cl_buf *text, struct cl_err *e)
{
	const char *const args[] = {"ps", "--all", "--external", "--format", "json", NULL};
	int rc = -1;

	for (int i = 0; i < 5 && rc; i++) {
		cl_buf_reset(text);
		rc = engine_call(en, "list containers", NULL, args, ENGINE_ASK_MS, text, e);
		if (rc && e->code != CL_ENOTFOUND)
			break;
	}
	return rc;
}

static int podman_list(const struct engine *en, const char *prefix, struct engine_containers *out,
	struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *row;
	size_t i;

	if (podman_ps(en, &text, e) || parse(en, &text, &d, e))
		return -1;
	json_array_foreach (d.root, i, row) {
		const json_t *names = json_object_get(row, "Names");
		const char *name = json_string_value(json_array_get(names, 0));
		struct engine_container *c;

		if (!name || !cl_starts(name, prefix))
			continue;
		c = add(out);
		c->name = cl_strdup(name);
		c->id = text_of(json_object_get(row, "Id"), "");
		c->status = text_of(json_object_get(row, "State"), "unknown");
		cl_lower(c->status);
		c->labels = json_incref(json_object_get(row, "Labels"));
		c->created_at = seconds(json_object_get(row, "Created"));
		c->started_at = seconds(json_object_get(row, "StartedAt"));
		c->exited_at = seconds(json_object_get(row, "ExitedAt"));
	}
	return 0;
}

/* docker's list glues labels with commas that may be part of them: inspect tells them. */
static int docker_inspect(const struct engine *en, const char *ids, const char *prefix,
	struct engine_containers *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv args = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *row;
	size_t i;

	cl_strv_add(&args, "inspect");
	cl_strv_add(&args, "--type=container");
	cl_split(ids, '\n', &args);
	while (args.n && !*args.v[args.n - 1]) {
		free(args.v[--args.n]);
		args.v[args.n] = NULL;
	}
	r.timeout_ms = ENGINE_ASK_MS;
	r.max_output = LIST_MAX;
	/* One that went away meanwhile makes the status 1; the others are still told. */
	if (engine_run(en, (const char *const *)args.v, &r, e) || parse(en, &r.out, &d, e))
		return -1;
	json_array_foreach (d.root, i, row) {
		const json_t *state = json_object_get(row, "State");
		const char *name = json_string_value(json_object_get(row, "Name"));
		struct engine_container *c;

		name = name && *name == '/' ? name + 1 : name;
		if (!name || !cl_starts(name, prefix))
			continue;
		c = add(out);
		c->name = cl_strdup(name);
		c->id = text_of(json_object_get(row, "Id"), "");
		c->status = text_of(json_object_get(state, "Status"), "unknown");
		c->labels = json_incref(json_object_get(json_object_get(row, "Config"), "Labels"));
		c->created_at = seconds(json_object_get(row, "Created"));
		c->started_at = seconds(json_object_get(state, "StartedAt"));
		c->exited_at = seconds(json_object_get(state, "FinishedAt"));
	}
	return 0;
}

int engine_containers(const struct engine *en, const char *prefix, struct engine_containers *out,
	struct cl_err *e)
{
	cleanup_free char *filter = cl_asprintf("--filter=name=%s", prefix);
	const char *const args[] = {"ps", "--all", "--quiet", "--no-trunc", filter, NULL};
	cleanup_buf struct cl_buf ids = CL_BUF_INIT;

	if (en->kind == CT_PODMAN)
		return podman_list(en, prefix, out, e);
	if (engine_call(en, "list containers", NULL, args, ENGINE_ASK_MS, &ids, e))
		return -1;
	return ids.len ? docker_inspect(en, ids.p, prefix, out, e) : 0;
}

/* True when the engine has it, half made or whole. */
static bool exists(const struct engine *en, const char *name)
{
	const char *const podman[] = {"container", "exists", "--external", name, NULL};
	const char *const docker[] = {
		"inspect", "--type=container", "--format={{.Id}}", name, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	r.timeout_ms = ENGINE_ASK_MS;
	if (engine_run(en, en->kind == CT_DOCKER ? docker : podman, &r, &e) || !r.status)
		return true;
	/* podman says no with an empty standard error; anything else is no answer. */
	return r.err.len && ct_trouble_of(r.err.p) != CT_NO_CONTAINER;
}

int engine_remove(const struct engine *en, const char *name, struct cl_err *e)
{
	const char *const podman[] = {"rm", "--force", "--time=0", "--volumes", name, NULL};
	const char *const docker[] = {"rm", "--force", "--volumes", name, NULL};
	const char *const *args = en->kind == CT_DOCKER ? docker : podman;
	int rc = 0;

	for (int i = 0; i < 3 && exists(en, name); i++) {
		rc = engine_call(en, "remove a container", NULL, args, ENGINE_WORK_MS, NULL, e);
		if (!rc)
			return 0;
	}
	return rc && exists(en, name) ? -1 : 0;
}

int engine_signal(const struct engine *en, const char *name, const char *signal, struct cl_err *e)
{
	cleanup_free char *flag = cl_asprintf("--signal=%s", signal);
	const char *const args[] = {"kill", flag, name, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.timeout_ms = ENGINE_ASK_MS;
	if (engine_run(en, args, &r, e))
		return -1;
	if (!r.status || ct_trouble_of(r.err.p) == CT_NO_CONTAINER)
		return 0;
	(void)ct_classify(en->kind, "signal a container", r.status, r.err.p, NULL, e);
	return -1;
}
