/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters that survive processes: what metrics read. They only grow, and stop at 2^63-1. */
#ifndef STORE_COUNTER_H
#define STORE_COUNTER_H

#include "store/store.h"

/* Adds n >= 0 to name{label}; the row is made when absent. label may be "". */
int store_counter_add(
	struct store *s, const char *name, const char *label, int64_t n, struct cl_err *e);
/* All counters by name and label; fn as in store/run.h. name NULL: all names. */
typedef int (*store_counter_fn)(
	const char *name, const char *label, int64_t value, void *arg, struct cl_err *e);
int store_counter_each(
	struct store *s, const char *name, store_counter_fn fn, void *arg, struct cl_err *e);

#endif
