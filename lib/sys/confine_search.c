/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for other hubs' markers, above and below a directory. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER ".cloop/hub.env"

/* Whether a marker stands there; a .cloop that cannot be searched may hold one. */
static enum { NONE, HUB, HIDDEN } marked(int dir, const char *marker)
{
	struct stat st;

	if (!fstatat(dir, marker, &st, AT_SYMLINK_NOFOLLOW))
		return HUB;
	return errno == ENOENT || errno == ENOTDIR ? NONE : HIDDEN;
}

/* Notes what was found at `path` (taken); true when that ends the search. */
static bool note(struct confine_facts *f, int what, char *path, const char *own)
{
	if (what == NONE || (own && !strcmp(path, own))) {
		free(path);
		return false;
	}
	if (what == HUB) {
		f->other_hub = path;
	} else {
		f->search = CONFINE_UNREADABLE;
		f->search_at = path;
	}
	return true;
}

static bool look_above(const char *path, const char *own, struct confine_facts *f)
{
	cleanup_free char *at = cl_strdup(path);

	for (;;) {
		cleanup_free char *marker = cl_asprintf("%s%s" MARKER, at, at[1] ? "/" : "");
		char *cut = strrchr(at, '/');

		if (note(f, marked(AT_FDCWD, marker), cl_strdup(at), own))
			return true;
		if (!at[1])
			return false;
		cut[cut == at] = '\0';
	}
}

struct search {
	const char *own;
	size_t left, entries; /* directories and entries that may still be looked at */
	unsigned depth;
	struct confine_facts *f;
};

static char *join(const char *path, const char *name)
{
	return cl_asprintf("%s%s%s", path, path[1] ? "/" : "", name);
}

static bool may_be_dir(DIR *d, const struct dirent *entry)
{
	struct stat st;

	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static bool give_up(struct search *s, enum confine_search why, const char *path)
{
	s->f->search = why;
	s->f->search_at = cl_strdup(path);
	return true;
}

/* Looks into `name` of directory `at` (path: of that entry). True when it is over. */
static bool look_below(struct search *s, int at, const char *name, const char *path, unsigned level)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct dirent *entry;
	bool over;
	DIR *d;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return false;
	if (fd < 0)
		return give_up(s, CONFINE_UNREADABLE, path);
	if (!s->left--) {
		(void)close(fd);
		return give_up(s, CONFINE_TOO_BROAD, path);
	}
	over = level > 0 && note(s->f, marked(fd, MARKER), cl_strdup(path), s->own);
	d = over || level >= s->depth ? NULL : fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return over;
	}
	while (!over && (entry = readdir(d))) {
		cleanup_free char *below = NULL;

		if (!s->entries--) {
			over = give_up(s, CONFINE_TOO_BROAD, path);
			break;
		}
		/* A hub's own files hold no hub; they may be many. */
		if (!may_be_dir(d, entry) || !strcmp(entry->d_name, ".cloop"))
			continue;
		below = join(path, entry->d_name);
		over = look_below(s, dirfd(d), entry->d_name, below, level + 1);
	}
	(void)closedir(d);
	return over;
}

void confine_search_hubs(const char *path, int fd, const char *own, unsigned depth, size_t breadth,
	struct confine_facts *f)
{
	struct search s = {
		.own = own, .left = breadth, .entries = breadth * 32, .depth = depth, .f = f};

	if (look_above(path, own, f) || fd < 0)
		return;
	(void)look_below(&s, fd, ".", path, 0);
}
