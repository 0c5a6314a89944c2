/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of a dump: the table, its chains, sets, their elements, and rules. */
#include "base/mem.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#define ATTRS 24

/* From a to the end of what holds it. */
static const struct nlattr *fits(const void *a, const char *end)
{
	return mnl_attr_ok(a, (int)(end - (const char *)a)) ? a : NULL;
}

static const char *behind(const struct nlattr *a)
{
	return (const char *)a + MNL_ALIGN(a->nla_len);
}

const struct nlattr *nft_attr_in(const struct nlattr *nest, const struct nlattr *before)
{
	const char *first = mnl_attr_get_payload(nest);

	return fits(before ? behind(before) : first, first + mnl_attr_get_payload_len(nest));
}

static void remember(const struct nlattr *a, const struct nlattr **tb, unsigned n)
{
	if (mnl_attr_get_type(a) < n)
		tb[mnl_attr_get_type(a)] = a;
}

void nft_attributes(const struct nlattr *nest, const struct nlattr **tb, unsigned n)
{
	memset(tb, 0, n * sizeof(*tb));
	for (const struct nlattr *a = nest ? nft_attr_in(nest, NULL) : NULL; a;
		a = nft_attr_in(nest, a))
		remember(a, tb, n);
}

bool nft_attr_u32(const struct nlattr *a, uint32_t *out)
{
	if (!a || mnl_attr_get_payload_len(a) != sizeof(*out))
		return false;
	*out = ntohl(mnl_attr_get_u32(a));
	return true;
}

const char *nft_attr_text(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 ? mnl_attr_get_str(a) : NULL;
}

const uint8_t *nft_attr_value(const struct nlattr *nest, uint32_t *len)
{
	const struct nlattr *tb[NFTA_DATA_MAX + 1];

	nft_attributes(nest, tb, CL_ARRAY_LEN(tb));
	if (!tb[NFTA_DATA_VALUE])
		return NULL;
	*len = mnl_attr_get_payload_len(tb[NFTA_DATA_VALUE]);
	return mnl_attr_get_payload(tb[NFTA_DATA_VALUE]);
}

static void on_table(const struct nlattr **tb, struct vf_ruleset *out)
{
	uint32_t flags = 0;

	(void)nft_attr_u32(tb[NFTA_TABLE_FLAGS], &flags);
	out->there = true;
	out->dormant = flags & NFT_TABLE_F_DORMANT;
}

static enum vf_hook hook_of(uint32_t n)
{
	switch (n) {
	case NF_INET_FORWARD:
		return VF_FORWARD;
	case NF_INET_LOCAL_IN:
		return VF_INPUT;
	case NF_INET_LOCAL_OUT:
		return VF_OUTPUT;
	case NF_INET_POST_ROUTING:
		return VF_POSTROUTING;
	default:
		return VF_OTHER_HOOK;
	}
}

static void on_chain(const struct nlattr **tb, struct vf_ruleset *out)
{
	const char *name = nft_attr_text(tb[NFTA_CHAIN_NAME]),
		   *type = nft_attr_text(tb[NFTA_CHAIN_TYPE]);
	uint32_t hook = NF_INET_NUMHOOKS, priority = 0, policy = NF_ACCEPT;
	const struct nlattr *h[ATTRS];
	struct vf_chain *c;

	if (!name || vf_chain(out, name))
		return;
	c = vf_add_chain(out, name);
	if (!tb[NFTA_CHAIN_HOOK])
		return;
	nft_attributes(tb[NFTA_CHAIN_HOOK], h, ATTRS);
	(void)nft_attr_u32(h[NFTA_HOOK_HOOKNUM], &hook);
	(void)nft_attr_u32(h[NFTA_HOOK_PRIORITY], &priority);
	(void)nft_attr_u32(tb[NFTA_CHAIN_POLICY], &policy);
	c->base = true;
	c->hook = hook_of(hook);
	c->priority = (int32_t)priority;
	c->policy_drop = policy != NF_ACCEPT;
	c->type = cl_strdup(type ? type : "");
}

static void on_rule(const struct nlattr **tb, struct vf_ruleset *out)
{
	struct vf_chain *c = vf_chain(out, nft_attr_text(tb[NFTA_RULE_CHAIN]));

	if (c)
		nft_decode_expressions(tb[NFTA_RULE_EXPRESSIONS], vf_add_rule(c));
}

static void unknown(struct vf_set *s, const char *why)
{
	if (!s->unknown)
		s->unknown = cl_strdup(why);
}

static void on_set(const struct nlattr **tb, struct vf_ruleset *out)
{
	const char *name = nft_attr_text(tb[NFTA_SET_NAME]);
	uint32_t flags = 0, data_type = 0;
	struct vf_set *s;

	if (!name || vf_set(out, name))
		return;
	s = vf_add_set(out, name);
	(void)nft_attr_u32(tb[NFTA_SET_FLAGS], &flags);
	(void)nft_attr_u32(tb[NFTA_SET_DATA_TYPE], &data_type);
	(void)nft_attr_u32(tb[NFTA_SET_KEY_LEN], &s->key_len);
	s->map = flags & NFT_SET_MAP && data_type == NFT_DATA_VERDICT;
	s->interval = flags & NFT_SET_INTERVAL;
	if (flags & NFT_SET_EVAL)
		unknown(s, "a set that packets change");
	else if (!s->key_len || s->key_len > 16 || flags & NFT_SET_CONCAT)
		unknown(s, "a set of combined keys");
}

static bool counts(const struct nlattr *a)
{
	const struct nlattr *tb[NFTA_EXPR_MAX + 1];
	const char *name;

	nft_attributes(a, tb, CL_ARRAY_LEN(tb));
	name = nft_attr_text(tb[NFTA_EXPR_NAME]);
	return name && (!strcmp(name, "counter") || !strcmp(name, "last"));
}

static bool only_counts(const struct nlattr **tb)
{
	const struct nlattr *list = tb[NFTA_SET_ELEM_EXPRESSIONS];

	if (tb[NFTA_SET_ELEM_EXPR] && !counts(tb[NFTA_SET_ELEM_EXPR]))
		return false;
	for (const struct nlattr *a = list ? nft_attr_in(list, NULL) : NULL; a;
		a = nft_attr_in(list, a))
		if (!counts(a))
			return false;
	return true;
}

/* Its key (or none: for all others), and what is done with it. False: not known. */
static bool element(const struct nlattr **tb, struct vf_set *s)
{
	const struct nlattr *data[NFTA_DATA_MAX + 1];
	struct vf_element e = {.end = false};
	const char *chain = NULL;
	uint32_t flags = 0, len = 0;
	const uint8_t *key = nft_attr_value(tb[NFTA_SET_ELEM_KEY], &len);

	(void)nft_attr_u32(tb[NFTA_SET_ELEM_FLAGS], &flags);
	nft_attributes(tb[NFTA_SET_ELEM_DATA], data, CL_ARRAY_LEN(data));
	e.end = flags & NFT_SET_ELEM_INTERVAL_END;
	if (tb[NFTA_SET_ELEM_KEY_END] || !only_counts(tb) || (e.end && !s->interval))
		return false;
	if (s->map && !e.end && !nft_decode_verdict(data[NFTA_DATA_VERDICT], &e.what, &chain))
		return false;
	if (flags & NFT_SET_ELEM_CATCHALL) {
		if (s->catchall)
			return false;
		s->catchall = true;
		s->rest = e;
		s->rest.chain = chain ? cl_strdup(chain) : NULL;
		return true;
	}
	if (!key || len != s->key_len)
		return false;
	e.lo = e.hi = vf_number(key, len);
	e.chain = chain ? cl_strdup(chain) : NULL;
	*vf_add_element(s) = e;
	return true;
}

static void on_elements(const struct nlattr **tb, struct vf_ruleset *out)
{
	struct vf_set *s = vf_set(out, nft_attr_text(tb[NFTA_SET_ELEM_LIST_SET]));
	const struct nlattr *list = tb[NFTA_SET_ELEM_LIST_ELEMENTS], *e[ATTRS];

	if (!s || s->unknown || !list)
		return;
	for (const struct nlattr *a = nft_attr_in(list, NULL); a; a = nft_attr_in(list, a)) {
		nft_attributes(a, e, ATTRS);
		if (!element(e, s)) {
			unknown(s, "a set with an element of another kind");
			return;
		}
	}
}

/* In each of them the name of the table is attribute 1. */
static const struct {
	uint16_t type;
	void (*take)(const struct nlattr **tb, struct vf_ruleset *out);
} kinds[] = {
	{NFT_MSG_NEWTABLE, on_table},
	{NFT_MSG_NEWCHAIN, on_chain},
	{NFT_MSG_NEWSET, on_set},
	{NFT_MSG_NEWSETELEM, on_elements},
	{NFT_MSG_NEWRULE, on_rule},
};

void nft_message(const struct nlmsghdr *h, const struct nlattr **tb, unsigned n)
{
	const char *first = (const char *)h + mnl_nlmsg_size(MNL_ALIGN(sizeof(struct nfgenmsg)));
	const char *end = (const char *)h + h->nlmsg_len;

	memset(tb, 0, n * sizeof(*tb));
	for (const struct nlattr *a = fits(first, end); a; a = fits(behind(a), end))
		remember(a, tb, n);
}

void nft_decode(
	const struct nlmsghdr *h, uint32_t family, const char *table, struct vf_ruleset *out)
{
	const struct nfgenmsg *g = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[ATTRS];
	const char *name;

	if (h->nlmsg_len < mnl_nlmsg_size(sizeof(*g)) || g->nfgen_family != family ||
		NFNL_SUBSYS_ID(h->nlmsg_type) != NFNL_SUBSYS_NFTABLES)
		return;
	nft_message(h, tb, ATTRS);
	name = nft_attr_text(tb[NFTA_TABLE_NAME]);
	if (!name || strcmp(name, table) != 0)
		return;
	for (size_t i = 0; i < CL_ARRAY_LEN(kinds); i++)
		if (kinds[i].type == NFNL_MSG_TYPE(h->nlmsg_type))
			kinds[i].take(tb, out);
}
