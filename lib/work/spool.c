/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/spool_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct spool {
	int dirfd, fd;
	uint64_t next;   /* number of the next record */
	uint64_t size;   /* what is used of the open segment */
	uint64_t seg;    /* how large one gets */
	uint64_t *first; /* first numbers of the segments, oldest first */
	size_t n, cap;
	unsigned passing; /* begun, neither appended nor cancelled */
};

const char *spool_stream_name(enum spool_stream s)
{
	return s == SPOOL_STDERR ? "stderr" : s == SPOOL_NOTE ? "note" : "stdout";
}

void spool_segment_name(uint64_t first, char out[SPOOL_NAME_LEN + 1])
{
	(void)snprintf(out, SPOOL_NAME_LEN + 1, "%016" PRIx64 ".seg", first);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t *spool_segments(int dirfd, size_t *n)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	uint64_t *out = NULL;
	size_t cap = 0;

	*n = 0;
	while (d && (de = readdir(d))) {
		if (strlen(de->d_name) != SPOOL_NAME_LEN || !cl_ends(de->d_name, ".seg") ||
			strspn(de->d_name, CL_DIGITS "abcdef") != 16)
			continue;
		out = cl_grow(out, &cap, *n + 1, sizeof(*out));
		out[(*n)++] = strtoull(de->d_name, NULL, 16);
	}
	if (d)
		(void)closedir(d);
	if (*n > 1)
		qsort(out, *n, sizeof(*out), by_number);
	return out;
}

uint32_t spool_header_check(const struct spool_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < offsetof(struct spool_header, check); i++)
		sum = (sum ^ p[i]) * 16777619u;
	return sum;
}

bool spool_header_ok(const struct spool_header *h, uint64_t least, uint64_t left)
{
	return left >= sizeof(*h) && (h->magic == SPOOL_MAGIC || h->magic == SPOOL_END) &&
	       h->len <= SPOOL_MAX_RECORD && sizeof(*h) + h->len <= left && h->seq >= least &&
	       h->check == spool_header_check(h);
}

/* Writes at `at` all of it or nothing that counts. */
static bool put(struct spool *s, uint64_t at, struct iovec *iov, int n)
{
	size_t want = 0;
	ssize_t got;

	for (int i = 0; i < n; i++)
		want += iov[i].iov_len;
	do
		got = pwritev(s->fd, iov, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)want;
}

/* What stands behind the last record; `next` is what a later one may be numbered. */
static struct spool_header end_mark(const struct spool *s, uint64_t next)
{
	struct spool_header h = {.magic = SPOOL_END, .seq = next + (s->passing > 0)};

	h.check = spool_header_check(&h);
	return h;
}

static void mark_end(struct spool *s)
{
	struct spool_header end = end_mark(s, s->next);
	struct iovec iov = {&end, sizeof(end)};

	(void)put(s, s->size, &iov, 1);
}

/* Goes over the records of the open segment, which are numbered `first` or above, to their end. */
static int find_end(struct spool *s, uint64_t first, struct cl_err *e)
{
	struct spool_header h;
	struct stat st;

	if (fstat(s->fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at the log");
	s->size = 0;
	s->next = first;
	while (pread(s->fd, &h, sizeof(h), (off_t)s->size) == sizeof(h) &&
		spool_header_ok(&h, s->next, (uint64_t)st.st_size - s->size)) {
		if (h.magic == SPOOL_END) {
			s->next = h.seq;
			break;
		}
		s->size += spool_span(h.len);
		s->next = h.seq + 1;
	}
	return 0;
}

static int open_segment(struct spool *s, uint64_t first, struct cl_err *e)
{
	char name[SPOOL_NAME_LEN + 1];

	spool_segment_name(first, name);
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = openat(s->dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open log segment '%s'", name);
	return 0;
}

static void push_segment(struct spool *s, uint64_t first)
{
	s->first = cl_grow(s->first, &s->cap, s->n + 1, sizeof(*s->first));
	s->first[s->n++] = first;
}

static void drop_oldest(struct spool *s)
{
	s->n--;
	memmove(s->first, s->first + 1, s->n * sizeof(*s->first));
}

/*
 * Takes up the segments that an earlier writer left. The last one may have got its name and no
 * mark yet: what was passing by then shows at the end of the one before.
 */
static int resume(struct spool *s, struct cl_err *e)
{
	size_t n;
	cleanup_free uint64_t *first = spool_segments(s->dirfd, &n);
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++)
		push_segment(s, first[i]);
	if (!s->n)
		push_segment(s, 1);
	for (size_t i = s->n > 1 ? s->n - 2 : 0; i < s->n; i++) {
		if (open_segment(s, s->first[i], e) || find_end(s, s->first[i], e))
			return -1;
		if (s->next < before)
			s->next = before;
		before = s->next;
	}
	/* Half a record may stand here, and what follows it is not to be trusted. */
	mark_end(s);
	return 0;
}

int spool_open(const char *dir, uint64_t max_bytes, struct spool **out, struct cl_err *e)
{
	struct spool *s;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the log folder '%s'", dir);
	s = cl_calloc(1, sizeof(*s));
	s->fd = -1;
	s->seg = (max_bytes ? max_bytes : SPOOL_MAX_BYTES) / SPOOL_SEGMENTS;
	s->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dirfd < 0) {
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot open the log folder '%s'", dir);
		spool_close(s);
		return -1;
	}
	if (resume(s, e)) {
		spool_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

/*
 * Makes room for a record of `len` bytes: in the open segment, in a new one, or in the oldest,
 * whose new name tells its readers that what they have of it counts no more.
 */
static bool make_room(struct spool *s, size_t len)
{
	char old[SPOOL_NAME_LEN + 1], name[SPOOL_NAME_LEN + 1];
	struct cl_err ignored;

	if (s->fd >= 0 &&
		(!s->size || s->size + spool_span(len) + sizeof(struct spool_header) <= s->seg))
		return true;
	for (; s->n >= SPOOL_SEGMENTS; drop_oldest(s)) {
		spool_segment_name(s->first[0], old);
		spool_segment_name(s->next, name);
		if (s->n > SPOOL_SEGMENTS || renameat(s->dirfd, old, s->dirfd, name))
			(void)unlinkat(s->dirfd, old, 0);
	}
	push_segment(s, s->next);
	s->size = 0;
	if (open_segment(s, s->next, &ignored))
		return false;
	if (s->passing)
		mark_end(s);
	return true;
}

/* The chunk stands behind the place of its header; with the header it becomes a record. */
static uint64_t commit(
	struct spool *s, enum spool_stream stream, uint64_t seq, size_t len, int64_t now_ms)
{
	struct spool_header h = {.magic = SPOOL_MAGIC,
		.len = (uint32_t)len,
		.seq = seq,
		.time_ms = now_ms,
		.stream = (uint32_t)stream};
	struct iovec iov = {&h, sizeof(h)};

	h.check = spool_header_check(&h);
	if (!put(s, s->size, &iov, 1))
		return 0;
	s->size += spool_span(len);
	return seq;
}

uint64_t spool_append(
	struct spool *s, enum spool_stream stream, const void *p, size_t len, int64_t now_ms)
{
	struct spool_header end = end_mark(s, s->next + 1);
	char pad[sizeof(end)] = {0};
	struct iovec iov[3] = {{(void *)(uintptr_t)p, len},
		{pad, spool_span(len) - sizeof(end) - len}, {&end, sizeof(end)}};
	uint64_t seq;
	bool room;

	if (len > SPOOL_MAX_RECORD)
		return 0;
	/* Half a record is no record; its number stays used, so the gap shows. */
	room = make_room(s, len);
	seq = s->next++;
	if (!room || !put(s, s->size + sizeof(end), iov, 3)) {
		mark_end(s);
		return 0;
	}
	return commit(s, stream, seq, len, now_ms);
}

void spool_begin(struct spool *s)
{
	if (!s->passing++)
		mark_end(s);
}

void spool_cancel(struct spool *s)
{
	if (!--s->passing)
		mark_end(s);
}

/*
 * What splice(2) left of `len` bytes in a pipe, because the file system cannot or has no space:
 * read, and written as far as that works. Returns whether all of it was.
 */
static bool copy_rest(struct spool *s, int fd, size_t len, off_t at)
{
	char copy[16384];
	bool whole = true;

	while (len) {
		ssize_t n = read(fd, copy, len < sizeof(copy) ? len : sizeof(copy));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		whole = whole && pwrite(s->fd, copy, (size_t)n, at) == n;
		len -= (size_t)n;
		at += n;
	}
	return whole;
}

/* Moves len bytes of a pipe to the place behind the next header, without a copy in between. */
static bool fill(struct spool *s, int fd, size_t len)
{
	off_t at = (off_t)(s->size + sizeof(struct spool_header));
	ssize_t n;

	while (len) {
		n = splice(fd, NULL, s->fd, &at, len, 0);
		if (n > 0)
			len -= (size_t)n;
		else if (n == 0 || errno != EINTR)
			return copy_rest(s, fd, len, at);
	}
	return true;
}

uint64_t spool_append_pipe(
	struct spool *s, enum spool_stream stream, int fd, size_t len, int64_t now_ms)
{
	bool whole = make_room(s, len);
	uint64_t seq = s->next++;
	struct spool_header end;
	struct iovec iov = {&end, sizeof(end)};

	/* Without room no segment is open, so that everything is taken and lost. */
	whole = fill(s, fd, len) && whole;
	s->passing--;
	end = end_mark(s, s->next);
	if (!whole || !put(s, s->size + spool_span(len), &iov, 1)) {
		mark_end(s);
		return 0;
	}
	return commit(s, stream, seq, len, now_ms);
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->dirfd >= 0)
		(void)close(s->dirfd);
	free(s->first);
	free(s);
}
