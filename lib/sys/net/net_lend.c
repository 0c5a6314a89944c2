/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/net/net_lend.h"
#include "base/mem.h"
#include "policy/addr.h"
#include "sys/net/net_lend_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lending {
	struct net_dirs d;
	const char *handle;
	struct sys_nl host, inside;
	int ns;
	struct lents all;
};

static void lending_release(struct lending *l)
{
	net_dirs_close(&l->d);
	sys_nl_close(&l->host);
	sys_nl_close(&l->inside);
	cl_cleanup_fd(&l->ns);
	lents_release(&l->all);
}
#define cleanup_lending __attribute__((cleanup(lending_release)))

/* ---- inside ---- */

static int parse(const struct net_lend *w, struct pol_addr *own, uint8_t *length,
	struct pol_addr *gateway, struct cl_err *e)
{
	struct pol_prefix p;
	const char *slash = w->address ? strchr(w->address, '/') : NULL;
	cleanup_free char *host = NULL;

	*own = *gateway = (struct pol_addr){0};
	if (w->address) {
		host = cl_strndup(w->address, slash ? (size_t)(slash - w->address) : 0);
		if (pol_prefix_parse(w->address, false, "address", &p, e) ||
			pol_addr_parse(host, "address", own, e))
			return -1;
		*length = p.len;
	}
	return w->gateway ? pol_addr_parse(w->gateway, "gateway", gateway, e) : 0;
}

/* The guide's order: it has its name and mtu; the address, then up, then the way out. */
static int set_up(struct lending *l, const struct net_lend *w, struct cl_err *e)
{
	struct pol_addr own, gateway;
	uint8_t length = 0;
	unsigned index;

	if (parse(w, &own, &length, &gateway, e) ||
		net_link_index(&l->inside, w->target, &index, e))
		return -1;
	if (own.family && net_address_put(&l->inside, index, &own, length, e))
		return -1;
	if (net_link_up(&l->inside, index, e))
		return -1;
	return gateway.family ? net_route_add(&l->inside, index, NULL, &gateway, e) : 0;
}

static int drop_altnames(struct lending *l, const struct lent *one, struct cl_err *e)
{
	for (size_t i = 0; i < one->altnames.n; i++)
		if (net_altname_delete(&l->host, one->index, one->altnames.v[i], e))
			return -1;
	return 0;
}

/* Other names tell of the host's wiring, and some kernels leave them behind in a move. */
static int lend_one(
	struct lending *l, const struct lent *one, const struct net_lend *w, struct cl_err *e)
{
	if (lent_same(&l->host, one, e) || drop_altnames(l, one, e))
		return -1;
	if (!net_link_move(&l->host, one->index, l->ns, one->target, 0, w->mtu, e))
		return set_up(l, w, e);
	if (e->sys == EINVAL)
		(void)cl_fix(e, "the kernel keeps bridges, wireless interfaces and the fixed ends "
				"of tunnels "
				"where they are, and takes no mtu that the driver cannot do");
	return -1;
}

static int lend_all(struct lending *l, const struct net_lend *v, size_t n, struct cl_err *e)
{
	for (size_t i = 0; i < n; i++)
		if (lend_one(l, &l->all.v[i], &v[i], e)) {
			(void)cl_constraint(e, "interfaces");
			return cl_wrap(e, "interface '%s' (%s)", v[i].name, v[i].source);
		}
	return 0;
}

static int open_all(struct lending *l, const char *rundir, struct cl_err *e)
{
	if (net_check_handle(l->handle, e) || net_dirs_open(&l->d, rundir, true, e) ||
		lents_read(&l->d, l->handle, &l->all, e))
		return -1;
	if (l->all.n)
		return cl_fail(e, CL_EBUSY, "workload '%s' has interfaces already", l->handle);
	return sys_nl_open(&l->host, NETLINK_ROUTE, e) ||
			       lent_inside(&l->d, l->handle, &l->ns, &l->inside, e)
		       ? -1
		       : 0;
}

/* The record first: what was moved by a process that is gone is found by it. */
int net_lend(const char *rundir, const char *handle, const struct net_lend *v, size_t n,
	struct cl_err *e)
{
	cleanup_lending struct lending l = {.d = NET_DIRS_INIT,
		.handle = handle,
		.host = SYS_NL_INIT,
		.inside = SYS_NL_INIT,
		.ns = -1};
	cleanup_strv struct cl_strv said = CL_STRV_INIT;
	struct cl_err second;

	if (!n)
		return 0;
	if (open_all(&l, rundir, e) ||
		lent_judge(&l.d, handle, &l.host, &l.inside, v, n, &l.all, e) ||
		net_ns_routes_nothing(l.ns, e) || lents_write(&l.d, handle, &l.all, e))
		return -1;
	if (!lend_all(&l, v, n, e))
		return 0;
	if (lents_back(&l.d, handle, &l.all, NULL, &said, &second))
		(void)cl_fix(e, "and it could not be undone, which 'cloop sweep' tries again: %s",
			second.msg);
	return -1;
}

int net_lend_look(const char *rundir, const struct net_lend *v, size_t n, struct cl_err *e)
{
	cleanup_lending struct lending l = {.d = NET_DIRS_INIT,
		.handle = "",
		.host = SYS_NL_INIT,
		.inside = SYS_NL_INIT,
		.ns = -1};
	struct cl_err ignored;

	if (!n)
		return 0;
	/* Who may not read the records is not told which workload has one. */
	(void)net_dirs_open(&l.d, rundir, false, &ignored);
	return sys_nl_open(&l.host, NETLINK_ROUTE, e) ||
			       lent_judge(&l.d, l.handle, &l.host, NULL, v, n, &l.all, e)
		       ? -1
		       : 0;
}
