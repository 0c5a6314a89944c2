/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first bytes of a packet, as a filter sees it. Pure; any bytes are taken. */
#ifndef CL_POLICY_PACKET_H
#define CL_POLICY_PACKET_H

#include "policy/egress/egress_cause.h"

#include <stddef.h>

/*
 * An IPv4 (RFC 791) or IPv6 (RFC 8200) packet from its network header on: source, destination,
 * the protocol behind IPv6 extension headers and, of a protocol that has ports, the destination
 * port; 0 where it is cut off or a later fragment. False: no whole network header.
 */
bool eg_packet_read(
	const unsigned char *p, size_t len, struct pol_addr *source, struct eg_packet *out);

/* The length that its header names; 0: no whole header. */
size_t eg_packet_length(const unsigned char *p, size_t len);

#endif
