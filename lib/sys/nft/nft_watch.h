/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Following the changes that anybody makes to the packet filter (NFNLGRP_NFTABLES). */
#ifndef CL_SYS_NFT_WATCH_H
#define CL_SYS_NFT_WATCH_H

#include "sys/net/nl.h"

struct nft_watch {
	struct sys_nl nl;
	bool ours; /* the change that is being read is about a table of ours */
};
#define NFT_WATCH_INIT ((struct nft_watch){.nl = {NULL, 0}})
/* CL_EDENIED without CAP_NET_ADMIN, CL_EUNAVAIL, CL_EOS. */
int nft_watch_open(struct nft_watch *w, struct cl_err *e);
void nft_watch_close(struct nft_watch *w);
#define cleanup_watch __attribute__((cleanup(nft_watch_close)))
int nft_watch_fd(const struct nft_watch *w);

#define NFT_WATCH_WHO 40
/*
 * Reads what has come, without waiting. *changed: something about a table of ours (its name
 * begins with cloop_), or news were lost. who: the program that changed it last and its
 * pid, as "nft (1234)"; left as it is when that is not known or this process, "" when news
 * were lost. CL_EOS.
 */
int nft_watch_read(struct nft_watch *w, bool *changed, char who[NFT_WATCH_WHO], struct cl_err *e);

#endif
