/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/egress_internal.h"

const char *eg_mode_name(enum eg_mode m)
{
	static const char *const names[] = {"isolated", "brokered", "filtered"};

	return names[m];
}

const char *eg_proto_name(enum eg_proto p)
{
	static const char *const names[] = {"any", "tcp", "udp"};

	return names[p];
}

static bool covers_port(const struct eg_rule *r, uint16_t port)
{
	size_t lo = 0, hi = r->nports;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->ports[mid] == port)
			return true;
		if (r->ports[mid] < port)
			lo = mid + 1;
		else
			hi = mid;
	}
	return !r->nports;
}

struct eg_answer eg_evaluate(const struct eg_policy *p, const struct pol_addr *a, uint16_t port,
	enum eg_proto proto, bool wire)
{
	struct pol_addr to = *a;

	if (to.family != 4 && to.family != 6)
		return (struct eg_answer){EG_DROP, "invalid address", -1};
	(void)pol_addr_unmap(&to);
	for (size_t i = 0; i < p->nrules; i++) {
		const struct eg_rule *r = &p->rules[i];

		if ((wire && r->local) || !pol_prefix_has(&r->prefix, &to))
			continue;
		if (r->proto != EG_PROTO_ANY && r->proto != proto)
			continue;
		if (covers_port(r, port))
			return (struct eg_answer){r->verdict, r->reason, (int)i};
	}
	return (struct eg_answer){EG_DROP, EG_SAY_DEFAULT, -1};
}
