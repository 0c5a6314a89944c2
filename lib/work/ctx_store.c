/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apart from ctx.c: a command that asks only for the configuration links no database. */
#include "work/ctx.h"

int hub_store_from_ctx(const struct cl_ctx *c, enum store_mode mode, struct hub *hub,
	struct store **store, struct cl_err *e)
{
	if (hub_from_ctx(c, hub, e))
		return -1;
	return store_open(hub->state, mode, store, e);
}
