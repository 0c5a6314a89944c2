/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hub that a drill is played in; nobody else includes this. */
#ifndef WORK_DRILL_INTERNAL_H
#define WORK_DRILL_INTERNAL_H

#include "sys/scratch.h"
#include "work/lease/drill.h"

#include <jansson.h>

#define DRILL_COMMAND_MS 60000

struct drill_hub {
	struct scratch at;         /* "/tmp/cloop-drill.XXXXXX" */
	int guardian;              /* a descriptor; -1 */
	char *hub, *project, *run; /* below it: the hub, the project, runtime folders */
	char *state;               /* the hub's state file */
	struct cl_strv env;        /* of every command of it */
};
#define DRILL_HUB_INIT ((struct drill_hub){.at = SCRATCH_INIT, .guardian = -1, .env = CL_STRV_INIT})

/* Makes it, with that one executor, without a network. *h is DRILL_HUB_INIT. */
int drill_hub_open(struct drill_hub *h, const struct drill_ask *a, struct cl_err *e);
/* Ends what runs of it. */
void drill_hub_stop(const struct drill_hub *h);
/* Removes all of it, once nothing of it is live. */
void drill_hub_close(struct drill_hub *h);
#define cleanup_drill_hub __attribute__((cleanup(drill_hub_close)))
/*
 * Runs EXE -C HUB --json ARG... with `input` (borrowed) on its standard input. *out (may be NULL)
 * is what it printed; owned. Its error is ours.
 */
int drill_command(const struct drill_hub *h, const char *exe, const char *const *args,
	const struct cl_buf *input, json_t **out, struct cl_err *e);

#endif
