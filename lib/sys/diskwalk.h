/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of the disk a workspace takes (guide: "resources.disk and the workspace"), as
 * du counts: allocated blocks times 512, an inode once whatever its number of names,
 * symbolic links as themselves, nothing below a mount point. The tree belongs to the
 * workload, which may change it while it is walked: directories are held by descriptor,
 * never by path, a boundless depth takes bounded descriptors, and what moves during the
 * walk is not counted twice.
 *
 * Figures of the schedule and what a result means are policy/sandbox/diskwatch.h's.
 */
#ifndef CL_SYS_DISKWALK_H
#define CL_SYS_DISKWALK_H

#include "base/err.h"
#include "policy/sandbox/diskwatch.h"

#include <stdbool.h>
#include <stdint.h>

/* How mount points are told. The first is what every caller wants: the kernel's mount id
 * of each entry (statx(2), Linux 5.8), else the table, else the device number. */
enum diskwalk_bounds {
	DISKWALK_BOUNDS_BEST,
	DISKWALK_BOUNDS_TABLE,
	DISKWALK_BOUNDS_DEVICE,
};

struct diskwalk_want {
	const char *tree;    /* the workspace */
	const char *output;  /* a feature's output directory, or NULL */
	int64_t baseline;    /* size of .cloop at the start; -1: leave .cloop out */
	bool start;          /* before the start: measure .cloop for a baseline; it counts 0 */
	int64_t deadline_ms; /* how long it may take; 0: DW_WALK_DEADLINE_MS */
	int64_t state_deadline_ms; /* of that, .cloop, with `start`; 0: no limit of its own */
	enum diskwalk_bounds bounds;
};

struct diskwalk_result {
	int64_t bytes;        /* what counts (dw_total); a lower bound if partial */
	int64_t state;        /* all of .cloop; -1 when it was left out or not measured whole */
	bool partial;         /* any of the following three */
	bool missed;          /* the deadline passed */
	bool changed;         /* a directory was moved away while it was walked */
	unsigned nunreadable; /* directories that could not be read */
	char unreadable[DW_NAMED][256]; /* the first of them, below the tree; UTF-8, may be cut */
	int64_t cost_ms;
	uint64_t entries; /* looked at */
};

struct diskwalk;

/*
 * Starts a walk in a thread of its own, at the lowest CPU priority and in the idle I/O
 * class. *out is the caller's, to diskwalk_cancel. CL_EOS.
 */
int diskwalk_start(const struct diskwalk_want *want, struct diskwalk **out, struct cl_err *e);
/* A descriptor that polls readable once it has finished. Owned by the walk. */
int diskwalk_fd(const struct diskwalk *d);
/* Never blocks. *done tells whether it has finished; then *r is filled, or -1 when the
 * tree could not be opened (CL_ENOTFOUND, CL_EDENIED, CL_EOS). */
int diskwalk_poll(struct diskwalk *d, bool *done, struct diskwalk_result *r, struct cl_err *e);
/* Ends it, if it has not, and frees it. Never blocks: a thread that hangs in a dead network
 * file system cleans up after itself whenever that comes back. NULL is nothing. */
void diskwalk_cancel(struct diskwalk *d);

/*
 * The whole of it, waiting. A file system that hangs past the deadline is a miss with
 * nothing counted. Errors as diskwalk_poll.
 */
int diskwalk_run(const struct diskwalk_want *want, struct diskwalk_result *r, struct cl_err *e);

/* MiB free for unprivileged users on the file system of `path` (statvfs(3)). CL_ENOTFOUND,
 * CL_EOS. */
int disk_free_mb(const char *path, int64_t *mb, struct cl_err *e);

#endif
