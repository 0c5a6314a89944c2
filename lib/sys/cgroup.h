/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cgroup a workload, /cloop/HANDLE below the root of every hierarchy there is
 * (DECISIONS C15): what was started for a workload can be found and ended whatever the
 * engine still knows of it, and the memory limit and its notice stand before the start
 * (C10). Kernel documents: admin-guide/cgroup-v1/, admin-guide/cgroup-v2.rst.
 *
 * A handle here is 1 to 64 of a-z, 0-9 and '-'; anything else is CL_EBUG. Whatever is
 * asked again once it holds is success. Only the named handle is touched.
 */
#ifndef CL_SYS_CGROUP_H
#define CL_SYS_CGROUP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CG_ROOT   "/sys/fs/cgroup"
#define CG_PARENT "/cloop" /* an engine's --cgroup-parent is CG_PARENT "/HANDLE" */
#define CG_MAX    24

/* What one hierarchy is to us; a v1 directory may carry several controllers. */
struct cg_hierarchy {
	char *dir; /* where it is mounted */
	bool v2, memory, pids, freezer, cpuset, cpu;
};

struct cg {
	char *root;
	struct cg_hierarchy h[CG_MAX];
	size_t n; /* 0: no cgroups here */
};
#define CG_INIT ((struct cg){0})

/*
 * Looks at what is mounted at `root` (NULL: CG_ROOT): v2 when it is a cgroup2 itself, else
 * each hierarchy below it, the "unified" one of hybrid machines included. None is no error.
 */
int cg_open(struct cg *c, const char *root, struct cl_err *e);
void cg_release(struct cg *c);
#define cleanup_cg __attribute__((cleanup(cg_release)))
/* "v1", "v2", "hybrid" or "none". */
const char *cg_layout(const struct cg *c);

/*
 * Makes /cloop/HANDLE in every hierarchy, or in none. On v2 the controllers that the
 * kernel lends are passed down to it. CL_EUNAVAIL without any hierarchy, CL_EDENIED where
 * the tree is read-only or another's, CL_EOS.
 */
int cg_create(const struct cg *c, const char *handle, struct cl_err *e);

/* Bytes the whole tree may use, swap not above it. CL_EUNAVAIL without a memory controller. */
int cg_set_memory(const struct cg *c, const char *handle, int64_t bytes, struct cl_err *e);

/* The same of processes and threads, and of processors in thousandths. */
int cg_set_pids(const struct cg *c, const char *handle, int64_t pids, struct cl_err *e);
int cg_set_cpu(const struct cg *c, const char *handle, int64_t milli, struct cl_err *e);
/* True when all three can be set here. */
bool cg_limits(const struct cg *c);

/*
 * Puts a process, and so its future children, in /cloop/HANDLE/work of every hierarchy: the
 * workload itself, where no engine makes a cgroup of its own for it.
 */
int cg_join(const struct cg *c, const char *handle, pid_t pid, struct cl_err *e);

/*
 * Puts a process of ours, and so its future children, in /cloop/HANDLE/helpers of every
 * hierarchy but v1's memory (an engine client is not the workload's to pay for).
 */
int cg_add(const struct cg *c, const char *handle, pid_t pid, struct cl_err *e);

/*
 * Takes a process out of the handle's memory accounting, into CG_PARENT's: what an engine
 * needs to clean up must not die of the workload's limit. Nothing to do on v2, where the
 * limit's notice does not mind.
 */
int cg_lend_memory(const struct cg *c, pid_t pid, struct cl_err *e);

/*
 * The processes of the tree, ascending, each once, whatever hierarchy names it (those of a
 * foreign pid namespace are not counted). *pids is the caller's to free; NULL when n is 0.
 */
int cg_pids(const struct cg *c, const char *handle, pid_t **pids, size_t *n, struct cl_err *e);

/*
 * Kills every process of the tree until there is none: forks are stopped first (pids.max 0,
 * else the freezer), so that nothing outruns it. CL_EBUSY, naming survivors, when some are
 * left after timeout_ms (uninterruptible sleep).
 */
int cg_kill(const struct cg *c, const char *handle, int64_t timeout_ms, struct cl_err *e);

/* Removes the tree, and /cloop with the last one. CL_EBUSY while a process is in it. */
int cg_remove(const struct cg *c, const char *handle, struct cl_err *e);

/* The handles that have a cgroup in any hierarchy, sorted. */
int cg_list(const struct cg *c, struct cl_strv *handles, struct cl_err *e);

/*
 * Notice that the tree ran out of memory. `fd` polls readable when there may be news;
 * cg_oom_take then says. v1: an eventfd on memory.oom_control, which speaks up only when
 * the limit of cg_set_memory itself is met, so no cgroup below should have a lower one.
 * v2: inotify on memory.events.
 */
struct cg_oom {
	int fd;     /* -1: not watching */
	char *file; /* memory.oom_control or memory.events */
	bool v2;
	uint64_t seen; /* v2: kills so far */
};
#define CG_OOM_INIT ((struct cg_oom){.fd = -1})

/* CL_EUNAVAIL without a memory controller. */
int cg_oom_watch(const struct cg *c, const char *handle, struct cg_oom *w, struct cl_err *e);
/* Never blocks; *oom is true when it happened since the last call (or the watch began). */
int cg_oom_take(struct cg_oom *w, bool *oom, struct cl_err *e);
void cg_oom_release(struct cg_oom *w);
#define cleanup_cg_oom __attribute__((cleanup(cg_oom_release)))

/* Processes of the tree that the kernel has killed for want of memory (of cgroups that
 * still exist, on v1). CL_EUNAVAIL without a memory controller. */
int cg_oom_kills(const struct cg *c, const char *handle, uint64_t *count, struct cl_err *e);

#endif
