/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload's log as JSON lines, and waiting for a workload to end. */
#ifndef CL_WORK_LOGS_H
#define CL_WORK_LOGS_H

#include "work/spool.h"

#include "store/run.h"

#include <jansson.h>

/*
 * One record as {seq, stream, at_ms, text}; bytes that are not UTF-8 go as `base64`
 * (RFC 4648) instead of `text`. Owned.
 */
json_t *work_log_json(const struct spool_record *r);
/* Prints every record from `from` on, one a line. */
int work_logs_json(const char *dir, uint64_t from, struct cl_err *e);
/* Sleeps until the shim of the handle says that it ended, or some seconds passed. */
void work_nap(struct store *s, const char *handle);

#endif
