/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families of sockets that reach past a packet filter, or deep into the kernel. */
#include "attempt.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAMILY(n)     ((n) >> 16 & 0xff)
#define TYPE(n)       ((n) >> 8 & 0xff)
#define PROTO(n)      ((n)&0xff)
#define SOCK(f, t, p) ((long)(f) << 16 | (t) << 8 | (p))

static void make(struct result *r, const struct attempt *a)
{
	int fd = socket(
		(int)FAMILY(a->number), (int)TYPE(a->number) | SOCK_CLOEXEC, (int)PROTO(a->number));

	if (fd < 0)
		held_errno(r);
	else
		reached(r, "a socket of %s was made", a->text);
}

/* linux/vm_sockets.h: past every packet filter, to whatever the host serves there. */
static void host_vsock(struct result *r, const struct attempt *a)
{
	struct {
		uint16_t family, reserved;
		uint32_t port, cid;
		unsigned char zero[4];
	} to = {.family = 40, .port = (uint32_t)a->number, .cid = 2};
	int fd = socket(40, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		held_errno(r);
	else
		reached(r, "port %ld of the host answers over vsock", a->number);
}

#define MAKE(name, f, t, p, what, proves)                        \
	{                                                        \
		name, proves, make, what, SOCK(f, t, p), SURFACE \
	}

const struct attempt attempts_sockets[] = {
	MAKE("raw-icmp", AF_INET, SOCK_RAW, 1, "raw ICMP", "no ICMP is forged"),
	MAKE("raw-tcp", AF_INET, SOCK_RAW, 6, "raw TCP", "no TCP is forged"),
	MAKE("raw-ip", AF_INET, SOCK_RAW, 255, "raw IP", "no IP header is forged"),
	MAKE("raw-icmp6", AF_INET6, SOCK_RAW, 58, "raw ICMPv6", "no ICMPv6 is forged"),
	MAKE("packet-raw", 17, SOCK_RAW, 0, "AF_PACKET", "no frame is read or forged"),
	MAKE("packet-dgram", 17, SOCK_DGRAM, 0, "AF_PACKET", "nor without its header"),
	MAKE("netfilter", 16, SOCK_RAW, 12, "netlink netfilter", "no packet filter is asked"),
	MAKE("audit", 16, SOCK_RAW, 9, "netlink audit", "the host's audit is not asked"),
	MAKE("xfrm", 16, SOCK_RAW, 6, "netlink xfrm", "IPsec is not asked"),
	MAKE("connector", 16, SOCK_DGRAM, 11, "netlink connector", "processes are not watched"),
	MAKE("uevent", 16, SOCK_RAW, 15, "netlink uevent", "devices are not watched"),
	MAKE("generic", 16, SOCK_RAW, 16, "netlink generic",
		"no other part of the kernel is asked"),
	MAKE("diag", 16, SOCK_RAW, 4, "netlink sock_diag", "sockets are not listed"),
	MAKE("scsi", 16, SOCK_RAW, 18, "netlink SCSI", "no SCSI transport is asked"),
	MAKE("rdma", 16, SOCK_RAW, 20, "netlink RDMA", "no RDMA is asked"),
	MAKE("key", 15, SOCK_RAW, 2, "AF_KEY", "no IPsec key is asked"),
	MAKE("vsock", 40, SOCK_STREAM, 0, "AF_VSOCK", "no way past the packet filter"),
	MAKE("alg", 38, SOCK_SEQPACKET, 0, "AF_ALG", "the kernel's ciphers are not used"),
	MAKE("xdp", 44, SOCK_RAW, 0, "AF_XDP", "no frames go past the kernel"),
	MAKE("bluetooth", 31, SOCK_RAW, 1, "AF_BLUETOOTH", "Bluetooth is out of reach"),
	MAKE("can", 29, SOCK_RAW, 1, "AF_CAN", "field buses are out of reach"),
	MAKE("tipc", 30, SOCK_SEQPACKET, 0, "AF_TIPC", "clusters are out of reach"),
	MAKE("rds", 21, SOCK_SEQPACKET, 0, "AF_RDS", "RDS is out of reach"),
	MAKE("nfc", 39, SOCK_SEQPACKET, 0, "AF_NFC", "NFC is out of reach"),
	MAKE("x25", 9, SOCK_SEQPACKET, 0, "AF_X25", "X.25 is out of reach"),
	MAKE("ax25", 3, SOCK_DGRAM, 0, "AF_AX25", "AX.25 is out of reach"),
	{"vsock-host-22", "the host's SSH is not reached over vsock", host_vsock, NULL, 22, 0},
	{"vsock-host-1024", "nor an agent of the host's", host_vsock, NULL, 1024, 0},
	{0},
};
