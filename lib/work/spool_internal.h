/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_SPOOL_INTERNAL_H
#define CL_WORK_SPOOL_INTERNAL_H

#include "work/spool.h"

/* What stands before each chunk in a segment file; host byte order, never leaves the host. */
struct spool_header {
	uint32_t magic;
	uint32_t len;
	uint64_t seq;
	int64_t time_ms;
	uint32_t stream;
	uint32_t pad;
};
#define SPOOL_MAGIC 0x636c6f67u

/* Segment names: 16 hex digits of the first number in it, and ".seg". */
#define SPOOL_NAME_LEN 20
void spool_segment_name(uint64_t first, char out[SPOOL_NAME_LEN + 1]);
/* First numbers of the segments in dirfd, sorted; *n of them, owned. */
uint64_t *spool_segments(int dirfd, size_t *n);
/* True when h can start a record of a file that has `left` bytes from there. */
bool spool_header_ok(const struct spool_header *h, uint64_t left);

#endif
