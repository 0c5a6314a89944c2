/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/spool_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct spool {
	int dirfd, fd;
	uint64_t next;     /* number of the next record */
	uint64_t size;     /* of the open segment */
	uint64_t max, seg; /* of the ring, of one segment */
	uint64_t *first;   /* first numbers of the segments, oldest first */
	uint64_t *bytes;   /* their sizes; the last is `size` */
	size_t n, cap, cap2;
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

bool spool_header_ok(const struct spool_header *h, uint64_t left)
{
	return left >= sizeof(*h) && h->magic == SPOOL_MAGIC && h->len <= SPOOL_MAX_RECORD &&
	       sizeof(*h) + h->len <= left;
}

/* Finds the end of the last whole record of an open segment, and cuts what follows it. */
static int find_end(struct spool *s, struct cl_err *e)
{
	struct spool_header h;
	struct stat st;

	if (fstat(s->fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at the log");
	s->size = 0;
	while (pread(s->fd, &h, sizeof(h), (off_t)s->size) == sizeof(h) &&
		spool_header_ok(&h, (uint64_t)st.st_size - s->size)) {
		s->size += sizeof(h) + h.len;
		s->next = h.seq + 1;
	}
	if (ftruncate(s->fd, (off_t)s->size))
		return cl_fail_sys(e, CL_EOS, errno, "cannot mend the log");
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

static void push_segment(struct spool *s, uint64_t first, uint64_t bytes)
{
	s->first = cl_grow(s->first, &s->cap, s->n + 1, sizeof(*s->first));
	s->bytes = cl_grow(s->bytes, &s->cap2, s->n + 1, sizeof(*s->bytes));
	s->first[s->n] = first;
	s->bytes[s->n++] = bytes;
}

/* Takes up the segments that an earlier writer left. */
static int resume(struct spool *s, struct cl_err *e)
{
	size_t n;
	cleanup_free uint64_t *first = spool_segments(s->dirfd, &n);

	for (size_t i = 0; i < n; i++) {
		char name[SPOOL_NAME_LEN + 1];
		struct stat st;

		spool_segment_name(first[i], name);
		if (fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		push_segment(s, first[i], (uint64_t)st.st_size);
	}
	s->next = s->n ? s->first[s->n - 1] : 1;
	if (!s->n)
		push_segment(s, 1, 0);
	if (open_segment(s, s->first[s->n - 1], e))
		return -1;
	return find_end(s, e);
}

int spool_open(const char *dir, uint64_t max_bytes, struct spool **out, struct cl_err *e)
{
	struct spool *s;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the log folder '%s'", dir);
	s = cl_calloc(1, sizeof(*s));
	s->fd = -1;
	s->max = max_bytes ? max_bytes : SPOOL_MAX_BYTES;
	s->seg = s->max / 8 < SPOOL_SEGMENT ? s->max / 8 : SPOOL_SEGMENT;
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

static uint64_t total(const struct spool *s)
{
	uint64_t sum = s->size;

	for (size_t i = 0; i + 1 < s->n; i++)
		sum += s->bytes[i];
	return sum;
}

/* Starts a new segment when the open one is full, and drops the oldest beyond the ring. */
static int rotate(struct spool *s)
{
	struct cl_err ignored;

	if (s->size < s->seg)
		return 0;
	s->bytes[s->n - 1] = s->size;
	if (open_segment(s, s->next, &ignored))
		return -1;
	push_segment(s, s->next, 0);
	s->size = 0;
	while (s->n > 1 && total(s) > s->max - s->seg) {
		char name[SPOOL_NAME_LEN + 1];

		spool_segment_name(s->first[0], name);
		(void)unlinkat(s->dirfd, name, 0);
		s->n--;
		memmove(s->first, s->first + 1, s->n * sizeof(*s->first));
		memmove(s->bytes, s->bytes + 1, s->n * sizeof(*s->bytes));
	}
	return 0;
}

uint64_t spool_append(
	struct spool *s, enum spool_stream stream, const void *p, size_t len, int64_t now_ms)
{
	struct spool_header h = {.magic = SPOOL_MAGIC,
		.len = (uint32_t)len,
		.seq = s->next,
		.time_ms = now_ms,
		.stream = (uint32_t)stream};
	struct iovec iov[2] = {{&h, sizeof(h)}, {(void *)(uintptr_t)p, len}};
	ssize_t n;

	if (len > SPOOL_MAX_RECORD)
		return 0;
	s->next++;
	if (rotate(s))
		return 0;
	do
		n = pwritev(s->fd, iov, 2, (off_t)s->size);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)(sizeof(h) + len)) {
		/* Half a record is no record; the number stays used, so the gap shows. */
		(void)!ftruncate(s->fd, (off_t)s->size);
		return 0;
	}
	s->size += (uint64_t)n;
	return h.seq;
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
	free(s->bytes);
	free(s);
}
