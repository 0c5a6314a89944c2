/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes, durations and times: the one parser and the one printer of each. */
#ifndef CL_BASE_NUM_H
#define CL_BASE_NUM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decimal digits only (a leading '-' for the signed form): no blanks, no '+', no
 * other base. `what` names the value in the message. Fails with CL_EDATA.
 */
int cl_parse_u64(const char *s, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct cl_err *e);
int cl_parse_i64(
	const char *s, int64_t min, int64_t max, const char *what, int64_t *out, struct cl_err *e);
/* A finite decimal fraction with optional exponent: 2, 1.5, 1e-05. Fails with CL_EDATA. */
int cl_parse_double(const char *s, const char *what, double *out, struct cl_err *e);

/* What one unit of a size without a suffix is. */
enum cl_size_unit { CL_SIZE_BYTES = 0, CL_SIZE_MB = 20 };

/*
 * facts/executors.md 1.3: blanks around are ignored; an optional last letter of
 * b k m g t (either case); the rest is a signed 64-bit decimal. The result is in
 * bytes; a product beyond 64 bits sets *out to INT64_MAX. A negative value is
 * returned as such, for the caller to judge. Fails with CL_EDATA.
 */
int cl_parse_size(
	const char *s, enum cl_size_unit bare, const char *what, int64_t *out, struct cl_err *e);
/* Bytes as whole megabytes (MiB), rounded up. */
int64_t cl_bytes_to_mb(int64_t bytes);
/* The largest exact unit of b k m g t: "2g", "1536k", "17b"; out holds 24 bytes. */
void cl_format_size(int64_t bytes, char out[24]);

/*
 * Durations in milliseconds: "90s", "15m", "24h", "7d", "1h30m", "1.5h", "250ms".
 * Must be > 0 unless `zero_ok`. Fails with CL_EDATA.
 */
int cl_parse_duration(const char *s, bool zero_ok, const char *what, int64_t *ms, struct cl_err *e);
/* As the guides print them: "24h0m0s", "15m0s", "1.5s", "250ms", "0s", "-2m0s"; out holds 40 bytes. */
void cl_format_duration(int64_t ms, char out[40]);
/* "5s", "3m", "2h", "4d": how long ago; what lies ahead is "0s". */
void cl_format_age(int64_t ms, char out[24]);

/*
 * RFC 3339 in UTC, seconds: "2026-11-29T21:13:00Z"; out holds 32 bytes. What lies
 * outside the years 0000-9999, which the format has, becomes the nearest time inside.
 */
void cl_format_time(int64_t unix_seconds, char out[32]);
/* The reverse: any RFC 3339 offset and fraction is accepted, the fraction dropped. */
int cl_parse_time(const char *s, const char *what, int64_t *unix_seconds, struct cl_err *e);

/*
 * The shortest text that reads back as v: "2", "10", "1.5", "1e-05"; an exponent only
 * below 0.0001 and from 1e15 on. out holds 32 bytes.
 */
void cl_format_double(double v, char out[32]);

#endif
