/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's verbs that act on a workload; cloop-exec(7). */
#ifndef CLOOP_EXEC_CONTAINER_VERBS_H
#define CLOOP_EXEC_CONTAINER_VERBS_H

#include "base/doc.h"
#include "cli/cli.h"
#include "store/run.h"

int cmd_start(struct cl_ctx *c, struct cl_err *e);
int cmd_status(struct cl_ctx *c, struct cl_err *e);
int cmd_wait(struct cl_ctx *c, struct cl_err *e);
int cmd_logs(struct cl_ctx *c, struct cl_err *e);
int cmd_signal(struct cl_ctx *c, struct cl_err *e);
int cmd_adopt(struct cl_ctx *c, struct cl_err *e);

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

#endif
