/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line that confines: a resolved request becomes the argv of one engine
 * client (podman or docker), in the order of facts/executors.md 6.2 as DECISIONS C1-C17
 * change it. Everything that was decided before is in the request; everything that must
 * hold whatever was decided is added here, and what would undo it is refused. Pure.
 */
#ifndef CL_POLICY_CONTAINER_H
#define CL_POLICY_CONTAINER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum ct_engine { CT_PODMAN, CT_DOCKER };
const char *ct_engine_name(enum ct_engine k); /* "podman", "docker" */

#define CT_WORKSPACE   "/workspace"
#define CT_INIT_DIR    "/.cloop" /* where cloop's own files stand in a sandbox */
#define CT_INIT        CT_INIT_DIR "/init"
#define CT_ENV_FILE    CT_INIT_DIR "/env"
#define CT_GO_FILE     CT_INIT_DIR "/go" /* what the init waits for, where it has to */
#define CT_PROBE       "/.cloop-isolation-probe/probe" /* where evidence is read (guide) */
#define CT_TMP_MB      512  /* /tmp; half the memory cap where that is lower */
#define CT_PIDS        1024 /* a request that says 0 */
#define CT_NOFILE      1024 /* soft limit; the hard one is CT_NOFILE_HARD or ours if lower */
#define CT_NOFILE_HARD 524288

/* ---- names ---- */

#define CT_HANDLE_LEN 15 /* "c-", 12 hex, NUL */
bool ct_handle_ok(const char *handle);
/* "cloop-<slug>-<12 hex>"; the slug is made of the project's base name. Owned. */
char *ct_name(const char *project, const char *handle);
/* Lower case, other runs than [a-z0-9] become one '-', <= 32, edges trimmed; "project". */
void ct_slug(const char *project, char out[33]);
/* [A-Za-z0-9][A-Za-z0-9_.-]*, <= 128. */
bool ct_name_ok(const char *name);
/*
 * The name of a network of the engine: [A-Za-z0-9_.-], <= 128, no leading '-', and none of
 * the engines' words for something else ("host", "container:ID", "slirp4netns" ...).
 * CL_ECONFIG.
 */
int ct_network_check(const char *network, struct cl_err *e);

/* Labels that the driver itself writes. */
#define CT_LABEL_MANAGED    "cloop.managed"
#define CT_LABEL_EXECUTOR   "cloop.executor"
#define CT_LABEL_HANDLE     "cloop.handle"
#define CT_LABEL_PROJECT    "cloop.project"
#define CT_LABEL_SANDBOX    "cloop.sandbox"
#define CT_LABEL_HUB        "cloop.hub"
#define CT_LABEL_SCOPE      "cloop.egress_scope"
#define CT_LABEL_DISK       "cloop.disk_limit_mb"
#define CT_LABEL_DEVICES    "cloop.devices" /* names, a comma list */
#define CT_LABEL_INTERFACES "cloop.interfaces"
#define CT_LABEL_SPEC       "cloop.spec." /* and the spec's own key */

/* [A-Za-z0-9._/-], 1-128, no leading '-'. */
bool ct_label_key_ok(const char *key);
/* A value as a label holds it: <= 256 bytes (no UTF-8 sequence cut), control characters
   become '_'. Owned. */
char *ct_label_value(const char *value);
/* "cloop.spec." and the key with what a label does not take as '_', <= 64 of it. Owned. */
char *ct_label_spec_key(const char *key);

/* ---- setup builds (facts 6.11) ---- */

#define CT_BUILD_PREFIX  "cloop-build-"
#define CT_BUILD_TAG     "localhost/cloop-sandbox:"
#define CT_BUILD_BASE    "io.cloop.sandbox.base" /* labels of a built image */
#define CT_BUILD_KEY     "io.cloop.sandbox.setup"
#define CT_BUILD_KEY_LEN 17
/*
 * What a built image depends on: the first 16 hex of SHA-256 over the base image's id, its
 * repo digest ("" without one) and each command, a NUL between.
 */
void ct_build_key(const char *id, const char *repo_digest, const char *const *steps, size_t nsteps,
	char out[CT_BUILD_KEY_LEN]);

/* ---- the request ---- */

enum ct_net {
	CT_NET_NONE,
	CT_NET_NAMESPACE, /* a prepared one: path (podman) */
	CT_NET_NAMED      /* a network of the engine, "bridge" too */
};

struct ct_mount {
	const char *source; /* absolute path on the host */
	const char *target; /* absolute, clean; not the workspace nor CT_INIT_DIR below */
	bool read_only;
	bool noexec;       /* data of ours: also nosuid,nodev */
	bool guarded;      /* programs of ours too: nosuid,nodev */
	const char *label; /* SELinux: "", "z" or "Z"; NULL: as the workspace */
};

struct ct_device {
	const char *source; /* a node on the host, absolute */
	const char *target; /* below /dev, clean */
	const char *access; /* "r", "rw" or "rwm" */
};

struct ct_label {
	const char *key, *value;
};

/* How the client runs, and how output and status come back (DECISIONS C6). */
enum ct_mode {
	CT_DETACHED, /* podman: run -d, passthrough; conmon's status is the workload's */
	CT_ATTACHED /* docker, and setup builds: the client's streams and status are the workload's */
};

struct ct_request {
	enum ct_engine engine;
	bool rootless; /* podman without root: keep-id instead of a user, no cgroup parent */
	enum ct_mode mode;
	const char *oci_runtime;              /* NULL: the engine's default */
	const char *name;                     /* ct_name() */
	const char *cidfile;                  /* NULL: none; must not exist yet */
	const char *pidfile, *conmon_pidfile; /* podman only; NULL: none */
	unsigned preserve_fds;                /* podman: descriptors 3.. that reach the init */
	const char *cgroup_parent;            /* "/cloop/HANDLE", or NULL */
	const char *seccomp;                  /* profile, absolute; NULL: the engine's own */

	uint32_t uid, gid;
	bool allow_root;    /* executors.container.allow_root_user */
	bool writable_root; /* setup builds only: no --read-only, and no --rm: it is committed */
	const char *const *
		caps; /* added after ALL were dropped; but for setup builds NET_RAW alone; or NULL */

	enum ct_net net;
	const char *network;  /* path or name; NULL for CT_NET_NONE */
	bool own_names;       /* /etc/hosts, resolv.conf and hostname are among the mounts */
	const char *hostname; /* NULL: the engine's choice */
	const char *const *add_hosts; /* "name:addr", only without own_names */
	size_t nadd_hosts;
	const char *const *dns; /* addresses, only without own_names */
	size_t ndns;
	const uint32_t *groups; /* supplementary, > 0 */
	size_t ngroups;

	int64_t cpu_milli;       /* 0: no limit */
	int64_t memory_mb;       /* 0: no limit; swap is pinned to it */
	int64_t memory_slack_mb; /* added to the flag when the parent cgroup holds the limit (C10) */
	int64_t pids;            /* 0: CT_PIDS; -1: no limit */
	uint64_t hard_nofile, hard_nproc; /* our own hard limits; 0: unlimited */
	int64_t timeout_s; /* backstop behind the supervisor's own deadline; 0: none */

	const char *workspace;       /* absolute; NULL: none (setup builds) */
	const char *workspace_label; /* SELinux, as in a mount */
	/* Our own tmpfs bound at /tmp (runc gives the engine's the mode of the image's /tmp); NULL:
	   the engine's. */
	const char *tmp_dir;
	const char *init_dir; /* host directory bound at CT_INIT_DIR; holds "init" */
	/* A program that is run alone, without an init: the probe. Its path in the sandbox, where
	   one of the mounts puts it; no init_dir then. NULL: CT_INIT runs argv. */
	const char *alone;
	const struct ct_mount *mounts;
	size_t nmounts;
	const struct ct_device *devices; /* only as root, and not under Kata or gVisor */
	size_t ndevices;
	const struct ct_label *labels;
	size_t nlabels;
	const char *const *env; /* "NAME=VALUE", harmless names only: ct_env_harmless */
	size_t nenv;
	const char *const *extra_args; /* checked by px_extra_args_check */
	size_t nextra;

	const char *image;            /* pinned: "sha256:..." or a reference */
	const char *const *init_args; /* of cloop-init, before its "--" */
	size_t ninit_args;
	const char *const *argv;
	size_t nargv;
};

/*
 * What ct_argv refuses, alone: everything that would undo the confinement or be read by
 * the engine as something else than it says.
 */
int ct_request_check(const struct ct_request *r, struct cl_err *e);
/*
 * The engine client's arguments, argv[0] (the client's name) included; *out is added to.
 * Refusals are CL_EDATA for what a spec can be blamed for, CL_ECONFIG for the operator's
 * own settings and CL_EBUG for what no caller may ask.
 */
int ct_argv(const struct ct_request *r, struct cl_strv *out, struct cl_err *e);

/*
 * True for names whose values may stand in an engine's database and in `inspect`: PATH,
 * HOME, TERM, LANG, TZ and CLOOP_* without a word like KEY or TOKEN (DECISIONS C5).
 */
bool ct_env_harmless(const char *name);
/* [A-Za-z_][A-Za-z0-9_]*, <= 128. */
bool ct_env_name_ok(const char *name);
/*
 * The limit that the engine is given for a workload of `pids` processes (0: CT_PIDS). Under
 * gVisor it counts threads of the host, of which the Sentry has its own and some for each
 * process inside, so it is raised (DECISIONS C9).
 */
int64_t ct_pids_limit(int64_t pids, const char *oci_runtime);
/* Megabytes of /tmp under a memory cap (0: none). */
int64_t ct_tmp_mb(int64_t memory_mb);
/* "1.5" for 1500; at most three decimals, zeros trimmed. out holds 32 bytes. */
void ct_cpus(int64_t milli, char out[32]);
/* The value of "--flag=value" among extra args, the last one; NULL: not given. */
const char *ct_extra_value(const char *const *args, size_t n, const char *flag);
/* A path of a mount: absolute, no "//", ".", "..", ':' or control character, <= 4096. */
bool ct_path_ok(const char *path);

/*
 * The files that say names in a sandbox (DECISIONS C11): localhost and its own name, the
 * executor's allow_hosts ("name:addr"); and the resolvers that the filter lets through, as
 * far as resolv.conf can say them (port 53). Added to out.
 */
void ct_hosts_file(
	const char *hostname, const char *const *allow_hosts, size_t n, struct cl_buf *out);
struct pol_endpoint;
void ct_resolv_file(const struct pol_endpoint *resolvers, size_t n, struct cl_buf *out);

/* ---- how it ended, and why it did not start ---- */

enum ct_state { CT_EXITED, CT_FAILED, CT_KILLED };
const char *ct_state_name(enum ct_state s); /* "exited", "failed", "killed" */

struct ct_end {
	enum ct_state state;
	int code;   /* as given; -1: unknown */
	int signal; /* 0: none */
	bool oom;
	const char *meaning; /* static; "" when there is nothing to say */
};

/* facts 6.10: code is a shell's status, -1 when nobody saw it. */
struct ct_end ct_exit(int code, bool oom);

/* What went wrong in an engine call, as its standard error tells it. */
enum ct_trouble {
	CT_OTHER,
	CT_NO_IMAGE,
	CT_PERMISSION,
	CT_NO_DAEMON,
	CT_NAME_TAKEN,
	CT_CGROUP,
	CT_CGROUP_MIX, /* the runtime cannot work where versions 1 and 2 are mixed */
	CT_NO_RUNTIME,
	CT_NO_COMMAND,
	CT_NO_CONTAINER, /* gone, or not running any more */
	CT_NO_NETWORK,
	CT_RLIMIT
};
/*
 * Tells it and fills *e (code, first line of the text, what to do). `image` may be NULL.
 * `what` is what was attempted: "start the sandbox". Returns the kind.
 */
enum ct_trouble ct_classify(enum ct_engine engine, const char *what, int status,
	const char *stderr_text, const char *image, struct cl_err *e);
/* The kind alone. */
enum ct_trouble ct_trouble_of(const char *stderr_text);

#endif
