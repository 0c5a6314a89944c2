/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preflight: what a sandbox would reach, and whether the filter can be installed. */
#include "engine_verbs.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/egress/egress.h"
#include "sys/net/net.h"
#include "sys/nft/nft.h"

#include <string.h>

/* DECISIONS E13: a drop in anybody's forward chain ends the packet. */
static void check_foreign(struct preflight *p)
{
	bool strict = p->x->network_backend == CFG_BACKEND_PREPARED;
	cleanup_strv struct cl_strv all = CL_STRV_INIT, some = CL_STRV_INIT;
	cleanup_free char *text = NULL;
	struct cl_err e;

	if (nft_foreign_drops(&all, &some, &e)) {
		find_err(&p->out, FIND_WARN, "egress-firewalls", &e);
		return;
	}
	if (all.n) {
		text = cl_join((const char *const *)all.v, all.n, ", ");
		find(&p->out, strict ? FIND_FAIL : FIND_WARN, "egress-firewalls",
			"for iptables: iptables -I FORWARD -i csbx-+ -j ACCEPT && iptables -I "
			"FORWARD -o "
			"csbx-+ -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
			strict ? "another firewall drops what is forwarded: %s"
			       : "another firewall drops what is forwarded, so the engine's own "
				 "network is "
				 "used: %s",
			text);
	} else if (some.n) {
		text = cl_join((const char *const *)some.v, some.n, ", ");
		find(&p->out, FIND_WARN, "egress-firewalls", NULL,
			"another firewall drops some of what is forwarded: %s", text);
	}
}

static void check_kernel(struct preflight *p, const struct eg_policy *policy)
{
	struct cl_err e;

	switch (nft_probe(&e)) {
	case NFT_USABLE:
		find(&p->out, FIND_OK, "egress", NULL, "%s by nftables: %zu rules",
			eg_mode_name(policy->mode), policy->nrules);
		check_foreign(p);
		return;
	case NFT_NO_PERMISSION:
	case NFT_NO_KERNEL:
	case NFT_BROKEN:
		find_err(&p->out, FIND_FAIL, "egress", &e);
		return;
	}
}

void preflight_egress(struct preflight *p)
{
	cleanup_eg_policy struct eg_policy policy = EG_POLICY_INIT;
	const struct cfg_egress *f = &p->x->egress;
	struct cl_err e;

	if (!f->enabled && !strcmp(p->x->network, "none")) {
		find(&p->out, FIND_OK, "egress", NULL, "sandboxes have no network");
		return;
	}
	if (!f->enabled) {
		find(&p->out, FIND_WARN, "egress",
			"set egress_filter.enabled: true on this executor",
			"sandboxes on '%s' reach whatever this host reaches: no egress filter is "
			"set",
			p->x->network);
		return;
	}
	if (p->engine.rootless) {
		find(&p->out, FIND_FAIL, "egress", "run cloop as root, or set network: none",
			"an egress filter cannot be installed under rootless podman");
		return;
	}
	if (eg_compile(&f->auth, &policy, &e)) {
		find_err(&p->out, FIND_FAIL, "egress", &e);
		return;
	}
	if (f->internal && policy.mode == EG_ISOLATED)
		find(&p->out, FIND_OK, "egress", NULL, "internal: no route leaves this host");
	else
		check_kernel(p, &policy);
	for (size_t i = 0; i < policy.warnings.n; i++)
		find(&p->out, FIND_WARN, "egress-scope", NULL, "%s", policy.warnings.v[i]);
}

void preflight_network(struct preflight *p)
{
	const char *network = p->x->network;
	const char *const args[] = {"network", "inspect", network, NULL};
	struct pol_addr gateway;
	struct cl_err e;

	if (!strcmp(network, "none")) {
		find(&p->out, FIND_OK, "network", NULL, "none");
		return;
	}
	if (ct_network_check(network, &e) || net_gateway(p->x->address_pool, &gateway, NULL, &e)) {
		find_err(&p->out, FIND_FAIL, "network", &e);
		return;
	}
	/* The filter's own network stands in for the configured one. */
	if (strcmp(network, "bridge") != 0 && !p->x->egress.enabled &&
		engine_call(&p->engine, "find the network", NULL, args, ENGINE_ASK_MS, NULL, &e)) {
		find_err(&p->out, FIND_FAIL, "network", &e);
		return;
	}
	find(&p->out, FIND_WARN, "network", NULL, "sandboxes have a network: '%s'%s", network,
		p->x->egress.enabled ? ", behind the egress filter" : "");
}
