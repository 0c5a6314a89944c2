/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mounts` of sandbox.yaml: facts/executors.md 1.5. */
#include "policy/sandbox/sandbox_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void rebuild(const char *path, struct cl_buf *out)
{
	cleanup_strv struct cl_strv parts = CL_STRV_INIT, kept = CL_STRV_INIT;
	bool rooted = *path == '/';
	cleanup_free char *rest = NULL;

	cl_split(path, '/', &parts);
	for (size_t i = 0; i < parts.n; i++) {
		const char *p = parts.v[i];

		if (!*p || !strcmp(p, "."))
			continue;
		if (strcmp(p, "..") != 0 || (kept.n == 0 && !rooted) ||
			(kept.n && !strcmp(kept.v[kept.n - 1], ".."))) {
			cl_strv_add(&kept, p);
			continue;
		}
		/* Above the root is the root. */
		if (kept.n) {
			free(kept.v[--kept.n]);
			kept.v[kept.n] = NULL;
		}
	}
	rest = cl_join((const char *const *)kept.v, kept.n, "/");
	cl_buf_addf(out, "%s%s", rooted ? "/" : "", rest);
	if (!out->len)
		cl_buf_addc(out, '.');
}

/* Absolute, and nothing to take out of it. */
static bool is_clean(const char *path)
{
	if (*path != '/')
		return false;
	for (const char *p = path; *p;) {
		size_t len = strcspn(++p, "/");

		if (!len || (len <= 2 && *p == '.' && (len == 1 || p[1] == '.')))
			return false;
		p += len;
	}
	return true;
}

void sb_path_clean(const char *path, struct cl_buf *out)
{
	if (is_clean(path))
		cl_buf_adds(out, path);
	else
		rebuild(path, out);
}

static bool has_dotdot(const char *path)
{
	for (const char *p = path;; p++) {
		size_t len = strcspn(p, "/");

		if (len == 2 && !memcmp(p, "..", 2))
			return true;
		p += len;
		if (!*p)
			return false;
	}
}

static bool unprintable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Why a path is refused, and what to write instead. */
struct flaw {
	const char *key; /* "source" or "target" */
	const char *why, *fix;
};

/* One question about a mount; the order of the table is the order of refusals. */
static bool q_empty_source(const struct sb_mount *m)
{
	return !*m->source;
}
static bool q_empty_target(const struct sb_mount *m)
{
	return !*m->target;
}
static bool q_source_colon(const struct sb_mount *m)
{
	return strchr(m->source, ':') || unprintable(m->source);
}
static bool q_target_colon(const struct sb_mount *m)
{
	return strchr(m->target, ':') || unprintable(m->target);
}
static bool q_source_backslash(const struct sb_mount *m)
{
	return strchr(m->source, '\\') != NULL;
}
static bool q_target_backslash(const struct sb_mount *m)
{
	return strchr(m->target, '\\') != NULL;
}
static bool q_source_absolute(const struct sb_mount *m)
{
	return *m->source == '/';
}
static bool q_source_dotdot(const struct sb_mount *m)
{
	return has_dotdot(m->source);
}
static bool unclean(const char *path)
{
	cleanup_buf struct cl_buf clean = CL_BUF_INIT;

	sb_path_clean(path, &clean);
	return strcmp(clean.p, path) != 0;
}
static bool q_source_unclean(const struct sb_mount *m)
{
	return unclean(m->source);
}
static bool q_source_whole(const struct sb_mount *m)
{
	return !strcmp(m->source, ".");
}
static bool q_target_relative(const struct sb_mount *m)
{
	return *m->target != '/';
}
static bool q_target_dotdot(const struct sb_mount *m)
{
	return has_dotdot(m->target);
}
static bool q_target_unclean(const struct sb_mount *m)
{
	return unclean(m->target);
}
static bool q_target_root(const struct sb_mount *m)
{
	return !strcmp(m->target, "/");
}

/* A fix of NULL offers the clean form of the path. */
static const struct {
	bool (*asks)(const struct sb_mount *m);
	struct flaw flaw;
} questions[] = {
	{q_empty_source, {"source", "is empty", "name a path in the workspace"}},
	{q_empty_target, {"target", "is empty", "name an absolute path in the sandbox"}},
	{q_source_colon, {"source", "has a colon or a control character",
				 "rename the path: a colon would add options to the mount"}},
	{q_target_colon, {"target", "has a colon or a control character",
				 "choose another target: a colon would add options to the mount"}},
	{q_source_backslash, {"source", "has a backslash", "separate with '/'"}},
	{q_target_backslash, {"target", "has a backslash", "separate with '/'"}},
	{q_source_absolute, {"source", "is absolute", "name a path relative to the workspace"}},
	{q_source_dotdot, {"source", "has a '..'", "name a path inside the workspace"}},
	{q_source_unclean, {"source", "is not in its clean form", NULL}},
	{q_source_whole, {"source", "is the whole workspace",
				 "name a path below it; the workspace itself is at /workspace"}},
	{q_target_relative, {"target", "is relative", "name an absolute path in the sandbox"}},
	{q_target_dotdot, {"target", "has a '..'", "write the path without it"}},
	{q_target_unclean, {"target", "is not in its clean form", NULL}},
	{q_target_root, {"target", "is the root", "name a directory below it"}},
};

static int refuse(struct sb_reading *r, const json_t *obj, size_t i, const struct flaw *f,
	const struct sb_mount *m)
{
	const char *path = !strcmp(f->key, "source") ? m->source : m->target;
	const json_t *list = json_object_get(r->root, "mounts");
	cleanup_buf struct cl_buf fix = CL_BUF_INIT;

	if (f->fix) {
		cl_buf_adds(&fix, f->fix);
	} else {
		cl_buf_adds(&fix, "write ");
		sb_path_clean(path, &fix);
	}
	if (!cl_doc_has(obj, f->key))
		return sb_refuse(r, list, NULL, i, fix.p, "mounts[%zu] has no %s", i, f->key);
	return sb_refuse(
		r, obj, f->key, 0, fix.p, "mounts[%zu].%s '%s' %s", i, f->key, path, f->why);
}

/* The mount with the same target among the ones before it, or nmounts. */
static size_t same_target(const struct sb_spec *s, const char *target)
{
	size_t i = 0;

	while (i < s->nmounts && strcmp(s->mounts[i].target, target) != 0)
		i++;
	return i;
}

static int read_mount(struct sb_reading *r, json_t *list, size_t i)
{
	const json_t *obj = json_array_get(list, i);
	const char *source = "", *target = "";
	struct sb_mount m = {0};
	size_t other;

	if (cl_doc_str(r->d, obj, "source", &source, r->e) ||
		cl_doc_str(r->d, obj, "target", &target, r->e) ||
		cl_doc_bool(r->d, obj, "read_only", &m.read_only, r->e))
		return cl_wrap(r->e, "mounts[%zu]", i);
	cl_doc_where(r->d, list, NULL, i, false, &m.line, &m.column);
	r->s->mounts = cl_grow(r->s->mounts, &r->s->mounts_cap, r->s->nmounts + 1, sizeof(m));
	m.source = cl_strdup(source);
	m.target = cl_strdup(target);
	other = same_target(r->s, target);
	r->s->mounts[r->s->nmounts++] = m;
	for (size_t q = 0; q < CL_ARRAY_LEN(questions); q++)
		if (questions[q].asks(&m))
			return refuse(r, obj, i, &questions[q].flaw, &m);
	if (other < i)
		return sb_refuse(r, obj, "target", 0, "give each mount its own target",
			"mounts[%zu].target '%s' is the target of mounts[%zu] too", i, target,
			other);
	return 0;
}

int sb_read_mounts(struct sb_reading *r)
{
	json_t *list = NULL;

	if (cl_doc_list(r->d, r->root, "mounts", &list, r->e))
		return -1;
	if (json_array_size(list) > SB_MAX_MOUNTS)
		return sb_refuse(r, r->root, "mounts", 0, "mount a directory that holds several",
			"mounts has %zu entries, more than the %d allowed", json_array_size(list),
			SB_MAX_MOUNTS);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_mount(r, list, i))
			return -1;
	return 0;
}

int sb_close_mounts(struct sb_reading *r)
{
	static const char *const known[] = {"source", "target", "read_only"};
	json_t *list = NULL;

	if (cl_doc_list(r->d, r->root, "mounts", &list, r->e))
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *obj = json_array_get(list, i);

		if (!json_is_object(obj))
			return sb_refuse(r, list, NULL, i,
				"write each mount as a mapping of source, target and read_only",
				"mounts[%zu] is no mapping", i);
		if (cl_doc_closed(r->d, obj, "mounts", known, CL_ARRAY_LEN(known), r->e))
			return -1;
	}
	return 0;
}
