/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_BASE_YAML_WRITE_H
#define CL_BASE_YAML_WRITE_H

#include "base/buf.h"

#include <jansson.h>

/*
 * One document in block style, keys in their order. Text stands plain only where no reader
 * of YAML 1.1 or 1.2 takes it for anything else (no, 1_000, 12:30 and 0777 are quoted);
 * everything else is quoted. Adds to *out; aborts when memory runs out.
 */
void cl_yaml_write(const json_t *j, struct cl_buf *out);

#endif
