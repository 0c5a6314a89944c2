/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/engine/image.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/image/imageref.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void engine_image_release(struct engine_image *im)
{
	free(im->requested);
	free(im->id);
	free(im->pinned);
	free(im->user);
	free(im->workdir);
	free(im->index);
	cl_strv_release(&im->repo_digests);
	cl_strv_release(&im->entrypoint);
	cl_strv_release(&im->command);
	cl_strv_release(&im->env);
	cl_strv_release(&im->volumes);
	json_decref(im->labels);
	*im = ENGINE_IMAGE_INIT;
}

/* ---- JSON ---- */

/* The text and list members, by the name they have in the cache. */
#define TEXTS(X)                  \
	X("requested", requested) \
	X("id", id) X("pinned", pinned) X("user", user) X("workdir", workdir) X("index", index)
#define LISTS(X)                        \
	X("repo_digests", repo_digests) \
	X("entrypoint", entrypoint)     \
	X("command", command) X("env", env) X("volumes", volumes)

static json_t *list_json(const struct cl_strv *v)
{
	json_t *j = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(j, json_string(v->v[i]));
	return j;
}

json_t *engine_image_json(const struct engine_image *im)
{
	json_t *j = json_object();

#define TEXT(name, member) (void)json_object_set_new(j, name, json_string(im->member));
#define LIST(name, member) (void)json_object_set_new(j, name, list_json(&im->member));
	TEXTS(TEXT)
	LISTS(LIST)
#undef TEXT
#undef LIST
	(void)json_object_set(j, "labels", im->labels);
	(void)json_object_set_new(j, "tmp_mode", json_integer(im->tmp_mode));
	return j;
}

static int read_text(
	struct cl_doc *d, const json_t *obj, const char *key, char **out, struct cl_err *e)
{
	const char *s = NULL;

	if (cl_doc_str(d, obj, key, &s, e))
		return -1;
	if (!s)
		return cl_fail(e, CL_EDATA, "'%s' is missing", key);
	*out = cl_strdup(s);
	return 0;
}

int engine_image_read(struct cl_doc *d, json_t *obj, struct engine_image *out, struct cl_err *e)
{
	int64_t mode = -1;
	json_t *labels = NULL;

#define TEXT(name, member)                            \
	if (read_text(d, obj, name, &out->member, e)) \
		return -1;
#define LIST(name, member)                                 \
	if (cl_doc_strv(d, obj, name, 0, &out->member, e)) \
		return -1;
	TEXTS(TEXT)
	LISTS(LIST)
#undef TEXT
#undef LIST
	if (cl_doc_map(d, obj, "labels", &labels, e) ||
		cl_doc_int(d, obj, "tmp_mode", -1, 07777, &mode, e))
		return -1;
	out->labels = labels ? json_incref(labels) : json_object();
	out->tmp_mode = (int)mode;
	return 0;
}

/* ---- asking the engine ---- */

static void take_list(const json_t *j, struct cl_strv *out)
{
	const json_t *v;
	size_t i;

	json_array_foreach (j, i, v)
		if (json_is_string(v))
			cl_strv_add(out, json_string_value(v));
}

/* docker writes the entrypoint that was emptied by hand as one empty word. */
static void take_words(const json_t *j, struct cl_strv *out)
{
	take_list(j, out);
	if (out->n == 1 && !*out->v[0])
		cl_strv_release(out);
}

static char *text_of(const json_t *j)
{
	const char *s = json_string_value(j);

	return cl_strdup(s ? s : "");
}

/* The repo digest under the name that was asked for, else the first. */
static char *pick_digest(const char *ref, const struct cl_strv *digests)
{
	struct ir_ref want, have;
	struct cl_err e;

	if (!ir_parse(ref, &want, &e))
		for (size_t i = 0; i < digests->n; i++)
			if (!ir_parse(digests->v[i], &have, &e) &&
				!strcmp(want.registry, have.registry) &&
				!strcmp(want.repository, have.repository) &&
				(!*want.digest || !strcmp(want.digest, have.digest)))
				return cl_strdup(digests->v[i]);
	return cl_strdup(digests->n ? digests->v[0] : "");
}

/* Permission bits of the image's /tmp, seen in its layers from the top down; -1: none. */
static int find_tmp_mode(const json_t *graph)
{
	const char *upper = json_string_value(json_object_get(graph, "UpperDir"));
	const char *lower = json_string_value(json_object_get(graph, "LowerDir"));
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

	if (upper)
		cl_strv_add(&dirs, upper);
	if (lower)
		cl_split(lower, ':', &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *tmp = cl_asprintf("%s/tmp", dirs.v[i]);
		struct stat st;

		if (lstat(tmp, &st))
			continue;
		/* A whiteout is a character device: this layer took it away. */
		return S_ISDIR(st.st_mode) ? (int)(st.st_mode & 07777) : -1;
	}
	return -1;
}

/*
 * The file that lists the images of the store, out of where the image's top layer is:
 * ROOT/DRIVER/LAYER/diff is a layer of the store whose index is ROOT/DRIVER-images/images.json.
 */
static char *find_index(const json_t *graph)
{
	const char *driver = json_string_value(json_object_get(graph, "Name"));
	const char *upper =
		json_string_value(json_object_get(json_object_get(graph, "Data"), "UpperDir"));
	cleanup_free char *part = driver ? cl_asprintf("/%s/", driver) : NULL;
	const char *at = upper && part ? strstr(upper, part) : NULL;

	for (const char *next = at; next; next = strstr(next + 1, part))
		at = next;
	if (!at)
		return cl_strdup("");
	return cl_asprintf("%.*s/%s-images/images.json", (int)(at - upper), upper, driver);
}

static void take_image(const char *ref, const json_t *row, struct engine_image *out)
{
	const json_t *config = json_object_get(row, "Config"), *labels;
	const char *id = json_string_value(json_object_get(row, "Id")), *key;
	json_t *v;

	out->requested = cl_strdup(ref);
	out->id = cl_starts(id, "sha256:") ? cl_strdup(id) : cl_asprintf("sha256:%s", id);
	take_list(json_object_get(row, "RepoDigests"), &out->repo_digests);
	out->pinned = pick_digest(ref, &out->repo_digests);
	take_words(json_object_get(config, "Entrypoint"), &out->entrypoint);
	take_list(json_object_get(config, "Cmd"), &out->command);
	take_list(json_object_get(config, "Env"), &out->env);
	out->user = text_of(json_object_get(config, "User"));
	out->workdir = text_of(json_object_get(config, "WorkingDir"));
	labels = json_object_get(config, "Labels");
	out->labels = json_is_object(labels) ? json_deep_copy(labels) : json_object();
	json_object_foreach (json_object_get(config, "Volumes"), key, v)
		cl_strv_add(&out->volumes, key);
	out->index = find_index(json_object_get(row, "GraphDriver"));
	out->tmp_mode = find_tmp_mode(json_object_get(json_object_get(row, "GraphDriver"), "Data"));
}

int engine_image_inspect(
	const struct engine *en, const char *ref, struct engine_image *out, struct cl_err *e)
{
	const char *const args[] = {"image", "inspect", ref, NULL};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *row;

	if (!*ref || *ref == '-') {
		(void)cl_fail(e, CL_EDATA, "'%.80s' is not an image reference", ref);
		return cl_fix(e, "write one such as docker.io/library/debian:12");
	}
	if (engine_call(en, "look at the image", ref, args, ENGINE_ASK_MS, &text, e))
		return -1;
	if (cl_doc_parse(&d, CL_DOC_JSON, en->path, text.p, text.len, NULL, e))
		return cl_wrap(e, "'%s image inspect' is not what it used to be", en->path);
	row = json_array_get(d.root, 0);
	if (!json_string_value(json_object_get(row, "Id"))) {
		(void)cl_fail(
			e, CL_EUNAVAIL, "'%s image inspect %s' names no image", en->path, ref);
		return cl_fix(e, "try that command by hand: the engine answers otherwise than "
				 "podman 4 and docker 20 and later do");
	}
	take_image(ref, row, out);
	return 0;
}

/* ---- judging ---- */

const char *engine_image_label(const struct engine_image *im, const char *key)
{
	return json_string_value(json_object_get(im->labels, key));
}

int engine_image_check(const struct engine *en, const struct engine_image *im, struct cl_err *e)
{
	if (im->entrypoint.n) {
		cleanup_free char *words =
			cl_join((const char *const *)im->entrypoint.v, im->entrypoint.n, " ");

		(void)cl_fail(e, CL_EREFUSED,
			"image '%s' has an ENTRYPOINT (%.120s): it would run instead of the "
			"command, "
			"with the command as its arguments",
			im->requested, words);
		cl_constraint(e, "image");
		return cl_fix(e, "build it with ENTRYPOINT [] and name the program in the command");
	}
	if (im->volumes.n && en->kind == CT_DOCKER) {
		cleanup_free char *where =
			cl_join((const char *const *)im->volumes.v, im->volumes.n, ", ");

		(void)cl_fail(e, CL_EREFUSED,
			"image '%s' declares volumes (%.120s): docker would make them writable and "
			"outside the disk limit",
			im->requested, where);
		cl_constraint(e, "image");
		return cl_fix(e, "build it without VOLUME, or use podman, which can ignore them");
	}
	return 0;
}

void engine_image_harnesses(const struct engine_image *im, struct cl_strv *out)
{
	const char *p = engine_image_label(im, IMAGE_HARNESSES_LABEL);
	size_t n;

	for (; p && *p; p += n) {
		cleanup_free char *word = NULL;

		p += strspn(p, ", \t\r\n");
		n = strcspn(p, ", \t\r\n");
		word = cl_strndup(p, n);
		cl_lower(word);
		if (n)
			cl_strv_add(out, word);
	}
}

int engine_image_harness(const struct engine_image *im, const char *harness, struct cl_err *e)
{
	cleanup_strv struct cl_strv has = CL_STRV_INIT;
	cleanup_free char *want = cl_strdup(harness), *list = NULL;

	engine_image_harnesses(im, &has);
	cl_lower(want);
	if (!has.n || cl_strv_has(&has, want))
		return 0;
	list = cl_join((const char *const *)has.v, has.n, ", ");
	(void)cl_fail(e, CL_EREFUSED,
		"image '%s' does not carry '%s': its label " IMAGE_HARNESSES_LABEL " lists %.300s",
		im->requested, harness, list);
	cl_constraint(e, "image");
	cl_slug(e, "sandbox_image_lacks_harness");
	if (!strcmp(want, "copilot"))
		return cl_fix(e,
			"use ghcr.io/blechschmidt/cloop-harness-copilot, or an image of your own");
	return cl_fix(e, "use an image that carries '%s', or add it to the image and to its label",
		harness);
}
