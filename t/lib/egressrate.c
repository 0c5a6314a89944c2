/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What egress policies cost, in processor time of this process:
 *
 *	egressrate checks POLICY            microseconds a thousand questions, in the library
 *	egressrate compile POLICY           microseconds to compile and flatten it
 *	egressrate load POLICY BRIDGE       microseconds to make it the kernel's, compiling included
 *	egressrate first NETNS POLICY N     nanoseconds to send the first packet of a connection
 *
 * POLICY is a file of JSON. `first` is started in the network namespace of the host, whose
 * connection tracking it empties between rounds, and sends from NETNS (a file) to N
 * destinations that the policy allows, spread over all of it; a packet travels through the
 * bridge, the filter and the host inside the system call that sends it.
 *
 * The best of many short rounds: what else runs on the machine makes a round slower, never faster.
 */
#include "base/doc.h"
#include "base/mem.h"
#include "policy/flat.h"
#include "sys/nft.h"
#include "sys/nl.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QUESTIONS (1 << 21)
#define A_BLOCK   (1 << 15)
#define ROUNDS    25
#define A_ROUND   2000 /* first packets */

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	(void)fprintf(stderr, "egressrate: %s\n", what);
	exit(1);
}

static uint32_t seed = 7;

static uint32_t chance(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 4;
}

static void read_auth(const char *path, struct eg_auth *a)
{
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	FILE *f = fopen(path, "re");
	struct cl_err e;
	size_t n;

	if (!f)
		die(path);
	while ((n = fread(cl_buf_reserve(&text, 65536), 1, 65536, f)))
		text.len += n;
	(void)fclose(f);
	cl_buf_addc(&text, '\0');
	a->max_cidrs = EG_MAX_CIDRS_FILE;
	if (cl_doc_parse(&d, CL_DOC_JSON, path, text.p, text.len - 1, &limits, &e) ||
		eg_auth_read(&d, d.root, a, &e))
		die(e.msg);
}

static void compile(const struct eg_auth *a, struct eg_policy *p)
{
	struct cl_err e;

	if (eg_compile(a, p, &e))
		die(e.msg);
}

/* An address of one of the ranges, or close behind it. */
static struct pol_addr near(const struct eg_auth *a)
{
	const struct pol_prefix *p = &a->allow[chance() % a->nallow];
	struct pol_addr to = p->addr;
	uint32_t more = chance();

	to.b[(p->len - 1) / 8] |= (uint8_t)(more & 1);
	to.b[pol_bits(to.family) / 8 - 1] = (uint8_t)(more >> 1);
	return to;
}

static int checks(const struct eg_auth *a)
{
	static const uint16_t ports[] = {443, 80, 22, 53};
	cleanup_free struct eg_question *q = cl_calloc(QUESTIONS, sizeof(*q));
	cleanup_free bool *yes = cl_calloc(A_BLOCK, sizeof(*yes));
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	size_t allowed = 0;
	double best = 0;

	compile(a, &p);
	flat_build(&p, true, &f);
	for (size_t i = 0; i < QUESTIONS; i++)
		q[i] = (struct eg_question){.to = {near(a), ports[i % 4]}, .proto = EG_PROTO_TCP};
	for (size_t i = 0; i < QUESTIONS; i += A_BLOCK) {
		double start = now_us(), took;

		flat_allows_all(&f, q + i, A_BLOCK, yes);
		took = now_us() - start;
		for (size_t k = 0; k < A_BLOCK; k++)
			allowed += yes[k];
		best = i && best < took ? best : took;
	}
	if (!allowed || allowed == QUESTIONS)
		die("the questions have one answer");
	(void)printf("%.3f\n", best / A_BLOCK * 1000);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compiling(const struct eg_auth *a)
{
	double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT;
		double start = now_us();

		compile(a, &p);
		flat_build(&p, true, &f);
		took[i] = now_us() - start;
	}
	qsort(took, ROUNDS, sizeof(*took), by_value);
	(void)printf("%.0f\n", took[0]);
	return 0;
}

static int load(const struct eg_auth *a, const char *bridge)
{
	const struct nft_filter to = {.table = "cloop_sbx_preview", .bridge = bridge};
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	double start = now_us();
	struct cl_err e;

	compile(a, &p);
	if (nft_apply(&to, &p, &e))
		die(e.msg);
	(void)printf("%.0f\n", now_us() - start);
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

struct first_packet {
	struct iphdr ip;
	struct tcphdr tcp;
};

static void make_packet(
	struct first_packet *k, const struct pol_addr *to, uint16_t from_port, uint32_t source)
{
	struct {
		uint32_t src, dst;
		uint16_t proto, len;
		struct tcphdr tcp;
	} pseudo;

	memset(k, 0, sizeof(*k));
	k->ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
	k->ip.saddr = source;
	memcpy(&k->ip.daddr, to->b, 4);
	k->tcp.source = htons(from_port);
	k->tcp.dest = htons(443);
	k->tcp.doff = 5;
	k->tcp.syn = 1;
	k->tcp.window = htons(1000);
	pseudo.src = source;
	pseudo.dst = k->ip.daddr;
	pseudo.proto = htons(IPPROTO_TCP);
	pseudo.len = htons(sizeof(k->tcp));
	pseudo.tcp = k->tcp;
	k->tcp.check = sum(&pseudo, sizeof(pseudo), 0);
}

/* Every connection of the namespace that the socket is of. */
static void forget(struct sys_nl *nl)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE;
	g->version = NFNETLINK_V0;
	/* A host without connection tracking has none to forget. */
	(void)sys_nl_ask(nl, h, NULL, NULL, why);
}

static int enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC), on = 1;

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("cannot enter the sandbox's namespace");
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)))
		die("cannot make a raw socket");
	return fd;
}

static int first(const char *netns, const struct eg_auth *a, size_t n)
{
	cleanup_free struct first_packet *k = cl_calloc(A_ROUND, sizeof(*k));
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	uint32_t source = inet_addr("10.211.0.2");
	double took[ROUNDS];
	struct cl_err e;
	int fd;

	if (sys_nl_open(&nl, NETLINK_NETFILTER, &e))
		die(e.msg);
	fd = enter(netns);
	for (int r = 0; r < ROUNDS; r++) {
		double start;

		for (size_t i = 0; i < A_ROUND; i++) {
			const struct pol_prefix *p = &a->allow[i % n * (a->nallow / n)];
			struct pol_addr to = p->addr;

			if (p->len < 32)
				to.b[3] |= 1;
			make_packet(
				&k[i], &to, (uint16_t)(1024 + (r * A_ROUND + i) % 60000), source);
		}
		forget(&nl);
		start = now_us();
		for (size_t i = 0; i < A_ROUND; i++) {
			struct sockaddr_in to = {
				.sin_family = AF_INET, .sin_addr.s_addr = k[i].ip.daddr};

			if (sendto(fd, &k[i], sizeof(k[i]), 0, (void *)&to, sizeof(to)) < 0)
				die("cannot send");
		}
		took[r] = (now_us() - start) * 1000 / A_ROUND;
	}
	qsort(took, ROUNDS, sizeof(*took), by_value);
	(void)printf("%.0f\n", took[0]);
	(void)close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;

	if (argc == 3 && !strcmp(argv[1], "checks")) {
		read_auth(argv[2], &a);
		return checks(&a);
	}
	if (argc == 3 && !strcmp(argv[1], "compile")) {
		read_auth(argv[2], &a);
		return compiling(&a);
	}
	if (argc == 4 && !strcmp(argv[1], "load")) {
		read_auth(argv[2], &a);
		return load(&a, argv[3]);
	}
	if (argc == 5 && !strcmp(argv[1], "first")) {
		size_t n = strtoul(argv[4], NULL, 10);

		read_auth(argv[3], &a);
		if (!n || n > a.nallow)
			die("no such number of destinations");
		return first(argv[2], &a, n);
	}
	die("usage: checks POLICY | compile POLICY | load POLICY BRIDGE | first NETNS POLICY N");
}
