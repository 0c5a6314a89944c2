/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elements and rules as the kernel sends them, attribute by attribute (linux/netfilter/
 * nf_tables.h). libnftnl ends the process over one that is not as it expects; here it is left
 * out.
 */
#include "sys/nft/nft_internal.h"

#include <endian.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

/* The attributes of one nest or message by type; a later one of a type stands for an earlier. */
#define TYPES 16
struct attrs {
	const struct nlattr *by[TYPES];
};

static int keep(const struct nlattr *a, void *data)
{
	struct attrs *x = data;

	if (mnl_attr_get_type(a) < TYPES)
		x->by[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

static struct attrs nested(const struct nlattr *nest)
{
	struct attrs x = {{NULL}};

	if (nest)
		(void)mnl_attr_parse_nested(nest, keep, &x);
	return x;
}

static struct attrs of_message(const struct nlmsghdr *h)
{
	struct attrs x = {{NULL}};

	if (h->nlmsg_len >= mnl_nlmsg_size(sizeof(struct nfgenmsg)))
		(void)mnl_attr_parse(h, sizeof(struct nfgenmsg), keep, &x);
	return x;
}

static uint64_t number(const struct nlattr *a)
{
	uint64_t v;

	if (!a || mnl_attr_get_payload_len(a) != sizeof(v))
		return 0;
	memcpy(&v, mnl_attr_get_payload(a), sizeof(v));
	return be64toh(v);
}

static bool is_text(const struct nlattr *a, const char *text)
{
	return a && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
	       !strcmp(mnl_attr_get_str(a), text);
}

struct counts {
	uint64_t packets, bytes;
};

/* One expression: NFTA_EXPR_NAME and NFTA_EXPR_DATA. */
static void count(const struct nlattr *expr, struct counts *out)
{
	struct attrs x = nested(expr), data;

	if (!is_text(x.by[NFTA_EXPR_NAME], "counter"))
		return;
	data = nested(x.by[NFTA_EXPR_DATA]);
	out->packets += number(data.by[NFTA_COUNTER_PACKETS]);
	out->bytes += number(data.by[NFTA_COUNTER_BYTES]);
}

static int count_listed(const struct nlattr *a, void *data)
{
	if (mnl_attr_get_type(a) == NFTA_LIST_ELEM)
		count(a, data);
	return MNL_CB_OK;
}

struct elements {
	nft_wire_fn fn;
	void *arg;
};

static int on_element(const struct nlattr *a, void *data)
{
	struct attrs x = nested(a), key = nested(x.by[NFTA_SET_ELEM_KEY]);
	const struct nlattr *value = key.by[NFTA_DATA_VALUE];
	const struct elements *l = data;
	struct nft_wire_element el = {.expiration = number(x.by[NFTA_SET_ELEM_EXPIRATION])};
	struct counts c = {0};

	if (mnl_attr_get_type(a) != NFTA_LIST_ELEM || !value)
		return MNL_CB_OK;
	el.key = mnl_attr_get_payload(value);
	el.len = mnl_attr_get_payload_len(value);
	/* One expression stands alone, several in a list. */
	if (x.by[NFTA_SET_ELEM_EXPR])
		count(x.by[NFTA_SET_ELEM_EXPR], &c);
	else if (x.by[NFTA_SET_ELEM_EXPRESSIONS])
		(void)mnl_attr_parse_nested(x.by[NFTA_SET_ELEM_EXPRESSIONS], count_listed, &c);
	el.packets = c.packets;
	el.bytes = c.bytes;
	l->fn(&el, l->arg);
	return MNL_CB_OK;
}

void nft_wire_elements(const struct nlmsghdr *h, nft_wire_fn fn, void *arg)
{
	struct attrs x = of_message(h);
	struct elements l = {fn, arg};

	if (x.by[NFTA_SET_ELEM_LIST_ELEMENTS])
		(void)mnl_attr_parse_nested(x.by[NFTA_SET_ELEM_LIST_ELEMENTS], on_element, &l);
}

/* Type, length, value (nftnl_udata.h); what nft(8) and we write is the comment alone. */
static void read_comment(const struct nlattr *a, char out[NFT_COMMENT])
{
	const uint8_t *u = a ? mnl_attr_get_payload(a) : NULL;
	uint32_t len = a ? mnl_attr_get_payload_len(a) : 0;

	out[0] = '\0';
	if (!u)
		return;
	for (uint32_t at = 0; at + 2 <= len && at + 2 + u[at + 1] <= len; at += 2u + u[at + 1]) {
		if (u[at] != 0 || u[at + 1] > NFT_COMMENT - 1)
			continue;
		memcpy(out, u + at + 2, u[at + 1]);
		out[u[at + 1]] = '\0';
		return;
	}
}

void nft_wire_rule(const struct nlmsghdr *h, struct nft_wire_rule *out)
{
	struct attrs x = of_message(h);
	struct counts c = {0};

	out->handle = number(x.by[NFTA_RULE_HANDLE]);
	read_comment(x.by[NFTA_RULE_USERDATA], out->comment);
	if (x.by[NFTA_RULE_EXPRESSIONS])
		(void)mnl_attr_parse_nested(x.by[NFTA_RULE_EXPRESSIONS], count_listed, &c);
	out->packets = c.packets;
}
