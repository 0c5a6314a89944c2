/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error value as it travels between processes: {"error":{code, message, ...}}. */
#ifndef CL_BASE_ERR_JSON_H
#define CL_BASE_ERR_JSON_H

#include "base/err.h"

#include <jansson.h>

/* Owned. */
json_t *cl_err_json(const struct cl_err *e);
/*
 * The reverse; takes the whole object or its "error" member. Always leaves an error with a
 * message in *e; returns -1, so that it can end a return statement.
 */
int cl_err_from_json(const json_t *j, struct cl_err *e);

#endif
