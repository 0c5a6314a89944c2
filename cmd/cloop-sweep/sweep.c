/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/ctx.h"
#include "work/guardian.h"
#include "work/paths.h"
#include "work/sweep.h"

#include <unistd.h>

#define PASS_MS 30000
/* Where the configuration cannot be read. */
#define COLLECT_MINUTES 15

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

/* What an earlier word of the configuration was is not kept: a guardian reads it at each pass. */
struct setup {
	struct cl_doc d;
	struct cfg cfg;
};

/* A configuration that cannot be read leaves drivers alone, and every executor configured. */
static void configure(
	const struct cl_ctx *c, const struct hub *hub, struct setup *u, struct sweep *s)
{
	struct cl_err e;

	*u = (struct setup){CL_DOC_INIT, CFG_INIT};
	if (hub_config(hub, geteuid(), &u->d, &u->cfg, &e)) {
		cl_warn(c, "%s", e.msg);
		return;
	}
	s->cfg = &u->cfg;
	s->cfg_doc = &u->d;
}

/* *minutes: how often everything is to be done. */
static int pass(const struct cl_ctx *c, const struct hub *hub, struct sweep *s, int64_t *minutes,
	struct cl_err *e)
{
	struct setup u;
	int rc;

	configure(c, hub, &u, s);
	*minutes = s->cfg ? s->cfg->sweep_minutes : COLLECT_MINUTES;
	rc = sweep_pass(s, e);
	s->cfg = NULL;
	s->cfg_doc = NULL;
	cfg_release(&u.cfg);
	cl_doc_release(&u.d);
	for (size_t i = 0; i < s->troubles.n; i++)
		cl_warn(c, "%s", s->troubles.v[i]);
	return rc;
}

/* Passes until two in a row find nothing live. False when the store cannot be used. */
static bool watch(const struct cl_ctx *c, const struct hub *hub, struct sweep *s, struct cl_err *e)
{
	int64_t last = sys_mono_ms(), minutes = COLLECT_MINUTES;
	int empty = 0, failed = 0;

	while (empty < 2 && failed < 20) {
		sys_sleep_ms(empty ? 2000 : PASS_MS);
		s->parts = sweep_due(sys_mono_ms(), minutes * 60000, &last);
		sweep_release(s);
		failed = pass(c, hub, s, &minutes, e) ? failed + 1 : 0;
		empty = !failed && !s->live && !s->waiting ? empty + 1 : 0;
	}
	return !failed;
}

/*
 * One guardian a hub. A workload that starts while the lock is still held, but after the
 * last pass, finds a guardian that is leaving: so it looks once more without the lock.
 */
static int guard(const struct cl_ctx *c, const struct hub *hub, struct sweep *s, struct cl_err *e)
{
	int64_t ignored;
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
		if (!good || pass(c, hub, s, &ignored, e))
			return -1;
		if (!s->live && !s->waiting)
			return 0;
	}
}

int cmd_sweep(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_free char *logs = NULL, *base = work_run_base();
	cleanup_strv struct cl_strv only = CL_STRV_INIT;
	struct sweep s = {0};
	int64_t ignored;
	int rc;

	if (hub_from_ctx(c, &hub, e))
		return -1;
	logs = work_log_dir(&hub);
	s = (struct sweep){.hub_dir = hub.dir,
		.state_path = hub.state,
		.log_dir = logs,
		.run_base = base,
		.parts = SWEEP_ALL};
	cl_list(c, "only", &only);
	if (sweep_parts(&only, &s.parts, e))
		return -1;
	if (cl_flag(c, "guardian")) {
		rc = only.n ? cl_usage(c, e, "--guardian does every part; --only is for one pass")
			    : guard(c, &hub, &s, e);
	} else {
		rc = pass(c, &hub, &s, &ignored, e);
		if (!rc)
			print(c, &s);
	}
	sweep_release(&s);
	return rc;
}
