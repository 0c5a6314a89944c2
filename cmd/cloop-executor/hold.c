/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cordon, uncordon, drain: an operator's word, over whatever probes say. */
#include "executor.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/clock.h"
#include "sys/proc.h"

#include <unistd.h>

#define ROUNDS      100 /* of writing against others who write */
#define POLL_MS     500
#define SWEEP_EVERY 30000
#define SWEEP_MOST  60000
#define SWEEP_LEAST 5000 /* also when less is left: one stale row must not make a drain time out */
#define TIMED_OUT   2    /* exit status of drain */

/* What one of the three does to an executor's health; false: nothing to do. */
typedef bool (*change_fn)(struct hl_health *h, const char *why, int64_t now);

static bool cordon(struct hl_health *h, const char *why, int64_t now)
{
	return hl_hold(h, PL_CORDONED, why, now);
}

static bool drain(struct hl_health *h, const char *why, int64_t now)
{
	return hl_hold(h, PL_DRAINING, why, now);
}

static bool uncordon(struct hl_health *h, const char *why, int64_t now)
{
	(void)why;
	return hl_release(h, &hl_defaults, now);
}

/* One try: the change and the row that says so are one. *won false: somebody was faster. */
static int attempt(struct fleet_cmd *f, struct work_node *n, const char *action,
	enum pl_health from, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	json_t *detail;

	if (store_begin(f->store, &t, e) || health_put(f, n, won, e))
		return -1;
	if (!*won)
		return 0;
	detail = json_pack("{s:s, s:s, s:o}", "from", pl_health_name(from), "to",
		pl_health_name(n->health.state), "reason", cl_json_string(n->health.reason));
	return fleet_audit(f, action, n->x->id, NULL, detail, e) || store_commit(&t, e) ? -1 : 0;
}

/* *from is the state before; *changed false: it was as it was asked for already. */
static int apply(struct fleet_cmd *f, struct work_node *n, const char *action, change_fn change,
	const char *why, enum pl_health *from, bool *changed, struct cl_err *e)
{
	for (int i = 0; i < ROUNDS; i++) {
		bool won;

		if (health_get(f, n, e))
			return -1;
		*from = n->health.state;
		*changed = change(&n->health, why, f->now);
		if (!*changed)
			return 0;
		if (attempt(f, n, action, *from, &won, e))
			return -1;
		if (won)
			return 0;
	}
	(void)cl_fail(e, CL_EBUSY, "the state of executor '%s' changes too fast", n->x->id);
	return cl_fix(e, "try again");
}

static json_t *answer(const struct work_node *n, enum pl_health from, bool changed)
{
	json_t *o = json_pack("{s:o, s:s, s:s, s:s, s:b, s:b, s:b}", "executor_id",
		cl_json_string(n->x->id), "from", pl_health_name(from), "to",
		pl_health_name(n->health.state), "state", pl_health_name(n->health.state),
		"changed", changed, "schedulable", hl_schedulable(n->health.state), "admin_held",
		hl_held(n->health.state));

	if (*n->health.reason)
		(void)json_object_set_new(o, "reason", cl_json_string(n->health.reason));
	return o;
}

static void say(const struct work_node *n, enum pl_health from, bool changed)
{
	if (changed)
		(void)printf("%s: %s -> %s\n", n->x->id, pl_health_name(from),
			pl_health_name(n->health.state));
	else
		(void)printf("%s: already %s\n", n->x->id, pl_health_name(from));
}

int cmd_executor_cordon(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_free char *reason = cp_redact(cl_str_or(c, "reason", ""));
	struct work_node *n;
	enum pl_health from;
	bool changed;

	if (fleet_cmd_open(c, STORE_RW, &f, e) || fleet_cmd_node(c, &f, &n, e) ||
		apply(&f, n, "executor.cordon", cordon, reason, &from, &changed, e))
		return -1;
	if (c->json)
		cl_take_json(answer(n, from, changed));
	else
		say(n, from, changed);
	return 0;
}

int cmd_executor_uncordon(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct work_node *n;
	enum pl_health from;
	bool changed;

	if (fleet_cmd_open(c, STORE_RW, &f, e) || fleet_cmd_node(c, &f, &n, e) ||
		apply(&f, n, "executor.uncordon", uncordon, "", &from, &changed, e))
		return -1;
	if (c->json)
		cl_take_json(answer(n, from, changed));
	else if (changed)
		say(n, from, true);
	else
		(void)printf("%s: not cordoned or draining (%s)\n", n->x->id, pl_health_name(from));
	if (changed && n->health.state != PL_READY)
		cl_warn(c,
			"%s is %s: its last %lld probe%s failed; 'cloop executor probe-health' "
			"asks "
			"it again",
			n->x->id, pl_health_name(n->health.state), (long long)n->health.failures,
			n->health.failures == 1 ? "" : "s");
	return 0;
}

/* ---- drain ---- */

/*
 * Rows of workloads that are gone would be waited for in vain: what a sweep can settle, it does. A
 * process of its own, so that nothing else here loads what a sweep takes.
 */
static void settle(struct cl_ctx *c, const struct fleet_cmd *f, int64_t most_ms)
{
	cleanup_free char *path = cl_sibling("cloop-sweep");
	char name[] = "cloop-sweep", dir[] = "-C", only[] = "--only",
	     parts[] = "adopt,sessions,leases";
	char *argv[] = {name, dir, f->hub.dir, only, parts, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_free char *why = NULL;
	struct cl_err e;

	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.envp = environ;
	r.timeout_ms = most_ms < SWEEP_LEAST ? SWEEP_LEAST : most_ms;
	if (sys_run(&r, &e)) {
		cl_warn(c, "what is left behind could not be settled: %s", e.msg);
		return;
	}
	why = r.status ? sys_first_line(&r.err) : NULL;
	if (why)
		cl_warn(c, "what is left behind could not be settled: %s", why);
}

static void progress(struct cl_ctx *c, const struct work_node *n, int64_t left)
{
	if (!c->json)
		(void)printf("%s: %lld in flight\n", n->x->id, (long long)left);
	(void)fflush(stdout);
}

/* Until nothing is left, or the time is over. *left: what is. */
static int wait_for(struct cl_ctx *c, struct fleet_cmd *f, const struct work_node *n,
	int64_t timeout_ms, int64_t *left, struct cl_err *e)
{
	int64_t start = sys_mono_ms(), swept = start - SWEEP_EVERY, said = -1;

	for (;;) {
		int64_t now = sys_mono_ms();

		if (store_load(f->store, n->x->id, sys_now_ms(), left, e))
			return -1;
		if (!*left)
			return 0;
		if (*left != said)
			progress(c, n, *left);
		said = *left;
		if (now - swept >= SWEEP_EVERY) {
			int64_t rest = start + timeout_ms - now;

			settle(c, f, timeout_ms && rest < SWEEP_MOST ? rest : SWEEP_MOST);
			swept = now;
			continue;
		}
		if (timeout_ms && now - start >= timeout_ms)
			return 0;
		sys_sleep_ms(timeout_ms && start + timeout_ms - now < POLL_MS
				     ? start + timeout_ms - now
				     : POLL_MS);
	}
}

int cmd_executor_drain(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_free char *reason = cp_redact(cl_str_or(c, "reason", ""));
	int64_t timeout = cl_int(c, "timeout", 5 * 60 * 1000), left;
	struct work_node *n;
	enum pl_health from;
	char text[40];
	bool changed;
	json_t *o;

	if (fleet_cmd_open(c, STORE_RW, &f, e) || fleet_cmd_node(c, &f, &n, e) ||
		apply(&f, n, "executor.drain", drain, reason, &from, &changed, e))
		return -1;
	if (!c->json)
		say(n, from, changed);
	if (wait_for(c, &f, n, timeout, &left, e))
		return -1;
	cl_format_duration(timeout, text);
	if (c->json) {
		o = answer(n, from, changed);
		(void)json_object_set_new(o, "in_flight", json_integer(left));
		(void)json_object_set_new(o, "drained", json_boolean(!left));
		cl_take_json(o);
	} else if (left) {
		(void)printf("%s: %lld still in flight after %s; it stays draining\n", n->x->id,
			(long long)left, text);
	} else {
		(void)printf("%s: drained\n", n->x->id);
	}
	return !left || cl_flag(c, "force") ? 0 : TIMED_OUT;
}
