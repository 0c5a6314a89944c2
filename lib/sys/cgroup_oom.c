/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/cgroup.h"
#include "sys/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

static int no_notice(const char *file, int sys, struct cl_err *e)
{
	return cl_fail_sys(e, sys == ENOENT ? CL_EUNAVAIL : CL_EOS, sys,
		"cannot watch '%s' for want of memory", file);
}

/* v1: "<eventfd> <fd of memory.oom_control>" into cgroup.event_control. */
static int watch_v1(
	const struct cg_hierarchy *h, const char *handle, struct cg_oom *w, struct cl_err *e)
{
	cleanup_free char *control = cg_path(h, handle, "cgroup.event_control");
	cleanup_fd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cleanup_fd int oom = open(w->file, O_RDONLY | O_CLOEXEC);
	char text[32];
	int sys;

	if (event < 0 || oom < 0)
		return no_notice(w->file, errno, e);
	(void)snprintf(text, sizeof(text), "%d %d", event, oom);
	sys = cg_put(control, text);
	if (sys)
		return no_notice(w->file, sys, e);
	w->fd = cl_steal_fd(&event);
	return 0;
}

static int watch_v2(struct cg_oom *w, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_fd int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int sys;

	if (fd < 0 || inotify_add_watch(fd, w->file, IN_MODIFY | IN_DELETE_SELF) < 0)
		return no_notice(w->file, errno, e);
	/* After the watch: what comes from here on is announced. */
	sys = cg_get(w->file, &text);
	if (sys)
		return no_notice(w->file, sys, e);
	if (!cg_field(text.p, "oom_kill", &w->seen))
		return cl_fail(e, CL_EUNAVAIL, "'%s' counts no kills", w->file);
	w->fd = cl_steal_fd(&fd);
	return 0;
}

int cg_oom_watch(const struct cg *c, const char *handle, struct cg_oom *w, struct cl_err *e)
{
	const struct cg_hierarchy *h;
	int rc;

	if (cg_check_handle(handle, e))
		return -1;
	h = cg_memory(c, e);
	if (!h)
		return -1;
	w->v2 = h->v2;
	w->file = cg_path(h, handle, h->v2 ? "memory.events" : "memory.oom_control");
	rc = h->v2 ? watch_v2(w, e) : watch_v1(h, handle, w, e);
	if (rc)
		cg_oom_release(w);
	return rc;
}

static int take_v1(struct cg_oom *w, bool *oom, struct cl_err *e)
{
	uint64_t count = 0;

	if (read(w->fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read the notice of '%s'", w->file);
	/* The removal of the cgroup rings once too. */
	if (count && access(w->file, F_OK))
		count--;
	*oom = count > 0;
	return 0;
}

static int take_v2(struct cg_oom *w, bool *oom, struct cl_err *e)
{
	char events[4096] __attribute__((aligned(8)));
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	uint64_t now = w->seen;
	int sys;

	while (read(w->fd, events, sizeof(events)) > 0)
		;
	sys = cg_get(w->file, &text);
	if (sys && sys != ENOENT && sys != ENODEV)
		return cl_fail_sys(e, CL_EOS, sys, "cannot read '%s'", w->file);
	(void)cg_field(text.p, "oom_kill", &now);
	*oom = now > w->seen;
	w->seen = now;
	return 0;
}

int cg_oom_take(struct cg_oom *w, bool *oom, struct cl_err *e)
{
	return w->v2 ? take_v2(w, oom, e) : take_v1(w, oom, e);
}

void cg_oom_release(struct cg_oom *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	cl_cleanup_free(&w->file);
	*w = CG_OOM_INIT;
}

int cg_oom_kills(const struct cg *c, const char *handle, uint64_t *count, struct cl_err *e)
{
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;
	const struct cg_hierarchy *h;

	*count = 0;
	if (cg_check_handle(handle, e))
		return -1;
	h = cg_memory(c, e);
	if (!h || cg_tree(h, handle, &dirs, e))
		return -1;
	/* v2 counts for the whole tree at its top, v1 where the victim was. */
	for (size_t i = 0; i < dirs.n && (i == 0 || !h->v2); i++) {
		cleanup_free char *file = cl_asprintf(
			"%s/%s", dirs.v[i], h->v2 ? "memory.events" : "memory.oom_control");
		cleanup_buf struct cl_buf text = CL_BUF_INIT;
		uint64_t here = 0;

		(void)cg_get(file, &text);
		(void)cg_field(text.p, "oom_kill", &here);
		*count += here;
	}
	return 0;
}
