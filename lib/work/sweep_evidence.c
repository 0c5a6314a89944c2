/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a runtime's name claims is looked at once a day, and when it may have changed. It starts
 * a sandbox, so a guardian does it only now and then.
 */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "work/isolation.h"

void sweep_evidence(struct sweep *s, struct store *store)
{
	struct cl_err e;

	for (size_t i = 0; s->cfg && i < s->cfg->nexecutors; i++) {
		cleanup_isolation struct store_isolation row = STORE_ISOLATION_INIT;
		const struct isolation_ask q = {
			store, s->hub_dir, s->cfg_doc, &s->cfg->executors[i]};
		struct iso_answer answer;
		bool taken;

		if (!q.executor->enabled || q.executor->disabled_reason)
			continue;
		if (isolation_refresh(&q, &taken, &row, &answer, &e))
			sweep_trouble(s, q.executor->id, &e);
		else if (taken)
			sweep_did(s, "probed %s (%s): %s, %s", row.executor_id, row.runtime,
				row.standing, answer.reason);
	}
}
