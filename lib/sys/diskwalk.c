/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/diskwalk.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/diskwalk_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/ioprio.h, which glibc does not wrap */
#define IOPRIO_WHO_SELF 1
#define IOPRIO_IDLE     (3 << 13)

#define STATE_DIR ".cloop"

/* Belongs to its owner and to its thread; the last of the two frees it. */
struct diskwalk {
	atomic_int owners;
	atomic_bool cancelled, done;
	int fd;
	char *tree, *output;
	struct diskwalk_want want;
	struct diskwalk_result result;
	bool failed;
	struct cl_err err;
};

static int open_root(const char *path, struct cl_err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return cl_fail_sys(e,
		errno == ENOENT || errno == ENOTDIR ? CL_ENOTFOUND
		: errno == EACCES                   ? CL_EDENIED
						    : CL_EOS,
		errno, "cannot measure '%s'", path);
}

/*
 * .cloop goes first: what has names in it and in the tree is then part of its size in every
 * walk, as it was when the baseline was taken.
 */
static bool measure_state(struct walk *w, int root, const struct diskwalk_want *want)
{
	static const struct walk_what what = {.only = STATE_DIR, .label = ""};
	int64_t rest = w->deadline, bytes = 0;
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	bool whole;

	if (fd < 0) {
		w->result->partial = true;
		return true;
	}
	if (want->start && want->state_deadline_ms) {
		int64_t own = sys_mono_ms() + want->state_deadline_ms;

		w->deadline = own < rest ? own : rest;
	}
	whole = walk_tree(w, fd, &what, &bytes);
	w->deadline = rest;
	w->result->state = whole && !w->result->partial ? bytes : -1;
	if (!want->start) {
		w->result->bytes = dw_total(0, bytes, want->baseline);
		return whole;
	}
	/* Without a baseline all of .cloop is left out: nothing of it counts, nor blurs the rest. */
	if (w->result->state < 0) {
		*w->result = (struct diskwalk_result){.state = -1, .entries = w->result->entries};
		inodes_release(&w->seen);
	}
	return true;
}

static int measure_output(struct walk *w, const char *output, struct cl_err *e)
{
	cleanup_free char *label = cl_asprintf("%s/", output);
	struct walk_what what = {.label = label};
	int fd = open_root(output, e);

	if (fd < 0)
		return -1;
	(void)walk_tree(w, fd, &what, &w->result->bytes);
	return 0;
}

static int measure(struct walk *w, const struct diskwalk_want *want, struct cl_err *e)
{
	static const struct walk_what tree = {.without = STATE_DIR, .label = ""};
	cleanup_fd int root = open_root(want->tree, e);
	bool whole = true;

	if (root < 0)
		return -1;
	if (want->start || want->baseline >= 0)
		whole = measure_state(w, root, want);
	if (whole)
		whole = walk_tree(w, cl_steal_fd(&root), &tree, &w->result->bytes);
	return whole && want->output ? measure_output(w, want->output, e) : 0;
}

/* The walk must not disturb what it watches; both calls act on this thread alone. */
static void step_back(void)
{
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_SELF, 0, IOPRIO_IDLE);
}

static void disown(struct diskwalk *d)
{
	if (atomic_fetch_sub(&d->owners, 1) > 1)
		return;
	(void)close(d->fd);
	free(d->tree);
	free(d->output);
	free(d);
}

static void *thread_main(void *arg)
{
	struct diskwalk *d = arg;
	int64_t begun = sys_mono_ms();
	struct walk w = {.cancelled = &d->cancelled, .bounds = d->want.bounds};
	uint64_t one = 1;

	step_back();
	w.result = &d->result;
	w.deadline = begun + d->want.deadline_ms;
	d->result.state = -1;
	d->failed = measure(&w, &d->want, &d->err) != 0;
	d->result.cost_ms = sys_mono_ms() - begun;
	inodes_release(&w.seen);
	atomic_store(&d->done, true);
	(void)!write(d->fd, &one, sizeof(one));
	disown(d);
	return NULL;
}

static int start_thread(struct diskwalk *d)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int sys = pthread_attr_init(&attr);

	if (sys)
		return sys;
	/* Signals are the caller's business. */
	(void)sigfillset(&all);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	sys = pthread_create(&thread, &attr, thread_main, d);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return sys;
}

int diskwalk_start(const struct diskwalk_want *want, struct diskwalk **out, struct cl_err *e)
{
	struct diskwalk *d = cl_calloc(1, sizeof(*d));
	int sys;

	d->owners = 2;
	d->tree = cl_strdup(want->tree);
	d->output = want->output ? cl_strdup(want->output) : NULL;
	d->want = *want;
	d->want.tree = d->tree;
	d->want.output = d->output;
	if (!d->want.deadline_ms)
		d->want.deadline_ms = DW_WALK_DEADLINE_MS;
	d->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sys = d->fd < 0 ? errno : start_thread(d);
	if (sys) {
		d->owners = 1;
		disown(d);
		return cl_fail_sys(e, CL_EOS, sys, "cannot start to measure '%s'", want->tree);
	}
	*out = d;
	return 0;
}

int diskwalk_fd(const struct diskwalk *d)
{
	return d->fd;
}

int diskwalk_poll(struct diskwalk *d, bool *done, struct diskwalk_result *r, struct cl_err *e)
{
	*done = atomic_load(&d->done);
	if (!*done)
		return 0;
	if (d->failed) {
		*e = d->err;
		return -1;
	}
	*r = d->result;
	return 0;
}

void diskwalk_cancel(struct diskwalk *d)
{
	if (!d)
		return;
	atomic_store(&d->cancelled, true);
	disown(d);
}

int diskwalk_run(const struct diskwalk_want *want, struct diskwalk_result *r, struct cl_err *e)
{
	int64_t begun = sys_mono_ms();
	/* A little longer than the walk gives itself: it is to say itself how far it came. */
	int64_t deadline = (want->deadline_ms ? want->deadline_ms : DW_WALK_DEADLINE_MS) + 1000;
	struct diskwalk *d = NULL;
	bool done = false;
	int rc = 0;

	if (diskwalk_start(want, &d, e))
		return -1;
	for (int64_t left = deadline; left > 0; left = begun + deadline - sys_mono_ms()) {
		struct pollfd p = {.fd = d->fd, .events = POLLIN};

		(void)poll(&p, 1, (int)(left > 1000000 ? 1000000 : left));
		rc = diskwalk_poll(d, &done, r, e);
		if (done)
			break;
	}
	if (!done)
		*r = (struct diskwalk_result){.state = -1,
			.partial = true,
			.missed = true,
			.cost_ms = sys_mono_ms() - begun};
	diskwalk_cancel(d);
	return rc;
}

int disk_free_mb(const char *path, int64_t *mb, struct cl_err *e)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		return cl_fail_sys(e, errno == ENOENT ? CL_ENOTFOUND : CL_EOS, errno,
			"cannot tell how much is free at '%s'", path);
	*mb = (int64_t)((unsigned __int128)fs.f_bavail * fs.f_frsize >> 20);
	return 0;
}
