/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calling a driver (cloop-exec(7)): one JSON object in, one out, errors as errors. */
#ifndef CL_WORK_DRIVER_H
#define CL_WORK_DRIVER_H

#include "base/doc.h"
#include "policy/config.h"

/*
 * Runs `cloop-exec-KIND VERB` beside us with `in` (borrowed) on its standard input and a
 * closed environment, in a session of its own: Ctrl-C is for the workload, not for half
 * a start. *out is its answer, owned. An error is the driver's own.
 */
int work_driver(const char *kind, const char *verb, json_t *in, json_t **out, struct cl_err *e);

/*
 * One executor's mapping as the configuration file has it, with its id: what drivers
 * read. d is the document that cfg was read from. Owned.
 */
json_t *work_executor_json(const struct cl_doc *d, const struct cfg_executor *x);

#endif
