/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a packet that was refused was refused, in words: the guide's where it has them. Pure. */
#ifndef CL_POLICY_EGRESS_CAUSE_H
#define CL_POLICY_EGRESS_CAUSE_H

#include "policy/egress/egress.h"

/* One destination as a packet names it; port 0 for a protocol without ports. */
struct eg_packet {
	struct pol_addr dest;
	uint16_t port;
	uint8_t proto; /* IPPROTO_* */
};

/* "1.0.0.1:443/tcp", "[2001:db8::1]:53/udp", "192.0.2.1/icmp", "192.0.2.1/proto-47"; appended. */
void eg_packet_text(const struct eg_packet *p, struct cl_buf *out);
/* "tcp", "icmp", "ipv6-icmp", "sctp" ..., else "proto-N". */
#define EG_IPPROTO_TEXT 12
void eg_ipproto_text(uint8_t proto, char out[EG_IPPROTO_TEXT]);

/* TCP, UDP, DCCP, SCTP, UDP-Lite: the rules record their ports. */
bool eg_has_ports(uint8_t proto);

/*
 * The cause, appended to out: "in executor container's deny list (1.0.0.1/32)", "port 80 is not
 * one executor container's allow list opens (443)", ... level: who set the policy, "executor
 * container". p NULL: the policy is not known. Returns what first match answers; verdict
 * EG_ALLOW means that something else than this policy refused it, and the text says what
 * that can be.
 */
struct eg_answer eg_cause(const struct eg_policy *p, const char *level,
	const struct eg_packet *packet, struct cl_buf *out);

#endif
