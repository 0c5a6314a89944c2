/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sets that count what was refused (DECISIONS E4): made, carried over and read. */
#include "base/mem.h"
#include "sys/nft_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <stdlib.h>
#include <string.h>

static uint32_t address_len(uint8_t family)
{
	return family == 4 ? 4 : 16;
}

static struct nft_set blocked_set(uint8_t family)
{
	uint32_t address = family == 4 ? NFT_KEY_IPV4 : NFT_KEY_IPV6;

	return (struct nft_set){
		.name = family == 4 ? "blocked4" : "blocked6",
		.flags = NFT_SET_EVAL | NFT_SET_TIMEOUT,
		.key_type = address << 18 | address << 12 | NFT_KEY_PROTO << 6 | NFT_KEY_SERVICE,
		.key_len = 2 * address_len(family) + 4 + 4,
		.size = EG_BLOCKED_SIZE,
		.timeout_ms = EG_BLOCKED_SECONDS * 1000ULL,
	};
}

/* A key is source, destination, protocol and port, each padded to four bytes. */
static void to_key(const struct nft_blocked *r, uint8_t key[40])
{
	uint32_t len = address_len(r->dest.family);
	uint16_t port = htons(r->port);

	memset(key, 0, 40);
	memcpy(key, r->source.b, len);
	memcpy(key + len, r->dest.b, len);
	key[2 * len] = r->proto;
	memcpy(key + 2 * len + 4, &port, sizeof(port));
}

static void from_key(const uint8_t *key, uint8_t family, struct nft_blocked *r)
{
	uint32_t len = address_len(family);
	uint16_t port;

	r->source.family = r->dest.family = family;
	memcpy(r->source.b, key, len);
	memcpy(r->dest.b, key + len, len);
	r->proto = key[2 * len];
	memcpy(&port, key + 2 * len + 4, sizeof(port));
	r->port = ntohs(port);
}

static void add_record(struct nftnl_set *x, const struct nft_set *s, const struct nft_blocked *r)
{
	struct nftnl_set_elem *el = nftnl_set_elem_alloc();
	struct nftnl_expr *counter = nft_expr_new("counter");
	uint8_t key[40];

	if (!el)
		abort();
	to_key(r, key);
	nftnl_expr_set_u64(counter, NFTNL_EXPR_CTR_PACKETS, r->packets);
	nftnl_expr_set_u64(counter, NFTNL_EXPR_CTR_BYTES, r->bytes);
	nftnl_set_elem_set(el, NFTNL_SET_ELEM_KEY, key, s->key_len);
	if (r->expires_ms)
		nftnl_set_elem_set_u64(el, NFTNL_SET_ELEM_EXPIRATION, r->expires_ms);
	nftnl_set_elem_add_expr(el, counter);
	nftnl_set_elem_add(x, el);
}

uint32_t nft_add_blocked(struct nft_batch *b, uint8_t family, const struct nft_blocked_list *kept)
{
	const struct nft_set s = blocked_set(family);
	uint32_t id = nft_add_set(b, &s);
	struct nftnl_set *x = NULL;

	for (size_t i = 0; i < kept->n; i++) {
		if (kept->v[i].dest.family != family)
			continue;
		if (!x)
			x = nft_set_new(b, &s, id);
		add_record(x, &s, &kept->v[i]);
	}
	/* The kernel refuses a message without elements. */
	if (x)
		nft_add_elements(b, x);
	return id;
}

void nft_blocked_release(struct nft_blocked_list *l)
{
	free(l->v);
	*l = NFT_BLOCKED_INIT;
}

static int counter_of(struct nftnl_expr *x, void *data)
{
	struct nft_blocked *r = data;

	if (!strcmp(nftnl_expr_get_str(x, NFTNL_EXPR_NAME), "counter")) {
		r->packets = nftnl_expr_get_u64(x, NFTNL_EXPR_CTR_PACKETS);
		r->bytes = nftnl_expr_get_u64(x, NFTNL_EXPR_CTR_BYTES);
	}
	return 0;
}

struct reading {
	uint8_t family;
	const struct pol_addr *source;
	struct nft_blocked_list *out;
};

static int on_element(struct nftnl_set_elem *el, void *data)
{
	struct reading *rd = data;
	struct nft_blocked_list *l = rd->out;
	struct nft_blocked r = {0};
	uint32_t len = 0;
	const uint8_t *key = nftnl_set_elem_get(el, NFTNL_SET_ELEM_KEY, &len);

	/* A table of this name that somebody else shaped holds nothing that we can read. */
	if (!key || len != 2 * address_len(rd->family) + 8)
		return 0;
	from_key(key, rd->family, &r);
	if (rd->source && rd->source->family && pol_addr_cmp(&r.source, rd->source) != 0)
		return 0;
	(void)nftnl_set_elem_expr_foreach(el, counter_of, &r);
	if (nftnl_set_elem_is_set(el, NFTNL_SET_ELEM_EXPIRATION))
		r.expires_ms = nftnl_set_elem_get_u64(el, NFTNL_SET_ELEM_EXPIRATION);
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = r;
	return 0;
}

static int on_elements(const struct nlmsghdr *h, void *data)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (!s)
		abort();
	if (!nftnl_set_elems_nlmsg_parse(h, s))
		(void)nftnl_set_elem_foreach(s, on_element, data);
	nftnl_set_free(s);
	return MNL_CB_OK;
}

/* 0, or an errno; what was read before a change in the middle is dropped. */
static int read_set(struct sys_nl *nl, const char *table, struct reading *rd, char *why)
{
	size_t before = rd->out->n;
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		char room[SYS_NL_SIZE];
		struct nlmsghdr *h = nftnl_nlmsg_build_hdr(
			room, NFT_MSG_GETSETELEM, NFPROTO_INET, NLM_F_DUMP, 0);
		struct nftnl_set *s = nftnl_set_alloc();

		if (!s)
			abort();
		nftnl_set_set_str(s, NFTNL_SET_TABLE, table);
		nftnl_set_set_str(s, NFTNL_SET_NAME, rd->family == 4 ? "blocked4" : "blocked6");
		nftnl_set_elems_nlmsg_build_payload(h, s);
		nftnl_set_free(s);
		rd->out->n = before;
		err = sys_nl_ask(nl, h, on_elements, rd, why);
	}
	return err;
}

static int by_key(const void *pa, const void *pb)
{
	const struct nft_blocked *a = pa, *b = pb;
	int rc = pol_addr_cmp(&a->source, &b->source);

	if (!rc)
		rc = pol_addr_cmp(&a->dest, &b->dest);
	if (!rc)
		rc = a->proto - b->proto;
	return rc ? rc : a->port - b->port;
}

int nft_blocked_read(const char *table, const struct pol_addr *source, struct nft_blocked_list *out,
	struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	struct reading rd = {.family = 4, .source = source, .out = out};
	char why[SYS_NL_WHY];
	int err;

	if (eg_check_table(table, e) || sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	err = read_set(&nl, table, &rd, why);
	rd.family = 6;
	if (!err)
		err = read_set(&nl, table, &rd, why);
	if (err == ENOENT)
		return cl_fail(e, CL_ENOTFOUND, "there is no table '%s' that records", table);
	if (err)
		return sys_nl_fail(e, err, why, "read table '%s'", table);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_key);
	return 0;
}
