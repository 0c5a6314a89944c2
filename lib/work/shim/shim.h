/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shim: one small process a workload (DECISIONS C6, D13). It owns the output,
 * enforces the deadline, the disk limit and the free-space floor, answers on the control
 * socket, records the end and leaves nothing behind. What starts and ends a workload of
 * one kind is a driver behind five functions.
 */
#ifndef CL_WORK_SHIM_H
#define CL_WORK_SHIM_H

#include "base/buf.h"
#include "policy/secret/secret_lease.h"
#include "store/run.h"
#include "sys/device.h"
#include "sys/net/net_lend.h"
#include "work/rundir.h"

#include <jansson.h>

#include <sys/types.h>

/* What the workload gets: descriptors of ours for its 0, 1, 2, and where its status goes. */
struct shim_io {
	int in, out, err, exit;
};

/* What a driver started. */
struct shim_started {
	pid_t monitor;       /* a child of the shim whose exit status is the workload's; 0: none */
	pid_t init;          /* the workload's first process, in our pid namespace; 0: not known */
	uint64_t init_start; /* when it started, in clock ticks; 0: whoever has its pid now */
	char external_id[80];
	/* Behind a filter that records: whose rows are this workload's (store_handle). */
	char address[46], address6[46]; /* "": none */
	char bridge[16];                /* what the filter is for; "": none */
	int64_t unrecorded_before;
};

struct shim;

struct shim_driver {
	const char *name;
	/* Prepares and starts; what it did before failing is undone by collect. */
	int (*launch)(void *arg, struct shim *s, const struct shim_io *io, struct shim_started *out,
		struct cl_err *e);
	/* Finds again what an earlier shim started; *out.init is 0 when it has ended. */
	int (*adopt)(void *arg, struct shim *s, struct shim_started *out, struct cl_err *e);
	/* SIGINT, SIGTERM or SIGKILL to the workload; an ended one is success. */
	int (*signal)(void *arg, struct shim *s, int sig, struct cl_err *e);
	/* True since the last call when it ran out of memory; fd to poll, or -1. */
	bool (*out_of_memory)(void *arg);
	int (*memory_fd)(void *arg);
	/*
	 * Whether this workload can be given interfaces of the host, which launch then has
	 * shim_interfaces_move move: 0, or why it cannot. NULL: the driver moves none.
	 */
	int (*moves_interfaces)(void *arg, struct cl_err *e);
	/*
	 * The same of tun devices in its network, one for each granted node of them, which launch
	 * then makes. NULL: the driver makes none.
	 */
	int (*makes_tun)(void *arg, struct cl_err *e);
	/* Removes everything of the engine's and of the network's; called at every end. */
	void (*collect)(void *arg, struct shim *s);
};

/* What a shim is to watch over. The caller owns all of it until shim_start returns. */
struct shim_job {
	const char *state_path;  /* the hub's state file */
	const char *log_dir;     /* the hub's folder of logs; HANDLE below it is ours */
	const char *run_base;    /* rundir base */
	struct store_handle row; /* complete; inserted by the shim */
	uid_t uid;               /* of the sandbox's user */
	gid_t gid;
	const char *hub;      /* its directory */
	bool lend;            /* something may be granted to it: ask */
	const char *key_file; /* what opens it, as who started the run had it; NULL: the hub's */
	int key_fd;           /* or the key itself (work/key_pass.h); 0: none */
	bool key_lost;        /* it was passed to a shim that is gone; key_file may have it too */
	struct sec_pick pick; /* what the run takes of the host's hardware; borrowed */
	/* Why this executor gives a sandbox none of the host's devices; NULL: it does. */
	const char *no_devices;
	bool attached; /* a client will attach: output waits for it */
	bool wants_stdin;
	int64_t started_mono; /* row.started_at on the boot clock, which nobody can set */
	int64_t min_free_mb;  /* 0: no floor */
	int64_t disk_used;    /* bytes measured at the start; -1: unknown */
};

/*
 * Closes every descriptor above 2. For a command that forks a shim, before it opens
 * anything: what a caller leaked into it would stay open as long as the workload.
 */
void shim_close_inherited(void);

/*
 * Forks the shim. Returns when the workload runs (0, *out is its row as stored, owned), or
 * with the error that stopped it; then nothing is left of it. *lease is what the run was lent and
 * what it was refused, without any value: {"lease_id","lent":[],"refused":[]}, owned, NULL where
 * nobody asked.
 */
int shim_start(const struct shim_job *job, const struct shim_driver *d, void *arg,
	struct store_handle *out, json_t **lease, struct cl_err *e);

/*
 * Takes over a workload whose shim is gone: claims the row (another that claims first
 * wins: *won false), then watches like the first one did. Forks; returns at once.
 */
int shim_adopt(const struct shim_job *job, const struct shim_driver *d, void *arg, bool *won,
	struct cl_err *e);

/* For drivers: what they may ask of the shim they run in. */
const struct shim_job *shim_job(const struct shim *s);
const struct rundir *shim_rundir(const struct shim *s);
struct store *shim_store(const struct shim *s);
/* Repositories of the host that the run is lent. Owned by the shim. */
struct shim_repo {
	char *source; /* absolute, without links when the lease was made */
	char *target; /* "/repos/<name>" */
	char *id;     /* which directory that was (sys/repos.h); "": any */
	bool writable;
};
#define SHIM_REPOS 64
struct shim_repos {
	struct shim_repo *v;
	size_t n, cap;
	struct cl_strv names;
	struct cl_strv variables, values; /* what the sandbox is told of them */
};
#define SHIM_REPOS_INIT ((struct shim_repos){0})
const struct shim_repos *shim_lent_repos(const struct shim *s);
/* A device of the host that the run is lent. Owned by the shim. */
struct shim_device {
	char *name, *source, *target; /* source as granted, target below /dev */
	char *secret, *grant_id;
	enum sec_access access;
	struct sys_device node; /* what the source led to when the lease was made */
};
struct shim_devices {
	struct shim_device *v;
	size_t n, cap;
};
#define SHIM_DEVICES      16
#define SHIM_DEVICES_INIT ((struct shim_devices){0})
const struct shim_devices *shim_lent_devices(const struct shim *s);
/* Interfaces of the host that the run is lent. Owned by the shim. */
struct shim_interfaces {
	struct net_lend *v;
	size_t n, cap;
	bool raw;             /* one of them is for frames of the workload's own making */
	struct cl_strv texts; /* owns those of v */
};
#define SHIM_INTERFACES_INIT ((struct shim_interfaces){0})
const struct shim_interfaces *shim_lent_interfaces(const struct shim *s);
/* For launch, once the network is prepared: all of them or none, as net_lend. */
int shim_interfaces_move(struct shim *s, struct cl_err *e);
/* Where the sandbox is to have rundir's lease/files; NULL: it is lent nothing. */
const char *shim_lease_dir(const struct shim *s);
/* Signals the workload's first process by its pidfd; one that has ended is success. */
int shim_signal_init(struct shim *s, int sig, struct cl_err *e);
/* A line into the workload's log, as stream "note", and into the project's journal. */
void shim_note(struct shim *s, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
