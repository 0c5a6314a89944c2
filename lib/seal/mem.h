/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory for keys and for what they open (DECISIONS K6): pages where nothing else is, locked in
 * RAM (mlock(2)), in no core dump and gone in a forked child (madvise(2) MADV_DONTDUMP and
 * MADV_WIPEONFORK), wiped before they are given back. From any thread.
 */
#ifndef SEAL_MEM_H
#define SEAL_MEM_H

#include "base/err.h"

#include <stddef.h>

/* Once, before the first secret: no core dumps, no debugger of another process of the same
 * user, every page locked where no limit of locked memory (RLIMIT_MEMLOCK) holds for us. CL_EOS. */
int seal_process(struct cl_err *e);

struct seal_buf {
	unsigned char *p; /* NULL: none; p[len] is always a NUL */
	size_t len, cap;
};
#define SEAL_BUF_INIT ((struct seal_buf){0})

/* Room for cap bytes and a NUL, zeroed, len 0. *b is SEAL_BUF_INIT. CL_EOS. */
int seal_buf_make(struct seal_buf *b, size_t cap, struct cl_err *e);
/* The same with p[0..len) in it. */
int seal_buf_copy(struct seal_buf *b, const void *p, size_t len, struct cl_err *e);
/* Wipes and frees. */
void seal_buf_release(struct seal_buf *b);
#define cleanup_seal __attribute__((cleanup(seal_buf_release)))

/* Keeps pages that somebody else mapped in memory; what must be locked and is not is CL_EOS. */
int seal_lock(void *p, size_t size, struct cl_err *e);

/*
 * Everything up to the end of a descriptor, at most max bytes (CL_EDATA beyond); `name` is for
 * messages. *out is SEAL_BUF_INIT.
 */
int seal_read_fd(int fd, const char *name, size_t max, struct seal_buf *out, struct cl_err *e);
/* The same from a file, or from standard input for "-". CL_EUNAVAIL when it cannot be opened. */
int seal_read_file(const char *path, size_t max, struct seal_buf *out, struct cl_err *e);

#endif
