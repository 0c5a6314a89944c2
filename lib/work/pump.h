/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves a workload's output and input (DECISIONS C6). One thread a stream: what the
 * workload writes is numbered into the log and handed to the attached client in the
 * same order, at the client's pace; a client that goes away costs nothing but itself.
 */
#ifndef CL_WORK_PUMP_H
#define CL_WORK_PUMP_H

#include "policy/secret/scrub.h"
#include "work/spool.h"

#include <pthread.h>

/* What the main loop learns from a pump, through its event descriptor. */
enum pump_event {
	PUMP_CLIENT_CLOSED = 1 << 0, /* the client's reader is gone (EPIPE) */
	PUMP_DONE = 1 << 1           /* finished after pump_finish(), or at end of file */
};

struct pump;

/* The log both output streams share. */
struct pump_log {
	struct spool *spool; /* NULL: nothing is kept */
	pthread_mutex_t lock;
};

/*
 * Starts a thread that reads `from` (a FIFO, taken) until pump_finish. Output goes to
 * the log as `stream` and to `client` (taken; -1: none yet). `notify` is an eventfd that is
 * written when there is news. With `scrub` (taken, also on failure; NULL: none) neither gets
 * anything that it takes out.
 */
int pump_output(int from, enum spool_stream stream, struct pump_log *log, int notify, int client,
	struct scrub *scrub, struct pump **out, struct cl_err *e);
/* One value more that is taken out of what comes from now on. */
void pump_learn(struct pump *p, const char *value, size_t len);
/*
 * Starts a thread that copies `from` (a client's stdin, taken) to `to` (the write end
 * of the workload's stdin, taken) and closes it at end of file.
 */
int pump_input(int from, int to, int notify, struct pump **out, struct cl_err *e);

/*
 * Gives the stream a client to write to (fd taken), or none (-1): what comes from now
 * on goes there too. With `replay`, what the log holds goes there first.
 */
void pump_attach(struct pump *p, int fd, const char *replay_dir);
/* Reads what is still there, then stops. Returns at once; PUMP_DONE follows. */
void pump_finish(struct pump *p);
/* What happened since the last call (bits of enum pump_event). */
unsigned pump_events(struct pump *p);
/* Why the client was given up, as errno. */
int pump_error(struct pump *p);
/* Stops whatever it is doing, joins the thread, frees. */
void pump_free(struct pump *p);

#endif
