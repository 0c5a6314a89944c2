/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a lease lends, put where the run's sandbox can have it and nobody else: a file system in
 * memory of the run's own, at DIR/lease of its runtime folder (facts/secrets.md 3; DECISIONS C5,
 * C6). It is never swapped out where the kernel can promise that, bounded, and entered by root
 * alone. In it:
 *
 *   files/   the lease's directory: bound whole and read-only, so that a file which is replaced
 *            by a rename shows inside; it and its files are the sandbox's user's
 *   cloop/   cloop-init and its environment, which is taken away again once it was read
 *   spare/   what a file was before it was replaced, until the next time
 *   id       the lease's id
 *   redact   every value to take out of output, for a supervisor that takes the run over
 *
 * Without root there is no mounting: then it is a directory of the caller's, which must lie in
 * memory already.
 */
#ifndef CL_WORK_DELIVERY_H
#define CL_WORK_DELIVERY_H

#include "base/err.h"
#include "work/rundir.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DELIVERY_MAX   (16u << 20) /* bytes of everything, the page that a small file takes too */
#define DELIVERY_FILES 128

/* Bytes, which need not be text. */
struct delivery_text {
	const char *p;
	size_t len;
};
struct delivery_file {
	const char *name; /* [A-Za-z0-9._-], at most 128, no leading '.' */
	mode_t mode;      /* 0600 or 0700 */
	struct delivery_text data;
};
struct delivery_env {
	const char *name;
	struct delivery_text value; /* without a NUL in it */
};

/* All borrowed. */
struct delivery {
	const char *id; /* the lease's */
	const struct delivery_file *files;
	size_t nfiles;
	const struct delivery_env *env;
	size_t nenv;
	const struct delivery_text *redact;
	size_t nredact;
};

/*
 * Makes it all but cloop/init, for a sandbox that runs as uid:gid. CL_EREFUSED for a name, a mode
 * or a size that cannot be delivered, CL_EOS. On failure nothing is left of it.
 */
int delivery_make(
	const struct rundir *rd, const struct delivery *d, uid_t uid, gid_t gid, struct cl_err *e);

/*
 * Puts a renewed lease in the place of what it was: values to take out are noted first, files
 * whose content changed are replaced by a rename (an executable one last, and silent meanwhile), and
 * those that the lease has no more are overwritten and removed, *removed of them. One that was never
 * delivered is CL_EREFUSED, and then nothing is changed: a renewal cannot plant a file. Variables are
 * not touched, for nobody reads them again.
 */
int delivery_renew(
	const struct rundir *rd, const struct delivery *d, size_t *removed, struct cl_err *e);

/*
 * Adds NUL-terminated NAME=VALUE pairs behind the lease's own, which they override; `fallback`,
 * one more, only where the lease has no variable of its name. CL_EOS.
 */
int delivery_env_add(const struct rundir *rd, const char *pairs, size_t len, const char *fallback,
	struct cl_err *e);
/* The variables were read: overwrites and empties their file. */
void delivery_env_read(const struct rundir *rd);
/* Overwrites and removes files and variables; what is to be taken out of output stays known. */
size_t delivery_scrub(const struct rundir *rd);
/* Overwrites and removes all of it and unmounts; nothing there is fine. */
void delivery_drop(const struct rundir *rd);

/* True when there is one. */
bool delivery_there(const struct rundir *rd);
/* The lease's id and each value to take out, as they were noted. CL_EOS, CL_EDATA. */
int delivery_recall(const struct rundir *rd, char **id,
	void (*value)(void *arg, const char *p, size_t len), void *arg, struct cl_err *e);

#endif
