/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of one tree; shared by the files of sys/diskwalk. */
#ifndef CL_SYS_DISKWALK_INTERNAL_H
#define CL_SYS_DISKWALK_INTERNAL_H

#include "base/buf.h"
#include "sys/diskwalk.h"

#include <stdatomic.h>

/* Which inodes have been counted: open addressing, an inode number of 0 is a free slot. */
struct inodes {
	struct inode_key {
		uint64_t dev, ino;
	} * slots;
	size_t n, cap; /* cap is 0 or a power of two */
};
/* True when it was not in yet. */
bool inodes_add(struct inodes *s, uint64_t dev, uint64_t ino);
void inodes_release(struct inodes *s);

/* One walk over one or more roots. */
struct walk {
	const atomic_bool *cancelled;
	int64_t deadline; /* sys_mono_ms; may differ from root to root */
	enum diskwalk_bounds bounds;
	struct inodes seen;
	struct diskwalk_result *result; /* flags, names and entries are added to */
};

struct walk_what {
	const char *only;    /* nothing but this entry of the root, or NULL */
	const char *without; /* all but this entry of the root, or NULL */
	const char *label;   /* goes before what is named as unreadable: "" or "/path/" */
};

/*
 * Counts what is below and including the directory `fd` (which it closes), adding to
 * *bytes. True unless it was cut short by the deadline or a cancellation.
 */
bool walk_tree(struct walk *w, int fd, const struct walk_what *what, int64_t *bytes);

#endif
