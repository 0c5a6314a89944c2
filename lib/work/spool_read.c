/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/spool_internal.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

struct spool_reader {
	int dirfd, fd, watch;
	uint64_t segment; /* first number of the open segment; 0: none yet */
	uint64_t at;      /* byte offset in it */
	uint64_t from;    /* records below are passed over */
	uint64_t least;   /* the next record has this number or a higher one */
	char *data;
};

int spool_reader_open(const char *dir, uint64_t from, struct spool_reader **out, struct cl_err *e)
{
	struct spool_reader *r = cl_calloc(1, sizeof(*r));

	r->fd = -1;
	r->from = from;
	r->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	r->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (r->dirfd < 0) {
		(void)cl_fail_sys(
			e, errno == ENOENT ? CL_ENOTFOUND : CL_EOS, errno, "no log at '%s'", dir);
		spool_reader_close(r);
		return -1;
	}
	if (r->watch >= 0)
		(void)inotify_add_watch(
			r->watch, dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF);
	r->data = cl_malloc(SPOOL_MAX_RECORD);
	*out = r;
	return 0;
}

/* The first number of the segment that comes after this one; 0: there is none. */
static uint64_t following(const struct spool_reader *r)
{
	size_t n;
	cleanup_free uint64_t *first = spool_segments(r->dirfd, &n);

	for (size_t i = 0; i < n; i++)
		/* A segment that ends below `from` need not be read at all. */
		if (first[i] > r->segment && (i + 1 == n || first[i + 1] > r->from))
			return first[i];
	return 0;
}

static void open_segment(struct spool_reader *r, uint64_t first)
{
	char name[SPOOL_NAME_LEN + 1];

	spool_segment_name(first, name);
	if (r->fd >= 0)
		(void)close(r->fd);
	r->fd = openat(r->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	r->segment = first;
	r->least = first;
	r->at = 0;
}

/* Whether the open segment still is the one that was opened, and not written over meanwhile. */
static bool current(const struct spool_reader *r)
{
	char name[SPOOL_NAME_LEN + 1];
	struct stat named, opened;

	spool_segment_name(r->segment, name);
	return !fstat(r->fd, &opened) && !fstatat(r->dirfd, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

/* The record at the reader's place in its segment, when it is whole. */
static bool read_record(struct spool_reader *r, struct spool_record *rec)
{
	struct spool_header h;
	struct stat st;

	if (r->fd < 0 || fstat(r->fd, &st) ||
		pread(r->fd, &h, sizeof(h), (off_t)r->at) != sizeof(h) ||
		!spool_header_ok(&h, r->least, (uint64_t)st.st_size - r->at) ||
		h.magic == SPOOL_END ||
		pread(r->fd, r->data, h.len, (off_t)(r->at + sizeof(h))) != (ssize_t)h.len)
		return false;
	/* The name goes before the first byte does, so what was read under it is the record. */
	if (!current(r))
		return false;
	r->at += spool_span(h.len);
	r->least = h.seq + 1;
	*rec = (struct spool_record){h.seq, (enum spool_stream)h.stream, h.time_ms, r->data, h.len};
	return true;
}

int spool_next(struct spool_reader *r, struct spool_record *rec, bool *got, struct cl_err *e)
{
	uint64_t next;

	(void)e;
	*got = false;
	for (;;) {
		if (!read_record(r, rec)) {
			next = following(r);
			if (!next)
				return 0;
			/* The last record came before the segment that follows. */
			if (!read_record(r, rec)) {
				open_segment(r, next);
				continue;
			}
		}
		if (rec->seq >= r->from) {
			*got = true;
			return 0;
		}
	}
}

void spool_wait(struct spool_reader *r, int ms)
{
	struct pollfd p = {r->watch, POLLIN, 0};
	char events[4096];

	if (r->watch < 0) {
		(void)poll(NULL, 0, ms);
		return;
	}
	if (poll(&p, 1, ms) > 0)
		while (read(r->watch, events, sizeof(events)) > 0)
			;
}

void spool_reader_close(struct spool_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		(void)close(r->fd);
	if (r->dirfd >= 0)
		(void)close(r->dirfd);
	if (r->watch >= 0)
		(void)close(r->watch);
	free(r->data);
	free(r);
}
