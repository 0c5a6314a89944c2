/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a packet, and the comments that say who traces. */
#include "unit.h"
#include "base/mem.h"
#include "policy/egress/packet.h"
#include "sys/nft/nft_trace.h"

#include <netinet/in.h>

static size_t bytes_of(const char *hex, unsigned char out[256])
{
	size_t n = 0;

	for (; *hex; hex++) {
		unsigned v;

		if (*hex == ' ')
			continue;
		if (sscanf(hex, "%2x", &v) != 1)
			abort();
		out[n++] = (unsigned char)v;
		hex++;
	}
	return n;
}

static void reads(const char *hex, const char *from, const char *want)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	unsigned char p[256];
	struct pol_addr source = {0};
	struct eg_packet k;
	char text[POL_ADDR_TEXT];
	size_t n = bytes_of(hex, p);

	/* Exactly as large as it is, so that a sanitizer sees a byte too many. */
	cleanup_free unsigned char *exact = cl_malloc(n ? n : 1);

	memcpy(exact, p, n);
	if (!eg_packet_read(exact, n, &source, &k)) {
		CHECK_STR("none", want);
		return;
	}
	pol_addr_text(&source, text);
	CHECK_STR(text, from);
	eg_packet_text(&k, &b);
	CHECK_STR(b.p, want);
}

#define V4(proto, frag) "45 00 0028 0000 " frag " 40 " proto " 0000 0ad30002 0a040506 "
#define V6(next)                                                       \
	"60 000000 0014 " next " 40 fd110000000000000000000000000002 " \
	"26064700000000000000000000001111 "

void test_packet__v4(void)
{
	reads(V4("06", "4000") "8000 01bb 00000000", "10.211.0.2", "10.4.5.6:443/tcp");
	reads(V4("11", "2000") "8000 0035", "10.211.0.2", "10.4.5.6:53/udp");
	reads(V4("11", "2001") "8000 0035", "10.211.0.2", "10.4.5.6:0/udp");
	reads(V4("84", "0000") "8000 0035", "10.211.0.2", "10.4.5.6:53/sctp");
	reads(V4("01", "0000") "0800 0000", "10.211.0.2", "10.4.5.6/icmp");
	reads(V4("06", "0000") "8000 01", "10.211.0.2", "10.4.5.6:0/tcp");
	reads(V4("06", "0000"), "10.211.0.2", "10.4.5.6:0/tcp");
	reads("46 00 002c 0000 0000 40 06 0000 0ad30002 0a040506 01010101 8000 0016", "10.211.0.2",
		"10.4.5.6:22/tcp");
	reads("44 00 0028 0000 0000 40 06 0000 0ad30002 0a040506", "", "none");
	reads("45 00 0028 0000 0000 40 06 0000 0ad30002 0a0405", "", "none");
	reads("", "", "none");
	reads("35", "", "none");
}

void test_packet__v6(void)
{
	reads(V6("06") "8000 01bb", "fd11::2", "[2606:4700::1111]:443/tcp");
	reads(V6("3a") "8000 0000 00000000", "fd11::2", "2606:4700::1111/ipv6-icmp");
	reads(V6("00") "3c00 000000000000 1100 000000000000 8000 0035 0000 0000", "fd11::2",
		"[2606:4700::1111]:53/udp");
	reads(V6("2c") "1100 0001 00000000 8000 0035 0000 0000", "fd11::2",
		"[2606:4700::1111]:53/udp");
	reads(V6("2c") "1100 0008 00000000 8000 0035 0000 0000", "fd11::2",
		"[2606:4700::1111]:0/udp");
	reads(V6("3c") "06ff 000000000000", "fd11::2", "[2606:4700::1111]:0/tcp");
	reads(V6("06"), "fd11::2", "[2606:4700::1111]:0/tcp");
	reads("60 000000 0014 06 40 fd11", "", "none");
}

void test_packet__length(void)
{
	unsigned char p[256];
	size_t n = bytes_of(V4("06", "0000"), p);

	CHECK_INT(eg_packet_length(p, n), 40);
	CHECK_INT(eg_packet_length(p, n - 1), 0);
	n = bytes_of(V6("06"), p);
	CHECK_INT(eg_packet_length(p, n), 60);
	CHECK_INT(eg_packet_length(p, n - 1), 0);
}

void test_trace__comments(void)
{
	static const char *const none[] = {"", "cloop trace by process ",
		"cloop trace by process 1", "cloop trace by process 0, 5",
		"cloop trace by process 1,5", "cloop trace by process 1, -5",
		"cloop trace by process 4294967296, 5", "cloop trace by process 1, 5 and some more",
		"default deny",
		"cloop trace by process 1, 99999999999999999999999999999999999999999999999999"};
	struct nft_tracer who = {4711, UINT64_MAX}, back = {0};
	char text[NFT_TRACE_COMMENT];

	nft_trace_comment(&who, text);
	CHECK_STR(text, "cloop trace by process 4711, 18446744073709551615");
	CHECK(nft_trace_comment_read(text, &back));
	CHECK_INT(back.pid, 4711);
	CHECK(back.start == UINT64_MAX);
	for (size_t i = 0; i < CL_ARRAY_LEN(none); i++)
		if (nft_trace_comment_read(none[i], &back))
			UNIT_FAIL("'%s' was taken for a tracer's", none[i]);
}
