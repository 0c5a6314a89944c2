/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/diskwalk_internal.h"
#include "sys/mountinfo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Directories held open at once, counted from the deepest; the root is one more. */
#define KEEP_OPEN 32
/* Files from this size on are remembered like hard links: one that is renamed while the
 * walk goes on ("mv big.tmp big") would else be counted twice, and its writer stopped. */
#define REMEMBER_BYTES (256 << 10)
#define WANT_STATX     (STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BLOCKS | STATX_MNT_ID)
#define OPEN_DIR       (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* About DW_BATCH_ENTRIES short names a read. */
struct batch {
	size_t pos, len;
	char bytes[DW_BATCH_ENTRIES * 32] __attribute__((aligned(8)));
};

/* A directory on the way down. One that is closed for want of descriptors is opened again
 * as its child's "..", or by its handle (open_by_handle_at(2)) when it has been moved. */
struct frame {
	int fd; /* -1: closed meanwhile */
	struct batch *batch;
	off_t next; /* where to read on */
	uint64_t dev, ino;
	struct file_handle *handle;
};

struct tree {
	struct walk *w;
	enum diskwalk_bounds bounds;
	uint64_t mount, dev;
	struct cl_strv points; /* of DISKWALK_BOUNDS_TABLE */
	char *path;            /* of the root, for names */
	const char *without, *label;
	struct frame *frames;
	size_t n, cap;
	int64_t *bytes;
};

static uint64_t dev_of(const struct statx *st)
{
	return (uint64_t)makedev(st->stx_dev_major, st->stx_dev_minor);
}

static void add(int64_t *sum, uint64_t blocks)
{
	int64_t bytes;

	if (__builtin_mul_overflow(blocks, 512, &bytes) || __builtin_add_overflow(*sum, bytes, sum))
		*sum = INT64_MAX;
}

/* The path the kernel has for a descriptor; owned, or NULL when it is too long. */
static char *path_of(int fd)
{
	char link[40], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 && n < (ssize_t)sizeof(path) ? cl_strndup(path, (size_t)n) : NULL;
}

/* Fit for a message or JSON: what is no UTF-8, or a control character, becomes '?'. */
static void tidy(char *s)
{
	bool whole = cl_utf8_valid(s, strlen(s));

	for (unsigned char *p = (unsigned char *)s; *p; p++)
		if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && !whole))
			*p = '?';
}

static void unreadable(struct tree *t, int dir, const char *name)
{
	struct diskwalk_result *r = t->w->result;
	cleanup_free char *path = path_of(dir), *full = NULL;
	const char *below = path ? path : "...";
	size_t root = t->path ? strlen(t->path) : 0;

	r->partial = true;
	if (r->nunreadable++ >= DW_NAMED)
		return;
	if (path && t->path && cl_starts(path, t->path) && (!path[root] || path[root] == '/'))
		below = path[root] ? path + root + 1 : "";
	full = cl_asprintf("%s%s%s%s", t->label, below, *below && *name ? "/" : "", name);
	(void)snprintf(r->unreadable[r->nunreadable - 1], sizeof(r->unreadable[0]), "%s",
		*full ? full : ".");
	tidy(r->unreadable[r->nunreadable - 1]);
}

/* True when it is time to end. Looks only now and then, as looking costs a system call. */
static bool over(struct walk *w)
{
	if (++w->result->entries % DW_CHECK_ENTRIES)
		return false;
	if (atomic_load(w->cancelled))
		return true;
	if (sys_mono_ms() < w->deadline)
		return false;
	w->result->missed = w->result->partial = true;
	return true;
}

/* Whether something lies on another mount. `fd` is -1 while it is not open. */
static bool foreign(const struct tree *t, const struct statx *st, int fd)
{
	cleanup_free char *path = NULL;

	switch (t->bounds) {
	case DISKWALK_BOUNDS_BEST:
		return st->stx_mnt_id != t->mount;
	case DISKWALK_BOUNDS_DEVICE:
		return dev_of(st) != t->dev;
	case DISKWALK_BOUNDS_TABLE:
	default:
		break;
	}
	if (fd < 0 || !t->points.n)
		return false;
	path = path_of(fd);
	return path && cl_strv_has(&t->points, path);
}

static void close_frame(struct frame *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	f->fd = -1;
	free(f->batch);
	f->batch = NULL;
}

/* Gives its descriptor up, keeping what finds it again. */
static void rest(struct frame *f)
{
	struct file_handle *h;
	int mount;

	if (f->fd < 0)
		return;
	h = cl_malloc(sizeof(*h) + MAX_HANDLE_SZ);
	h->handle_bytes = MAX_HANDLE_SZ;
	if (!name_to_handle_at(f->fd, "", h, &mount, AT_EMPTY_PATH))
		f->handle = cl_realloc(h, sizeof(*h) + h->handle_bytes);
	else
		free(h);
	close_frame(f);
}

static bool is_frame(const struct frame *f, int fd)
{
	struct statx st;

	return fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_INO, &st) && st.stx_ino == f->ino &&
	       dev_of(&st) == f->dev;
}

/* Opens a resting directory again, from its child (-1: none). */
static bool wake(struct tree *t, struct frame *f, int child)
{
	int fd = child >= 0 ? openat(child, "..", OPEN_DIR) : -1;

	if (!is_frame(f, fd)) {
		if (fd >= 0)
			(void)close(fd);
		fd = f->handle ? open_by_handle_at(t->frames[0].fd, f->handle, OPEN_DIR) : -1;
	}
	free(f->handle);
	f->handle = NULL;
	if (!is_frame(f, fd) || lseek(fd, f->next, SEEK_SET) < 0) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	f->fd = fd;
	return true;
}

static void push(struct tree *t, int fd, const struct statx *st)
{
	t->frames = cl_grow(t->frames, &t->cap, t->n + 1, sizeof(*t->frames));
	t->frames[t->n++] = (struct frame){.fd = fd, .dev = dev_of(st), .ino = st->stx_ino};
	if (t->n > KEEP_OPEN + 1)
		rest(&t->frames[t->n - KEEP_OPEN - 1]);
}

/* Leaves the deepest directory; one above it that cannot be found again is left too. */
static void pop(struct tree *t)
{
	struct frame child = t->frames[--t->n];

	while (t->n && t->frames[t->n - 1].fd < 0) {
		if (wake(t, &t->frames[t->n - 1], child.fd))
			break;
		t->w->result->changed = t->w->result->partial = true;
		close_frame(&child);
		t->n--;
	}
	close_frame(&child);
}

/* Whether the next entry is in the batch, read if need be. */
static bool more(struct tree *t, struct frame *f)
{
	ssize_t n;

	if (!f->batch)
		f->batch = cl_calloc(1, sizeof(*f->batch));
	if (f->batch->pos < f->batch->len)
		return true;
	do
		n = getdents64(f->fd, f->batch->bytes, sizeof(f->batch->bytes));
	while (n < 0 && errno == EINTR);
	/* ENOENT: it was removed meanwhile, so it is empty. */
	if (n < 0 && errno != ENOENT)
		unreadable(t, f->fd, "");
	f->batch->pos = 0;
	f->batch->len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static int open_dir(struct tree *t, int dir, const char *name)
{
	int fd = openat(dir, name, OPEN_DIR);

	/* Out of descriptors: those of directories above can be had again later. */
	for (size_t i = 1; fd < 0 && (errno == EMFILE || errno == ENFILE) && i + 1 < t->n; i++) {
		if (t->frames[i].fd < 0)
			continue;
		rest(&t->frames[i]);
		fd = openat(dir, name, OPEN_DIR);
	}
	return fd;
}

static void count_file(struct tree *t, const struct statx *st)
{
	bool remember = st->stx_nlink > 1 || st->stx_blocks * 512 >= REMEMBER_BYTES;

	if (!remember || inodes_add(&t->w->seen, dev_of(st), st->stx_ino))
		add(t->bytes, st->stx_blocks);
}

/* Returns false when it is no directory any more. */
static bool enter(struct tree *t, int dir, const char *name, const struct statx *seen)
{
	struct statx st;
	int fd = open_dir(t, dir, name);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT))
		return false;
	if (fd < 0) {
		unreadable(t, dir, name);
		if (inodes_add(&t->w->seen, dev_of(seen), seen->stx_ino))
			add(t->bytes, seen->stx_blocks);
		return true;
	}
	/* What was opened may not be what was looked at. A directory met again was moved. */
	if (statx(fd, "", AT_EMPTY_PATH, WANT_STATX, &st) || foreign(t, &st, fd) ||
		!inodes_add(&t->w->seen, dev_of(&st), st.stx_ino)) {
		(void)close(fd);
		return true;
	}
	add(t->bytes, st.stx_blocks);
	push(t, fd, &st);
	return true;
}

static void visit(struct tree *t, const char *name)
{
	int dir = t->frames[t->n - 1].fd;

	/* Twice at most: a directory can be swapped for a file between the two calls. */
	for (int tries = 0; tries < 2; tries++) {
		struct statx st;

		if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANT_STATX, &st)) {
			if (errno != ENOENT)
				unreadable(t, dir, errno == EACCES ? "" : name);
			return;
		}
		if (foreign(t, &st, -1))
			return;
		if (!S_ISDIR(st.stx_mode)) {
			count_file(t, &st);
			return;
		}
		if (enter(t, dir, name, &st))
			return;
	}
}

static bool dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* True when it came to its end. */
static bool run(struct tree *t, size_t floor)
{
	while (t->n > floor) {
		struct frame *f = &t->frames[t->n - 1];
		const struct dirent64 *entry;

		if (over(t->w))
			return false;
		if (!more(t, f)) {
			pop(t);
			continue;
		}
		entry = (const struct dirent64 *)(const void *)(f->batch->bytes + f->batch->pos);
		f->batch->pos += entry->d_reclen;
		f->next = entry->d_off;
		if (!dots(entry->d_name) &&
			!(t->n == 1 && t->without && !strcmp(entry->d_name, t->without))) {
			char name[NAME_MAX + 1];

			/* Copied: a deep descent lets go of this frame's batch. */
			(void)snprintf(name, sizeof(name), "%s", entry->d_name);
			visit(t, name);
		}
	}
	return true;
}

/* Finds out how mount points are told here. */
static void set_bounds(struct tree *t, const struct statx *root)
{
	cleanup_mountinfo struct mountinfo table = MOUNTINFO_INIT;
	struct cl_err ignored;

	t->bounds = t->w->bounds;
	t->mount = root->stx_mnt_id;
	t->dev = dev_of(root);
	if (t->bounds == DISKWALK_BOUNDS_BEST && !(root->stx_mask & STATX_MNT_ID))
		t->bounds = DISKWALK_BOUNDS_TABLE;
	if (t->bounds != DISKWALK_BOUNDS_TABLE)
		return;
	if (!t->path || mountinfo_read(&table, &ignored))
		t->bounds = DISKWALK_BOUNDS_DEVICE;
	else
		mountinfo_below(&table, t->path, &t->points);
}

bool walk_tree(struct walk *w, int fd, const struct walk_what *what, int64_t *bytes)
{
	struct tree t = {.w = w, .points = CL_STRV_INIT, .without = what->without};
	struct statx st;
	bool whole = true;

	t.label = what->label;
	t.bytes = bytes;
	t.path = path_of(fd);
	if (statx(fd, "", AT_EMPTY_PATH, WANT_STATX, &st)) {
		unreadable(&t, fd, "");
		(void)close(fd);
	} else {
		set_bounds(&t, &st);
		push(&t, fd, &st);
		if (what->only) {
			visit(&t, what->only);
		} else if (inodes_add(&w->seen, dev_of(&st), st.stx_ino)) {
			add(bytes, st.stx_blocks);
		}
		whole = run(&t, what->only ? 1 : 0);
	}
	while (t.n) {
		struct frame *f = &t.frames[--t.n];

		close_frame(f);
		free(f->handle);
	}
	free(t.frames);
	free(t.path);
	cl_strv_release(&t.points);
	return whole;
}
