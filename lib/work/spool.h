/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of one workload: numbered chunks of its output in a ring of segment files
 * (DECISIONS C6). When the ring is full the oldest segment is written over in place, so that
 * a gigabyte costs no blocks and no pages beyond the ring's; what is missing shows as a jump
 * in the numbers. One writer (the shim), any number of readers, no lock: a reader takes only
 * records that are whole, and none of a segment that was taken from under it.
 */
#ifndef CL_WORK_SPOOL_H
#define CL_WORK_SPOOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAX_BYTES  (64u << 20)
#define SPOOL_SEGMENTS   8u
#define SPOOL_MAX_RECORD (256u << 10)

enum spool_stream { SPOOL_STDOUT = 1, SPOOL_STDERR = 2, SPOOL_NOTE = 3 };

struct spool; /* a writer */

/*
 * Opens `dir` (made, 0700) for writing and goes on after the last whole record there.
 * max_bytes 0 takes SPOOL_MAX_BYTES. CL_EOS.
 */
int spool_open(const char *dir, uint64_t max_bytes, struct spool **out, struct cl_err *e);
/*
 * Appends one chunk of at most SPOOL_MAX_RECORD bytes. A full disk loses the chunk and
 * leaves a gap in the numbers, never the workload. Returns the number it got, 0 if lost.
 */
uint64_t spool_append(
	struct spool *s, enum spool_stream stream, const void *p, size_t len, int64_t now_ms);
/*
 * The same for bytes that pass by on their way to somebody else: begin before they are handed
 * over, then either spool_append_pipe, which takes `len` of them (at most SPOOL_MAX_RECORD) out of
 * the pipe `fd`, also when they are lost, or spool_cancel. A writer that was killed in between leaves a
 * gap in the numbers, because nobody can tell whether they went on.
 */
void spool_begin(struct spool *s);
uint64_t spool_append_pipe(
	struct spool *s, enum spool_stream stream, int fd, size_t len, int64_t now_ms);
void spool_cancel(struct spool *s);
void spool_close(struct spool *s);

struct spool_record {
	uint64_t seq; /* from 1 */
	enum spool_stream stream;
	int64_t time_ms;
	const char *data; /* valid until the next call */
	size_t len;
};

struct spool_reader;
/* Starts at record `from` (0 or 1: the oldest kept). CL_ENOTFOUND without a spool. */
int spool_reader_open(const char *dir, uint64_t from, struct spool_reader **out, struct cl_err *e);
/* *got false: nothing more is there now. */
int spool_next(struct spool_reader *r, struct spool_record *rec, bool *got, struct cl_err *e);
/* Blocks until something changed in the spool or ms passed. */
void spool_wait(struct spool_reader *r, int ms);
void spool_reader_close(struct spool_reader *r);

const char *spool_stream_name(enum spool_stream s); /* "stdout", "stderr", "note" */

#endif
