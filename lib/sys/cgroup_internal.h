/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of sys/cgroup: names of files, small reads and writes. */
#ifndef CL_SYS_CGROUP_INTERNAL_H
#define CL_SYS_CGROUP_INTERNAL_H

#include "sys/cgroup.h"

/* 0, or CL_EBUG. */
int cg_check_handle(const char *handle, struct cl_err *e);
/* "<dir>/cloop/<handle>/<file>"; NULL parts are left off; owned. */
char *cg_path(const struct cg_hierarchy *h, const char *handle, const char *file);
/* Writes text to an existing file of a cgroup: 0 or an errno. */
int cg_put(const char *path, const char *text);
/* Reads a whole file of a cgroup, adding to out: 0 or an errno. */
int cg_get(const char *path, struct cl_buf *out);
/* The number behind `key` and a blank at the start of a line; false when there is none. */
bool cg_field(const char *text, const char *key, uint64_t *out);
/* The directories of the tree at /cloop/HANDLE, parents before children; none if it is absent. */
int cg_tree(
	const struct cg_hierarchy *h, const char *handle, struct cl_strv *dirs, struct cl_err *e);
/* Makes /cloop/HANDLE[/BELOW] in one hierarchy: 0 or an errno. */
int cg_make_in(const struct cg_hierarchy *h, const char *handle, const char *below, bool *made);
/* The hierarchy with the memory controller, or NULL with CL_EUNAVAIL. */
const struct cg_hierarchy *cg_memory(const struct cg *c, struct cl_err *e);

/* Puts a process into `below` of the handle's group in one hierarchy, made if need be. */
int cg_put_process(const struct cg_hierarchy *h, const char *handle, const char *below, pid_t pid,
	struct cl_err *e);

#endif
