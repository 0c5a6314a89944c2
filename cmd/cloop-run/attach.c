/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting for an attached run. The shim writes our standard output itself, at our
 * reader's pace; here are only signals, the end, and what to do when the shim dies.
 */
#include "run.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/control.h"
#include "work/paths.h"
#include "work/rundir.h"
#include "work/spool.h"
#include "work/sweep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void held_set(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < CL_ARRAY_LEN(held); i++)
		(void)sigaddset(set, held[i]);
}

int run_hold_signals(struct cl_err *e)
{
	sigset_t set;

	held_set(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return cl_fail_sys(e, CL_EOS, errno, "cannot block signals");
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

struct attach {
	struct cl_ctx *c;
	struct run_plan *p;
	struct rundir rd;
	int fd, sigfd;
	int interrupts;
	json_t *ended; /* the shim's last word; owned */
	bool streamed; /* a shim had our streams */
	bool left;     /* hung up: the run goes on without us */
};

/* One request and its answer; the answer may be skipped over by an early "ended". */
static int ask(struct attach *a, json_t *take_msg, const int *fds, size_t n, struct cl_err *e)
{
	int got_fds[CONTROL_FDS];
	json_t *got = NULL;
	size_t got_n;
	int rc = control_send(a->fd, take_msg, fds, n, e);

	json_decref(take_msg);
	if (rc || control_recv(a->fd, &got, got_fds, &got_n, e))
		return -1;
	if (!got)
		return control_gone(e);
	/* A workload that was quick may have ended, with its streams, before we asked. */
	if (json_object_get(got, "ended"))
		a->ended = json_incref(json_object_get(got, "ended"));
	if (json_object_get(got, "error")) {
		(void)cl_err_from_json(got, e);
		json_decref(got);
		return -1;
	}
	json_decref(got);
	return 0;
}

static int connect_shim(struct attach *a, bool replay, struct cl_err *e)
{
	int fds[3] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};

	if (control_connect(a->rd.sock, &a->fd, e) ||
		ask(a, json_pack("{s:s, s:b}", "op", "attach", "replay", replay), fds,
			a->p->wants_stdin ? 3 : 2, e))
		return -1;
	a->streamed = a->streamed || !a->ended;
	return 0;
}

static void send_op(struct attach *a, json_t *take_msg)
{
	struct cl_err e;

	/* The answer comes among the others and is of no interest: a dead peer shows anyway. */
	(void)control_send(a->fd, take_msg, NULL, 0, &e);
	json_decref(take_msg);
}

static void on_signal(struct attach *a)
{
	struct signalfd_siginfo si;

	if (read(a->sigfd, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP) {
		a->left = true;
	} else if (si.ssi_signo == SIGINT && !a->interrupts++) {
		send_op(a, json_pack("{s:s, s:s}", "op", "signal", "signal", "interrupt"));
	} else if (si.ssi_signo == SIGINT || si.ssi_signo == SIGQUIT) {
		cl_say(a->c, "killing it");
		send_op(a, json_pack("{s:s, s:s}", "op", "signal", "signal", "kill"));
	} else {
		send_op(a, json_pack("{s:s}", "op", "stop"));
	}
}

/* Something from the shim. False when it is gone. */
static bool on_message(struct attach *a)
{
	int fds[CONTROL_FDS];
	json_t *got = NULL;
	struct cl_err e;
	size_t n;

	if (control_recv(a->fd, &got, fds, &n, &e) || !got)
		return false;
	if (json_object_get(got, "ended"))
		a->ended = json_incref(json_object_get(got, "ended"));
	json_decref(got);
	return true;
}

/* Until the end, a hang-up, or the death of the shim. */
static void follow(struct attach *a)
{
	while (!a->ended && !a->left) {
		struct pollfd fds[2] = {{a->fd, POLLIN, 0}, {a->sigfd, POLLIN, 0}};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			on_signal(a);
		if (fds[0].revents && !on_message(a))
			return;
	}
}

/* What the store says, as the shim would have said it; NULL while it is not finished. */
static json_t *stored_end(const struct run_plan *p)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err e;
	json_t *j;

	if (store_run_get(p->store, p->id, &r, &e) || strcmp(r.state, "finished") != 0)
		return NULL;
	j = json_pack("{s:s, s:s, s:I}", "state", "finished", "outcome", r.outcome, "exit_code",
		(json_int_t)r.exit_code);
	if (r.error)
		(void)json_object_set_new(j, "error", json_string(r.error));
	return j;
}

/* The shim died: a sweep gives the workload a new one, and we attach to that. */
static int recover(struct attach *a, struct cl_err *e)
{
	cleanup_free char *logs = work_log_dir(&a->p->hub);
	struct sweep s = {.hub_dir = a->p->hub.dir,
		.state_path = a->p->hub.state,
		.log_dir = logs,
		.run_base = a->rd.base,
		.parts = SWEEP_SETTLE};

	(void)close(cl_steal_fd(&a->fd));
	cl_warn(a->c, "the supervisor of %s is gone; another one takes over", a->p->id);
	for (int i = 0; i < 50; i++) {
		int rc;

		a->ended = stored_end(a->p);
		if (a->ended)
			return 0;
		rc = sweep_pass(&s, e);
		sweep_release(&s);
		if (!rc && !connect_shim(a, !a->streamed, e))
			return 0;
		sys_sleep_ms(200);
	}
	(void)cl_fail(e, CL_EUNAVAIL, "%s has no supervisor", a->p->id);
	return cl_fix(e, "cloop runs show %s tells what became of it", a->p->id);
}

/* We were too slow (stopped, or on a disk that hung): what it wrote is in its log. */
static void print_log(struct attach *a)
{
	cleanup_free char *logs = work_log_dir(&a->p->hub);
	cleanup_free char *dir = cl_asprintf("%s/%s", logs, a->p->handle.id);
	struct spool_reader *r = NULL;
	struct spool_record rec;
	struct cl_err e;
	bool got = true;

	if (spool_reader_open(dir, 0, &r, &e)) {
		cl_warn(a->c, "its output is lost: %s", e.msg);
		return;
	}
	while (!spool_next(r, &rec, &got, &e) && got)
		if (rec.stream != SPOOL_NOTE)
			(void)fwrite(
				rec.data, 1, rec.len, rec.stream == SPOOL_STDERR ? stderr : stdout);
	spool_reader_close(r);
	(void)fflush(stdout);
}

static int finish(struct attach *a)
{
	const char *outcome = json_string_value(json_object_get(a->ended, "outcome"));
	const char *error = json_string_value(json_object_get(a->ended, "error"));
	const char *lost = json_string_value(json_object_get(a->ended, "output_error"));
	int code = (int)json_integer_value(json_object_get(a->ended, "exit_code"));
	json_t *blocked;

	if (!a->streamed)
		print_log(a);
	if (error && outcome && strcmp(outcome, "exited") != 0 && !a->c->json)
		cl_say(a->c, "%s: %s", outcome, error);
	if (lost)
		cl_warn(a->c, "output could not be written: %s; 'cloop runs logs %s' has it", lost,
			a->p->id);
	blocked = run_blocked(a->p);
	if (blocked && !a->c->json)
		run_say_blocked(a->c, a->p, blocked);
	if (blocked)
		(void)json_object_set_new(a->ended, "blocked", blocked);
	run_status(a->c, a->p, json_incref(a->ended));
	return code < 0 ? 125 : code;
}

static int attached(struct attach *a, struct cl_err *e)
{
	if (connect_shim(a, true, e) && recover(a, e))
		return -1;
	for (;;) {
		follow(a);
		if (a->left) {
			cl_say(a->c, "hung up; the run goes on as %s", a->p->id);
			return 128 + SIGHUP;
		}
		if (a->ended)
			return finish(a);
		if (recover(a, e))
			return -1;
	}
}

int run_attach(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	struct attach a = {.c = c, .p = p, .fd = -1};
	cleanup_free char *base = work_run_base();
	sigset_t set;
	int rc;

	held_set(&set);
	a.sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a.sigfd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read signals");
	rundir_init(&a.rd, base, p->handle.id);
	rc = attached(&a, e);
	rundir_release(&a.rd);
	json_decref(a.ended);
	(void)close(a.sigfd);
	if (a.fd >= 0)
		(void)close(a.fd);
	return rc;
}
