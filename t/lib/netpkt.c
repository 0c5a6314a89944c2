/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One packet, and what came of it, for tests of the packet filter.
 *
 *   netpkt tcp ADDR PORT [FENCE PORT]         open, reset, icmp T/C, unreachable or silence
 *   netpkt udp ADDR PORT SIZE [FENCE PORT]    answer, icmp T/C or silence
 *   netpkt ip PROTO ADDR [FENCE PORT]         answer, icmp T/C or silence (raw socket)
 *   netpkt frame DEV DMAC SMAC ip SRC DST PROTO PORT [FLAGS]   one Ethernet frame; no answer
 *   netpkt frame DEV DMAC SMAC arp SHA SPA TPA
 *   netpkt frame DEV DMAC SMAC type ETHERTYPE
 *   netpkt listen ADDR PORT                   prints "ready", then a line for each datagram
 *
 * FENCE is a TCP service that is allowed: when it has answered, an answer to the packet
 * before it would be there too, so that silence needs no clock.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_MS 10000 /* an answer that is late by this never comes */

static void die(const char *what)
{
	perror(what);
	exit(70);
}

static socklen_t parse(const char *text, const char *port, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (void *)out;
	struct sockaddr_in6 *six = (void *)out;
	uint16_t p = htons((uint16_t)strtoul(port, NULL, 10));

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = p;
		return sizeof(*four);
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
		exit(64);
	six->sin6_family = AF_INET6;
	six->sin6_port = p;
	return sizeof(*six);
}

static int opened(int family, int type, int proto)
{
	int fd = socket(family, type | SOCK_CLOEXEC, proto), on = 1;

	if (fd < 0)
		die("socket");
	if (family == AF_INET)
		(void)setsockopt(fd, SOL_IP, IP_RECVERR, &on, sizeof(on));
	else
		(void)setsockopt(fd, SOL_IPV6, IPV6_RECVERR, &on, sizeof(on));
	return fd;
}

/* Waits until the fence has answered; anything that was on its way is here then. */
static int fence(char **argv)
{
	struct sockaddr_storage to;
	socklen_t len;
	int fd;

	if (!argv[0] || !argv[1])
		return LONG_MS;
	len = parse(argv[0], argv[1], &to);
	fd = opened(to.ss_family, SOCK_STREAM, 0);
	if (connect(fd, (void *)&to, len))
		die("fence");
	(void)close(fd);
	return 0;
}

/* "icmp T/C" of the error queue; false when it is empty. */
static int icmp_error(int fd)
{
	char control[512], data[512];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};

	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		struct sock_extended_err ee;

		if (c->cmsg_type != IP_RECVERR && c->cmsg_type != IPV6_RECVERR)
			continue;
		memcpy(&ee, CMSG_DATA(c), sizeof(ee));
		if (ee.ee_origin == SO_EE_ORIGIN_LOCAL)
			printf("local %s\n", strerrorname_np((int)ee.ee_errno));
		else
			printf("icmp %u/%u\n", ee.ee_type, ee.ee_code);
		return 1;
	}
	return 0;
}

static int do_tcp(char **argv)
{
	struct sockaddr_storage to;
	socklen_t len = parse(argv[0], argv[1], &to), size = sizeof(int);
	int fd = opened(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0), err = 0;
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	if (connect(fd, (void *)&to, len) && errno != EINPROGRESS)
		err = errno;
	if (!err && poll(&p, 1, fence(argv + 2)) == 0)
		return puts("silence") < 0;
	if (!err && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size))
		die("getsockopt");
	if (err == ECONNREFUSED)
		puts("reset");
	else if (err && !icmp_error(fd))
		printf("%s\n", strerrorname_np(err));
	else if (!err)
		puts("open");
	return 0;
}

static int do_udp(char **argv)
{
	struct sockaddr_storage to;
	socklen_t len = parse(argv[0], argv[1], &to);
	size_t size = strtoul(argv[2], NULL, 10);
	char *data = calloc(1, size + 1);
	int fd = opened(to.ss_family, SOCK_DGRAM, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (connect(fd, (void *)&to, len))
		die("connect");
	if (send(fd, data, size, 0) < 0)
		printf("%s\n", strerrorname_np(errno));
	else if (poll(&p, 1, fence(argv + 3)) == 0)
		puts("silence");
	else if (!icmp_error(fd))
		printf("answer %zd\n", recv(fd, data, size, 0));
	free(data);
	return 0;
}

static uint16_t sum(const void *p, size_t len, uint32_t start)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < len; i++)
		start += i % 2 ? b[i] : (uint32_t)b[i] << 8;
	while (start >> 16)
		start = (start & 0xffff) + (start >> 16);
	return htons((uint16_t)~start);
}

static int is_answer(int proto, const uint8_t *p, ssize_t n)
{
	if (proto == IPPROTO_ICMPV6)
		return n > 0 && p[0] == ICMP6_ECHO_REPLY;
	return proto != IPPROTO_ICMP || (n > 20 && p[20] == ICMP_ECHOREPLY);
}

static uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t c = ~0U;

	while (len--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
	}
	return ~c;
}

/* RFC 9260 3.3.2: from port 40000 to port 443, one INIT chunk; anything less is invalid. */
static size_t sctp_init(uint8_t *p)
{
	static const uint8_t packet[32] = {0x9c, 0x40, 1,
		0xbb, [12] = 1, [15] = 20, [19] = 7, [22] = 0x40, [25] = 1, [27] = 1, [31] = 9};
	uint32_t crc;

	memcpy(p, packet, sizeof(packet));
	crc = htole32(crc32c(p, sizeof(packet)));
	memcpy(p + 8, &crc, sizeof(crc));
	return sizeof(packet);
}

static int do_ip(char **argv)
{
	uint8_t data[64] = {0};
	size_t size = sizeof(data);
	struct sockaddr_storage to;
	socklen_t len = parse(argv[1], "0", &to);
	int proto = (int)strtoul(argv[0], NULL, 10), wait;
	int fd = opened(to.ss_family, SOCK_RAW, proto);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	data[0] = proto == IPPROTO_ICMP     ? ICMP_ECHO
		  : proto == IPPROTO_ICMPV6 ? ICMP6_ECHO_REQUEST
					    : 0;
	if (proto == IPPROTO_SCTP) {
		size = sctp_init(data);
	} else if (proto == IPPROTO_ICMP) {
		uint16_t check = sum(data, sizeof(data), 0);

		memcpy(data + 2, &check, 2);
	}
	if (sendto(fd, data, size, 0, (void *)&to, len) < 0)
		die("sendto");
	wait = fence(argv + 2);
	while (poll(&p, 1, wait) > 0) {
		ssize_t n;

		if (icmp_error(fd))
			return 0;
		n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
		if (is_answer(proto, data, n))
			return puts("answer") < 0;
	}
	return puts("silence") < 0;
}

static size_t mac(const char *text, uint8_t *out)
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &out[0], &out[1], &out[2], &out[3],
		    &out[4], &out[5]) != 6)
		exit(64);
	return 6;
}

/* The checksum of a transport segment, pseudo header included. */
static uint16_t segment_sum(
	const void *src, const void *dst, size_t alen, int proto, const void *seg, size_t len)
{
	uint8_t all[256] = {0};
	size_t n = 2 * alen;

	memcpy(all, src, alen);
	memcpy(all + alen, dst, alen);
	all[n + 1] = (uint8_t)proto;
	all[n + 3] = (uint8_t)len;
	memcpy(all + n + 4, seg, len);
	return sum(all, n + 4 + len, 0);
}

static size_t segment(char **argv, const void *src, const void *dst, size_t alen, uint8_t *out)
{
	int proto = (int)strtoul(argv[0], NULL, 10);
	uint16_t port = htons((uint16_t)strtoul(argv[1], NULL, 10)), check;
	struct tcphdr tcp = {
		.source = htons(40000), .dest = port, .doff = 5, .window = htons(1000)};
	struct udphdr udp = {.source = htons(40000), .dest = port, .len = htons(sizeof(udp) + 4)};

	if (proto == IPPROTO_TCP) {
		memcpy(out, &tcp, sizeof(tcp));
		out[13] = (uint8_t)(argv[2] ? strtoul(argv[2], NULL, 16) : TH_SYN);
		check = segment_sum(src, dst, alen, proto, out, sizeof(tcp));
		memcpy(out + 16, &check, 2);
		return sizeof(tcp);
	}
	if (proto == IPPROTO_ICMPV6) {
		/* A neighbour advertisement that claims the source for the sender. */
		memset(out, 0, 32);
		out[0] = ND_NEIGHBOR_ADVERT;
		out[4] = 0x20;
		memcpy(out + 8, src, 16);
		out[24] = 2;
		out[25] = 1;
		check = segment_sum(src, dst, alen, proto, out, 32);
		memcpy(out + 2, &check, 2);
		return 32;
	}
	/* Four bytes, so that an echo has something to say. */
	memset(out, 'x', sizeof(udp) + 4);
	memcpy(out, &udp, sizeof(udp));
	check = segment_sum(src, dst, alen, proto, out, sizeof(udp) + 4);
	memcpy(out + 6, &check, 2);
	return sizeof(udp) + 4;
}

/* argv: SRC DST PROTO PORT [FLAGS] */
static size_t packet(char **argv, uint8_t *out, uint16_t *type)
{
	struct in6_addr src, dst;
	struct iphdr four = {.ihl = 5, .version = 4, .ttl = 64};
	struct ip6_hdr six = {.ip6_hops = 255};
	size_t len;
	uint8_t proto = (uint8_t)strtoul(argv[2], NULL, 10);

	if (inet_pton(AF_INET, argv[0], &four.saddr) == 1) {
		if (inet_pton(AF_INET, argv[1], &four.daddr) != 1)
			exit(64);
		len = segment(argv + 2, &four.saddr, &four.daddr, 4, out + sizeof(four));
		four.tot_len = htons((uint16_t)(sizeof(four) + len));
		four.protocol = proto;
		four.check = sum(&four, sizeof(four), 0);
		memcpy(out, &four, sizeof(four));
		*type = ETH_P_IP;
		return sizeof(four) + len;
	}
	if (inet_pton(AF_INET6, argv[0], &src) != 1 || inet_pton(AF_INET6, argv[1], &dst) != 1)
		exit(64);
	len = segment(argv + 2, &src, &dst, 16, out + sizeof(six));
	six.ip6_vfc = 0x60;
	six.ip6_plen = htons((uint16_t)len);
	six.ip6_nxt = proto;
	six.ip6_src = src;
	six.ip6_dst = dst;
	memcpy(out, &six, sizeof(six));
	*type = ETH_P_IPV6;
	return sizeof(six) + len;
}

/* argv: SHA SPA TPA; a reply, so that it is believed unasked */
static size_t arp(char **argv, uint8_t *out)
{
	static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, 2};

	memset(out, 0, 28);
	memcpy(out, head, sizeof(head));
	(void)mac(argv[0], out + 8);
	if (inet_pton(AF_INET, argv[1], out + 14) != 1 ||
		inet_pton(AF_INET, argv[2], out + 24) != 1)
		exit(64);
	return 28;
}

static int do_frame(char **argv)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_halen = 6};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	uint8_t f[256] = {0};
	uint16_t type = 0;
	size_t len = 46;

	to.sll_ifindex = (int)if_nametoindex(argv[0]);
	(void)mac(argv[1], f);
	(void)mac(argv[2], f + 6);
	if (!strcmp(argv[3], "ip"))
		len = packet(argv + 4, f + ETH_HLEN, &type);
	else if (!strcmp(argv[3], "arp"))
		len = arp(argv + 4, f + ETH_HLEN);
	else
		type = (uint16_t)strtoul(argv[4], NULL, 16);
	if (!strcmp(argv[3], "arp"))
		type = ETH_P_ARP;
	f[12] = (uint8_t)(type >> 8);
	f[13] = (uint8_t)type;
	if (fd < 0 || sendto(fd, f, ETH_HLEN + len, 0, (void *)&to, sizeof(to)) < 0)
		die("frame");
	return 0;
}

static int do_listen(char **argv)
{
	struct sockaddr_storage at;
	socklen_t len = parse(argv[0], argv[1], &at);
	int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char data[64];

	if (fd < 0 || bind(fd, (void *)&at, len))
		die("bind");
	puts("ready");
	(void)fflush(stdout);
	while (recv(fd, data, sizeof(data), 0) >= 0) {
		puts("datagram");
		(void)fflush(stdout);
	}
	return 0;
}

static const struct {
	const char *name;
	int nargs;
	int (*run)(char **argv);
} verbs[] = {
	{"tcp", 2, do_tcp},
	{"udp", 3, do_udp},
	{"ip", 2, do_ip},
	{"frame", 5, do_frame},
	{"listen", 2, do_listen},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, argv[1]) && argc - 2 >= verbs[i].nargs)
			return verbs[i].run(argv + 2);
	return 64;
}
