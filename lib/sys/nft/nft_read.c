/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables, chains, rules and verdict maps, as the kernel has them. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/nft/nft_foreign.h"
#include "sys/nft/nft_internal.h"

#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Dumps one kind of object of every family (or of one); reset forgets a disturbed dump. */
static int dump(struct sys_nl *nl, uint16_t type, uint16_t family, mnl_cb_t cb, void *data,
	void (*reset)(void *data), struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		reset(data);
		err = sys_nl_ask(nl, nftnl_nlmsg_build_hdr(room, type, family, NLM_F_DUMP, 0), cb,
			data, why);
	}
	return err ? sys_nl_fail(e, err, why, "read the packet filter") : 0;
}

/* --- tables --- */

struct names {
	const char *prefix;
	struct cl_strv *out;
	size_t before;
};

static void names_reset(void *data)
{
	struct names *n = data;

	while (n->out->n > n->before)
		free(n->out->v[--n->out->n]);
}

static int on_table(const struct nlmsghdr *h, void *data)
{
	struct nftnl_table *t = must(nftnl_table_alloc());
	struct names *n = data;

	if (!nftnl_table_nlmsg_parse(h, t)) {
		const char *name = nftnl_table_get_str(t, NFTNL_TABLE_NAME);

		if (name && cl_starts(name, n->prefix))
			cl_strv_add(n->out, name);
	}
	nftnl_table_free(t);
	return MNL_CB_OK;
}

int nft_tables(const char *prefix, struct cl_strv *out, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	struct names n = {prefix, out, out->n};

	return sys_nl_open(&nl, NETLINK_NETFILTER, e) || dump(&nl, NFT_MSG_GETTABLE, NFPROTO_INET,
								 on_table, &n, names_reset, e)
		       ? -1
		       : 0;
}

/* --- other programs' forward chains --- */

static bool concerns(uint32_t family, const char *table)
{
	return (family == NFPROTO_IPV4 || family == NFPROTO_IPV6 || family == NFPROTO_INET) &&
	       table && !cl_starts(table, "cloop_");
}

static void chain_release(struct fw_chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].chain);
	free(c->v);
	free(c->table);
	free(c->name);
}

static void map_release(struct fw_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].chain);
	free(m->v);
	free(m->table);
	free(m->name);
}

static void chains_reset(void *data)
{
	struct fw *f = data;

	while (f->nchains)
		chain_release(&f->chains[--f->nchains]);
}

static void maps_reset(void *data)
{
	struct fw *f = data;

	while (f->nmaps)
		map_release(&f->maps[--f->nmaps]);
}

static void rules_reset(void *data)
{
	struct fw *f = data;

	for (size_t i = 0; i < f->nchains; i++) {
		struct fw_chain *c = &f->chains[i];

		while (c->n)
			free(c->v[--c->n].chain);
	}
}

void fw_release(struct fw *f)
{
	chains_reset(f);
	maps_reset(f);
	free(f->chains);
	free(f->maps);
	free(f->uplinks);
	*f = (struct fw){0};
}

struct fw_chain *fw_chain_named(
	const struct fw *f, uint32_t family, const char *table, const char *name)
{
	for (size_t i = 0; name && i < f->nchains; i++) {
		struct fw_chain *c = &f->chains[i];

		if (c->family == family && !strcmp(c->table, table) && !strcmp(c->name, name))
			return c;
	}
	return NULL;
}

const struct fw_map *fw_map_named(
	const struct fw *f, uint32_t family, const char *table, const char *name)
{
	for (size_t i = 0; name && i < f->nmaps; i++) {
		const struct fw_map *m = &f->maps[i];

		if (m->family == family && !strcmp(m->table, table) && !strcmp(m->name, name))
			return m;
	}
	return NULL;
}

static int on_chain(const struct nlmsghdr *h, void *data)
{
	struct nftnl_chain *x = must(nftnl_chain_alloc());
	struct fw *f = data;

	if (!nftnl_chain_nlmsg_parse(h, x) && concerns(nftnl_chain_get_u32(x, NFTNL_CHAIN_FAMILY),
						      nftnl_chain_get_str(x, NFTNL_CHAIN_TABLE))) {
		const char *type = nftnl_chain_get_str(x, NFTNL_CHAIN_TYPE);
		bool forward = nftnl_chain_is_set(x, NFTNL_CHAIN_HOOKNUM) && type &&
			       !strcmp(type, "filter") &&
			       nftnl_chain_get_u32(x, NFTNL_CHAIN_HOOKNUM) == NF_INET_FORWARD;

		f->chains = cl_grow(f->chains, &f->chains_cap, f->nchains + 1, sizeof(*f->chains));
		f->chains[f->nchains++] = (struct fw_chain){
			.family = nftnl_chain_get_u32(x, NFTNL_CHAIN_FAMILY),
			.table = cl_strdup(nftnl_chain_get_str(x, NFTNL_CHAIN_TABLE)),
			.name = cl_strdup(nftnl_chain_get_str(x, NFTNL_CHAIN_NAME)),
			.base = forward,
			.policy_drop =
				forward && nftnl_chain_get_u32(x, NFTNL_CHAIN_POLICY) == NF_DROP,
		};
	}
	nftnl_chain_free(x);
	return MNL_CB_OK;
}

static int on_map(const struct nlmsghdr *h, void *data)
{
	struct nftnl_set *x = must(nftnl_set_alloc());
	struct fw *f = data;

	if (!nftnl_set_nlmsg_parse(h, x) && nftnl_set_get_u32(x, NFTNL_SET_FLAGS) & NFT_SET_MAP &&
		nftnl_set_get_u32(x, NFTNL_SET_DATA_TYPE) == NFT_DATA_VERDICT &&
		concerns(nftnl_set_get_u32(x, NFTNL_SET_FAMILY),
			nftnl_set_get_str(x, NFTNL_SET_TABLE))) {
		f->maps = cl_grow(f->maps, &f->maps_cap, f->nmaps + 1, sizeof(*f->maps));
		f->maps[f->nmaps++] = (struct fw_map){
			.family = nftnl_set_get_u32(x, NFTNL_SET_FAMILY),
			.table = cl_strdup(nftnl_set_get_str(x, NFTNL_SET_TABLE)),
			.name = cl_strdup(nftnl_set_get_str(x, NFTNL_SET_NAME)),
		};
	}
	nftnl_set_free(x);
	return MNL_CB_OK;
}

static enum fw_do verdict_of(uint32_t verdict)
{
	switch ((int)verdict) {
	case NF_DROP:
		return FW_DROP;
	case NFT_JUMP:
		return FW_JUMP;
	case NFT_GOTO:
		return FW_GOTO;
	case NFT_RETURN:
	case NFT_CONTINUE:
		return FW_RETURN;
	default:
		return FW_ACCEPT;
	}
}

static int on_element(struct nftnl_set_elem *el, void *data)
{
	struct fw_map *m = data;
	struct fw_element one = {0};
	const void *key = nftnl_set_elem_get(el, NFTNL_SET_ELEM_KEY, &one.len);
	const char *chain = nftnl_set_elem_get_str(el, NFTNL_SET_ELEM_CHAIN);

	/* The end of an interval has no verdict. */
	if (!nftnl_set_elem_is_set(el, NFTNL_SET_ELEM_VERDICT))
		return 0;
	if (!key || one.len > sizeof(one.key) || nftnl_set_elem_is_set(el, NFTNL_SET_ELEM_FLAGS) ||
		nftnl_set_elem_is_set(el, NFTNL_SET_ELEM_KEY_END))
		one.len = 0;
	else
		memcpy(one.key, key, one.len);
	one.what = verdict_of(nftnl_set_elem_get_u32(el, NFTNL_SET_ELEM_VERDICT));
	one.chain = chain ? cl_strdup(chain) : NULL;
	m->v = cl_grow(m->v, &m->cap, m->n + 1, sizeof(*m->v));
	m->v[m->n++] = one;
	return 0;
}

static int on_elements(const struct nlmsghdr *h, void *data)
{
	struct nftnl_set *s = must(nftnl_set_alloc());

	if (!nftnl_set_elems_nlmsg_parse(h, s))
		(void)nftnl_set_elem_foreach(s, on_element, data);
	nftnl_set_free(s);
	return MNL_CB_OK;
}

static int read_map(struct sys_nl *nl, struct fw_map *m, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		struct nlmsghdr *h = nftnl_nlmsg_build_hdr(
			room, NFT_MSG_GETSETELEM, (uint16_t)m->family, NLM_F_DUMP, 0);
		struct nftnl_set *s = must(nftnl_set_alloc());

		nftnl_set_set_str(s, NFTNL_SET_TABLE, m->table);
		nftnl_set_set_str(s, NFTNL_SET_NAME, m->name);
		nftnl_set_elems_nlmsg_build_payload(h, s);
		nftnl_set_free(s);
		while (m->n)
			free(m->v[--m->n].chain);
		err = sys_nl_ask(nl, h, on_elements, m, why);
	}
	/* Gone since it was listed: then nothing refers to it. */
	return err && err != ENOENT ? sys_nl_fail(e, err, why, "read the packet filter") : 0;
}

static int on_rule(const struct nlmsghdr *h, void *data)
{
	struct nftnl_rule *r = must(nftnl_rule_alloc());
	const struct fw *f = data;
	struct fw_chain *c = NULL;

	if (!nftnl_rule_nlmsg_parse(h, r) && nftnl_rule_get_str(r, NFTNL_RULE_TABLE))
		c = fw_chain_named(f, nftnl_rule_get_u32(r, NFTNL_RULE_FAMILY),
			nftnl_rule_get_str(r, NFTNL_RULE_TABLE),
			nftnl_rule_get_str(r, NFTNL_RULE_CHAIN));
	if (c)
		fw_judge(f, c, r);
	nftnl_rule_free(r);
	return MNL_CB_OK;
}

/* Interfaces that a default route goes over: what a sandbox's packets leave by. */
static int read_uplinks(struct fw *f, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	cleanup_links struct net_links links = {0};

	if (sys_nl_open(&nl, NETLINK_ROUTE, e) || net_links(&nl, &links, e))
		return -1;
	for (uint8_t family = 4; family <= 6; family += 2) {
		cleanup_routes struct net_routes routes = {0};

		if (net_routes(&nl, family, &routes, e))
			return -1;
		for (size_t i = 0; i < routes.n * links.n; i++) {
			const struct net_route *r = &routes.v[i / links.n];
			const struct net_link *l = &links.v[i % links.n];

			if (r->dst.len || r->index != l->index)
				continue;
			f->uplinks =
				cl_grow(f->uplinks, &f->uplinks_cap, f->nuplinks + 1, sizeof(*l));
			f->uplinks[f->nuplinks++] = *l;
		}
	}
	return 0;
}

int fw_read(struct fw *f, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;

	if (read_uplinks(f, e) || sys_nl_open(&nl, NETLINK_NETFILTER, e) ||
		dump(&nl, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC, on_chain, f, chains_reset, e) ||
		dump(&nl, NFT_MSG_GETSET, NFPROTO_UNSPEC, on_map, f, maps_reset, e))
		return -1;
	for (size_t i = 0; i < f->nmaps; i++)
		if (read_map(&nl, &f->maps[i], e))
			return -1;
	return dump(&nl, NFT_MSG_GETRULE, NFPROTO_UNSPEC, on_rule, f, rules_reset, e);
}
