/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sets that count what was refused (DECISIONS E4): made, carried over and read. */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

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

/* counted: blocked4 or blocked6, since4 or since6 else. */
static struct nft_set record_set(uint8_t family, bool counted)
{
	static const char *const names[2][2] = {{"since4", "since6"}, {"blocked4", "blocked6"}};
	uint32_t address = family == 4 ? NFT_KEY_IPV4 : NFT_KEY_IPV6;

	return (struct nft_set){
		.name = names[counted][family == 6],
		.flags = NFT_SET_EVAL | NFT_SET_TIMEOUT,
		.key_type = address << 18 | address << 12 | NFT_KEY_PROTO << 6 | NFT_KEY_SERVICE,
		.key_len = 2 * address_len(family) + 4 + 4,
		.size = EG_BLOCKED_SIZE,
		.timeout_ms = NFT_BLOCKED_MS,
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

/* What a full element has beside its key. */
static void fill(struct nftnl_set_elem *el, const struct nft_blocked *r, bool counted)
{
	uint64_t left = counted ? r->expires_ms : r->since_expires_ms;

	if (left)
		nftnl_set_elem_set_u64(el, NFTNL_SET_ELEM_EXPIRATION, left);
	if (counted)
		nftnl_set_elem_add_expr(el, nft_counter_new(r->packets, r->bytes));
}

/* The set with the elements of its family, or NULL when there are none. */
static struct nftnl_set *elements(const struct nft_batch *b, uint8_t family, bool counted,
	uint32_t id, const struct nft_blocked_list *l, bool full)
{
	const struct nft_set s = record_set(family, counted);
	struct nftnl_set *x = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct nft_blocked *r = &l->v[i];
		struct nftnl_set_elem *el;
		uint8_t key[40];

		if (r->dest.family != family || (!counted && !r->since_expires_ms))
			continue;
		if (!x)
			x = nft_set_new(b, &s, id);
		el = nftnl_set_elem_alloc();
		if (!el)
			abort();
		to_key(r, key);
		nftnl_set_elem_set(el, NFTNL_SET_ELEM_KEY, key, s.key_len);
		if (full)
			fill(el, r, counted);
		nftnl_set_elem_add(x, el);
	}
	return x;
}

static uint32_t add_set(
	struct nft_batch *b, uint8_t family, bool counted, const struct nft_blocked_list *kept)
{
	const struct nft_set s = record_set(family, counted);
	uint32_t id = nft_add_set(b, &s);
	struct nftnl_set *x = elements(b, family, counted, id, kept, true);

	/* The kernel refuses a message without elements. */
	if (x)
		nft_add_elements(b, x);
	return id;
}

struct nft_blocked_ids nft_add_blocked(struct nft_batch *b, const struct nft_blocked_list *kept)
{
	struct nft_blocked_ids ids;

	ids.blocked4 = add_set(b, 4, true, kept);
	ids.blocked6 = add_set(b, 6, true, kept);
	ids.since4 = add_set(b, 4, false, kept);
	ids.since6 = add_set(b, 6, false, kept);
	return ids;
}

void nft_blocked_release(struct nft_blocked_list *l)
{
	free(l->v);
	*l = NFT_BLOCKED_INIT;
}

static bool among(const struct pol_addr *a, const struct pol_addr *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].family && !pol_addr_cmp(a, &v[i]))
			return true;
	return false;
}

static void on_element(const struct nft_wire_element *el, void *data)
{
	struct nft_blocked_reading *rd = data;
	struct nft_blocked_list *l = rd->out;
	struct nft_blocked r = {
		.packets = el->packets, .bytes = el->bytes, .expires_ms = el->expiration};

	/* A table of this name that somebody else shaped holds nothing that we can read. */
	if (el->len != 2 * address_len(rd->family) + 8)
		return;
	from_key(el->key, rd->family, &r);
	if (rd->nsources && !among(&r.source, rd->sources, rd->nsources))
		return;
	if (r.expires_ms > NFT_BLOCKED_MS)
		r.expires_ms = NFT_BLOCKED_MS;
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = r;
}

int nft_blocked_elements(const struct nlmsghdr *h, void *reading)
{
	nft_wire_elements(h, on_element, reading);
	return MNL_CB_OK;
}

int nft_blocked_rule(const struct nlmsghdr *h, void *reading)
{
	struct nft_blocked_reading *rd = reading;
	struct nft_wire_rule r;

	nft_wire_rule(h, &r);
	if (!strcmp(r.comment, EG_SAY_FULL))
		rd->out->unrecorded += r.packets;
	return MNL_CB_OK;
}

static struct nlmsghdr *ask_elements(char *room, const char *table, const char *set)
{
	struct nlmsghdr *h =
		nftnl_nlmsg_build_hdr(room, NFT_MSG_GETSETELEM, NFPROTO_INET, NLM_F_DUMP, 0);
	struct nftnl_set *s = nftnl_set_alloc();

	if (!s)
		abort();
	nftnl_set_set_str(s, NFTNL_SET_TABLE, table);
	nftnl_set_set_str(s, NFTNL_SET_NAME, set);
	nftnl_set_elems_nlmsg_build_payload(h, s);
	nftnl_set_free(s);
	return h;
}

/* 0, or an errno; what was read before a change in the middle is dropped. */
static int read_set(struct sys_nl *nl, const char *table, struct nft_blocked_reading *rd,
	bool counted, char *why)
{
	const struct nft_set s = record_set(rd->family, counted);
	size_t before = rd->out->n;
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		char room[SYS_NL_SIZE];

		rd->out->n = before;
		err = sys_nl_ask(
			nl, ask_elements(room, table, s.name), nft_blocked_elements, rd, why);
	}
	return err;
}

static int read_unrecorded(
	struct sys_nl *nl, const char *table, struct nft_blocked_reading *rd, char *why)
{
	uint64_t before = rd->out->unrecorded;
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		char room[SYS_NL_SIZE];

		rd->out->unrecorded = before;
		err = sys_nl_ask(
			nl, nft_ask_rules(room, table, "denied"), nft_blocked_rule, rd, why);
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

static void sort(struct nft_blocked_list *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_key);
}

/* Both sorted. A first packet without its time is taken for as old as the last. */
static void join_first(struct nft_blocked_list *l, const struct nft_blocked_list *since)
{
	size_t k = 0;

	for (size_t i = 0; i < l->n; i++) {
		while (k < since->n && by_key(&since->v[k], &l->v[i]) < 0)
			k++;
		l->v[i].since_expires_ms = k < since->n && !by_key(&since->v[k], &l->v[i])
						   ? since->v[k].expires_ms
						   : l->v[i].expires_ms;
		if (l->v[i].since_expires_ms > l->v[i].expires_ms)
			l->v[i].since_expires_ms = l->v[i].expires_ms;
	}
}

int nft_blocked_read(const char *table, const struct pol_addr *sources, size_t nsources,
	struct nft_blocked_list *out, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	cleanup_blocked struct nft_blocked_list since = NFT_BLOCKED_INIT;
	struct nft_blocked_reading rd = {.sources = sources, .nsources = nsources};
	char why[SYS_NL_WHY];
	int err = 0;

	if (eg_check_table(table, e) || sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	/* In this order: what is new meanwhile may lack its first time, never its count. */
	for (int i = 0; !err && i < 4; i++) {
		rd.family = i % 2 ? 6 : 4;
		rd.out = i < 2 ? &since : out;
		err = read_set(&nl, table, &rd, i >= 2, why);
	}
	if (!err)
		err = read_unrecorded(&nl, table, &rd, why);
	if (err == ENOENT)
		return cl_fail(e, CL_ENOTFOUND, "there is no table '%s' that records", table);
	if (err)
		return sys_nl_fail(e, err, why, "read table '%s'", table);
	sort(out);
	sort(&since);
	join_first(out, &since);
	return 0;
}

int nft_blocked_unrecorded(const char *table, uint64_t *packets, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	cleanup_blocked struct nft_blocked_list l = NFT_BLOCKED_INIT;
	struct nft_blocked_reading rd = {.out = &l};
	char why[SYS_NL_WHY];
	int err;

	if (eg_check_table(table, e) || sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	err = read_unrecorded(&nl, table, &rd, why);
	if (err == ENOENT)
		return cl_fail(e, CL_ENOTFOUND, "there is no table '%s' that records", table);
	if (err)
		return sys_nl_fail(e, err, why, "read table '%s'", table);
	*packets = l.unrecorded;
	return 0;
}

static int forget(const char *table, const struct nft_blocked_list *l, struct cl_err *e)
{
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	nft_batch_table(&b, NFPROTO_INET, table);
	for (int i = 0; i < 4; i++) {
		struct nftnl_set *x = elements(&b, i % 2 ? 6 : 4, i < 2, 0, l, false);

		if (x)
			nft_del_elements(&b, x);
	}
	return nft_batch_send(&b, e);
}

/* An element that is gone by itself makes the kernel refuse the whole: then once more. */
int nft_blocked_forget(
	const char *table, const struct pol_addr *sources, size_t nsources, struct cl_err *e)
{
	for (int i = 0;; i++) {
		cleanup_blocked struct nft_blocked_list l = NFT_BLOCKED_INIT;

		if (nft_blocked_read(table, sources, nsources, &l, e))
			return e->code == CL_ENOTFOUND ? 0 : -1;
		if (!l.n || !forget(table, &l, e))
			return 0;
		if (i == 5)
			return -1;
	}
}

void nft_blocked_drop(struct nft_blocked_list *l, const struct pol_addr *sources, size_t nsources)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!among(&l->v[i].source, sources, nsources))
			l->v[kept++] = l->v[i];
	l->n = kept;
}

int64_t nft_blocked_last(const struct nft_blocked *r, int64_t now)
{
	return now - (NFT_BLOCKED_MS - (int64_t)r->expires_ms);
}

int64_t nft_blocked_first(const struct nft_blocked *r, int64_t now)
{
	return now - (NFT_BLOCKED_MS - (int64_t)r->since_expires_ms);
}
