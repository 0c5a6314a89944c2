/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program does with a tun device that is not its own to make. Static, for the inside of a
 * sandbox.
 *
 *   tunner NODE NAME answer         attaches; a datagram is sent by way of it and answered here
 *   tunner NODE NAME put SRC DST N  attaches; N datagrams to port 443 come in by it
 *   tunner NODE NAME send SRC DST N attaches; N datagrams to port 443 go where the routes say
 *   tunner NODE NAME look           attaches, and goes
 *   tunner NODE NAME hold           attaches, and stays
 *
 * Prints what came of it, one line each.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_MS 20000

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	char data[4];
};

static void failed(const char *what)
{
	(void)printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static int attach(const char *node, const char *name)
{
	struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open(node, O_RDWR);

	if (fd < 0)
		failed("open");
	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &r))
		failed("attach");
	(void)printf("attached to %s\n", r.ifr_name);
	(void)fflush(stdout);
	return fd;
}

static uint16_t sum(const void *p, size_t n)
{
	const uint16_t *v = p;
	uint32_t s = 0;

	for (size_t i = 0; i < n / 2; i++)
		s += v[i];
	s = (s >> 16) + (s & 0xffff);
	return (uint16_t) ~(s + (s >> 16));
}

static void finish(struct packet *p)
{
	p->ip.check = 0;
	p->ip.check = sum(&p->ip, sizeof(p->ip));
	p->udp.check = 0; /* none, which IPv4 allows */
}

/*
 * Sends until a datagram of ours comes out: the link is not there the moment that somebody
 * attaches, and the kernel says other things there by itself.
 */
static void next(int s, int tun, struct packet *p)
{
	struct pollfd f = {tun, POLLIN, 0};

	for (int i = 0; i < LONG_MS / 100; i++) {
		if (send(s, "ping", 4, 0) != 4)
			failed("send");
		while (poll(&f, 1, 100) == 1)
			if (read(tun, p, sizeof(*p)) == sizeof(*p) && p->ip.version == 4 &&
				p->ip.protocol == IPPROTO_UDP)
				return;
	}
	errno = ETIMEDOUT;
	failed("nothing came out");
}

static void answer(int tun, const char *name)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7)};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd f = {s, POLLIN, 0};
	char heard[4] = "";
	struct packet p;
	uint32_t a;
	uint16_t port;

	(void)inet_pton(AF_INET, "198.51.100.9", &to.sin_addr);
	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)) ||
		connect(s, (void *)&to, sizeof(to)))
		failed("socket");
	next(s, tun, &p);
	(void)printf("out: %.4s to %s\n", p.data, inet_ntoa((struct in_addr){p.ip.daddr}));
	a = p.ip.saddr;
	p.ip.saddr = p.ip.daddr;
	p.ip.daddr = a;
	port = p.udp.source;
	p.udp.source = p.udp.dest;
	p.udp.dest = port;
	memcpy(p.data, "pong", 4);
	finish(&p);
	if (write(tun, &p, sizeof(p)) != sizeof(p))
		failed("write");
	if (poll(&f, 1, LONG_MS) != 1 || recv(s, heard, 4, 0) != 4)
		failed("no answer");
	(void)printf("in: %.4s\n", heard);
}

static void put(int tun, const char *src, const char *dst, int n)
{
	struct packet p = {
		.ip = {.ihl = 5, .version = 4, .ttl = 64, .protocol = IPPROTO_UDP}, .data = "put"};

	p.ip.tot_len = htons(sizeof(p));
	p.udp.source = htons(1234);
	p.udp.dest = htons(443);
	p.udp.len = htons(sizeof(p.udp) + sizeof(p.data));
	if (inet_pton(AF_INET, src, &p.ip.saddr) != 1 || inet_pton(AF_INET, dst, &p.ip.daddr) != 1)
		exit(64);
	finish(&p);
	for (int i = 0; i < n; i++)
		if (write(tun, &p, sizeof(p)) != sizeof(p))
			failed("write");
	(void)printf("put %d\n", n);
}

static void send_from(const char *src, const char *dst, int n)
{
	struct sockaddr_in from = {.sin_family = AF_INET},
			   to = {.sin_family = AF_INET, .sin_port = htons(443)};
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (inet_pton(AF_INET, src, &from.sin_addr) != 1 ||
		inet_pton(AF_INET, dst, &to.sin_addr) != 1)
		exit(64);
	if (s < 0 || bind(s, (void *)&from, sizeof(from)))
		failed("bind");
	for (int i = 0; i < n; i++)
		if (sendto(s, "out", 3, 0, (void *)&to, sizeof(to)) != 3)
			failed("send");
	(void)printf("sent %d\n", n);
}

int main(int argc, char **argv)
{
	int tun;

	if (argc < 4)
		return 64;
	tun = attach(argv[1], argv[2]);
	if (!strcmp(argv[3], "answer"))
		answer(tun, argv[2]);
	else if (!strcmp(argv[3], "put") && argc == 7)
		put(tun, argv[4], argv[5], (int)strtol(argv[6], NULL, 10));
	else if (!strcmp(argv[3], "send") && argc == 7)
		send_from(argv[4], argv[5], (int)strtol(argv[6], NULL, 10));
	else
		while (!strcmp(argv[3], "hold"))
			(void)pause();
	return 0;
}
