/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Child processes: by argv, never through a shell, with the environment, descriptors
 * and signal state that the caller names and nothing else.
 */
#ifndef CL_SYS_PROC_H
#define CL_SYS_PROC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * A descriptor the child gets: `fd` of ours becomes `as` of its own, 3 or more. Any
 * permutation works: all are lifted out of the way before the first is put in place.
 */
struct sys_pass {
	int fd, as;
};

struct sys_spawn {
	const char *path;  /* absolute, or a name to find on the fixed path below */
	char *const *argv; /* NULL-terminated */
	char *const *envp; /* NULL: only PATH=SYS_PATH */
	int in, out, err;  /* 0-2 of the child; -1 is /dev/null */
	const struct sys_pass *pass;
	size_t npass;
	const char *cwd;       /* NULL: ours */
	bool new_session;      /* setsid() */
	bool die_with_parent;  /* SIGKILL when the spawning thread ends */
	const struct stat *as; /* root only: run as this file's owner, no groups, for good */
};
#define SYS_SPAWN_INIT ((struct sys_spawn){.in = -1, .out = -1, .err = -1})

/* Where programs are looked for: never the caller's PATH. */
#define SYS_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/*
 * Finds `name` on SYS_PATH (an absolute path is checked for being executable).
 * Owned, or NULL.
 */
char *sys_find_program(const char *name);
/* Names in `path` (NULL: SYS_PATH) that are executable as `name`; owned, or NULL. */
char *sys_find_on(const char *path, const char *name);

/*
 * Starts a child. A failing exec is reported here, not by the child. CL_EUNAVAIL when
 * the program is not there, CL_EOS otherwise. The caller reaps *pid.
 */
int sys_spawn(const struct sys_spawn *s, pid_t *pid, struct cl_err *e);
/*
 * The same for one that goes on without us: init reaps it. *pidfd, where that is not NULL, is the
 * caller's and becomes readable when it ends; -1: it has ended already.
 */
int sys_spawn_away(const struct sys_spawn *s, int *pidfd, struct cl_err *e);
/*
 * For one that goes on until it is told to end: SIGTERM and SIGINT no longer end the process but
 * make the descriptor readable, which the caller owns; -1 on failure. Children are not affected.
 */
int sys_end_signals(struct cl_err *e);
/* Whether such a descriptor has become readable; false for -1. */
bool sys_told_to_end(int signals);

/* The exit status as a shell has it: 0-255, or 128+signal. Waits; EINTR is retried. */
int sys_wait(pid_t pid, int *status, struct cl_err *e);

/* A child run to its end with its output captured. */
struct sys_run {
	struct sys_spawn spawn; /* in, out and err are set by sys_run unless noted */
	const void *input;      /* fed to its stdin; NULL: /dev/null */
	size_t input_len;
	int64_t timeout_ms;     /* 0: none; SIGKILL (with new_session to its whole
				   session's group) and CL_EUNAVAIL when it is over */
	int stop;               /* of sys_end_signals; told to end it is as when the time is
				   over; -1: none */
	size_t max_output;      /* per stream; what is beyond is dropped; 0: 4 MiB */
	bool keep_tail;         /* drop the front, not the end */
	struct cl_buf out, err; /* what it wrote; released by the caller */
	int status;             /* as sys_wait */
};
#define SYS_RUN_INIT       \
	((struct sys_run){ \
		.spawn = SYS_SPAWN_INIT, .stop = -1, .out = CL_BUF_INIT, .err = CL_BUF_INIT})

/*
 * 0 when the child ran, whatever its status; -1 when it could not or took too long. It is
 * over when the child has ended and nobody holds its outputs any more: a grandchild that
 * keeps them keeps us, until the timeout. SIGPIPE is ignored meanwhile.
 */
int sys_run(struct sys_run *r, struct cl_err *e);
void sys_run_release(struct sys_run *r);
#define cleanup_run __attribute__((cleanup(sys_run_release)))

/* The first non-blank line of a program's stderr, for messages; owned. */
char *sys_first_line(const struct cl_buf *text);

#endif
