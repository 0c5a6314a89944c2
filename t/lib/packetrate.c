/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What packets cost on their way through one of several hosts, by turns in one process:
 *
 *	packetrate first ADDRESSES OURS PEER   nanoseconds to send the first packet of a connection
 *	packetrate bulk OURS PEER              microseconds for 8 MiB over a connection
 *
 * OURS and PEER are rigs: the network namespaces NAME-sandbox, NAME-host and NAME-world under
 * /run/netns. A packet travels from the sandbox through the host and into the world inside the
 * system call that sends it, and so does what answers it, so that this process pays for all of
 * it. ADDRESSES is a file with an IPv4 address a line, which `first` connects to in their order;
 * what the host tracks is forgotten between the rounds.
 *
 * What is compared are the two rounds of a pair, one directly after the other: the machine that
 * both found was the same. Printed is an object: the median of the peer's rounds, that plus the
 * median of how much the own round of a pair took more, and the median of their ratios.
 */
#include "alone.h"
#include "base/mem.h"
#include "sys/net/nl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAIRS     300
#define A_ROUND   1000              /* first packets */
#define BULK      ((size_t)8 << 20) /* bytes a round */
#define A_SEND    ((size_t)1 << 20)
#define WORLD     "20.0.0.1"
#define SANDBOX   "10.211.0.2"
#define BULK_PORT 443

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	(void)fprintf(stderr, "packetrate: %s\n", what);
	exit(1);
}

static void die_errno(const char *what)
{
	(void)fprintf(stderr, "packetrate: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* One of the two, with what a measurement keeps open there. */
struct rig {
	const char *name;
	int raw;             /* first: the sandbox's raw socket */
	struct sys_nl nl;    /* ... and what asks the host's connection tracking */
	int sends, receives; /* bulk: the two ends of a connection */
	double took[PAIRS];
};

static void enter(const struct rig *rig, const char *part)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "/run/netns/%s-%s", rig->name, part);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die_errno(path);
	(void)close(fd);
}

/* --- first packets --- */

struct first_packet {
	struct iphdr ip;
	struct tcphdr tcp;
};

static uint16_t sum(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t all = 0;

	for (size_t i = 0; i < len; i++)
		all += i % 2 ? b[i] : (uint32_t)b[i] << 8;
	while (all >> 16)
		all = (all & 0xffff) + (all >> 16);
	return htons((uint16_t)~all);
}

static void make_packet(struct first_packet *k, uint32_t to, uint16_t from_port)
{
	struct {
		uint32_t src, dst;
		uint16_t proto, len;
		struct tcphdr tcp;
	} pseudo;

	memset(k, 0, sizeof(*k));
	k->ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
	k->ip.saddr = inet_addr(SANDBOX);
	k->ip.daddr = to;
	k->tcp.source = htons(from_port);
	k->tcp.dest = htons(443);
	k->tcp.doff = 5;
	k->tcp.syn = 1;
	k->tcp.window = htons(1000);
	pseudo.src = k->ip.saddr;
	pseudo.dst = k->ip.daddr;
	pseudo.proto = htons(IPPROTO_TCP);
	pseudo.len = htons(sizeof(k->tcp));
	pseudo.tcp = k->tcp;
	k->tcp.check = sum(&pseudo, sizeof(pseudo));
}

static uint32_t *addresses(const char *path, size_t *n)
{
	FILE *f = fopen(path, "re");
	uint32_t *v = NULL;
	size_t cap = 0;
	char line[64];

	*n = 0;
	if (!f)
		die_errno(path);
	while (fgets(line, sizeof(line), f)) {
		struct in_addr a;

		line[strcspn(line, "\n")] = '\0';
		if (inet_pton(AF_INET, line, &a) != 1)
			die("an address is none");
		v = cl_grow(v, &cap, *n + 1, sizeof(*v));
		v[(*n)++] = a.s_addr;
	}
	(void)fclose(f);
	if (!*n)
		die("no addresses");
	return v;
}

/* Every connection that the host of the rig tracks; one that tracks none has none. */
static void forget(struct rig *rig)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE;
	g->version = NFNETLINK_V0;
	(void)sys_nl_ask(&rig->nl, h, NULL, NULL, why);
}

static void first_open(struct rig *rig)
{
	struct cl_err e;
	int on = 1;

	enter(rig, "host");
	if (sys_nl_open(&rig->nl, NETLINK_NETFILTER, &e))
		die(e.msg);
	enter(rig, "sandbox");
	rig->raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (rig->raw < 0 || setsockopt(rig->raw, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)))
		die_errno("raw socket");
}

static double first_round(struct rig *rig, const struct first_packet *k)
{
	double start;

	forget(rig);
	start = now_us();
	for (size_t i = 0; i < A_ROUND; i++) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = k[i].ip.daddr};

		if (sendto(rig->raw, &k[i], sizeof(k[i]), 0, (void *)&to, sizeof(to)) < 0)
			die_errno("send");
	}
	return (now_us() - start) * 1000 / A_ROUND;
}

/* --- bulk --- */

static void bulk_open(struct rig *rig)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(BULK_PORT)};
	int listens, on = 1;

	at.sin_addr.s_addr = inet_addr(WORLD);
	enter(rig, "world");
	listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listens < 0 || setsockopt(listens, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		bind(listens, (void *)&at, sizeof(at)) || listen(listens, 1))
		die_errno("listen in the world");
	enter(rig, "sandbox");
	rig->sends = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (rig->sends < 0 || connect(rig->sends, (void *)&at, sizeof(at)))
		die_errno("connect from the sandbox");
	rig->receives = accept4(listens, NULL, NULL, SOCK_CLOEXEC);
	if (rig->receives < 0)
		die_errno("accept in the world");
	(void)close(listens);
}

static size_t moved(ssize_t n)
{
	if (n >= 0)
		return (size_t)n;
	if (errno != EAGAIN && errno != EINTR)
		die_errno("bulk");
	return 0;
}

/* As much as there is room for, and then all of it out again. */
static double bulk_round(struct rig *rig, char *room)
{
	size_t sent = 0, got = 0;
	double start = now_us();

	while (got < BULK) {
		size_t before = got, n;

		do {
			n = moved(
				send(rig->sends, room, BULK - sent < A_SEND ? BULK - sent : A_SEND,
					MSG_DONTWAIT | MSG_NOSIGNAL));
			sent += n;
		} while (n && sent < BULK);
		do {
			n = moved(recv(rig->receives, room, A_SEND, MSG_DONTWAIT));
			got += n;
		} while (n);
		if (got == before) {
			struct pollfd p = {.fd = rig->receives, .events = POLLIN};

			(void)poll(&p, 1, 1000);
		}
	}
	return now_us() - start;
}

/* --- both --- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *from)
{
	double v[PAIRS];

	memcpy(v, from, sizeof(v));
	qsort(v, PAIRS, sizeof(*v), by_value);
	return v[PAIRS / 2];
}

static void report(const struct rig rigs[2])
{
	double more[PAIRS], ratio[PAIRS], peer = median(rigs[1].took);

	for (int i = 0; i < PAIRS; i++) {
		more[i] = rigs[0].took[i] - rigs[1].took[i];
		ratio[i] = rigs[0].took[i] / rigs[1].took[i];
	}
	(void)printf("{\"ours_us\":%.0f,\"peer_us\":%.0f,\"ratio\":%.2f}\n", peer + median(more),
		peer, median(ratio));
}

static void first(struct rig rigs[2], const char *path)
{
	struct first_packet *k = cl_calloc(A_ROUND, sizeof(*k));
	size_t n;
	uint32_t *to = addresses(path, &n);

	first_open(&rigs[0]);
	first_open(&rigs[1]);
	for (int i = -2; i < PAIRS; i++) {
		for (size_t j = 0; j < A_ROUND; j++)
			make_packet(&k[j], to[j % n],
				(uint16_t)(1024 + ((size_t)(i + 2) * A_ROUND + j) % 60000));
		for (int j = 0; j < 2; j++) {
			struct rig *rig = &rigs[(i + j) & 1];
			double took = first_round(rig, k);

			if (i >= 0)
				rig->took[i] = took;
		}
	}
	free(k);
	free(to);
}

static void bulk(struct rig rigs[2])
{
	char *room = cl_calloc(1, A_SEND);

	bulk_open(&rigs[0]);
	bulk_open(&rigs[1]);
	for (int i = -4; i < PAIRS; i++)
		for (int j = 0; j < 2; j++) {
			struct rig *rig = &rigs[(i + j) & 1];
			double took = bulk_round(rig, room);

			if (i >= 0)
				rig->took[i] = took;
		}
	free(room);
}

int main(int argc, char **argv)
{
	struct rig rigs[2] = {{.raw = -1}, {.raw = -1}};

	be_alone();
	if (argc == 5 && !strcmp(argv[1], "first")) {
		rigs[0].name = argv[3];
		rigs[1].name = argv[4];
		first(rigs, argv[2]);
	} else if (argc == 4 && !strcmp(argv[1], "bulk")) {
		rigs[0].name = argv[2];
		rigs[1].name = argv[3];
		bulk(rigs);
	} else {
		die("usage: first ADDRESSES OURS PEER | bulk OURS PEER");
	}
	report(rigs);
	return 0;
}
