/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The root key of a hub that has no key file, on its way from who starts a run to the process
 * that opens what the run is lent: a sealed file in memory, handed down as a descriptor. No
 * environment, argument or input of those in between has it, and none of them reads it.
 */
#ifndef WORK_KEY_PASS_H
#define WORK_KEY_PASS_H

#include "seal/mem.h"

#include <stdbool.h>

/* Which descriptor it is in whoever inherits it, and the variable that says so. */
#define KEY_PASS_FD  3
#define KEY_PASS_ENV "CLOOP_SECRET_KEY_FD"

/*
 * CLOOP_SECRET_KEY, borrowed of our environment; NULL where it is not there. More than one that differ:
 * CL_ECONFIG, slug "key_twice", and all are wiped.
 */
int key_pass_env(const char **text, struct cl_err *e);
/* Every one of them, also for /proc/PID/environ. */
void key_pass_env_wipe(void);

/*
 * Takes CLOOP_SECRET_KEY out of our environment, also out of /proc/PID/environ, into such a
 * file. *fd is the caller's, close-on-exec; -1 where the variable is not set.
 */
int key_pass_take(int *fd, struct cl_err *e);
/*
 * Closes every descriptor above 2 but KEY_PASS_FD where that is one of ours, which is then
 * close-on-exec; returns it, or -1. As shim_close_inherited, before anything is opened.
 */
int key_pass_keep(void);
/*
 * Keeps its pages in memory for as long as this process lives: a mapping that is locked and that nobody
 * can read. A child does not inherit it. Others' are left alone. CL_EOS when they cannot be locked: a
 * key that may be written to swap is not taken (DECISIONS K6).
 */
int key_pass_pin(int fd, struct cl_err *e);
/*
 * The key, from the descriptor that KEY_PASS_ENV names; *got false where it names none. Anything but
 * a sealed file in memory: CL_ECONFIG, slug "key_descriptor", and it is left as it is.
 */
int key_pass_read(struct seal_buf *out, bool *got, struct cl_err *e);

#endif
