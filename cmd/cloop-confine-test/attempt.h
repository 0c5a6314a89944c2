/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts to get out of a sandbox. Each is a row of a family's table (one file a family) and runs in
 * a child of its own. What counts is what it reached, not what a call returned; whatever it could do
 * it takes back, and what cannot be taken back (a write to the kernel's settings) is opened and
 * left.
 */
#ifndef CLOOP_CONFINE_TEST_H
#define CLOOP_CONFINE_TEST_H

#include <stdbool.h>
#include <stddef.h>

enum outcome {
	PENDING, /* its child ended before it knew */
	HELD,    /* it failed: the sandbox holds */
	REACHED, /* it got out */
	SKIPPED  /* there is nothing here that it could be tried on */
};

/* Where an attempt leaves what it found. */
struct result {
	volatile enum outcome outcome;
	char detail[200];
};

enum attempt_flag {
	/* Reaches the host's kernel, not its data: no way out where another kernel answers. */
	SURFACE = 1u << 0,
	/* The workspace is shared by design: told, and counted only by --strict. */
	SHARED = 1u << 1
};

struct attempt {
	const char *name;   /* "mount-proc"; unique in its family */
	const char *proves; /* what its failing proves: a clause */
	void (*try)(struct result *r, const struct attempt *a);
	const char *text; /* argument: a path, an address */
	long number;      /* argument */
	unsigned flags;
};

struct family {
	const char *name;
	const struct attempt *attempts; /* ends with a row without a name */
};

extern const struct attempt attempts_paths[], attempts_proc[], attempts_sys[], attempts_mounts[],
	attempts_namespaces[], attempts_devices[], attempts_processes[], attempts_kernel[],
	attempts_rights[], attempts_sockets[], attempts_egress[], attempts_services[],
	attempts_later[];

/* The attempt got out; the detail says where. */
void reached(struct result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It did not, because of errno or for a reason. */
void held_errno(struct result *r);
void held(struct result *r, const char *why);
void skipped(struct result *r, const char *why);

/* ---- shared questions: common.c ---- */

/* True when gVisor's Sentry answers system calls. */
bool sentry_kernel(void);
/* True when the open file lies in the sandbox's own root file system: an image's layer. */
bool own_layer(int fd);
/* reached when the text's path can be opened for reading, and it is no file of the image. */
void try_read_path(struct result *r, const struct attempt *a);
/* reached when it has content. */
void try_read_bytes(struct result *r, const struct attempt *a);
/* reached when it can be opened for writing; nothing is written. */
void try_open_write(struct result *r, const struct attempt *a);
/* reached when a directory can be read and has entries. */
void try_list(struct result *r, const struct attempt *a);
/* A line of /proc/self/status ("CapEff") as a number in base; false when it is not there. */
bool status_number(const char *key, int base, unsigned long long *out);

#endif
