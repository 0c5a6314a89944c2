/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose a network is: one of a name has one filter, so runs of two hubs must not share it. Hubs
 * with the same run directory are told apart by the records, others by there being none.
 */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <net/if.h>
#include <string.h>

char *net_owner_else(const struct net_states *all, const struct net_state *except,
	const char *network, const char *hub)
{
	char bridge[16];

	for (size_t i = 0; i < all->n; i++) {
		const struct net_state *s = &all->v[i];

		if (s == except || !s->network || strcmp(s->network, network) != 0)
			continue;
		/* One record is enough: nobody joins what is another's. */
		return s->hub && strcmp(s->hub, hub) != 0
			       ? cl_asprintf("the hub '%s' has runs in it", s->hub)
			       : NULL;
	}
	net_bridge_name(network, bridge);
	if (!if_nametoindex(bridge))
		return NULL;
	return cl_asprintf(
		"its bridge %s stands, and no run of this run directory is in it", bridge);
}

int net_of_another(
	const char *rundir, const char *network, const char *hub, char **other, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_states struct net_states all = {0};

	*other = NULL;
	/* Under the lock: a run that is being made or taken down has a record or a bridge alone. */
	if (net_dirs_open(&d, rundir, true, e) || net_states(&d, NULL, &all, e))
		return -1;
	*other = net_owner_else(&all, NULL, network, hub);
	return 0;
}
