/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calling a driver (cloop-exec(7)): one JSON object in, one out, errors as errors. */
#ifndef CL_WORK_DRIVER_H
#define CL_WORK_DRIVER_H

#include "base/doc.h"
#include "policy/place/capability.h"
#include "policy/config/config.h"

/*
 * Runs `PROGRAM VERB` with `in` (borrowed) on its standard input and a closed environment, in
 * a session of its own: Ctrl-C is for the workload, not for half a start. A program without a
 * '/' is cloop's own, beside us; another one must be root's alone, and so must every folder
 * above it (DECISIONS D11), else CL_EDENIED. *out is its answer, owned. An error is the
 * driver's own; CL_EUSAGE: it has no such verb.
 */
int work_driver(const char *program, const char *verb, json_t *in, json_t **out, struct cl_err *e);

/* The same; `key` (work/key_pass.h, or -1) is handed to a driver of cloop's own. */
int work_driver_with(
	const char *program, const char *verb, json_t *in, int key, json_t **out, struct cl_err *e);

/*
 * Its preflight, within timeout_ms: {executor_id, fatal, findings}, owned, also where a check
 * failed; of `project` too, NULL for none. Given up when `stop` (sys_end_signals, or -1) says so.
 * CL_EUSAGE: the driver has none.
 */
int work_preflight(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *project, int64_t timeout_ms, int stop, json_t **out, struct cl_err *e);

/*
 * The same for one executor's driver: `in` (taken) gets the executor's mapping and the hub.
 * cfg is the document that x was read from.
 */
int work_driver_ask(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *verb, json_t *take_in, json_t **out, struct cl_err *e);

/*
 * What supervises a workload whose handle names this driver: the driver itself where it is
 * cloop's own, else cloop-supervise, which knows all it needs from the row. Static.
 */
const char *work_supervisor(const char *driver);

/*
 * One executor's mapping as the configuration file has it, with its id: what drivers
 * read. d is the document that cfg was read from. Owned.
 */
json_t *work_executor_json(const struct cl_doc *d, const struct cfg_executor *x);

/*
 * What placement may count on, as the driver answers it. `arch` is this machine's, and the
 * only one that *out can name. Takes what the driver takes, 10 s at most.
 */
int work_capabilities(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *arch, struct cap_set *out, struct cl_err *e);

#endif
