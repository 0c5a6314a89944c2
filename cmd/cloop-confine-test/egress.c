/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections to each class of address that a sandbox has no business with. A refusal may be a
 * filter's own answer, so only an established connection counts, or an answer to a datagram.
 */
#include "attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 1500

struct to {
	struct sockaddr_storage addr;
	socklen_t len;
	int family;
};

static bool address(const char *text, long port, struct to *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->addr;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		out->family = v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		out->len = sizeof(*v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return false;
	out->family = v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	/* A link-local address is on the first interface that is not lo. */
	if (!strncmp(text, "fe80:", 5) || !strncmp(text, "ff02:", 5))
		v6->sin6_scope_id = 2;
	out->len = sizeof(*v6);
	return true;
}

static void tcp_to(struct result *r, const char *text, long port)
{
	struct to t;
	int fd, err = 0;
	socklen_t n = sizeof(err);
	struct pollfd p;

	if (!address(text, port, &t)) {
		held(r, "no such address");
		return;
	}
	fd = socket(t.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		held_errno(r);
		return;
	}
	if (connect(fd, (struct sockaddr *)&t.addr, t.len) && errno != EINPROGRESS) {
		held_errno(r);
		(void)close(fd);
		return;
	}
	p = (struct pollfd){fd, POLLOUT, 0};
	if (poll(&p, 1, WAIT_MS) <= 0)
		held(r, "no answer");
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) || err)
		held(r, strerror(err ? err : errno));
	else
		reached(r, "%s answers on port %ld", text, port);
	(void)close(fd);
}

static void tcp(struct result *r, const struct attempt *a)
{
	tcp_to(r, a->text, a->number);
}

/* A question for names, which whoever serves them answers. */
static void dns(struct result *r, const struct attempt *a)
{
	static const unsigned char question[] = {
		0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};
	unsigned char answer[512];
	struct pollfd p;
	struct to t;
	int fd;

	if (!address(a->text, a->number, &t)) {
		held(r, "no such address");
		return;
	}
	fd = socket(t.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		held_errno(r);
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &(int){1}, sizeof(int));
	p = (struct pollfd){fd, POLLIN, 0};
	if (sendto(fd, question, sizeof(question), 0, (struct sockaddr *)&t.addr, t.len) < 0)
		held_errno(r);
	else if (poll(&p, 1, WAIT_MS) > 0 && recv(fd, answer, sizeof(answer), 0) > 0)
		reached(r, "%s answers datagrams on port %ld", a->text, a->number);
	else
		held(r, "no answer");
	(void)close(fd);
}

/* The gateway of the default route is the host. */
static bool gateway(char out[INET_ADDRSTRLEN])
{
	FILE *f = fopen("/proc/net/route", "re");
	unsigned dest, via;
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		struct in_addr in;

		if (sscanf(line, "%*s %x %x", &dest, &via) != 2 || dest || !via)
			continue;
		in.s_addr = via;
		found = inet_ntop(AF_INET, &in, out, INET_ADDRSTRLEN) != NULL;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static void to_gateway(struct result *r, const struct attempt *a)
{
	char text[INET_ADDRSTRLEN];

	if (gateway(text))
		tcp_to(r, text, a->number);
	else
		skipped(r, "there is no default route");
}

#define TCP(name, to, port, proves)            \
	{                                      \
		name, proves, tcp, to, port, 0 \
	}
#define UDP(name, to, port, proves)            \
	{                                      \
		name, proves, dns, to, port, 0 \
	}
#define GATEWAY(name, port, proves)                     \
	{                                               \
		name, proves, to_gateway, NULL, port, 0 \
	}

const struct attempt attempts_egress[] = {
	TCP("metadata", "169.254.169.254", 80, "the cloud's metadata service is out of reach"),
	TCP("metadata-v6", "fd00:ec2::254", 80, "nor by IPv6"),
	TCP("metadata-mapped", "::ffff:169.254.169.254", 80, "nor by an IPv4 address in IPv6"),
	TCP("metadata-compat", "::169.254.169.254", 80, "nor by the old form of one"),
	TCP("metadata-nat64", "64:ff9b::a9fe:a9fe", 80, "nor through NAT64"),
	TCP("metadata-6to4", "2002:a9fe:a9fe::1", 80, "nor through 6to4"),
	TCP("metadata-task", "169.254.170.2", 80, "credentials of tasks are out of reach"),
	TCP("metadata-azure", "168.63.129.16", 80, "Azure's host service is out of reach"),
	TCP("metadata-alibaba", "100.100.100.200", 80, "Alibaba's metadata is out of reach"),
	TCP("metadata-oracle", "192.0.0.192", 80, "Oracle's metadata is out of reach"),
	TCP("link-local", "169.254.1.1", 80, "link-local addresses are out of reach"),
	TCP("link-local-v6", "fe80::1", 22, "nor by IPv6"),
	TCP("private-10", "10.0.0.1", 443, "10/8 is out of reach"),
	TCP("private-10-other", "10.4.5.6", 80, "nor further inside"),
	TCP("private-172", "172.20.0.9", 80, "172.16/12 is out of reach"),
	TCP("private-192", "192.168.7.7", 80, "192.168/16 is out of reach"),
	TCP("private-router", "192.168.1.1", 80, "the router at home is out of reach"),
	TCP("private-mapped", "::ffff:10.4.5.6", 80, "nor by an IPv4 address in IPv6"),
	TCP("private-nat64", "64:ff9b::a04:506", 80, "nor through NAT64"),
	TCP("shared", "100.64.0.1", 80, "a carrier's addresses are out of reach"),
	TCP("unique-local", "fd00::1", 80, "private IPv6 is out of reach"),
	TCP("this-host", "0.0.0.0", 22, "0.0.0.0 is nobody else"),
	TCP("cluster-api", "10.96.0.1", 443, "a cluster's API is out of reach"),
	TCP("cluster-dns", "10.96.0.10", 53, "a cluster's resolver is out of reach"),
	UDP("dns-cloud", "169.254.169.253", 53, "the cloud's resolver is out of reach"),
	UDP("dns-private", "10.0.0.2", 53, "a private resolver is out of reach"),
	UDP("dns-stub", "127.0.0.53", 53, "the host's resolver is out of reach"),
	UDP("mdns", "224.0.0.251", 5353, "names of neighbours are out of reach"),
	UDP("mdns-v6", "ff02::fb", 5353, "nor by IPv6"),
	UDP("ssdp", "239.255.255.250", 1900, "devices of neighbours are out of reach"),
	UDP("broadcast", "255.255.255.255", 53, "nobody answers a broadcast"),
	GATEWAY("gateway-ssh", 22, "the host's SSH is out of reach"),
	GATEWAY("gateway-dns", 53, "the host's resolver is out of reach on the gateway"),
	GATEWAY("gateway-http", 80, "the host's web server is out of reach"),
	GATEWAY("gateway-https", 443, "nor with TLS"),
	GATEWAY("gateway-docker", 2375, "docker's port is out of reach"),
	GATEWAY("gateway-cluster", 6443, "a cluster's API on the host is out of reach"),
	GATEWAY("gateway-kubelet", 10250, "the kubelet is out of reach"),
	GATEWAY("gateway-etcd", 2379, "etcd is out of reach"),
	GATEWAY("gateway-database", 5432, "the host's database is out of reach"),
	GATEWAY("gateway-redis", 6379, "the host's Redis is out of reach"),
	{0},
};
