/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verbs of cloop-exec(7) that are the same for every workload with a supervisor of ours
 * (work/shim/shim.h): what drivers put into their tables as they are.
 */
#ifndef CL_WORK_VERBS_H
#define CL_WORK_VERBS_H

#include "base/doc.h"
#include "cli/cli.h"
#include "store/run.h"
#include "work/spec.h"

/* {"handle":ID,"hub":DIR,...} from standard input, with the hub's store and the row. */
struct handle_in {
	struct cl_doc doc;
	const char *hub;
	char *state;
	struct store *store;
	struct store_handle row;
};
/* `extra` are further keys that the verb knows, NULL-terminated; NULL: none. */
int handle_in_read(
	struct handle_in *h, const char *const *extra, enum store_mode mode, struct cl_err *e);
void handle_in_release(struct handle_in *h);
#define cleanup_handle_in __attribute__((cleanup(handle_in_release)))

/*
 * What a verb reads from standard input, before it does anything else: work_spec_read and
 * work_executor_read (work/spec.h), 4 MiB at most. *out is WORK_SPEC_INIT.
 */
int work_spec_in(const char *section, struct work_spec *out, struct cl_err *e);
int work_executor_in(const char *section, struct work_spec *out, struct cl_err *e);
/* What a verb that collects ends with: its answer unless rc says that it failed; returns rc. */
int work_reaped_out(int rc, const char *executor_id, json_t *take_removed, json_t *take_failed);

int work_verb_status(struct cl_ctx *c, struct cl_err *e);
int work_verb_wait(struct cl_ctx *c, struct cl_err *e);
int work_verb_logs(struct cl_ctx *c, struct cl_err *e);
int work_verb_signal(struct cl_ctx *c, struct cl_err *e);

#endif
