/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What should happen to the packets of one situation, from the policy itself: the meaning
 * that the top of egress_nft.c gives to its ruleset, said without one.
 */
#include "policy/verify/verify_internal.h"

#include <string.h>

static void all(struct vf_run *run, enum vf_verdict v)
{
	vf_everything(&run->sets, &run->want[v]);
}

static bool is_bridge(const struct vf_run *run, const struct vf_cell *c)
{
	return !strcmp(c->name, run->w->bridge);
}

static bool is_proto(const struct vf_cell *c, uint8_t proto)
{
	return c->lo == proto && c->hi == proto;
}

/* How what is denied is answered (DECISIONS E3); false: ask first. */
static bool denied(struct vf_run *run, enum vf_verdict *out)
{
	const struct vf_cell *proto;

	*out = VF_DROP;
	if (run->w->policy && run->w->policy->silent)
		return true;
	proto = vf_ask(run, VF_D_PROTO);
	if (proto)
		*out = is_proto(proto, VF_TCP) ? VF_RESET : VF_PROHIBITED;
	return proto != NULL;
}

static void deny_all(struct vf_run *run)
{
	enum vf_verdict v;

	if (denied(run, &v))
		all(run, v);
}

/* ICMPv6 of one of n types. 1: yes, 0: no, -1: ask first. */
static int icmpv6(struct vf_run *run, const uint8_t *types, size_t n)
{
	const struct vf_cell *proto, *head;

	if (run->family != 6)
		return 0;
	proto = vf_ask(run, VF_D_PROTO);
	if (!proto || !is_proto(proto, VF_ICMPV6))
		return proto ? 0 : -1;
	head = vf_ask(run, VF_D_HEAD);
	for (size_t i = 0; head && i < n; i++)
		if (head->lo >> 8 == types[i])
			return 1;
	return head ? 0 : -1;
}

/* Neighbour discovery on this link (RFC 4861 7.1). As above. */
static int neighbour(struct vf_run *run, uint8_t first)
{
	const uint8_t types[] = {first, 135, 136};
	const struct vf_cell *hops;
	int is = icmpv6(run, types, sizeof(types));

	if (is <= 0)
		return is;
	hops = vf_ask(run, VF_D_HOPS);
	return hops ? hops->lo == 255 : -1;
}

/* 1: of no connection that there is, 0: decided, -1: ask first. */
static int fresh(struct vf_run *run)
{
	const struct vf_cell *state = vf_ask(run, VF_D_STATE);

	if (!state)
		return -1;
	if (state->lo == VF_ESTABLISHED || state->lo == VF_RELATED)
		all(run, VF_ACCEPT);
	else if (state->lo == VF_INVALID)
		all(run, VF_DROP);
	else
		return 1;
	return 0;
}

/* May the sandbox send from this source? 1, 0, -1: ask first. */
static int own_source(struct vf_run *run)
{
	static const struct pol_prefix link = {{6, {0xfe, 0x80}}, 10};
	const struct pol_addr *own = run->family == 4 ? &run->w->source4 : &run->w->source6;
	const struct vf_cell *c;
	flat_u128 lo, hi;

	if (!run->w->source4.family && !run->w->source6.family)
		return 1;
	if (run->family == 4 && !own->family)
		return 0;
	c = vf_ask(run, VF_D_SOURCE);
	if (!c)
		return -1;
	if (own->family && c->lo == flat_number(own) && c->hi == c->lo)
		return 1;
	flat_prefix_range(&link, &lo, &hi);
	return run->family == 6 && c->lo >= lo && c->hi <= hi;
}

static enum eg_proto proto_of(const struct vf_cell *c)
{
	return is_proto(c, VF_TCP)   ? EG_PROTO_TCP
	       : is_proto(c, VF_UDP) ? EG_PROTO_UDP
				     : EG_PROTO_ANY;
}

static void outbound(struct vf_run *run, const struct flat *f)
{
	int own = own_source(run), is = own > 0 ? fresh(run) : 0;
	const struct vf_cell *proto;
	struct flat_view everything = {0};
	enum vf_verdict no;

	if (!own)
		all(run, VF_DROP);
	if (is <= 0)
		return;
	if (!run->w->policy) {
		all(run, VF_ACCEPT);
		return;
	}
	proto = vf_ask(run, VF_D_PROTO);
	if (!proto || !denied(run, &no))
		return;
	vf_of_flat(&run->sets, f, run->family, proto_of(proto), &run->want[VF_ACCEPT]);
	vf_everything(&run->sets, &everything);
	vf_combine(&run->sets, run->family, VF_MINUS, &everything, &run->want[VF_ACCEPT],
		&run->want[no]);
	vf_forget(&everything);
}

static void inbound(struct vf_run *run)
{
	static const uint8_t talk[] = {131, 132, 133, 135, 136, 143};
	const struct vf_cell *in;
	int is = fresh(run);

	if (is <= 0)
		return;
	in = vf_ask(run, VF_D_IIF);
	if (!in)
		return;
	is = is_bridge(run, in) ? icmpv6(run, talk, sizeof(talk)) : 0;
	if (is > 0)
		all(run, VF_DROP);
	else if (!is)
		deny_all(run);
}

static void forwarded(struct vf_run *run)
{
	const struct vf_cell *out = vf_ask(run, VF_D_OIF), *in;

	if (!out)
		return;
	if (is_bridge(run, out)) {
		inbound(run);
		return;
	}
	in = vf_ask(run, VF_D_IIF);
	if (in && is_bridge(run, in))
		outbound(run, &run->leaving);
	else if (in)
		all(run, VF_ACCEPT);
}

static void incoming(struct vf_run *run)
{
	static const uint8_t listeners[] = {131, 132, 143};
	const struct vf_cell *in = vf_ask(run, VF_D_IIF);
	int near, heard;

	if (!in)
		return;
	if (!is_bridge(run, in)) {
		all(run, VF_ACCEPT);
		return;
	}
	near = neighbour(run, 133);
	heard = near ? 0 : icmpv6(run, listeners, sizeof(listeners));
	if (near > 0)
		all(run, VF_ACCEPT);
	else if (heard > 0)
		all(run, VF_DROP);
	else if (!near && !heard)
		outbound(run, run->has_named ? &run->named : &run->leaving);
}

static void outgoing(struct vf_run *run)
{
	const struct vf_cell *out = vf_ask(run, VF_D_OIF);
	int near;

	if (!out)
		return;
	if (!is_bridge(run, out)) {
		all(run, VF_ACCEPT);
		return;
	}
	near = neighbour(run, 134);
	if (near > 0)
		all(run, VF_ACCEPT);
	else if (!near)
		inbound(run);
}

static void behind_routing(struct vf_run *run)
{
	const struct pol_addr *own = run->family == 4 ? &run->w->source4 : &run->w->source6;
	const struct vf_cell *out, *source;

	if (!run->w->masquerade || !own->family) {
		all(run, VF_ACCEPT);
		return;
	}
	out = vf_ask(run, VF_D_OIF);
	source = out ? vf_ask(run, VF_D_SOURCE) : NULL;
	if (!source)
		return;
	all(run, !is_bridge(run, out) && source->lo == flat_number(own) && source->hi == source->lo
			 ? VF_MASQUERADE
			 : VF_ACCEPT);
}

void vf_expect(struct vf_run *run)
{
	for (int i = 0; i < VF_OUTCOMES; i++)
		vf_nothing(&run->want[i]);
	switch (run->hook) {
	case VF_FORWARD:
		forwarded(run);
		break;
	case VF_INPUT:
		incoming(run);
		break;
	case VF_OUTPUT:
		outgoing(run);
		break;
	case VF_POSTROUTING:
	case VF_OTHER_HOOK:
	default:
		behind_routing(run);
		break;
	}
}
