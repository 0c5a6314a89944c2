/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe-health: one pass over the executors. Each is asked by a process of its own, eight at a
 * time, so that an engine that hangs holds up no other.
 */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "work/driver.h"
#include "work/failover.h"
#include "work/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PROBE_MS 10000 /* bound of one */
#define AT_ONCE  8
#define ROUNDS   100 /* of writing against others who write */

/* What of a preflight is about one image or one directory says nothing of the executor. */
static bool counts(const char *check)
{
	return strcmp(check, "image") != 0 && strcmp(check, "workdir") != 0 &&
	       strcmp(check, "workdir-write") != 0;
}

/* The first check that failed, as "detail"; owned, NULL when all is well. */
static char *first_failure(const json_t *answer)
{
	const json_t *f;
	size_t i;

	json_array_foreach (json_object_get(answer, "findings"), i, f) {
		const char *status = json_string_value(json_object_get(f, "status"));
		const char *check = json_string_value(json_object_get(f, "check"));
		const char *detail = json_string_value(json_object_get(f, "detail"));

		if (status && check && !strcmp(status, "fail") && counts(check))
			return cl_strdup(detail ? detail : check);
	}
	return NULL;
}

/* Why it cannot take work; owned, NULL: it can. Told to end it says anything. */
static char *ask_driver(const struct fleet_cmd *f, const struct work_node *n, int end)
{
	struct cap_set caps;
	json_t *answer = NULL;
	struct cl_err e;
	char *why;

	if (work_preflight(n->x, &f->doc, f->hub.dir, NULL, PROBE_MS, end, &answer, &e)) {
		/* A driver without a preflight is there when it says what it can do. */
		if (e.code == CL_EUSAGE && !work_capabilities(n->x, &f->doc, f->hub.dir,
						   f->fleet.machine.machine, &caps, &e))
			return NULL;
		return cl_strdup(e.msg);
	}
	why = json_is_array(json_object_get(answer, "findings"))
		      ? first_failure(answer)
		      : cl_asprintf("%s preflight gave no findings", n->x->driver);
	json_decref(answer);
	return why;
}

static uint64_t random_bits(void)
{
	uint64_t r = UINT64_C(1) << 63;

	(void)!getrandom(&r, sizeof(r), 0);
	return r;
}

/* Writes what the probe made of it: with an operator who acts meanwhile, not over them. */
static int record(struct fleet_cmd *f, struct work_node *n, const char *why, enum pl_health *from,
	struct cl_err *e)
{
	for (int i = 0; i < ROUNDS; i++) {
		cleanup_txn struct store_txn t = {0};
		bool moved, won;

		if (store_begin(f->store, &t, e) || health_get(f, n, e))
			return -1;
		moved = hl_observe(&n->health, &hl_defaults, !why, why ? why : "", sys_now_ms(),
			random_bits(), from);
		if (health_put(f, n, &won, e))
			return -1;
		if (!won)
			continue;
		if (moved && fleet_audit(f, "executor.health", n->x->id, NULL,
				     json_pack("{s:s, s:s, s:o}", "from", pl_health_name(*from),
					     "to", pl_health_name(n->health.state), "reason",
					     cl_json_string(n->health.reason)),
				     e))
			return -1;
		return store_commit(&t, e);
	}
	return cl_fail(e, CL_EBUSY, "the state of executor '%s' changes too fast", n->x->id);
}

static json_t *lines(const struct cl_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, cl_json_string(v->v[i]));
	return a;
}

static void tell(const struct cl_ctx *c, const struct failover *over, const struct work_node *n,
	enum pl_health from, const char *why)
{
	const char *state = pl_health_name(n->health.state);

	if (c->json) {
		json_t *o = json_pack("{s:o, s:b, s:s, s:s, s:I, s:o, s:o}", "executor_id",
			cl_json_string(n->x->id), "ok", !why, "from", pl_health_name(from), "state",
			state, "consecutive_failures", (json_int_t)n->health.failures, "reason",
			why ? cl_json_string(why) : json_null(), "failover", lines(&over->notes));

		fleet_time(o, "next_probe", n->health.next_probe);
		cl_take_json(o);
		return;
	}
	if (from != n->health.state)
		(void)printf("%s: %s -> %s", n->x->id, pl_health_name(from), state);
	else
		(void)printf("%s: %s", n->x->id, state);
	if (why) {
		cleanup_free char *line = cl_strdup(why);

		line[strcspn(line, "\r\n")] = '\0';
		cl_mask(line, "");
		(void)printf(": %s", line);
	}
	(void)putchar('\n');
	for (size_t i = 0; i < over->notes.n; i++)
		(void)puts(over->notes.v[i]);
}

/*
 * What runs there fails over, at each probe that finds it unreachable: whoever found it so first
 * may not have come to it.
 */
static void fail_over(const struct cl_ctx *c, struct fleet_cmd *f, const struct work_node *n,
	int end, struct failover *over)
{
	cleanup_free char *base = work_run_base();

	if (n->health.state != PL_UNREACHABLE)
		return;
	over->hub_dir = f->hub.dir;
	over->run_base = base;
	over->cfg = &f->cfg;
	over->executor = n->x->id;
	over->stop = end;
	failover_pass(over, f->store);
	over->executor = over->run_base = NULL;
	for (size_t i = 0; i < over->troubles.n; i++)
		cl_warn(c, "%s", over->troubles.v[i]);
}

/* Nobody has asked it, or the time that is written for it is of a clock that has jumped. */
static bool at_once(const struct fleet_cmd *f, const struct work_node *n)
{
	return !hl_due(&n->health, &hl_defaults, f->now, 0);
}

/*
 * The claim is for as long as a probe may take: a pass beside this one leaves it alone. Who names
 * an executor gets an answer, also where others write at the same time. *mine false: not due.
 */
static int claim(struct fleet_cmd *f, struct work_node *n, bool due, bool *mine, struct cl_err *e)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (store_health_claim(f->store, n->x->id, n->version, due && !at_once(f, n),
			    f->now, f->now + 2 * PROBE_MS, mine, e))
			return -1;
		if (*mine || due)
			return 0;
		if (health_get(f, n, e))
			return -1;
	}
	(void)cl_fail(e, CL_EBUSY, "the state of executor '%s' changes too fast", n->x->id);
	return cl_fix(e, "try again");
}

/* 0: it is well, or not due; 1: it is not. */
static int probe_one(struct cl_ctx *c, struct fleet_cmd *f, struct work_node *n, struct cl_err *e)
{
	cleanup_failover struct failover over = FAILOVER_INIT;
	cleanup_free char *why = NULL;
	cleanup_fd int end = sys_end_signals(e);
	enum pl_health from;
	bool mine;

	if (end < 0 || claim(f, n, cl_flag(c, "due"), &mine, e))
		return -1;
	if (!mine)
		return 0;
	why = ask_driver(f, n, end);
	/* A probe that was given up says nothing of the executor. */
	if (sys_told_to_end(end))
		return 0;
	if (record(f, n, why, &from, e))
		return -1;
	fail_over(c, f, n, end, &over);
	tell(c, &over, n, from, why);
	return why ? 1 : 0;
}

/* ---- several: each in a process of its own ---- */

struct child {
	pid_t pid;
	int out;
};

static int start(struct cl_ctx *c, const struct fleet_cmd *f, const char *id, struct child *out,
	struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-executor"), *copy = cl_strdup(id);
	char verb[] = "probe-health", due[] = "--due", json[] = "--json", dir[] = "-C",
	     end[] = "--";
	char *argv[] = {path, dir, f->hub.dir, verb, due, end, copy, NULL, NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	int pipe_fds[2];
	int rc;

	/* Options come before the "--". */
	if (c->json) {
		argv[5] = json;
		argv[6] = end;
		argv[7] = copy;
	}
	if (pipe2(pipe_fds, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	s.path = path;
	s.argv = argv;
	s.envp = environ;
	s.out = pipe_fds[1];
	s.err = STDERR_FILENO;
	rc = sys_spawn(&s, &out->pid, e);
	(void)close(pipe_fds[1]);
	out->out = pipe_fds[0];
	if (rc)
		(void)close(pipe_fds[0]);
	return rc;
}

/* What is under way, in a ring: begun and done only grow. */
struct pass {
	struct child v[AT_ONCE];
	size_t begun, done;
	int end;   /* readable: we are told to end */
	bool over; /* and so are they */
	int worst;
};

/* Waits for something to read, or to be told to end, which is handed on: each ends soon then. */
static void listen_to(struct pass *p, int out)
{
	struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = p->end, .events = POLLIN}};

	while (!p->over && poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (p->over || !fds[1].revents)
		return;
	p->over = true;
	for (size_t i = p->done; i < p->begun; i++)
		(void)kill(p->v[i % AT_ONCE].pid, SIGTERM);
}

/*
 * The oldest of them. Its answer is a line or two: less than a pipe holds, so nobody waits for us
 * to read it.
 */
static int finish(struct pass *p, struct cl_err *e)
{
	const struct child *k = &p->v[p->done % AT_ONCE];
	char text[4096];
	int status, rc;
	ssize_t n;

	do {
		listen_to(p, k->out);
		n = read(k->out, text, sizeof(text));
		if (n > 0)
			(void)fwrite(text, 1, (size_t)n, stdout);
	} while (n > 0);
	(void)close(k->out);
	rc = sys_wait(k->pid, &status, e);
	p->done++;
	if (!rc && status > p->worst)
		p->worst = status;
	return rc;
}

int probe_pass(struct cl_ctx *c, struct fleet_cmd *f,
	bool (*asked)(const struct fleet_cmd *f, const struct work_node *n), int end,
	struct cl_err *e)
{
	struct pass p = {.end = end};
	int rc = 0;

	for (size_t i = 0; !rc && i < f->fleet.n; i++) {
		const struct work_node *n = &f->fleet.v[i];

		if (!work_node_serves(n) || !asked(f, n))
			continue;
		if (p.begun - p.done == AT_ONCE)
			rc = finish(&p, e);
		if (rc || p.over || sys_told_to_end(end))
			break;
		rc = start(c, f, n->x->id, &p.v[p.begun % AT_ONCE], e);
		p.begun += !rc;
	}
	while (p.done < p.begun) {
		struct cl_err ignored;

		if (finish(&p, rc ? &ignored : e))
			rc = -1;
	}
	return rc ? -1 : p.worst;
}

static bool is_due(const struct fleet_cmd *f, const struct work_node *n)
{
	return n->health.next_probe <= f->now || at_once(f, n);
}

int cmd_executor_probe_health(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct work_node *n;

	if (cl_flag(c, "loop"))
		return c->noperands
			       ? cl_usage(c, e, "--loop asks all executors, and takes none by name")
			       : probe_loop(c, e);
	if (fleet_cmd_open(c, STORE_RW, &f, e))
		return -1;
	if (!c->noperands)
		return probe_pass(c, &f, is_due, -1, e);
	if (fleet_cmd_node(c, &f, &n, e))
		return -1;
	if (work_node_serves(n))
		return probe_one(c, &f, n, e);
	(void)cl_fail(e, CL_EREFUSED, "executor '%s' is %s%s", n->x->id,
		n->x->disabled_reason ? "out of service: " : "off",
		n->x->disabled_reason ? n->x->disabled_reason : "");
	(void)cl_constraint(e, "executor");
	return cl_fix(e, "%s",
		n->x->disabled_fix ? n->x->disabled_fix : "turn it on in the hub's configuration");
}
