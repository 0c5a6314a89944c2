/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The janitor of leases as a command of its own, for cron. */
#include "secret.h"
#include "base/mem.h"
#include "work/paths.h"

int cmd_secret_sweep(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_free char *base = work_run_base();
	struct lease_actor who;
	struct lease_sweep d;

	if (keyed_without(c, STORE_RW, &k, e))
		return -1;
	who = (struct lease_actor){k.actor, k.now};
	if (lease_sweep(k.store, &who, base, &d, e))
		return -1;
	if (c->json)
		cl_take_json(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "expired",
			(json_int_t)d.expired, "orphans", (json_int_t)d.orphans, "settled",
			(json_int_t)d.settled, "pending", (json_int_t)d.pending, "forgotten",
			(json_int_t)d.forgotten, "tombstones", (json_int_t)d.tombstones));
	else
		(void)printf("%lld expired, %lld orphaned, %lld settled, %lld pending, "
			     "%lld forgotten\n",
			(long long)d.expired, (long long)d.orphans, (long long)d.settled,
			(long long)d.pending, (long long)(d.forgotten + d.tombstones));
	return 0;
}
