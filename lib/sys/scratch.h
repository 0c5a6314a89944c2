/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories in /tmp whose maker may be killed: "/tmp/PREFIX" and six characters, ours alone to
 * change (0711), with a file `lock` that the maker holds. Whoever finds one whose lock nobody
 * holds may remove it.
 */
#ifndef CL_SYS_SCRATCH_H
#define CL_SYS_SCRATCH_H

#include "base/err.h"

#include <stdint.h>

struct scratch {
	int parent, dir, lock; /* descriptors; -1 */
	char *top;             /* "/tmp/cloop-drill.a1B2c3" */
};
#define SCRATCH_INIT ((struct scratch){.parent = -1, .dir = -1, .lock = -1})

/* One that is killed before it holds its lock leaves one without, which is old after this. */
#define SCRATCH_MS (10 * 60 * 1000LL)

/* Makes a new one and holds it. *s is SCRATCH_INIT. */
int scratch_make(const char *prefix, struct scratch *s, struct cl_err *e);
/* Removes it with all that is below it, following no link, and lets it go. */
void scratch_remove(struct scratch *s);
#define cleanup_scratch __attribute__((cleanup(scratch_remove)))

/*
 * Those of `prefix` that nobody holds: directories of ours, no links, that were last changed at
 * least grace_ms ago (SCRATCH_MS where there is no lock), and not in the future. Each is handed
 * to fn held, and removed after it. Returns how many there were.
 */
typedef void (*scratch_fn)(struct scratch *s, void *arg);
size_t scratch_dead(const char *prefix, int64_t grace_ms, scratch_fn fn, void *arg);

#endif
