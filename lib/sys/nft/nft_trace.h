/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Refused packets as they come (DECISIONS E4): rules that hand their first bytes to a group of
 * NFLOG (nfnetlink_log), put in front of a table's refusals only while somebody follows, and
 * the listener. The rules decide nothing. Each carries in its comment whose it is, so that
 * those of a process that was killed are found; the next nft_apply drops them anyway.
 */
#ifndef CL_SYS_NFT_TRACE_H
#define CL_SYS_NFT_TRACE_H

#include "sys/nft/nft.h"
#include "sys/net/nl.h"

#define NFT_TRACE_GROUP 6510 /* unless another is wanted */
#define NFT_TRACE_RATE  200  /* packets a second and table, and as many at once */
#define NFT_TRACE_SNAP  128  /* bytes of each packet */

/* Who traces: this process, or the one that a comment names. */
struct nft_tracer {
	pid_t pid;
	uint64_t start; /* sys_proc_start */
};
int nft_tracer_self(struct nft_tracer *out, struct cl_err *e);

/*
 * Makes sure that the table's refusals of the sources (family 0: none of it; n 0: of everybody)
 * go to the group; what this tracer has there already stays when it is right. CL_ENOTFOUND: no
 * such table.
 */
int nft_trace_put(const char *table, const struct nft_tracer *who, uint16_t group,
	const struct pol_addr *sources, size_t n, struct cl_err *e);
/* Takes the tracer's rules out of the table; none is success. */
int nft_trace_drop(const char *table, const struct nft_tracer *who, struct cl_err *e);
/* Takes out the rules of tracers that are dead, from every table with the prefix; adds how many. */
int nft_trace_sweep(const char *prefix, size_t *dropped, struct cl_err *e);

/* A listener. The socket polls readable. */
struct nft_log {
	struct sys_nl nl;
	uint32_t next; /* the sequence number that is expected */
	bool started;
	uint64_t missed; /* packets that the listener was too slow for */
};
#define NFT_LOG_INIT ((struct nft_log){.nl = SYS_NL_INIT})
/*
 * Binds the group in this network namespace. CL_EBUSY when another program listens to it,
 * CL_EUNAVAIL without nfnetlink_log, CL_EDENIED.
 */
int nft_log_open(struct nft_log *l, uint16_t group, struct cl_err *e);
void nft_log_close(struct nft_log *l);
#define cleanup_nft_log __attribute__((cleanup(nft_log_close)))
int nft_log_fd(const struct nft_log *l);

struct nft_log_packet {
	const unsigned char *bytes; /* from the network header on */
	size_t len;
	uint32_t seq;
};
typedef void (*nft_log_fn)(const struct nft_log_packet *p, void *arg);
/* Reads what is there, without waiting, up to 64 messages. CL_EOS. */
int nft_log_read(struct nft_log *l, nft_log_fn fn, void *arg, struct cl_err *e);
/* A whole netlink message of any bytes: true when it is a packet. */
bool nft_log_packet(const struct nlmsghdr *h, struct nft_log_packet *out);

/* The comment of a tracer's rules, and back; false: it is not one. */
#define NFT_TRACE_COMMENT 64
void nft_trace_comment(const struct nft_tracer *who, char out[NFT_TRACE_COMMENT]);
bool nft_trace_comment_read(const char *comment, struct nft_tracer *out);

#endif
