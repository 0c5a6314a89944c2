/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache behind engine_image_pin. Asking the engine costs as much as a third of a
 * start, while what it would say is fixed by a few files: the store's index of images
 * and the configuration that says which store it is. Their identities (device, inode,
 * size, change and modification time in nanoseconds) are kept with the answer. Every
 * change of the index is a new file by rename, so a change cannot keep all of them; one
 * made within the clock's tick of our look is guarded against by not caching young files.
 */
#include "sys/engine/image.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "sys/path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CACHE_VERSION 2
#define CACHE_MAX     ((size_t)1 << 20)
#define INDEX_MAX     ((off_t)64 << 20)
/* The kernel's clock for file times ticks every 1 to 10 ms. */
#define YOUNG_NS 100000000LL

/* Identity of a file as text; "-" when there is none. */
static char *identity(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return cl_strdup("-");
	return cl_asprintf("%" PRIx64 ":%" PRIx64 ":%lld:%lld.%09ld:%lld.%09ld",
		(uint64_t)st.st_dev, (uint64_t)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		st.st_ctim.tv_nsec);
}

/* Files whose content decides which store answers and what a short name means. */
static void config_files(const struct engine *en, struct cl_strv *out)
{
	static const char *const fixed[] = {"/etc/containers/storage.conf",
		"/usr/share/containers/storage.conf", "/etc/containers/registries.conf",
		"/etc/containers/registries.conf.d", "/etc/containers/containers.conf",
		"/etc/containers/containers.conf.d"};
	static const char *const home[] = {"storage.conf", "registries.conf", "containers.conf"};
	const char *names[] = {
		"CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF", "CONTAINERS_REGISTRIES_CONF"};
	const char *xdg = engine_env(en, "XDG_CONFIG_HOME"), *dir = engine_env(en, "HOME");

	for (size_t i = 0; i < CL_ARRAY_LEN(fixed); i++)
		cl_strv_add(out, fixed[i]);
	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		if (engine_env(en, names[i]))
			cl_strv_add(out, engine_env(en, names[i]));
	for (size_t i = 0; en->rootless && i < CL_ARRAY_LEN(home); i++) {
		if (xdg)
			cl_strv_addf(out, "%s/containers/%s", xdg, home[i]);
		else if (dir)
			cl_strv_addf(out, "%s/.config/containers/%s", dir, home[i]);
	}
}

/* What an answer depends on besides files: 64 hex. */
static void cache_key(const struct engine *en, const char *ref, char out[CL_SHA256_HEX])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	cl_buf_addf(&b, "%d\n%s\n%s\n%d\n", CACHE_VERSION, en->path, ref, (int)geteuid());
	for (size_t i = 0; i < en->env.n; i++)
		cl_buf_addf(&b, "%s\n", en->env.v[i]);
	cl_sha256_hex(b.p, b.len, out);
}

/* docker's index, or NULL where there is none that is known to be kept by rename. */
static char *docker_index(const struct engine_info *info)
{
	struct utsname u;

	/* A daemon elsewhere has files of the same names. */
	if (uname(&u) || strcmp(u.nodename, info->host) != 0)
		return NULL;
	return cl_asprintf("%s/image/%s/repositories.json", info->store, info->storage_driver);
}

/* True when the index really is where this image is written down. */
static bool index_has(const char *path, const char *id)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	cleanup_free char *text = NULL;
	struct stat st;
	const char *hex = strchr(id, ':');
	off_t got = 0;
	ssize_t n;

	if (fd < 0 || !hex || fstat(fd, &st) || st.st_size > INDEX_MAX || !S_ISREG(st.st_mode))
		return false;
	text = cl_malloc((size_t)st.st_size + 1);
	while (got < st.st_size && (n = read(fd, text + got, (size_t)(st.st_size - got))) > 0)
		got += n;
	text[got] = '\0';
	return strstr(text, hex + 1) != NULL;
}

static bool young(const char *path)
{
	struct timespec now;
	struct stat st;

	if (stat(path, &st) || clock_gettime(CLOCK_REALTIME, &now))
		return true;
	return (now.tv_sec - st.st_ctim.tv_sec) * 1000000000LL +
		       (now.tv_nsec - st.st_ctim.tv_nsec) <
	       YOUNG_NS;
}

static char *cache_file(const char *key)
{
	return cl_asprintf("image-%.32s.json", key);
}

/* {path: identity} of all of them. */
static json_t *identities(const struct cl_strv *files)
{
	json_t *j = json_object();

	for (size_t i = 0; i < files->n; i++) {
		cleanup_free char *id = identity(files->v[i]);

		(void)json_object_set_new(j, files->v[i], json_string(id));
	}
	return j;
}

static bool all_same(json_t *files)
{
	const char *path;
	json_t *want;

	json_object_foreach (files, path, want) {
		cleanup_free char *now = identity(path);

		if (!json_is_string(want) || strcmp(now, json_string_value(want)) != 0)
			return false;
	}
	return json_object_size(files) > 0;
}

/* 0 and *out filled when there is an answer that holds. */
static int look(int dir, const char *key, struct engine_image *out)
{
	cleanup_free char *name = cache_file(key);
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *files = NULL, *image = NULL;
	const char *have = NULL;
	struct cl_err e;
	ssize_t n;

	if (fd < 0)
		return -1;
	while (text.len < CACHE_MAX && (n = read(fd, cl_buf_reserve(&text, 65536), 65536)) > 0) {
		text.len += (size_t)n;
		text.p[text.len] = '\0';
	}
	if (cl_doc_parse(&d, CL_DOC_JSON, name, text.p, text.len, NULL, &e) ||
		cl_doc_str(&d, d.root, "key", &have, &e) || !have || strcmp(have, key) != 0 ||
		cl_doc_map(&d, d.root, "files", &files, &e) || !files || !all_same(files) ||
		cl_doc_map(&d, d.root, "image", &image, &e) || !image ||
		engine_image_read(&d, image, out, &e)) {
		engine_image_release(out);
		return -1;
	}
	return 0;
}

static void keep(int dir, const char *key, json_t *files, const struct engine_image *im)
{
	cleanup_free char *name = cache_file(key), *text = NULL;
	cleanup_free char *tmp = cl_asprintf("%s.%d", name, (int)getpid());
	json_t *j = json_pack(
		"{s:s, s:O, s:o}", "key", key, "files", files, "image", engine_image_json(im));
	int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool whole;

	text = cl_json_text(j);
	json_decref(j);
	if (fd < 0)
		return;
	whole = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (close(fd) || !whole || renameat(dir, tmp, dir, name))
		(void)unlinkat(dir, tmp, 0);
}

/* True when a storage.conf names further stores: what a name means is then not in one index. */
static bool names_further_stores(const char *path)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	const char *p;
	struct cl_err e;

	if (sys_read_small(AT_FDCWD, path, CACHE_MAX, &text, &e))
		return e.code != CL_ENOTFOUND;
	for (p = text.p; (p = strstr(p, "additionalimagestores")); p++) {
		const char *line = p, *end = strchr(p, ']');

		while (line > text.p && line[-1] != '\n')
			line--;
		if (line[strspn(line, " \t")] == '#')
			continue;
		if (!end || memchr(p, '"', (size_t)(end - p)))
			return true;
	}
	return false;
}

/* True when the file, or its absence, is older than `since` by more than the clock's tick. */
static bool unchanged_since(const char *path, const struct timespec *since)
{
	struct stat st;

	if (stat(path, &st))
		return true;
	return (since->tv_sec - st.st_ctim.tv_sec) * 1000000000LL +
		       (since->tv_nsec - st.st_ctim.tv_nsec) >
	       YOUNG_NS;
}

/*
 * podman: one question. Where the index is shows in the answer; that it did not change
 * while podman was asked shows in its times.
 */
static int ask_podman(const struct engine *en, const char *ref, int dir, const char *key,
	struct engine_image *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv files = CL_STRV_INIT;
	struct timespec start;
	bool keepable;

	if (clock_gettime(CLOCK_REALTIME, &start) || engine_image_inspect(en, ref, out, e))
		return -1;
	keepable = dir >= 0 && *out->index && index_has(out->index, out->id);
	cl_strv_add(&files, out->index);
	config_files(en, &files);
	for (size_t i = 0; keepable && i < files.n; i++)
		keepable = unchanged_since(files.v[i], &start) &&
			   (!i || cl_ends(files.v[i], ".d") || !names_further_stores(files.v[i]));
	if (keepable) {
		json_t *now = identities(&files);

		keep(dir, key, now, out);
		json_decref(now);
	}
	return 0;
}

/* docker: asks the daemon where it keeps things, and keeps what did not change meanwhile. */
static int ask_docker(const struct engine *en, const char *ref, int dir, const char *key,
	struct engine_image *out, struct cl_err *e)
{
	cleanup_engine_info struct engine_info info = ENGINE_INFO_INIT;
	cleanup_strv struct cl_strv files = CL_STRV_INIT;
	cleanup_free char *index = NULL;
	json_t *before, *after;

	if (dir < 0 || engine_info(en, &info, e))
		return engine_image_inspect(en, ref, out, e);
	index = docker_index(&info);
	if (!index)
		return engine_image_inspect(en, ref, out, e);
	cl_strv_add(&files, index);
	before = identities(&files);
	if (engine_image_inspect(en, ref, out, e)) {
		json_decref(before);
		return -1;
	}
	after = identities(&files);
	if (json_equal(before, after) && !young(index) && index_has(index, out->id))
		keep(dir, key, after, out);
	json_decref(before);
	json_decref(after);
	return 0;
}

int engine_cache_open(const char *dir)
{
	struct stat st;
	int fd;

	(void)mkdir(dir, 0700);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 &&
		(fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022))) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int engine_image_pin(const struct engine *en, const char *ref, const char *dir,
	struct engine_image *out, bool *cached, struct cl_err *e)
{
	cleanup_fd int fd = dir ? engine_cache_open(dir) : -1;
	char key[CL_SHA256_HEX];
	bool hit;

	cache_key(en, ref, key);
	hit = fd >= 0 && !look(fd, key, out);
	if (cached)
		*cached = hit;
	if (hit)
		return 0;
	return en->kind == CT_PODMAN ? ask_podman(en, ref, fd, key, out, e)
				     : ask_docker(en, ref, fd, key, out, e);
}
