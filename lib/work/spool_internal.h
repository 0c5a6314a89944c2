/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_SPOOL_INTERNAL_H
#define CL_WORK_SPOOL_INTERNAL_H

#include "work/spool.h"

/*
 * What stands before each chunk in a segment file; host byte order, never leaves the host. It is
 * written after its chunk and after the header that ends the log behind that, so a record is
 * whole when its header is; `check` tells one that is just being written. Headers stand at
 * multiples of their size: one that crossed a page could be written by half, because the kernel
 * looks for a SIGKILL between two pages (generic_perform_write).
 *
 * A segment that is used again holds old bytes, chosen by the workload. They are never taken for
 * records: what follows the last record is always a SPOOL_END, and at the start of the segment
 * stands an older number than the segment's name says.
 */
struct spool_header {
	uint32_t magic;
	uint32_t len;
	uint64_t seq;
	int64_t time_ms;
	uint32_t stream;
	uint32_t check;
};
_Static_assert(sizeof(struct spool_header) == 32, "divides a page");
#define SPOOL_MAGIC 0x636c6f68u
/* Ends the log. `seq` is the next record's number: one more while something is passing by. */
#define SPOOL_END 0x636c6f65u

/* How far it is from one header to the next over a chunk of `len` bytes. */
static inline uint64_t spool_span(uint64_t len)
{
	return (2 * sizeof(struct spool_header) - 1 + len) & ~(sizeof(struct spool_header) - 1);
}

/* Segment names: 16 hex digits of the first number in it, and ".seg". */
#define SPOOL_NAME_LEN 20
void spool_segment_name(uint64_t first, char out[SPOOL_NAME_LEN + 1]);
/* First numbers of the segments in dirfd, sorted; *n of them, owned. */
uint64_t *spool_segments(int dirfd, size_t *n);
/* FNV-1a over everything before `check`. */
uint32_t spool_header_check(const struct spool_header *h);
/* True when h is whole and numbered `least` or above, in a file with `left` bytes from there. */
bool spool_header_ok(const struct spool_header *h, uint64_t least, uint64_t left);

#endif
