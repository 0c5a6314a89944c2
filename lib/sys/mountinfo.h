/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mount table of a process, /proc/PID/mountinfo (proc(5)). */
#ifndef CL_SYS_MOUNTINFO_H
#define CL_SYS_MOUNTINFO_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* One mount; the strings are decoded (the kernel writes blanks, tabs, newlines and
 * backslashes of a path as \ooo) but for super_options, which is left as it is. */
struct mountinfo_line {
	uint64_t id, parent;
	unsigned major, minor;
	char *root, *point, *type, *source, *super_options;
};

struct mountinfo {
	struct mountinfo_line *v;
	size_t n, cap;
};
#define MOUNTINFO_INIT ((struct mountinfo){0})

/* The lines of text[0..len), in its order; a later mount covers an earlier one. Fields
 * that are new to us are passed over. CL_EDATA, naming the line. */
int mountinfo_parse(const char *text, size_t len, struct mountinfo *out, struct cl_err *e);
/* Our own table. CL_EOS, CL_EDATA. */
int mountinfo_read(struct mountinfo *out, struct cl_err *e);
void mountinfo_release(struct mountinfo *m);
#define cleanup_mountinfo __attribute__((cleanup(mountinfo_release)))

/* Adds the mount points strictly below `path` (absolute, clean), sorted bytewise. */
void mountinfo_below(const struct mountinfo *m, const char *path, struct cl_strv *points);
/* The topmost mount at exactly that point, or NULL. */
const struct mountinfo_line *mountinfo_at(const struct mountinfo *m, const char *point);

#endif
