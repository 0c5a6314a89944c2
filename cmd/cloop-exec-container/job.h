/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One container workload, from its spec to its end. The parts before the fork fill it;
 * the shim's driver functions work from it. What a later shim needs to take over is
 * kept in the handle's row as `meta`.
 */
#ifndef CLOOP_EXEC_CONTAINER_JOB_H
#define CLOOP_EXEC_CONTAINER_JOB_H

#include "policy/sandbox/container.h"
#include "policy/egress/egress.h"
#include "sys/cgroup.h"
#include "sys/engine/engine.h"
#include "sys/net/net.h"
#include "work/shim/shim.h"
#include "work/spec.h"

enum job_network {
	JOB_NET_NONE,     /* no interface but lo */
	JOB_NET_PREPARED, /* a namespace of ours (DECISIONS E12) */
	JOB_NET_OURS,     /* a network of the engine's that we made, with our filter on it */
	JOB_NET_ENGINE    /* the operator's named network of the engine */
};

struct job {
	const struct work_spec *spec; /* NULL when adopting */
	struct engine engine;
	const char *run_base; /* borrowed */
	char handle[CT_HANDLE_LEN];
	char *name;    /* of the container */
	char *project; /* resolved */
	int project_fd;
	uid_t uid;
	gid_t gid;
	/* image */
	char *image; /* what is run: pinned */
	/* network */
	enum job_network net_kind;
	char *network; /* name of the network, as engine or bridge altname */
	char *table;   /* its filter, or NULL */
	struct eg_policy policy;
	struct eg_auth names; /* its resolvers: what the filter lets through */
	bool has_policy;
	struct net_have net;
	char *interfaces; /* of the host that were moved in: "capture,dut", or NULL */
	bool raw;         /* one of them is for frames of the workload's own making */
	int go;           /* what the init waits for, to let it start; -1: it does not */
	int net_lock;     /* held while a shared network is joined; -1 */
	/* cgroup */
	struct cg cg;
	struct cg_oom oom;
	bool has_cg;
	/* supervision */
	bool mounts_made; /* this process is in a mount namespace of its own */
	bool plain;       /* podman without descriptors of ours: no exit file (gVisor) */
	pid_t init;       /* the workload's first process; 0: not known */
};

void job_init(struct job *j);
void job_release(struct job *j);
#define cleanup_job __attribute__((cleanup(job_release)))

/* user.c: the project directory and who the sandbox is (facts 6.4, DECISIONS C3). */
int job_open_project(struct job *j, struct cl_err *e);

/* network.c: what the spec, the executor and the engine make of the network. */
int job_plan_network(struct job *j, struct cl_err *e);
/* Builds it, rules first; *net and *network are what the engine is given. */
int job_make_network(struct job *j, enum ct_net *net, const char **network, struct cl_err *e);
/* interfaces.c: whether the run's network can take interfaces of the host; shim_driver.moves_interfaces. */
int job_moves_interfaces(void *arg, struct cl_err *e);
/* What of them the container is labelled and allowed with. */
void job_name_interfaces(struct job *j, const struct shim *s);
/* Moves them, once the network is prepared. */
int job_lend_interfaces(struct job *j, struct shim *s, struct cl_err *e);
/* The same of tun devices: shim_driver.makes_tun, and making them (DECISIONS I2). */
int job_makes_tun(void *arg, struct cl_err *e);
int job_make_tuns(struct job *j, struct shim *s, struct cl_err *e);
int job_drop_network(struct job *j, struct cl_err *e);
/* Writes down which filter stands now, for `cloop egress verify` (work/standing.h). */
int job_note_filter(const struct job *j, const struct store_handle *row, struct cl_err *e);
/* Whose rows of the filter's record are this workload's; nothing where nothing filters. */
void job_note_addresses(const struct job *j, struct shim_started *out);

/*
 * stage.c: everything that is bound into the sandbox; in a mount namespace of our own, or
 * for a docker daemon, which would not see that, in the caller's.
 */
struct job_stage {
	char *workspace, *init_dir;
	struct ct_mount mounts[SB_MAX_MOUNTS + 4 + SHIM_REPOS];
	size_t nmounts;
	struct ct_device devices[SHIM_DEVICES];
	size_t ndevices;
	uint32_t groups[SHIM_DEVICES]; /* what the sandbox's user has to be in to open them */
	size_t ngroups;
	char *device_names;   /* "analyser,serial0", or NULL */
	struct cl_strv paths; /* owns the strings of mounts and devices */
};
/*
 * `lease_dir`: where the sandbox has what it was lent (work/lease/delivery.h); NULL: nothing was.
 * `repos`: what else is bound.
 */
int job_stage(struct job *j, const struct rundir *rd, const char *lease_dir,
	const struct shim_repos *repos, struct job_stage *out, struct cl_err *e);
void job_stage_release(struct job_stage *s);
/*
 * Where the network comes with the container: its init is to wait, then they are moved and it is
 * told to go. When we die in between it sees us end, and runs nothing.
 */
int job_hold_back(struct job *j, const struct job_stage *st, struct cl_err *e);
int job_let_start(
	struct job *j, struct shim *s, const struct job_stage *st, pid_t init, struct cl_err *e);
/*
 * device.c: nodes for the engine, once job_stage has made the place. CL_EREFUSED, constraint
 * devices: another device stands there by now, or the sandbox's user could not open it.
 */
int job_stage_devices(const struct job *j, const struct rundir *rd,
	const struct shim_devices *devices, struct job_stage *st, struct cl_err *e);

#define JOB_START_MS 30000 /* how long the engine may take to start a container */

/*
 * docker.c. The client is attached: its streams are the workload's and its status too. A
 * watcher of our own (out->monitor) waits for it, so that the status outlives the shim.
 */
int job_start_docker(struct job *j, const struct rundir *rd, const struct cl_strv *argv,
	const struct shim_io *io, struct shim_started *out, struct cl_err *e);
/* Finds the watcher or the container again; out->monitor stays 0 when both have ended. */
int job_adopt_docker(
	struct job *j, const struct rundir *rd, struct shim_started *out, struct cl_err *e);

/* Gives an adopting shim a monitor, out->monitor, that ends with the workload's status. */
int job_follow(
	const struct job *j, const struct rundir *rd, struct shim_started *out, struct cl_err *e);
/* True when the child has ended; it stays to be reaped. *status as a shell has it. */
bool job_child_ended(pid_t pid, int *status);
/*
 * What stands in the FIFO of the workload's stderr, without taking it out: where the
 * container never ran, these are the client's words alone. At most size - 1 bytes and '\0'.
 */
void job_peek(const char *fifo, char *text, size_t size);

/* launch.c: the driver's functions for the shim. */
extern const struct shim_driver job_driver;

/* meta.c: what an adopting shim needs, as JSON text; owned. And back. */
char *job_meta(const struct job *j, int64_t started_mono);
int job_from_row(struct job *j, const struct store_handle *row, struct cl_err *e);

#endif
