/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kernel sends when it is asked for the table "t1", taken apart. */
#ifndef CL_FUZZ_NFT_H
#define CL_FUZZ_NFT_H

#include "base/mem.h"
#include "sys/nft/nft_dump.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void must(int yes)
{
	if (!yes)
		abort();
}

/* Decodes every message of the bytes; each set is settled, and must be sorted and disjoint. */
static inline void fuzz_decode(const uint8_t *data, size_t size, struct vf_ruleset *out)
{
	/* As recv(2) has it: aligned, and nothing behind the end. */
	cleanup_free void *buf = cl_malloc(size + 1);
	const struct nlmsghdr *h = buf;
	int left = (int)size;

	memcpy(buf, data, size);
	/* libmnl takes a length of more than 2^31 for a negative one. */
	for (; mnl_nlmsg_ok(h, left) && h->nlmsg_len <= size; h = mnl_nlmsg_next(h, &left))
		nft_decode(h, NFPROTO_INET, "t1", out);
	for (size_t i = 0; i < out->nsets; i++) {
		const struct vf_set *s = &out->sets[i];

		vf_settle(&out->sets[i]);
		for (size_t k = 0; k < s->n; k++)
			must(s->v[k].lo <= s->v[k].hi && (!k || s->v[k - 1].hi < s->v[k].lo));
	}
}

#endif
