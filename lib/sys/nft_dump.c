/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the kernel for a table, all of one moment. */
#include "base/mem.h"
#include "sys/nft_dump.h"
#include "sys/nft_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>

#define TRIES 20

struct dump {
	struct sys_nl nl;
	const char *table;
	struct vf_ruleset *out;
	uint32_t generation;
	char why[SYS_NL_WHY];
};

static int on_message(const struct nlmsghdr *h, void *data)
{
	struct dump *d = data;

	nft_decode(h, d->table, d->out);
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
	struct nlmsghdr *h = nftnl_nlmsg_build_hdr(room, type, NFPROTO_INET, NLM_F_DUMP, 0);

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

int nft_dump_read(const char *table, struct vf_ruleset *out, struct cl_err *e)
{
	struct dump d = {.nl = SYS_NL_INIT, .table = table, .out = out};
	int rc;

	if (eg_check_table(table, e) || sys_nl_open(&d.nl, NETLINK_NETFILTER, e))
		return -1;
	rc = read_all(&d, e);
	sys_nl_close(&d.nl);
	for (size_t i = 0; i < out->nsets; i++)
		vf_settle(&out->sets[i]);
	return rc;
}
