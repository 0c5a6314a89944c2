/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interfaces of the host that a run has for its life: moved into its prepared network before
 * anything runs there, and put back as they were, whatever ended the run. The guide "Network
 * interfaces: L2 passthrough"; facts/secrets.md 3.3; DECISIONS E12, I1, I3.
 *
 * A namespace takes the virtual interfaces in it along when it ends, and both ends of a veth. So
 * the namespace of a prepared network is held by a file (net.h) until what was moved in is out
 * again: net_teardown does that first, and fails where it cannot be done.
 *
 * What an interface was, its name, other names, index, mtu, state, addresses and routes, is
 * written to net/HANDLE.lent of the run directory before it is touched, and removed after it is
 * back: a process killed in between leaves nothing that the next does not find. Not kept by a move,
 * and not put back, are its settings below /proc/sys/net, its queueing disciplines, and
 * permanent neighbours.
 */
#ifndef CL_SYS_NET_LEND_H
#define CL_SYS_NET_LEND_H

#include "base/buf.h"
#include "base/err.h"

#define NET_LENT_MAX 8 /* interfaces of one run */

/* All borrowed. */
struct net_lend {
	const char *name;    /* what its grant calls it */
	const char *source;  /* the interface here */
	const char *target;  /* its name inside */
	const char *address; /* "172.31.99.200/24"; NULL: none */
	const char *gateway; /* where everything goes from then on; NULL: as it was */
	unsigned mtu;        /* 0: as it is */
};

/*
 * Moves all of them or none into the network that net_prepare made for the handle; inside, each
 * is renamed, gets mtu and address, goes up, and then the route to its gateway. CL_EREFUSED,
 * constraint "interfaces", for one that is not there, that the host needs (loopback, a default
 * route, a bridge, bond or a port of one, what others stand on, ours), whose name is taken inside, or
 * that two want; CL_EBUSY for one that another run has. CL_ENOTFOUND: no such network.
 */
int net_lend(const char *rundir, const char *handle, const struct net_lend *v, size_t n,
	struct cl_err *e);
/*
 * Whether net_lend would take them now, as far as this host can tell, moving nothing. What it fails
 * with is what net_lend would fail with; the names inside are not known, and pass.
 */
int net_lend_look(const char *rundir, const struct net_lend *v, size_t n, struct cl_err *e);
/*
 * Takes back those of the handle that `keep` does not name (NULL: all). said: a line for each
 * that is back, and what of it could not be put back. None is success. CL_EUNAVAIL, when this
 * is not the network namespace that it came from; what is not back stays recorded.
 */
int net_lend_back(const char *rundir, const char *handle, const struct cl_strv *keep,
	struct cl_strv *said, struct cl_err *e);
/*
 * For a sandbox in a network that its engine made: `ns` is open on its namespace, which is held for
 * the handle from then on as a prepared one is, so that net_lend finds it and nothing that ends the
 * sandbox takes an interface along. CL_EREFUSED, constraint "interfaces": it is the caller's own.
 */
int net_hold(const char *rundir, const char *handle, int ns, struct cl_err *e);
/*
 * Interfaces that are in there go back, and the namespace is held no more. Nothing held is success;
 * as net_lend_back it fails where they cannot go back, and then holds on.
 */
int net_let_go(const char *rundir, const char *handle, struct cl_err *e);
/* Adds the names of those that the handle has. */
int net_lent(const char *rundir, const char *handle, struct cl_strv *names, struct cl_err *e);

#endif
