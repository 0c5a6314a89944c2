/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the kernel for a table, all of one moment. */
#include "base/mem.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 20

struct dump {
	struct sys_nl nl;
	uint32_t family;
	const char *table;
	struct vf_ruleset *out;
	uint32_t generation;
	char why[SYS_NL_WHY];
};

static int on_message(const struct nlmsghdr *h, void *data)
{
	struct dump *d = data;

	nft_decode(h, d->family, d->table, d->out);
	return MNL_CB_OK;
}

static int on_generation(const struct nlmsghdr *h, void *data)
{
	struct dump *d = data;
	const struct nlattr *tb[NFTA_GEN_MAX + 1];

	if (h->nlmsg_len < mnl_nlmsg_size(sizeof(struct nfgenmsg)))
		return MNL_CB_OK;
	nft_message(h, tb, CL_ARRAY_LEN(tb));
	(void)nft_attr_u32(tb[NFTA_GEN_ID], &d->generation);
	return MNL_CB_OK;
}

static int generation(struct dump *d, uint32_t *out)
{
	char room[SYS_NL_SIZE];
	int err = sys_nl_ask(&d->nl,
		nftnl_nlmsg_build_hdr(room, NFT_MSG_GETGEN, NFPROTO_UNSPEC, 0, 0), on_generation, d,
		d->why);

	*out = d->generation;
	return err;
}

/* set: whose elements; NULL: everything of the kind. */
static int ask(struct dump *d, uint16_t type, const char *set)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = nftnl_nlmsg_build_hdr(room, type, (uint16_t)d->family, NLM_F_DUMP, 0);

	/* In rules, sets and elements attribute 1 limits a dump to a table. */
	if (type != NFT_MSG_GETTABLE && type != NFT_MSG_GETCHAIN)
		mnl_attr_put_strz(h, NFTA_RULE_TABLE, d->table);
	if (set)
		mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, set);
	return sys_nl_ask(&d->nl, h, on_message, d, d->why);
}

static int read_once(struct dump *d)
{
	int err = ask(d, NFT_MSG_GETTABLE, NULL);

	if (err || !d->out->there)
		return err;
	err = ask(d, NFT_MSG_GETCHAIN, NULL);
	if (!err)
		err = ask(d, NFT_MSG_GETSET, NULL);
	for (size_t i = 0; !err && i < d->out->nsets; i++)
		if (!d->out->sets[i].unknown)
			err = ask(d, NFT_MSG_GETSETELEM, d->out->sets[i].name);
	if (!err)
		err = ask(d, NFT_MSG_GETRULE, NULL);
	return err;
}

/* Gone or changed while it was read. */
static bool disturbed(int err)
{
	return err == EINTR || err == ENOENT || err == ENOBUFS;
}

static int read_all(struct dump *d, struct cl_err *e)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before = 0, after = 0;
		int err = generation(d, &before);

		vf_ruleset_release(d->out);
		if (!err)
			err = read_once(d);
		if (!err)
			err = generation(d, &after);
		if (!err && before == after)
			return 0;
		if (err && !disturbed(err))
			return sys_nl_fail(e, err, d->why, "read table '%s'", d->table);
	}
	(void)cl_fail(e, CL_EBUSY, "the packet filter changes faster than table '%s' can be read",
		d->table);
	return cl_fix(e, "ask again when nothing else changes it");
}

int nft_dump_read(uint32_t family, const char *table, struct vf_ruleset *out, struct cl_err *e)
{
	struct dump d = {.nl = SYS_NL_INIT, .family = family, .table = table, .out = out};
	int rc;

	if (eg_check_table(table, e) || sys_nl_open(&d.nl, NETLINK_NETFILTER, e))
		return -1;
	rc = read_all(&d, e);
	sys_nl_close(&d.nl);
	for (size_t i = 0; i < out->nsets; i++)
		vf_settle(&out->sets[i]);
	return rc;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_op(const struct vf_op *a, const struct vf_op *b)
{
	return a->kind == b->kind && a->field == b->field && a->offset == b->offset &&
	       a->len == b->len && a->what == b->what && a->from == b->from && a->to == b->to &&
	       a->invert == b->invert && a->verdict == b->verdict &&
	       !memcmp(a->a, b->a, sizeof(a->a)) && !memcmp(a->b, b->b, sizeof(a->b)) &&
	       (a->kind == VF_LOOKUP || same_text(a->name, b->name));
}

static bool same_chain(const struct vf_chain *a, const struct vf_chain *b)
{
	if (strcmp(a->name, b->name) != 0 || a->base != b->base || a->hook != b->hook ||
		a->priority != b->priority || a->policy_drop != b->policy_drop ||
		!same_text(a->type, b->type) || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].n != b->v[i].n)
			return false;
		for (size_t k = 0; k < a->v[i].n; k++)
			if (!same_op(&a->v[i].v[k], &b->v[i].v[k]))
				return false;
	}
	return true;
}

bool nft_dump_same(const struct vf_ruleset *a, const struct vf_ruleset *b)
{
	if (a->there != b->there || a->dormant != b->dormant || a->nchains != b->nchains)
		return false;
	for (size_t i = 0; i < a->nchains; i++) {
		const struct vf_chain *c = vf_chain(b, a->chains[i].name);

		if (!c || !same_chain(&a->chains[i], c))
			return false;
	}
	return true;
}
