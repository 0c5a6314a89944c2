/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loading DIR/.cloop/sandbox.yaml. The project is untrusted: every path below it is
 * resolved by the kernel beneath DIR (openat2(2), RESOLVE_BENEATH), so that neither a
 * link in the repository nor one that a workload swaps in leads elsewhere.
 */
#ifndef SYS_SPECFILE_H
#define SYS_SPECFILE_H

#include "policy/sandbox/sandbox.h"

/* The slug of a file that is there and is no spec: a directory, a link out, too large. */
#define SYS_SPEC_UNREADABLE "spec_unreadable"

/*
 * Reads the project's spec. *found is false, and *out says nothing, when there is no such file.
 * What is there but cannot be used as a file is CL_EDATA (CL_EUNAVAIL when the system refuses to
 * read it) with slug SYS_SPEC_UNREADABLE; a bad spec is what sb_parse says. *d and *out
 * are as for sb_read. `dir` that is no directory: CL_ENOTFOUND.
 */
int sys_spec_load(
	const char *dir, struct cl_doc *d, struct sb_spec *out, bool *found, struct cl_err *e);

/*
 * Checks that every mount's source stays in the workspace when its links are followed; one
 * that does not exist passes (DECISIONS S7). CL_EDATA, slug SB_INVALID, rule "mounts", with
 * the place of the mount in `file` and where the source leads.
 */
int sys_spec_mounts(const char *dir, const struct sb_spec *s, const char *file, struct cl_err *e);

/*
 * Makes what does not exist of a mount's source (DECISIONS S7): directories (0755) beneath the
 * open workspace, made as uid:gid, whatever links and renames do meanwhile. CL_EREFUSED when
 * that account could not make one; those made before stay.
 */
int sys_spec_make_source(int workspace, const char *source, uid_t uid, gid_t gid, struct cl_err *e);

/*
 * Adds a note for each setup command with a word that is a path in the project: setup runs
 * without the workspace (DECISIONS E8). What cannot be looked at is passed over.
 */
void sys_spec_setup_files(const char *dir, struct cl_doc *d, struct sb_spec *s);

#endif
