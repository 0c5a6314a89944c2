/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "store/journal.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

void shim_note(struct shim *s, const char *kind, const char *fmt, ...)
{
	const struct store_handle *row = &s->job.row;
	char text[600];
	struct cl_err e;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->plog.spool) {
		(void)pthread_mutex_lock(&s->plog.lock);
		(void)spool_append(s->plog.spool, SPOOL_NOTE, text, strlen(text), sys_now_ms());
		(void)pthread_mutex_unlock(&s->plog.lock);
	}
	if (s->store)
		(void)store_journal_add(
			s->store, sys_now_ms(), row->project, row->run_id, kind, text, NULL, &e);
}

static int signals(struct shim *s, struct cl_err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return cl_fail_sys(e, CL_EOS, errno, "cannot block signals");
	s->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->notify = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->sigfd < 0 || s->notify < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make event descriptors");
	return 0;
}

/* stdin is a pipe of ours, never a descriptor of the caller's: the workload could open
 * that again with other rights through /proc/self/fd. Without a stdin it is a closed one. */
static int make_stdin(struct shim *s, int *child, struct cl_err *e)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	*child = fds[0];
	/* So that the workload may open /dev/stdin, as it may /dev/stdout. */
	if (!geteuid() && fchown(fds[0], s->job.uid, (gid_t)-1)) {
		(void)close(fds[1]);
		return cl_fail_sys(e, CL_EOS, errno, "cannot give a pipe away");
	}
	if (s->job.wants_stdin) {
		s->stdin_w = fds[1];
	} else {
		(void)close(fds[1]);
		s->stdin_w = -1;
	}
	return 0;
}

static void start_pump(struct shim *s, int *from, enum spool_stream stream, int client,
	struct pump **pump, bool *done)
{
	struct scrub *scrub = NULL;
	struct cl_err e;

	/* Without a thread the stream is lost, but the workload is still watched. */
	if (!shim_lent_scrubber(s, &scrub, &e) &&
		!pump_output(cl_steal_fd(from), stream, &s->plog, s->notify, cl_steal_fd(&client),
			scrub, pump, &e))
		return;
	shim_note(s, "output", "%s cannot be read: %s", spool_stream_name(stream), e.msg);
	if (client >= 0)
		(void)close(client);
	*done = true;
}

void shim_start_reading(struct shim *s, int out, int err)
{
	s->reading = true;
	s->due.attach = 0;
	start_pump(s, &s->read_out, SPOOL_STDOUT, out, &s->out, &s->out_done);
	start_pump(s, &s->read_err, SPOOL_STDERR, err, &s->err, &s->err_done);
}

static void __attribute__((noreturn)) hold(const struct shim *s)
{
	char events[4096];
	struct stat st;
	sigset_t none;
	int watch;

	(void)prctl(PR_SET_NAME, "cloop-hold", 0, 0, 0);
	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(s->keep_out, 0) < 0 || dup2(s->keep_err, 1) < 0)
		_exit(1); /* lint: allow */
	(void)close_range(2, ~0U, 0);
	watch = inotify_init1(IN_CLOEXEC);
	if (watch >= 0 && inotify_add_watch(watch, s->rd.dir, IN_DELETE) < 0)
		watch = -1;
	while (!fstat(0, &st) && st.st_nlink)
		if (watch < 0 || read(watch, events, sizeof(events)) <= 0)
			sys_sleep_ms(1000);
	_exit(0); /* lint: allow */
}

/*
 * The workload's last words must not go with it when its supervisor is gone already: what is in
 * a FIFO lasts as long as somebody has it open. So a process that does nothing else holds both
 * until they are removed, whichever supervisor does that. Without one, only that is lost.
 */
static void start_holder(const struct shim *s)
{
	if (!fork())
		hold(s);
}

int shim_setup(struct shim *s, bool adopting, struct cl_err *e)
{
	if (signals(s, e))
		return -1;
	if (mkdir(s->job.log_dir, 0700) && errno != EEXIST)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", s->job.log_dir);
	if (spool_open(s->log, 0, &s->plog.spool, e))
		return cl_fix(e, "make '%s' a directory that can be written", s->job.log_dir);
	if (!adopting && rundir_make(&s->rd, s->job.uid, e))
		return -1;
	s->exit_fd = open(s->rd.exit, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->exit_fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", s->rd.exit);
	if (rundir_open_fifo(s->rd.out, &s->read_out, &s->keep_out, e) ||
		rundir_open_fifo(s->rd.err, &s->read_err, &s->keep_err, e) ||
		control_listen(s->rd.sock, &s->listen_fd, e))
		return -1;
	if (!adopting)
		start_holder(s);
	shim_watch_init(s, adopting);
	return adopting ? 0 : make_stdin(s, &s->child_stdin, e);
}

static void shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void shim_release(struct shim *s)
{
	int *fds[] = {&s->sigfd, &s->listen_fd, &s->notify, &s->init_fd, &s->keep_out, &s->keep_err,
		&s->read_out, &s->read_err, &s->exit_fd, &s->stdin_w, &s->child_stdin};

	diskwalk_cancel(s->walk);
	s->walk = NULL;
	json_decref(s->lent.said);
	s->lent.said = NULL;
	pump_free(s->out);
	pump_free(s->err);
	pump_free(s->in);
	s->out = s->err = s->in = NULL;
	for (size_t i = 0; i < CL_ARRAY_LEN(fds); i++)
		shut(fds[i]);
	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		shut(&s->clients[i].fd);
	spool_close(s->plog.spool);
	s->plog.spool = NULL;
	/* The status is in there: whoever adopts what we could not record finds it. */
	if (!s->ended || s->recorded)
		rundir_remove(&s->rd);
	store_close(s->store);
	s->store = NULL;
}
