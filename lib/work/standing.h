/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a driver writes down beside the filter that it has installed, in the workload's runtime
 * folder (work/rundir.h), where nobody but the driver's user writes: the hub's state file, which
 * more programs write, is held to it (work/filters.h).
 */
#ifndef CL_WORK_STANDING_H
#define CL_WORK_STANDING_H

#include "base/sha256.h"
#include "policy/egress/egress_stack.h"
#include "store/run.h"

struct standing {
	char *hub;             /* its directory */
	char *table, *network; /* as in the workload's row */
	char *bridge;
	char policy[CL_SHA256_HEX]; /* standing_digest; "": nothing is filtered */
	bool prepared;              /* a network of ours, not the engine's */
	int64_t started_at;         /* of the workload */
};
#define STANDING_INIT ((struct standing){.hub = NULL})
void standing_release(struct standing *s);
#define cleanup_standing __attribute__((cleanup(standing_release)))

/* The digest of a policy: of the JSON of its levels, as eg_stack_json has it. */
void standing_digest(const struct eg_stack *s, char out[CL_SHA256_HEX]);

/* Writes that of the workload of `row`; policy NULL: nothing is filtered. CL_EOS. */
int standing_write(const char *run_base, const char *hub, const struct store_handle *row,
	const char *bridge, const struct eg_stack *policy, struct cl_err *e);
/* Before the network goes; absent is success. */
void standing_drop(const char *run_base, const char *handle);
/*
 * *found false: there is none. *out is STANDING_INIT. CL_EDATA for one that no driver has
 * written, CL_EDENIED, CL_EOS.
 */
int standing_read(const char *run_base, const char *handle, struct standing *out, bool *found,
	struct cl_err *e);
/* The handles of all workloads with a runtime folder, whosever hub they are of; added to *out. */
int standing_handles(const char *run_base, struct cl_strv *out, struct cl_err *e);

/*
 * What the row says else than its driver wrote: "table 'a', where 'b' was installed"; owned, NULL
 * where they agree. `policy` NULL: by the state file nothing is filtered.
 */
char *standing_differs(
	const struct standing *s, const struct store_handle *row, const struct eg_stack *policy);

#endif
