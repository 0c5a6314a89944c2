/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/packet.h"

#include <netinet/in.h>
#include <string.h>

#define MAX_EXTENSIONS 8

/* The destination port stands at the same place in all of them. */
static void read_port(const unsigned char *p, size_t len, struct eg_packet *out)
{
	if (eg_has_ports(out->proto) && len >= 4)
		out->port = (uint16_t)(p[2] << 8 | p[3]);
}

static bool read4(
	const unsigned char *p, size_t len, struct pol_addr *source, struct eg_packet *out)
{
	size_t head = (p[0] & 15u) * 4u;

	if (len < 20 || head < 20)
		return false;
	*source = (struct pol_addr){.family = 4};
	memcpy(source->b, p + 12, 4);
	out->dest = (struct pol_addr){.family = 4};
	memcpy(out->dest.b, p + 16, 4);
	out->proto = p[9];
	/* A fragment behind the first has no transport header. */
	if (!((p[6] << 8 | p[7]) & 0x1fff) && len > head)
		read_port(p + head, len - head, out);
	return true;
}

/* Past the extension headers (RFC 8200 4.1); 0: nothing to read a port from. */
static size_t transport6(const unsigned char *p, size_t len, uint8_t *proto)
{
	size_t at = 40;

	for (int i = 0; i < MAX_EXTENSIONS && at + 8 <= len; i++) {
		switch (*proto) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
			*proto = p[at];
			at += 8u + 8u * p[at + 1];
			break;
		case IPPROTO_FRAGMENT:
			*proto = p[at];
			if ((p[at + 2] << 8 | p[at + 3]) & 0xfff8)
				return 0;
			at += 8;
			break;
		default:
			return at;
		}
	}
	return at < len ? at : 0;
}

static bool read6(
	const unsigned char *p, size_t len, struct pol_addr *source, struct eg_packet *out)
{
	size_t at;

	if (len < 40)
		return false;
	*source = (struct pol_addr){.family = 6};
	memcpy(source->b, p + 8, 16);
	out->dest = (struct pol_addr){.family = 6};
	memcpy(out->dest.b, p + 24, 16);
	out->proto = p[6];
	at = transport6(p, len, &out->proto);
	if (at)
		read_port(p + at, len - at, out);
	return true;
}

bool eg_packet_read(
	const unsigned char *p, size_t len, struct pol_addr *source, struct eg_packet *out)
{
	*out = (struct eg_packet){.port = 0};
	if (len && p[0] >> 4 == 4)
		return read4(p, len, source, out);
	return len && p[0] >> 4 == 6 && read6(p, len, source, out);
}

size_t eg_packet_length(const unsigned char *p, size_t len)
{
	if (len >= 20 && p[0] >> 4 == 4)
		return (size_t)(p[2] << 8 | p[3]);
	return len >= 40 && p[0] >> 4 == 6 ? 40u + (size_t)(p[4] << 8 | p[5]) : 0;
}
