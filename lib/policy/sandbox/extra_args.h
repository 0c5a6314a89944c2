/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * executors.container.extra_args (DECISIONS C1): an allowlist of engine flags that cannot
 * weaken a sandbox. Each entry is one flag with its value, "--shm-size=256m"; what is not on
 * the list is refused by name, so short, glued and bundled forms cannot slip by. Pure.
 */
#ifndef POLICY_EXTRA_ARGS_H
#define POLICY_EXTRA_ARGS_H

#include "base/buf.h"
#include "base/err.h"

#define PX_EXTRA_ARGS_MAX 32

/* NULL-terminated, sorted: "--annotation", ... */
extern const char *const px_extra_args[];
/* Checks one entry: CL_EDATA with the flag's name and the list. */
int px_extra_arg_check(const char *arg, struct cl_err *e);
/* Checks them all, the count (32) included; the message says which. */
int px_extra_args_check(const struct cl_strv *args, struct cl_err *e);

#endif
