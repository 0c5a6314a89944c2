/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "drill_cmd.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "work/ctx.h"
#include "work/lease/drill.h"
#include "work/fleet.h"

#include <signal.h>

/* What is configured, and which of it is meant. */
struct choice {
	struct hub hub;
	struct store *store;
	struct cl_doc doc;
	struct cfg cfg;
	struct work_fleet fleet;
	struct work_node *node; /* borrowed of fleet */
};

static void choice_release(struct choice *h)
{
	work_fleet_release(&h->fleet);
	cfg_release(&h->cfg);
	cl_doc_release(&h->doc);
	store_close(h->store);
	hub_release(&h->hub);
}
#define cleanup_choice __attribute__((cleanup(choice_release)))

/* One that is held gets no work, and can be drilled: that may be why it is held. */
static int choose(struct cl_ctx *c, struct choice *h, struct cl_err *e)
{
	const char *asked = cl_str(c, "executor");
	enum reg_how how;

	if (hub_store_from_ctx(c, STORE_RO, &h->hub, &h->store, e) ||
		hub_config_for_run(c, &h->hub, &h->doc, &h->cfg, e) ||
		work_fleet_read(h->store, h->hub.dir, &h->cfg, sys_now_ms(), &h->fleet, e))
		return -1;
	if (asked ? work_fleet_find(&h->fleet, asked, &h->node, e)
		  : work_resolve(h->store, &h->fleet, NULL, NULL, &h->node, &how, e))
		return -1;
	if (h->node->x->enabled && !h->node->x->disabled_reason)
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL, "executor '%s' is off: %s", h->node->x->id,
		h->node->x->disabled_reason ? h->node->x->disabled_reason
					    : "it is not enabled in the configuration");
	return cl_fix(e, "cloop hub config check says more");
}

static void as_text(const struct choice *h, const struct drill_result *r)
{
	(void)printf("executor %s: lent what was made up for it, then revoked\n", h->node->x->id);
	for (size_t i = 0; i < DRILL_PARTS; i++) {
		const struct drill_part *p = &r->v[i];

		if (p->early)
			(void)printf("  %-10s  dead before it was   %s%s\n", p->what, p->where,
				p->answered ? "" : " — its holder has not said so");
		else if (p->dead)
			(void)printf("  %-10s  dead after %5lld ms  %s%s\n", p->what,
				(long long)p->ms, p->where,
				p->answered ? "" : " — its holder has not said so");
		else
			(void)printf("  %-10s  ALIVE               %s\n", p->what, p->where);
	}
	if (r->dead)
		(void)printf("all of it was dead after %lld ms at most\n", (long long)r->worst_ms);
}

static void as_json(const struct choice *h, const struct drill_result *r, int64_t deadline)
{
	json_t *list = json_array();

	for (size_t i = 0; i < DRILL_PARTS; i++) {
		const struct drill_part *p = &r->v[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:o, s:b, s:b}", "material", p->what,
				      "where", p->where, "dead", p->dead, "ms",
				      p->dead ? json_integer(p->ms) : json_null(), "early",
				      p->early, "answered", p->answered));
	}
	cl_take_json(json_pack("{s:o, s:b, s:I, s:I, s:o}", "executor_id",
		cl_json_string(h->node->x->id), "dead", r->dead, "worst_ms",
		(json_int_t)r->worst_ms, "deadline_ms", (json_int_t)deadline, "materials", list));
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

int cmd_drill_revoke(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_choice struct choice h = {
		.hub = HUB_INIT, .doc = CL_DOC_INIT, .fleet = WORK_FLEET_INIT};
	struct drill_ask ask = {
		.deadline_ms = cl_int(c, "deadline", DRILL_DEADLINE_MS), .stop = &stop};
	const struct sigaction sa = {.sa_handler = on_signal};
	struct drill_result r;

	if (choose(c, &h, e))
		return -1;
	/* So that nothing of it stays behind. */
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	ask.cfg = &h.doc;
	ask.x = h.node->x;
	if (drill_revoke(&ask, &r, e))
		return cl_wrap(e, "executor '%s'", h.node->x->id);
	if (c->json)
		as_json(&h, &r, ask.deadline_ms);
	else
		as_text(&h, &r);
	return r.dead ? 0 : 1;
}
