/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/logs.h"

#include <string.h>

int one_run_open(struct cl_ctx *c, enum store_mode mode, struct one_run *o, struct cl_err *e)
{
	*o = (struct one_run){HUB_INIT, NULL, STORE_RUN_INIT};
	if (hub_store_from_ctx(c, mode, &o->hub, &o->store, e))
		return -1;
	return store_run_get(o->store, cl_operand(c, 0), &o->run, e);
}

void one_run_release(struct one_run *o)
{
	store_run_release(&o->run);
	store_close(o->store);
	hub_release(&o->hub);
}

int one_run_wait(struct one_run *o, struct cl_err *e)
{
	for (;;) {
		cleanup_free char *id = cl_strdup(o->run.id);

		store_run_release(&o->run);
		if (store_run_get(o->store, id, &o->run, e))
			return -1;
		if (!strcmp(o->run.state, "finished"))
			return 0;
		if (o->run.handle_id)
			work_nap(o->store, o->run.handle_id);
		else
			sys_sleep_ms(300);
	}
}
