/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/blockset.h"
#include "base/mem.h"

#define V4(a, b, c, d, bits)                      \
	{                                         \
		{4, {(a), (b), (c), (d)}}, (bits) \
	}
#define HI(x) (uint8_t)((x) >> 8)
#define LO(x) (uint8_t)((x)&0xff)
#define V6(a, b, c, d, e, f, g, h, bits)                                                          \
	{                                                                                         \
		{6, {HI(a), LO(a), HI(b), LO(b), HI(c), LO(c), HI(d), LO(d), HI(e), LO(e), HI(f), \
			    LO(f), HI(g), LO(g), HI(h), LO(h)}},                                  \
			(bits)                                                                    \
	}
#define SERVICE(addr, name, ...)                                                          \
	{                                                                                 \
		EG_BLOCK_METADATA, __VA_ARGS__, "cloud metadata service (" addr ")", name \
	}
#define BASE(reason, ...)                                \
	{                                                \
		EG_BLOCK_BASE, __VA_ARGS__, reason, NULL \
	}
#define TRANSLATION(reason, ...)                                \
	{                                                       \
		EG_BLOCK_TRANSLATION, __VA_ARGS__, reason, NULL \
	}
#define SPECIAL(reason, ...)                                \
	{                                                   \
		EG_BLOCK_SPECIAL, __VA_ARGS__, reason, NULL \
	}

#define PRIVATE "private (RFC1918/ULA)"

/*
 * The special rows are those of IANA's IPv4 and IPv6 special-purpose address registries
 * (RFC 6890, RFC 8190 and later entries) that are not globally reachable and that no
 * other row covers, with the site-local block that RFC 3879 withdrew. The two ranges of
 * IETF protocol assignments are closed whole, though the registries mark a few hosts and
 * ranges inside as globally reachable (port control and TURN anycast, AMT, AS112): these
 * are answered by the nearest network, which is what a sandbox is kept from. A CIDR that
 * is named opens what it names.
 */
const struct eg_block eg_blocks[] = {
	SERVICE("100.100.100.200", "Alibaba Cloud instance metadata", V4(100, 100, 100, 200, 32)),
	SERVICE("168.63.129.16", "Azure WireServer", V4(168, 63, 129, 16, 32)),
	SERVICE("169.254.0.23", "Tencent Cloud instance metadata", V4(169, 254, 0, 23, 32)),
	SERVICE("169.254.42.42", "Scaleway instance metadata", V4(169, 254, 42, 42, 32)),
	SERVICE("169.254.169.252", "GKE metadata server for Workload Identity",
		V4(169, 254, 169, 252, 32)),
	SERVICE("169.254.169.254",
		"instance metadata on AWS, Azure, Google Cloud, Oracle Cloud and most other clouds",
		V4(169, 254, 169, 254, 32)),
	SERVICE("169.254.170.2", "Amazon ECS task metadata and credentials",
		V4(169, 254, 170, 2, 32)),
	SERVICE("169.254.170.23", "Amazon EKS Pod Identity Agent", V4(169, 254, 170, 23, 32)),

	BASE("unspecified address", V4(0, 0, 0, 0, 32)),
	BASE("loopback", V4(127, 0, 0, 0, 8)),
	BASE("multicast", V4(224, 0, 0, 0, 4)),
	BASE("link-local", V4(169, 254, 0, 0, 16)),
	BASE(PRIVATE, V4(10, 0, 0, 0, 8)),
	BASE(PRIVATE, V4(172, 16, 0, 0, 12)),
	BASE(PRIVATE, V4(192, 168, 0, 0, 16)),
	BASE("carrier-grade NAT (RFC6598)", V4(100, 64, 0, 0, 10)),

	SERVICE("fd00:42::42", "Scaleway instance metadata over IPv6",
		V6(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128)),
	SERVICE("fd00:ec2::23", "Amazon EKS Pod Identity Agent over IPv6",
		V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23, 128)),
	SERVICE("fd00:ec2::254", "AWS instance metadata over IPv6",
		V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254, 128)),
	SERVICE("fd00:a9fe:a9fe::1", "Akamai (Linode) metadata service over IPv6",
		V6(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1, 128)),
	SERVICE("fd20:ce::254", "Google Cloud metadata server over IPv6",
		V6(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128)),
	SERVICE("fe80::a9fe:a9fe", "OpenStack metadata service over IPv6",
		V6(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128)),

	BASE("unspecified address", V6(0, 0, 0, 0, 0, 0, 0, 0, 128)),
	BASE("loopback", V6(0, 0, 0, 0, 0, 0, 0, 1, 128)),
	BASE("multicast", V6(0xff00, 0, 0, 0, 0, 0, 0, 0, 8)),
	BASE("link-local", V6(0xfe80, 0, 0, 0, 0, 0, 0, 0, 10)),
	BASE(PRIVATE, V6(0xfc00, 0, 0, 0, 0, 0, 0, 0, 7)),

	TRANSLATION("NAT64 translation prefix", V6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0, 96)),
	TRANSLATION("NAT64 translation prefix (RFC 8215)", V6(0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48)),
	TRANSLATION("IPv4-translatable prefix", V6(0, 0, 0, 0, 0xffff, 0, 0, 0, 96)),
	TRANSLATION("6to4 translation prefix", V6(0x2002, 0, 0, 0, 0, 0, 0, 0, 16)),
	TRANSLATION("IPv4-compatible prefix (deprecated)", V6(0, 0, 0, 0, 0, 0, 0, 0, 96)),

	SPECIAL("this network (RFC 791)", V4(0, 0, 0, 0, 8)),
	SPECIAL("IETF protocol assignments (RFC 6890)", V4(192, 0, 0, 0, 24)),
	SPECIAL("documentation, TEST-NET-1 (RFC 5737)", V4(192, 0, 2, 0, 24)),
	SPECIAL("deprecated 6to4 relay anycast (RFC 7526)", V4(192, 88, 99, 0, 24)),
	SPECIAL("benchmarking (RFC 2544)", V4(198, 18, 0, 0, 15)),
	SPECIAL("documentation, TEST-NET-2 (RFC 5737)", V4(198, 51, 100, 0, 24)),
	SPECIAL("documentation, TEST-NET-3 (RFC 5737)", V4(203, 0, 113, 0, 24)),
	SPECIAL("limited broadcast (RFC 919)", V4(255, 255, 255, 255, 32)),
	SPECIAL("reserved (RFC 1112)", V4(240, 0, 0, 0, 4)),
	SPECIAL("IPv4-mapped address (RFC 4291)", V6(0, 0, 0, 0, 0, 0xffff, 0, 0, 96)),
	SPECIAL("discard-only address block (RFC 6666)", V6(0x100, 0, 0, 0, 0, 0, 0, 0, 64)),
	SPECIAL("dummy IPv6 prefix (RFC 9780)", V6(0x100, 0, 0, 1, 0, 0, 0, 0, 64)),
	SPECIAL("TEREDO (RFC 4380)", V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 32)),
	SPECIAL("benchmarking (RFC 5180)", V6(0x2001, 2, 0, 0, 0, 0, 0, 0, 48)),
	SPECIAL("deprecated ORCHID (RFC 4843)", V6(0x2001, 0x10, 0, 0, 0, 0, 0, 0, 28)),
	SPECIAL("ORCHIDv2 (RFC 7343)", V6(0x2001, 0x20, 0, 0, 0, 0, 0, 0, 28)),
	SPECIAL("drone remote ID (RFC 9374)", V6(0x2001, 0x30, 0, 0, 0, 0, 0, 0, 28)),
	SPECIAL("IETF protocol assignments (RFC 2928)", V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 23)),
	SPECIAL("documentation (RFC 3849)", V6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0, 32)),
	SPECIAL("documentation (RFC 9637)", V6(0x3fff, 0, 0, 0, 0, 0, 0, 0, 20)),
	SPECIAL("segment routing SIDs (RFC 9602)", V6(0x5f00, 0, 0, 0, 0, 0, 0, 0, 16)),
	SPECIAL("site-local (deprecated, RFC 3879)", V6(0xfec0, 0, 0, 0, 0, 0, 0, 0, 10)),
};
const size_t eg_nblocks = CL_ARRAY_LEN(eg_blocks);

const struct eg_block *eg_block_of(const struct pol_prefix *p, bool special)
{
	const struct eg_block *holds = NULL, *overlaps = NULL;

	for (size_t i = 0; i < eg_nblocks; i++) {
		const struct eg_block *b = &eg_blocks[i];

		if (b->kind == EG_BLOCK_SPECIAL && !special)
			continue;
		if (pol_prefix_holds(&b->prefix, p)) {
			if (!holds || b->prefix.len > holds->prefix.len)
				holds = b;
		} else if (!overlaps && b->kind != EG_BLOCK_METADATA &&
			   pol_prefix_overlaps(&b->prefix, p)) {
			overlaps = b;
		}
	}
	return holds ? holds : overlaps;
}
