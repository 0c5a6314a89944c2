/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_SHIM_INTERNAL_H
#define CL_WORK_SHIM_INTERNAL_H

#include "work/control.h"
#include "work/lease/lease.h"
#include "work/lease/app_token.h"
#include "work/pump.h"
#include "work/shim/shim.h"
#include "work/shim/shim_lent.h"

#include "policy/sandbox/diskwatch.h"
#include "sys/diskwalk.h"

#include <stdatomic.h>

#define SHIM_CLIENTS   32
#define SHIM_ATTACH_MS 10000  /* how long output waits for the client that was announced */
#define SHIM_GRACE_MS  10000  /* between SIGTERM and SIGKILL of a stop */
#define SHIM_FLOOR_MS  2000   /* how often the free space is looked at */
#define SHIM_RECORD_MS 900000 /* how long the end waits for a store that is busy */

/* A connected command. */
struct shim_client {
	int fd; /* -1: free */
	bool attached, waiting;
	uint64_t number; /* in order of arrival */
};

/* What is due at a time on the boot clock; 0: nothing. */
struct shim_due {
	int64_t attach, deadline, grace, floor, disk, start, record;
	int64_t env, look, renew; /* shim_lent.h */
};

struct shim {
	struct shim_job job;
	const struct shim_driver *driver;
	void *arg;
	struct rundir rd;
	struct store *store;
	char *log;
	/* descriptors */
	int sigfd, listen_fd, notify, init_fd, report;
	int keep_out, keep_err, exit_fd;
	int read_out, read_err;   /* the FIFOs' other ends, until the pumps take them */
	int stdin_w, child_stdin; /* both ends of the workload's stdin */
	struct pump_log plog;
	struct pump *out, *err, *in;
	bool out_done, err_done;
	bool reading; /* the pumps run */
	struct shim_client clients[SHIM_CLIENTS];
	uint64_t accepted;
	struct shim_started started;
	struct shim_due due;
	struct dw_watch dw;
	struct diskwalk *walk; /* one at a time; NULL: none runs */
	struct shim_lent lent;
	/* how it ended */
	bool ended;    /* the workload is over; its status is below */
	bool judged;   /* outcome and error below are set */
	bool settled;  /* what it was refused is stored */
	bool recorded; /* the run's row says how it ended */
	bool told;     /* the clients know */
	bool monitor_known, oom;
	int status;               /* as a shell has it; -1 unknown */
	bool killing;             /* SIGKILL was sent by us */
	enum store_outcome cause; /* why, when killing or stopping */
	bool has_cause;
	char cause_text[400];
	enum store_outcome outcome;
	char error[400];
};

/* shim_setup.c */
int shim_setup(struct shim *s, bool adopting, struct cl_err *e);
/*
 * Starts the pumps; what the workload wrote so far waits in its pipes. `out` and `err`
 * (taken; -1: none) are the client's, who gets all of it, also what the log cannot keep.
 */
void shim_start_reading(struct shim *s, int out, int err);
/* Frees all. What an adopter needs stays where the end could not be recorded. */
void shim_release(struct shim *s);
/*
 * shim_loop.c: until the workload is over and everything is recorded. `asked` false: whoever
 * wanted it died before it could be told, so nobody would know of it; it is killed.
 */
void shim_loop(struct shim *s, bool asked);
/* shim_client.c */
void shim_accept(struct shim *s);
void shim_client_ready(struct shim *s, struct shim_client *c);
void shim_tell_ended(struct shim *s);
/* shim_watch.c */
void shim_watch_init(struct shim *s, bool adopting);
void shim_watch_due(struct shim *s, int64_t now);
int64_t shim_watch_next(const struct shim *s);
int shim_watch_fd(const struct shim *s);
void shim_watch_ready(struct shim *s);
/* Notes a cause (the first stays) and kills. */
void shim_kill(struct shim *s, enum store_outcome cause, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* SIGTERM now, SIGKILL after grace_ms. */
void shim_stop(struct shim *s, enum store_outcome cause, int64_t grace_ms, const char *why);
/*
 * shim_tokens.c: what its files have of tokens, before they are wiped (afterwards only the hub has
 * them); `l` is a lease that was not delivered, or NULL.
 */
void shim_tokens_take(struct shim *s, const struct lease *l, struct app_slots *out);
/* Destroys them at GitHub, which may take a minute for each. */
void shim_tokens_end(struct shim *s, const struct app_slots *tokens, const char *reason);
/* The same in a thread, where there are any; `reason` stays where it is. */
void shim_tokens_end_aside(struct shim *s, struct app_slots *take_tokens, const char *reason);
/* That may be done, or is waited for. */
void shim_tokens_ended(struct shim *s, bool wait);
/*
 * shim_repos.c. What the driver is to bind and the variables about it. CL_EREFUSED, constraint
 * host_mounts, for a name that cannot be a path and for two of one name.
 */
int shim_repos_take(struct shim_repos *r, const struct lease *l, struct cl_err *e);
void shim_repos_release(struct shim_repos *r);
/*
 * shim_hardware.c. What of the host's hardware the driver is to pass in, as it is now. CL_EREFUSED,
 * constraint devices or interfaces, where this executor passes none, and for a device that is not
 * there or is for no sandbox.
 */
int shim_hardware_take(struct shim *s, const struct lease *l, struct cl_err *e);
void shim_devices_release(struct shim_devices *d);
/*
 * shim_interfaces.c. What the driver is to move. CL_EREFUSED, constraint interfaces, where it
 * cannot.
 */
int shim_interfaces_take(struct shim *s, const struct lease *l, struct cl_err *e);
void shim_interfaces_release(struct shim_interfaces *i);
/*
 * Those that the lease no longer has (NULL: all) go back to the host, of a live workload too, with a
 * note of each; lent.stuck says what could not be done.
 */
void shim_interfaces_back(struct shim *s, const struct lease *l);
/* shim_end.c */
/*
 * Writes down that it runs. It runs: a busy store is a note and another try (DECISIONS D14).
 * But a run that was given up meanwhile, by a sweep that saw nobody at it, may not.
 */
int shim_record_start(struct shim *s, struct cl_err *e);
/* Judges the end, once, and tries to write it down, which is due again until it succeeds. */
void shim_record(struct shim *s);
/* The handle's row is over too. False: the store was busy. */
bool shim_end_row(struct shim *s);
json_t *shim_ended_json(const struct shim *s);

#endif
