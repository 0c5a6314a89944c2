/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/nft/nft_foreign.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/nft/nft_internal.h"

#include <string.h>

#define DEPTH 16 /* the kernel's own limit on jumps */

struct walk {
	const struct fw *f;
	const struct fw_chain *base;
	int flow;
	struct cl_strv *all, *some;
};

static const char *family_name(uint32_t family)
{
	return family == NFPROTO_IPV4 ? "ip" : family == NFPROTO_IPV6 ? "ip6" : "inet";
}

static void report(const struct walk *w, bool certain, const char *what)
{
	cleanup_free char *text = cl_asprintf(
		"%s %s %s (%s)", family_name(w->base->family), w->base->table, w->base->name, what);
	struct cl_strv *to = certain ? w->all : w->some;

	if (!cl_strv_has(to, text))
		cl_strv_add(to, text);
}

static bool walk(const struct walk *w, struct fw_chain *c, bool certain, int depth);

static bool visit(const struct walk *w, const char *chain, bool certain, int depth)
{
	struct fw_chain *c = fw_chain_named(w->f, w->base->family, w->base->table, chain);

	return !c || depth >= DEPTH || walk(w, c, certain, depth + 1);
}

/* What one outcome does: *over when no later rule sees the packet; the answer of walk. */
static bool step(const struct walk *w, const struct fw_chain *c, const struct fw_outcome *o,
	bool certain, int depth, bool *over)
{
	bool yes = o->match[w->flow] == FW_YES, falls;
	cleanup_free char *where = NULL;

	*over = yes;
	switch (o->what) {
	case FW_DROP:
	case FW_REJECT:
		where = cl_asprintf("%s in %s", o->what == FW_DROP ? "drop" : "reject", c->name);
		report(w, certain && yes, where);
		return false;
	case FW_RETURN:
		return true;
	case FW_JUMP:
		falls = visit(w, o->chain, certain && yes, depth);
		*over = yes && !falls;
		return falls;
	case FW_GOTO:
		return visit(w, o->chain, certain && yes, depth);
	case FW_ACCEPT:
	default:
		return false;
	}
}

/* Reports what may happen in the chain; true when a packet may come out at its end. */
static bool walk(const struct walk *w, struct fw_chain *c, bool certain, int depth)
{
	bool falls = true, over = false;

	if (c->walked[w->flow][certain])
		return c->falls[w->flow][certain];
	for (size_t i = 0; i < c->n && !over; i++) {
		if (c->v[i].match[w->flow] == FW_NO)
			continue;
		falls = step(w, c, &c->v[i], certain, depth, &over);
	}
	if (!over)
		falls = true;
	c->walked[w->flow][certain] = true;
	c->falls[w->flow][certain] = falls;
	return falls;
}

static void forget(const struct fw *f)
{
	for (size_t i = 0; i < f->nchains; i++)
		memset(f->chains[i].walked, 0, sizeof(f->chains[i].walked));
}

void nft_foreign_fix(const char *found, const char *pool, struct cl_buf *out)
{
	cleanup_strv struct cl_strv part = CL_STRV_INIT;
	const char *tables;

	cl_split(found, ' ', &part);
	if (part.n < 3)
		return;
	if (!strcmp(part.v[1], "firewalld")) {
		/* Its own tables are written anew at each reload. */
		cl_buf_addf(out,
			"firewall-cmd --permanent --zone=trusted --add-source=%s; "
			"firewall-cmd --reload",
			pool);
		return;
	}
	if (!strcmp(part.v[1], "filter") && !strcmp(part.v[2], "FORWARD")) {
		tables = !strcmp(part.v[0], "ip6") ? "ip6tables" : "iptables";
		cl_buf_addf(out,
			"%s -I FORWARD -i csbx-+ -j ACCEPT; %s -I FORWARD -o csbx-+ -m conntrack "
			"--ctstate ESTABLISHED,RELATED -j ACCEPT",
			tables, tables);
		return;
	}
	cl_buf_addf(out,
		"nft 'insert rule %s %s %s iifname \"csbx-*\" accept'; "
		"nft 'insert rule %s %s %s oifname \"csbx-*\" ct state established,related accept'",
		part.v[0], part.v[1], part.v[2], part.v[0], part.v[1], part.v[2]);
}

int nft_foreign_drops(struct cl_strv *all, struct cl_strv *some, struct cl_err *e)
{
	cleanup_strv struct cl_strv parts = CL_STRV_INIT;
	cleanup_fw struct fw f = {0};

	if (fw_read(&f, e))
		return -1;
	for (size_t i = 0; i < f.nchains; i++) {
		for (int flow = 0; f.chains[i].base && flow < FW_FLOWS; flow++) {
			struct walk w = {&f, &f.chains[i], flow, all, &parts};

			/* What a chain said was said about another base chain. */
			forget(&f);
			if (walk(&w, &f.chains[i], true, 0) && f.chains[i].policy_drop)
				report(&w, true, "policy drop");
		}
	}
	for (size_t i = 0; some && i < parts.n; i++)
		if (!cl_strv_has(all, parts.v[i]) && !cl_strv_has(some, parts.v[i]))
			cl_strv_add(some, parts.v[i]);
	return 0;
}
