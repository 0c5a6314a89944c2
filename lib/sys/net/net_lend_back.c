/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/net/net_lend_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct returning {
	const struct net_dirs *d;
	const char *handle;
	struct sys_nl host, inside;
	int ns, here; /* -1: there is no namespace of the run any more */
	struct net_links links;
	struct cl_strv *said;
};

static void returning_release(struct returning *r)
{
	sys_nl_close(&r->host);
	sys_nl_close(&r->inside);
	cl_cleanup_fd(&r->ns);
	cl_cleanup_fd(&r->here);
	net_links_release(&r->links);
}
#define cleanup_returning __attribute__((cleanup(returning_release)))

static int open_inside(void *arg, struct cl_err *e)
{
	return sys_nl_open(arg, NETLINK_ROUTE, e);
}

int lent_inside(
	const struct net_dirs *d, const char *handle, int *fd, struct sys_nl *nl, struct cl_err *e)
{
	*fd = openat(d->netns, handle, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0 && errno == ENOENT)
		return cl_fail(e, CL_ENOTFOUND, "workload '%s' has no network of its own", handle);
	if (*fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s/netns/%s'", d->root, handle);
	return net_in_namespace(*fd, open_inside, nl, e);
}

/* ---- one ---- */

static bool is_it(const struct net_link *now, const struct lent *l)
{
	return now->index && now->nmac == l->nmac && !memcmp(now->mac, l->mac, l->nmac) &&
	       !(now->flags & IFF_LOOPBACK);
}

/* Its index inside; 0: it is not there. */
static unsigned find_inside(const struct returning *r, const struct lent *l)
{
	for (size_t i = 0; i < r->links.n; i++) {
		const struct net_link *now = &r->links.v[i];

		if ((!strcmp(now->name, l->target) || !strcmp(now->name, l->source)) &&
			is_it(now, l))
			return now->index;
	}
	return 0;
}

/*
 * Here already: it never left, or came back with a process that was killed before it was as it
 * was; or the kernel has sent it, as it does with the ports of the machine.
 */
static int find_here(
	struct returning *r, const struct lent *l, struct net_link *out, struct cl_err *e)
{
	if (net_link_look(&r->host, l->source, 0, out, NULL, e))
		return -1;
	if (!is_it(out, l) && net_link_look(&r->host, NULL, l->index, out, NULL, e))
		return -1;
	if (!is_it(out, l))
		*out = (struct net_link){0};
	return 0;
}

/* Its name, or one that is free where somebody has made another of its name meanwhile. */
static int free_name(
	struct returning *r, const struct lent *l, char name[IFNAMSIZ], struct cl_err *e)
{
	unsigned taken;

	(void)snprintf(name, IFNAMSIZ, "%s", l->source);
	for (unsigned i = 0; i < 1000; i++) {
		if (net_link_index(&r->host, name, &taken, e))
			return -1;
		if (!taken)
			return 0;
		(void)snprintf(name, IFNAMSIZ, "lent%u", i);
	}
	return cl_fail(e, CL_EBUSY, "the host has no name left for '%s'", l->source);
}

/* Moves it; or gives it its name again, where the kernel has sent it with that it had inside. */
static int bring(struct returning *r, const struct lent *l, unsigned *index, struct cl_err *e)
{
	unsigned inside = find_inside(r, l);
	struct net_link now = {0};
	char name[IFNAMSIZ];

	*index = 0;
	if (!inside && find_here(r, l, &now, e))
		return -1;
	*index = now.index;
	if (!inside && (!now.index || !strcmp(now.name, l->source)))
		return 0;
	if (free_name(r, l, name, e))
		return -1;
	if (inside ? net_link_move(&r->inside, inside, r->here, name, l->index, 0, e) ||
				net_link_index(&r->host, name, index, e)
		   : net_link_rename(&r->host, now.index, name, e))
		return -1;
	if (!strcmp(name, l->source))
		cl_strv_addf(r->said, "%s (%s) is back on the host", l->name, l->source);
	else
		cl_strv_addf(r->said,
			"%s (%s) is back on the host as '%s', for another interface has its name "
			"now",
			l->name, l->source, name);
	return 0;
}

static int back(struct returning *r, const struct lent *l, struct cl_err *e)
{
	unsigned index;

	if (bring(r, l, &index, e))
		return -1;
	if (index)
		lent_restore(&r->host, index, l, r->said);
	else
		cl_strv_addf(r->said, "%s (%s) is gone: somebody has removed it, or its other end",
			l->name, l->source);
	return 0;
}

/* ---- all ---- */

static int check_here(const struct lents *l, struct cl_err *e)
{
	struct lents now = {0};

	if (lents_here(&now, e))
		return -1;
	if (now.dev == l->dev && now.ino == l->ino)
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL,
		"its interfaces came from another network namespace than this, and go back to that "
		"one");
	return cl_fix(e, "run cloop where the run was started, as by nsenter --net");
}

static int open_all(struct returning *r, const struct lents *l, struct cl_err *e)
{
	if (check_here(l, e) || sys_nl_open(&r->host, NETLINK_ROUTE, e))
		return -1;
	r->here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (r->here < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '/proc/thread-self/ns/net'");
	if (!lent_inside(r->d, r->handle, &r->ns, &r->inside, e))
		return net_links(&r->inside, &r->links, e);
	/* What is not there cannot hold one; a file that nothing is bound to is no namespace. */
	return e->code == CL_ENOTFOUND || (e->code == CL_EOS && r->ns >= 0) ? 0 : -1;
}

int lents_back(const struct net_dirs *d, const char *handle, struct lents *l,
	const struct cl_strv *keep, struct cl_strv *said, struct cl_err *e)
{
	cleanup_returning struct returning r = {.d = d,
		.handle = handle,
		.host = SYS_NL_INIT,
		.inside = SYS_NL_INIT,
		.ns = -1,
		.here = -1,
		.said = said};
	struct cl_err one;
	int rc = 0;

	if (!l->n)
		return 0;
	if (open_all(&r, l, e))
		return -1;
	for (size_t i = l->n; i-- > 0;) {
		if (keep && cl_strv_has(keep, l->v[i].name))
			continue;
		if (!back(&r, &l->v[i], &one)) {
			lents_drop(l, i);
			continue;
		}
		*e = one;
		rc = -1;
	}
	return lents_write(d, handle, l, rc ? &one : e) ? -1 : rc;
}

static int read_and_return(const struct net_dirs *d, const char *handle, const struct cl_strv *keep,
	struct cl_strv *said, struct cl_err *e)
{
	cleanup_lents struct lents l = {0};

	return lents_read(d, handle, &l, e) || lents_back(d, handle, &l, keep, said, e) ? -1 : 0;
}

int net_lend_undo(const struct net_dirs *d, const char *handle, struct cl_err *e)
{
	cleanup_strv struct cl_strv said = CL_STRV_INIT;

	return read_and_return(d, handle, NULL, &said, e);
}

int net_lend_back(const char *rundir, const char *handle, const struct cl_strv *keep,
	struct cl_strv *said, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;

	return net_check_handle(handle, e) || net_dirs_open(&d, rundir, true, e) ||
			       read_and_return(&d, handle, keep, said, e)
		       ? -1
		       : 0;
}

int net_lent(const char *rundir, const char *handle, struct cl_strv *names, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_lents struct lents l = {0};

	if (net_check_handle(handle, e) || net_dirs_open(&d, rundir, false, e) ||
		lents_read(&d, handle, &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++)
		cl_strv_add(names, l.v[i].name);
	return 0;
}
