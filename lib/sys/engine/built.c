/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/engine/built.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/engine/build_internal.h"
#include "sys/clock.h"
#include "sys/engine/image.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- records ---- */

static int open_records(const char *cache, bool make)
{
	cleanup_free char *dir = cache ? cl_asprintf("%s/built", cache) : NULL;

	if (!dir)
		return -1;
	if (make) {
		int parent = engine_cache_open(cache);

		if (parent < 0)
			return -1;
		(void)close(parent);
	} else if (access(dir, F_OK)) {
		return -1;
	}
	return engine_cache_open(dir);
}

/* A plain file of ours: nothing else in its place is a record. */
static bool is_record(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1;
}

/* False when it was removed, or replaced, since it was opened. */
static bool still_there(int dir, const char *name, int fd, struct stat *st)
{
	struct stat now;

	return !fstat(fd, st) && is_record(st) && !fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) &&
	       now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

static int lock_record(int dir, const char *name, int flags, int how, struct stat *st)
{
	int fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | flags, 0600);

	if (fd >= 0 && !fstat(fd, st) && is_record(st) && !flock(fd, how) &&
		still_there(dir, name, fd, st))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

int built_use(const char *cache, enum ct_engine kind, const char *key)
{
	cleanup_fd int dir = open_records(cache, true);
	cleanup_free char *name = cl_asprintf("%s-%s", ct_engine_name(kind), key);
	struct stat st;
	int fd = -1;

	/* Again where a removal took the record while its lock was waited for. */
	for (int i = 0; dir >= 0 && fd < 0 && i < 3; i++)
		fd = lock_record(dir, name, O_CREAT, LOCK_SH, &st);
	if (fd >= 0 && futimens(fd, NULL)) {
		/* What cannot be told to be in use must not look unused. */
		(void)unlinkat(dir, name, 0);
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static bool unused(const struct stat *st, int64_t unused_ms)
{
	int64_t at = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
	int64_t now = sys_now_ms();

	return at > 0 && at <= now && now - at >= unused_ms;
}

void built_stale(const char *cache, int64_t unused_ms, struct cl_strv *names)
{
	int fd = open_records(cache, false);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	struct stat st;

	while (d && (de = readdir(d)))
		if (!fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) && is_record(&st) &&
			unused(&st, unused_ms))
			cl_strv_add(names, de->d_name);
	if (d)
		(void)closedir(d);
	else if (fd >= 0)
		(void)close(fd);
}

/* ---- images ---- */

struct collect {
	const struct engine *engine;
	const char *lock_dir;
	int64_t unused_ms;
	int dir;             /* of records */
	struct cl_strv tags; /* of built images that the engine has */
	built_fn *told;
	void *arg;
};

/* The key of a record of this engine, or NULL. */
static const char *key_of(const struct collect *c, const char *name)
{
	const char *engine = ct_engine_name(c->engine->kind), *key = name + strlen(engine) + 1;

	if (!cl_starts(name, engine) || name[strlen(engine)] != '-')
		return NULL;
	return strlen(key) == CT_BUILD_KEY_LEN - 1 &&
			       strspn(key, "0123456789abcdef") == CT_BUILD_KEY_LEN - 1
		       ? key
		       : NULL;
}

/* A container has it, or an image was made from it. */
static bool in_use(const struct engine *en, const struct sys_run *r)
{
	return en->kind == CT_PODMAN ? r->status == 2 : strstr(r->err.p, "conflict") != NULL;
}

/* True when it is gone. Its label says that the tag is what we made. */
static bool remove_image(const struct collect *c, const char *tag, const char *key)
{
	const char *const rm[] = {"image", "rm", tag, NULL}, *label;
	cleanup_engine_image struct engine_image im = ENGINE_IMAGE_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	if (engine_image_inspect(c->engine, tag, &im, &e))
		return false;
	label = engine_image_label(&im, CT_BUILD_KEY);
	if (!label || strcmp(label, key) != 0)
		return false;
	r.timeout_ms = ENGINE_WORK_MS;
	if (!engine_run(c->engine, rm, &r, &e)) {
		if (!r.status) {
			c->told(c->arg, tag, NULL);
			return true;
		}
		if (in_use(c->engine, &r))
			return false;
		(void)ct_classify(c->engine->kind, "remove the image", r.status, r.err.p, tag, &e);
	}
	c->told(c->arg, tag, &e);
	return false;
}

/* With the build's lock held, and then the record's: nobody makes it, and nobody looks it up. */
static void collect_locked(const struct collect *c, const char *name, const char *key)
{
	cleanup_free char *tag = cl_asprintf(CT_BUILD_TAG "%s", key);
	struct stat st;
	cleanup_fd int record = lock_record(c->dir, name, 0, LOCK_EX | LOCK_NB, &st);

	if (record < 0 || !unused(&st, c->unused_ms))
		return;
	if (!cl_strv_has(&c->tags, tag) || remove_image(c, tag, key))
		(void)unlinkat(c->dir, name, 0);
}

static void collect_one(const struct collect *c, const char *name)
{
	const char *key = key_of(c, name);
	cleanup_free char *path = key ? build_lock_path(c->lock_dir, key) : NULL;
	struct cl_err e;
	cleanup_fd int lock = path ? build_lock_try(path, &e) : -1;

	if (lock < 0)
		return;
	collect_locked(c, name, key);
	(void)unlink(path);
}

static int list(const struct engine *en, struct cl_strv *tags, struct cl_err *e)
{
	const char *const args[] = {"images", "--filter", "label=" CT_BUILD_KEY, "--format",
		"{{.Repository}}:{{.Tag}}", NULL};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (engine_call(en, "list images", NULL, args, ENGINE_ASK_MS, &text, e))
		return -1;
	cl_split(text.p, '\n', tags);
	return 0;
}

int built_collect(const struct engine *en, const char *cache, const char *lock_dir,
	int64_t unused_ms, const struct cl_strv *names, built_fn *told, void *arg, struct cl_err *e)
{
	cleanup_fd int dir = open_records(cache, false);
	struct collect c = {en, lock_dir, unused_ms, dir, CL_STRV_INIT, told, arg};
	int rc;

	if (dir < 0)
		return 0;
	rc = sys_mkdirs(lock_dir, 0700, e) || list(en, &c.tags, e) ? -1 : 0;
	for (size_t i = 0; !rc && i < names->n; i++)
		collect_one(&c, names->v[i]);
	cl_strv_release(&c.tags);
	return rc;
}
