/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The container engine of this machine: podman or docker, run as a program with a closed
 * environment, never through its socket and never by a shell. facts/executors.md 6.1.
 */
#ifndef CL_SYS_ENGINE_H
#define CL_SYS_ENGINE_H

#include "policy/sandbox/container.h"
#include "sys/proc.h"

#include <jansson.h>

struct engine {
	enum ct_engine kind;
	char *path;         /* absolute, resolved once */
	bool rootless;      /* podman, and we are not root */
	struct cl_strv env; /* what its processes get */
};
#define ENGINE_INIT ((struct engine){0})
void engine_release(struct engine *en);
#define cleanup_engine __attribute__((cleanup(engine_release)))

/*
 * Finds the engine. `want`: "podman", "docker", an absolute path with one of these base
 * names, or NULL, "" or "auto" for whichever is installed, podman first. `envp` is the
 * caller's environment, of which only the names of engine_env_names reach the engine.
 * CL_ECONFIG for another name and for a DOCKER_HOST on another machine (its paths are not
 * ours to bind); CL_EUNAVAIL with slug "no_engine" when nothing is installed.
 */
int engine_find(const char *want, char *const *envp, struct engine *out, struct cl_err *e);
/* NULL-terminated: HOME, XDG_RUNTIME_DIR, CONTAINERS_CONF, DOCKER_HOST ... */
extern const char *const engine_env_names[];
/* The value an engine child gets for a name, or NULL. */
const char *engine_env(const struct engine *en, const char *name);

/* Bounds of calls that only ask. */
/*
 * Where an engine works: never in the caller's folder, which conmon would litter (a file `oom`
 * for each workload that runs out of memory) and keep busy. Below /proc nobody can make a file.
 */
#define ENGINE_CWD     "/proc"
#define ENGINE_ASK_MS  20000
#define ENGINE_WORK_MS 120000

/*
 * Runs `<engine> ARGS...` to its end (args NULL-terminated, without the program). 0 when it
 * ran, whatever its status. *r is SYS_RUN_INIT; set what else it should hold before.
 */
int engine_run(
	const struct engine *en, const char *const *args, struct sys_run *r, struct cl_err *e);
/*
 * The same, and a status other than 0 is an error told by ct_classify: `what` is what was
 * attempted ("list containers"), `image` may be NULL. *out (may be NULL) is its output.
 */
int engine_call(const struct engine *en, const char *what, const char *image,
	const char *const *args, int64_t timeout_ms, struct cl_buf *out, struct cl_err *e);

/* "4.3.1". CL_ECONFIG when the program called docker is podman in disguise. Owned. */
int engine_version(const struct engine *en, char **version, struct cl_err *e);

/*
 * The highest hard limits that the engine can give to a workload without
 * CAP_SYS_RESOURCE (ct_request's hard_nofile and hard_nproc): ours, and no more processes
 * than there are pids, to which podman lowers its own limit. 0: unlimited.
 */
void engine_hard_limits(uint64_t *nofile, uint64_t *nproc);

struct engine_info {
	char *version;           /* of the daemon, for docker */
	char *cgroup_version;    /* "v1", "v2" */
	char *cgroup_driver;     /* "cgroupfs", "systemd" */
	char *store;             /* directory of images and containers */
	char *storage_driver;    /* "overlay", "overlay2" */
	char *storage_config;    /* podman: the storage.conf in force; else "" */
	char *host;              /* name of the machine that serves */
	char *default_runtime;   /* "runc" */
	char *kernel;            /* release of the kernel that serves the engine */
	char *runtime_path;      /* engine_info_of: the runtime's program, or "" */
	struct cl_strv runtimes; /* docker: every one that is registered; podman cannot tell */
	bool runtimes_known;
	bool selinux, rootless;
	bool extra_stores; /* podman: further image stores are configured */
};
#define ENGINE_INFO_INIT ((struct engine_info){0})
void engine_info_release(struct engine_info *i);
#define cleanup_engine_info __attribute__((cleanup(engine_info_release)))
int engine_info(const struct engine *en, struct engine_info *out, struct cl_err *e);
/* The same with runtime_path of the runtime of that name (NULL or "": the default). */
int engine_info_of(const struct engine *en, const char *oci_runtime, struct engine_info *out,
	struct cl_err *e);

/* One container as `ps -a` lists it. */
struct engine_container {
	char *id, *name, *status; /* status: "running", "exited", "created", "storage", ... */
	json_t *labels;           /* object of strings */
	int64_t created_at;       /* Unix seconds; 0 unknown */
	int64_t started_at;       /* the same; 0 unknown or never */
	int64_t exited_at;        /* the same; 0 unknown or still running */
};
struct engine_containers {
	struct engine_container *v;
	size_t n, cap;
};
#define ENGINE_CONTAINERS_INIT ((struct engine_containers){0})
void engine_containers_release(struct engine_containers *c);
#define cleanup_engine_containers __attribute__((cleanup(engine_containers_release)))
/*
 * Every container whose name starts with `prefix`, those the engine has only half made
 * included (podman: --external). Names are exact, labels may be missing on half-made ones.
 */
int engine_containers(const struct engine *en, const char *prefix, struct engine_containers *out,
	struct cl_err *e);
const char *engine_container_label(const struct engine_container *c, const char *key);

/*
 * Removes a container by name or id, killing it, up to three times: right after a kill the
 * first removal can fail. An absent one is success.
 */
int engine_remove(const struct engine *en, const char *name, struct cl_err *e);
/* kill --signal; success when it has ended or is gone. */
int engine_signal(const struct engine *en, const char *name, const char *signal, struct cl_err *e);

#endif
