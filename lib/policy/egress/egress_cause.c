/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/egress_cause.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN_PORTS 8 /* of a list in a cause */

static const struct {
	uint8_t number;
	const char *name;
} protocols[] = {
	{IPPROTO_ICMP, "icmp"},
	{IPPROTO_IGMP, "igmp"},
	{IPPROTO_TCP, "tcp"},
	{IPPROTO_UDP, "udp"},
	{IPPROTO_DCCP, "dccp"},
	{IPPROTO_IPV6, "ipv6"},
	{IPPROTO_GRE, "gre"},
	{IPPROTO_ESP, "esp"},
	{IPPROTO_AH, "ah"},
	{IPPROTO_ICMPV6, "ipv6-icmp"},
	{IPPROTO_SCTP, "sctp"},
	{IPPROTO_UDPLITE, "udplite"},
};

void eg_ipproto_text(uint8_t proto, char out[EG_IPPROTO_TEXT])
{
	(void)snprintf(out, EG_IPPROTO_TEXT, "proto-%u", proto);
	for (size_t i = 0; i < CL_ARRAY_LEN(protocols); i++)
		if (protocols[i].number == proto)
			(void)snprintf(out, EG_IPPROTO_TEXT, "%s", protocols[i].name);
}

bool eg_has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_DCCP ||
	       proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE;
}

void eg_packet_text(const struct eg_packet *p, struct cl_buf *out)
{
	const struct pol_endpoint to = {p->dest, p->port};
	char text[POL_ENDPOINT_TEXT], proto[EG_IPPROTO_TEXT];

	if (eg_has_ports(p->proto))
		pol_endpoint_text(&to, text);
	else
		pol_addr_text(&p->dest, text);
	eg_ipproto_text(p->proto, proto);
	cl_buf_addf(out, "%s/%s", text, proto);
}

static enum eg_proto proto_of(uint8_t proto)
{
	if (proto == IPPROTO_TCP)
		return EG_PROTO_TCP;
	return proto == IPPROTO_UDP ? EG_PROTO_UDP : EG_PROTO_ANY;
}

/* Allows that hold the address and stand before what decided: they missed by port or protocol. */
struct misses {
	uint16_t *ports; /* owned; of the packet's own protocol */
	size_t n, cap;
	bool other; /* one of another protocol */
};

static void miss(struct misses *m, const struct eg_rule *r, enum eg_proto proto)
{
	if (r->proto != EG_PROTO_ANY && r->proto != proto) {
		m->other = true;
		return;
	}
	for (size_t i = 0; i < r->nports; i++) {
		m->ports = cl_grow(m->ports, &m->cap, m->n + 1, sizeof(*m->ports));
		m->ports[m->n++] = r->ports[i];
	}
}

static void find_misses(const struct eg_policy *p, const struct eg_answer *a,
	const struct eg_packet *packet, struct misses *m)
{
	size_t end = a->rule < 0 ? p->nrules : (size_t)a->rule;

	for (size_t i = 0; i < end; i++) {
		const struct eg_rule *r = &p->rules[i];

		if (r->verdict == EG_ALLOW && !r->local &&
			pol_prefix_has(&r->prefix, &packet->dest))
			miss(m, r, proto_of(packet->proto));
	}
}

static int by_port(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static void say_ports(const struct misses *m, const char *level, uint16_t port, struct cl_buf *out)
{
	size_t shown = 0, distinct = 0;

	qsort(m->ports, m->n, sizeof(*m->ports), by_port);
	cl_buf_addf(out, "port %u is not one %s's allow list opens (", port, level);
	for (size_t i = 0; i < m->n; i++) {
		if (i && m->ports[i] == m->ports[i - 1])
			continue;
		distinct++;
		if (shown < SHOWN_PORTS)
			cl_buf_addf(out, "%s%u", shown++ ? ", " : "", m->ports[i]);
	}
	if (shown < distinct)
		cl_buf_addf(out, " and %zu more", distinct - shown);
	cl_buf_addc(out, ')');
}

static void say_drop(const struct eg_policy *p, const char *level, const struct eg_answer *a,
	const struct eg_packet *packet, struct cl_buf *out)
{
	const struct eg_rule *r = a->rule < 0 ? NULL : &p->rules[a->rule];
	struct misses m = {0};
	char prefix[POL_PREFIX_TEXT], proto[EG_IPPROTO_TEXT];

	find_misses(p, a, packet, &m);
	eg_ipproto_text(packet->proto, proto);
	if (r && r->denied) {
		pol_prefix_text(&r->prefix, prefix);
		cl_buf_addf(out, "in %s's deny list (%s)", level, prefix);
	} else if (m.n) {
		say_ports(&m, level, packet->port, out);
	} else if (m.other) {
		cl_buf_addf(out, "%s is not a protocol %s's allow list opens there", proto, level);
	} else if (r && r->carve) {
		cl_buf_addf(out, "%s, closed by %s whatever it allows", a->reason, level);
	} else if (r) {
		cl_buf_addf(out, "%s, not in %s's allow list", a->reason, level);
	} else {
		cl_buf_addf(out, "not in %s's allow list", level);
	}
	free(m.ports);
}

struct eg_answer eg_cause(const struct eg_policy *p, const char *level,
	const struct eg_packet *packet, struct cl_buf *out)
{
	struct eg_answer a = {EG_DROP, EG_SAY_DEFAULT, -1};
	struct pol_addr inner = packet->dest;

	if (!p) {
		cl_buf_addf(out, "by a policy of %s that is not known any more", level);
		return a;
	}
	/* A packet is judged by the header that it has; a question, by the address inside. */
	if (pol_addr_unmap(&inner)) {
		a.reason = EG_SAY_MAPPED;
		cl_buf_addf(out, "%s, closed by %s whatever it allows", a.reason, level);
		return a;
	}
	a = eg_evaluate(p, &packet->dest, packet->port, proto_of(packet->proto), true);
	if (a.verdict == EG_DROP)
		say_drop(p, level, &a, packet, out);
	else
		cl_buf_addf(out,
			"%s allows it: it is an address of the host's own or of another sandbox, "
			"or newer rules stood on the network",
			level);
	return a;
}
