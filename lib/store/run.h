/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs and the handles of their workloads. A run is what somebody asked for; a handle is
 * what an executor made of it. Rows are structs of owned strings (cl_strdup what goes
 * in; NULL is SQL NULL); _release frees them and makes the struct as new. Columns with
 * JSON take its text. Times are Unix milliseconds, 0 for none.
 */
#ifndef STORE_RUN_H
#define STORE_RUN_H

#include "store/store.h"

#include <jansson.h>

#define STORE_RUN_ID    29 /* "run_", 24 hex, NUL */
#define STORE_HANDLE_ID 15 /* "c-", 12 hex, NUL */

/* Fresh ids from getrandom(2). */
int store_new_run_id(char out[STORE_RUN_ID], struct cl_err *e);
int store_new_handle_id(char out[STORE_HANDLE_ID], struct cl_err *e);

/* How a run ended. The names are what the column holds and JSON shows. */
enum store_outcome {
	OUTCOME_EXITED,     /* by itself, with any status */
	OUTCOME_FAILED,     /* the engine could not run it, or it vanished */
	OUTCOME_KILLED,     /* by a signal or by `cloop runs stop` */
	OUTCOME_TIMEOUT,    /* its deadline */
	OUTCOME_DISK_LIMIT, /* its own disk limit */
	OUTCOME_DISK_FLOOR, /* orchestrator.min_free_disk_mb */
	OUTCOME_OOM,        /* its memory limit */
	OUTCOME_REVOKED,    /* a grant it held was taken back */
	OUTCOME_LOST,       /* nobody saw its end */
	OUTCOME_REFUSED,    /* never started */
	OUTCOME_COUNT
};
const char *store_outcome_name(enum store_outcome o); /* "disk_limit" */
/* False: no such name. */
bool store_outcome_find(const char *name, enum store_outcome *out);

struct store_run {
	char *id;          /* run_<24 hex> */
	char *project;     /* directory, absolute and resolved */
	char *executor_id; /* as in the configuration */
	char *handle_id;   /* c-<12 hex>, or NULL */
	char *argv;        /* JSON array of strings */
	char *harness;     /* base name of argv[0] */
	char *task;        /* label, or NULL */
	int64_t uid;       /* who asked */
	bool detached;
	char *state;       /* "starting", "running", "finished" */
	char *outcome;     /* store_outcome_name, or NULL until finished */
	int64_t exit_code; /* as a shell has it; -1: none (SQL NULL) */
	char *error;
	int64_t created_at, started_at, finished_at, deadline;
	char *image_requested, *image, *image_digest;
	bool reproducible;
	char *spec_sha256, *setup_sha256;
	char *egress; /* JSON of eg_auth_json, or NULL */
	char *clamps; /* JSON array, or NULL */
	char *limits; /* JSON object, or NULL */
	/* JSON {"destinations","packets","unrecorded"} of what was refused, NULL: nothing was */
	char *blocked;
};
#define STORE_RUN_INIT ((struct store_run){.exit_code = -1})
void store_run_release(struct store_run *r);
#define cleanup_run_row __attribute__((cleanup(store_run_release)))

/*
 * Inserts r as it is (DECISIONS D14: before the start). id, project, executor_id, argv,
 * harness and created_at are required; a NULL state is "starting".
 */
int store_run_insert(struct store *s, const struct store_run *r, struct cl_err *e);
/* By id or prefix (store_id). *out is STORE_RUN_INIT. */
int store_run_get(struct store *s, const char *id, struct store_run *out, struct cl_err *e);
/*
 * Writes the named columns of r into the row r->id: columns is NULL-terminated and holds
 * names of the struct's members, never "id", "state", "outcome", "exit_code" or
 * "finished_at", which have functions of their own; another name is a bug and aborts.
 * CL_ENOTFOUND.
 */
int store_run_set(
	struct store *s, const struct store_run *r, const char *const *columns, struct cl_err *e);
/*
 * starting -> running, as one conditional UPDATE. *won: this caller did it; false: the
 * row is not there or not starting.
 */
int store_run_started(struct store *s, const char *id, const char *handle_id, int64_t at, bool *won,
	struct cl_err *e);
/*
 * starting or running -> finished, exactly once over all processes. exit_code -1: none;
 * error may be NULL. *won as above.
 */
int store_run_finished(struct store *s, const char *id, enum store_outcome outcome,
	int64_t exit_code, const char *error, int64_t at, bool *won, struct cl_err *e);

/* What to list: NULL, -1 or 0 asks for nothing in particular. */
struct store_run_filter {
	const char *project, *executor_id, *state, *outcome, *task;
	int64_t uid;   /* -1: anybody's */
	int64_t since; /* created at or after */
	bool live;     /* starting or running */
	int64_t limit; /* 0: all */
};
#define STORE_RUN_FILTER_INIT ((struct store_run_filter){.uid = -1})
/* The newest first; fn gets a borrowed row and stops the walk with a value that is not 0,
   which is then returned (fill *e when it is -1). */
typedef int (*store_run_fn)(const struct store_run *r, void *arg, struct cl_err *e);
int store_run_each(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
	struct cl_err *e);
/* The row as JSON: members by name, JSON columns as values, times as RFC 3339, absent as null. */
json_t *store_run_json(const struct store_run *r);

/* The process that watches a workload, told apart from a later one with its pid. */
struct store_shim {
	int64_t pid;         /* 0: nobody yet */
	int64_t start;       /* field 22 of /proc/PID/stat: clock ticks since boot */
	const char *boot_id; /* /proc/sys/kernel/random/boot_id; "" with pid 0 */
};

struct store_handle {
	char *id;          /* c-<12 hex> */
	char *run_id;      /* NULL: not made by a run */
	char *executor_id; /* as in the configuration */
	char *driver;      /* "container" */
	char *container;   /* its name */
	char *external_id; /* the engine's id */
	char *project, *image;
	char *cgroup, *netns, *bridge, *nft_table, *network;
	int64_t shim_pid, shim_start; /* written by store_handle_claim only, or at insert */
	char *boot_id;
	char *runtime_dir;
	int64_t started_at, deadline; /* absolute */
	int64_t disk_limit_mb;        /* 0: none */
	char *disk_limit_source;
	int64_t disk_baseline; /* bytes of .cloop at the start; -1: not measured */
	char *disk_breach;     /* JSON, or NULL */
	char *kill_cause;      /* store_outcome_name of what we did, or NULL */
	char *state;           /* "live", "ended" */
	int64_t ended_at;
	char *meta; /* JSON object, or NULL */
	/* The sandbox's own addresses, which tell its rows in a shared record (work/blocked.h). */
	char *address, *address6;  /* or NULL */
	int64_t unrecorded_before; /* packets that the record had no room for when it started */
};
#define STORE_HANDLE_INIT ((struct store_handle){.disk_baseline = -1})
void store_handle_release(struct store_handle *h);
#define cleanup_handle_row __attribute__((cleanup(store_handle_release)))

/* id, executor_id, driver, project and started_at are required; a NULL state is "live". */
int store_handle_insert(struct store *s, const struct store_handle *h, struct cl_err *e);
/* By id or prefix. *out is STORE_HANDLE_INIT. */
int store_handle_get(struct store *s, const char *id, struct store_handle *out, struct cl_err *e);
/* The row of a run; CL_ENOTFOUND. A run has one at most that is live; the newest is taken. */
int store_handle_of_run(
	struct store *s, const char *run_id, struct store_handle *out, struct cl_err *e);
/* As store_run_set; never "id", "state", "ended_at", "kill_cause" or the shim's three columns. */
int store_handle_set(struct store *s, const struct store_handle *h, const char *const *columns,
	struct cl_err *e);
/*
 * Makes `now` the watcher if the row is live and its watcher is still exactly `old`
 * (pid 0: nobody), as one conditional UPDATE. *won: this caller did it.
 */
int store_handle_claim(struct store *s, const char *id, const struct store_shim *old,
	const struct store_shim *now, bool *won, struct cl_err *e);
/* Notes why we are about to kill it; the first cause stays. *won: this one was noted. */
int store_handle_kill(
	struct store *s, const char *id, enum store_outcome cause, bool *won, struct cl_err *e);
/* live -> ended, once. */
int store_handle_end(struct store *s, const char *id, int64_t at, bool *won, struct cl_err *e);
/* Live rows (or all of them), the oldest first; executor_id NULL: of every executor. */
typedef int (*store_handle_fn)(const struct store_handle *h, void *arg, struct cl_err *e);
int store_handle_each(struct store *s, const char *executor_id, bool ended_too, store_handle_fn fn,
	void *arg, struct cl_err *e);
json_t *store_handle_json(const struct store_handle *h);
/*
 * The directories "<base>" of all rows whose runtime_dir is "<base>/w/<id>", each once; added to
 * out: a workload may have been started with another run directory than ours.
 */
int store_handle_bases(struct store *s, struct cl_strv *out, struct cl_err *e);

#endif
