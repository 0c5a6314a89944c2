/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload of the executor's own kind, started as a run is, of no project. */
#ifndef CLOOP_EXECUTOR_SMOKE_H
#define CLOOP_EXECUTOR_SMOKE_H

#include "executor.h"
#include "sys/scratch.h"

#define SMOKE_MS (2 * 60 * 1000LL)

struct smoke {
	char *project;     /* where it works */
	char *binary;      /* on this host: cloop's static probe */
	char *name;        /* of its copy in the project */
	struct scratch at; /* where the project is, when nobody named one */
	/* answers */
	char run[STORE_RUN_ID];
	struct store_handle handle;
	char *outcome, *error; /* as `wait` has them; error may be NULL */
	int64_t exit_code;
	json_t *warnings;     /* of the driver, about the image; NULL: none */
	struct cl_buf output; /* as the log has it, 400 bytes at most */
};
#define SMOKE_INIT \
	((struct smoke){.at = SCRATCH_INIT, .handle = STORE_HANDLE_INIT, .output = CL_BUF_INIT})
/* Takes away what smoke_place put there. */
void smoke_release(struct smoke *s);
#define cleanup_smoke __attribute__((cleanup(smoke_release)))

/* The directory that is given (absolute), or (NULL) a new one, with the program in it. */
int smoke_place(struct smoke *s, const char *dir, struct cl_err *e);
/* Starts it and waits, SMOKE_MS at most. 0 when it ran, however it ended. */
int smoke_run(struct smoke *s, struct fleet_cmd *f, const struct cfg_executor *x, struct cl_err *e);
bool smoke_passed(const struct smoke *s);

/* ---- granted hardware (hardware.c) ---- */

struct hardware_who {
	const char *project;  /* absolute and without links; NULL: all whose work is done there */
	const char *key_file; /* CLOOP_SECRET_KEY_FILE, or NULL */
	int key_fd;           /* work/key_pass.h, or -1 */
};
/*
 * Adds a finding for each device and interface that grants open to runs of x. True when one of
 * them is fatal: every run that it is for would be refused.
 */
bool test_hardware(struct fleet_cmd *f, const struct cfg_executor *x,
	const struct hardware_who *who, json_t *findings);

#endif
