/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/ctx.h"
#include "work/driver.h"
#include "work/guardian.h"
#include "work/isolation.h"
#include "work/paths.h"
#include "work/sweep.h"

#include <unistd.h>

#define PASS_MS    30000
#define COLLECT_MS (15 * 60 * 1000)

static void print(const struct cl_ctx *c, const struct sweep *s)
{
	json_t *notes;

	if (!c->json) {
		for (size_t i = 0; i < s->notes.n; i++)
			(void)puts(s->notes.v[i]);
		(void)printf("%zu live, %zu adopted, %zu lost, %zu collected\n", s->live,
			s->adopted, s->lost, s->collected);
		return;
	}
	notes = json_array();
	for (size_t i = 0; i < s->notes.n; i++)
		(void)json_array_append_new(notes, json_string(s->notes.v[i]));
	cl_take_json(json_pack("{s:I, s:I, s:I, s:I, s:o}", "live", (json_int_t)s->live, "adopted",
		(json_int_t)s->adopted, "lost", (json_int_t)s->lost, "collected",
		(json_int_t)s->collected, "notes", notes));
}

/*
 * What no row knows: containers that the engine still has. Each executor's driver looks
 * for its own, and leaves alone what is younger than the grace period.
 */
static void reap(const struct cl_ctx *c, const struct hub *hub, struct sweep *s)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg cfg = CFG_INIT;
	struct cl_err e;

	if (hub_config(hub, geteuid(), &d, &cfg, &e)) {
		cl_warn(c, "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < cfg.nexecutors; i++) {
		const struct cfg_executor *x = &cfg.executors[i];
		json_t *out = NULL, *v;
		size_t k;

		if (!x->enabled || x->disabled_reason)
			continue;
		/* A third party's driver may have nothing to collect, and then no such verb. */
		if (work_driver_ask(x, &d, hub->dir, "reap", NULL, &out, &e) &&
			(e.code != CL_EUSAGE || x->row->program))
			cl_warn(c, "%s", e.msg);
		json_array_foreach (json_object_get(out, "removed"), k, v) {
			const char *name = json_string_value(json_object_get(v, "name"));
			const char *kind = json_string_value(json_object_get(v, "kind"));

			s->collected++;
			cl_strv_addf(&s->notes, "removed %s %s", kind ? kind : "container",
				name ? name : "?");
		}
		json_decref(out);
	}
}

/*
 * What a runtime's name claims is looked at once a day, and when it may have changed. Only in
 * passes that collect: it starts a sandbox.
 */
static void probe(const struct cl_ctx *c, const struct hub *hub, struct sweep *s)
{
	cleanup_store struct store *store = NULL;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg cfg = CFG_INIT;
	struct cl_err e;

	if (hub_config(hub, geteuid(), &d, &cfg, &e) ||
		store_open(hub->state, STORE_RW, &store, &e)) {
		cl_warn(c, "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < cfg.nexecutors; i++) {
		cleanup_isolation struct store_isolation row = STORE_ISOLATION_INIT;
		const struct isolation_ask q = {store, hub->dir, &d, &cfg.executors[i]};
		struct iso_answer answer;
		bool taken;

		if (!q.executor->enabled || q.executor->disabled_reason)
			continue;
		if (isolation_refresh(&q, &taken, &row, &answer, &e))
			cl_warn(c, "%s: %s", q.executor->id, e.msg);
		else if (taken)
			cl_strv_addf(&s->notes, "probed %s (%s): %s, %s", row.executor_id,
				row.runtime, row.standing, answer.reason);
	}
}

/* Passes until two in a row find nothing live. False when the store cannot be used. */
static bool watch(const struct cl_ctx *c, const struct hub *hub, struct sweep *s, struct cl_err *e)
{
	int64_t next_collect = sys_mono_ms() + COLLECT_MS;
	int empty = 0, failed = 0;

	while (empty < 2 && failed < 20) {
		sys_sleep_ms(empty ? 2000 : PASS_MS);
		s->collect = sys_mono_ms() >= next_collect;
		if (s->collect)
			next_collect = sys_mono_ms() + COLLECT_MS;
		sweep_release(s);
		failed = sweep_pass(s, e) ? failed + 1 : 0;
		if (!failed && s->collect) {
			reap(c, hub, s);
			probe(c, hub, s);
		}
		empty = !failed && !s->live ? empty + 1 : 0;
	}
	return !failed;
}

/*
 * One guardian a hub. A workload that starts while the lock is still held, but after the
 * last pass, finds a guardian that is leaving: so it looks once more without the lock.
 */
static int guard(const struct cl_ctx *c, const struct hub *hub, struct sweep *s, struct cl_err *e)
{
	int fd = -1;
	bool got;

	for (;;) {
		bool good;

		if (guardian_lock(s->hub_dir, &got, &fd, e))
			return -1;
		if (!got)
			return 0;
		good = watch(c, hub, s, e);
		(void)close(fd);
		if (!good || sweep_pass(s, e))
			return -1;
		if (!s->live)
			return 0;
	}
}

int cmd_sweep(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_free char *logs = NULL, *base = work_run_base();
	struct sweep s = {0};
	int rc;

	if (hub_from_ctx(c, &hub, e))
		return -1;
	logs = work_log_dir(&hub);
	s = (struct sweep){.hub_dir = hub.dir,
		.state_path = hub.state,
		.log_dir = logs,
		.run_base = base,
		.collect = !cl_flag(c, "adopt-only")};
	if (cl_flag(c, "guardian")) {
		rc = guard(c, &hub, &s, e);
	} else {
		rc = sweep_pass(&s, e);
		if (!rc && s.collect) {
			reap(c, &hub, &s);
			probe(c, &hub, &s);
		}
		if (!rc)
			print(c, &s);
	}
	sweep_release(&s);
	return rc;
}
