/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Isolation evidence of the configured executors: taken by the driver's verb `probe`, judged by
 * policy/place/isolation.h, kept by store/isolation.h. It holds for a day, and for as long as engine,
 * runtime, their configuration and the kernel are what they were.
 */
#ifndef CL_WORK_ISOLATION_H
#define CL_WORK_ISOLATION_H

#include "policy/place/isolation.h"
#include "policy/place/place.h"
#include "store/isolation.h"
#include "sys/hub.h"

/* The executor asked about, borrowed. */
struct isolation_ask {
	struct store *store;
	const char *hub_dir;
	const struct cl_doc *doc; /* the configuration's */
	const struct cfg_executor *executor;
};

/* The runtime's name as it is stored; "" for the default and where there is none. */
const char *isolation_runtime(const struct cfg_executor *x);
/* What is stored of it; *out is STORE_ISOLATION_INIT and is read only when *found. */
int isolation_read(
	const struct isolation_ask *q, struct store_isolation *out, bool *found, struct cl_err *e);
/*
 * True when it has to be taken (again): there is none (row NULL), it is a day old, something that
 * it rests on has changed, or the last attempt could not run and was a minute ago. `why` (may be
 * NULL) is then a clause for people; static.
 */
bool isolation_due(
	const struct isolation_ask *q, const struct store_isolation *row, const char **why);
/*
 * Takes it now (timeout_ms 0: the driver's own) and writes it down: the row, an audit row
 * "executor.isolation_verdict" when verdict or standing changed, a counter. A probe that could
 * not run is recorded and is no error; CL_EBUSY and the like are of the store. *out is
 * STORE_ISOLATION_INIT.
 */
int isolation_take(const struct isolation_ask *q, int64_t timeout_ms, struct store_isolation *out,
	struct iso_answer *answer, struct cl_err *e);
/*
 * What a janitor does: takes it where the executor's runtime claims something and it is due; a
 * probe that could not run is tried again after an hour only. *taken says whether;
 * *out and *answer are filled then.
 */
int isolation_refresh(const struct isolation_ask *q, bool *taken, struct store_isolation *out,
	struct iso_answer *answer, struct cl_err *e);
/*
 * Puts it into the candidate, which borrows from row and at. With `due` (why, or NULL) a verified
 * standing no longer counts; a contradiction does until it is cleared.
 */
void isolation_apply(
	const struct store_isolation *row, const char *due, char at[32], struct pl_candidate *c);

#endif
