/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the runs share on the host: forwarding of the interfaces behind them, and NAT. */
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "sys/net/net_internal.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define OPENED ".forwarding"
/* The switch of one interface, by family. A packet needs it where it comes in. */
#define SWITCH4 "ipv4/conf/%s/forwarding"
#define SWITCH6 "ipv6/conf/%s/force_forwarding"

bool net_forwards6(const char *bridge)
{
	cleanup_free char *key = cl_asprintf(SWITCH6, bridge);

	return net_sysctl_get("ipv6/conf/all/forwarding") == 1 || net_sysctl_get(key) >= 0;
}

/* --- other hubs of this machine --- */

void net_host_table(const struct net_dirs *d, char out[NET_HOST_NAME])
{
	char hex[CL_SHA256_HEX];

	cl_sha256_hex(d->root, strlen(d->root), hex);
	(void)snprintf(out, NET_HOST_NAME, "%s%s%.8s", NET_HOST_TABLE,
		strcmp(d->root, NET_RUN_DIR) ? "_" : "", strcmp(d->root, NET_RUN_DIR) ? hex : "");
}

void net_lock_host(struct net_dirs *d)
{
	struct cl_err ignored;

	if (d->host >= 0 || sys_mkdirs(NET_RUN_DIR, 0755, &ignored))
		return;
	d->host = open(NET_RUN_DIR "/.host.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (d->host >= 0 && flock(d->host, LOCK_EX) && errno == EINTR)
		;
}

/* An empty chain of the table says "4 eth0": readers need not understand its rules. */
#define OPENED_CHAIN "opened-"

static int opened_by(const char *table, struct cl_strv *out, struct cl_err *e)
{
	cleanup_ruleset struct vf_ruleset r = VF_RULESET_INIT;

	if (nft_dump_read(NFPROTO_INET, table, &r, e))
		return -1;
	for (size_t k = 0; k < r.nchains; k++) {
		const char *name = r.chains[k].name;

		if (cl_starts(name, OPENED_CHAIN "4-") || cl_starts(name, OPENED_CHAIN "6-"))
			cl_strv_addf(out, "%c %s", name[sizeof(OPENED_CHAIN) - 1],
				name + sizeof(OPENED_CHAIN) + 1);
	}
	return 0;
}

/* What the tables of other hubs say that they switched on. */
static int opened_by_others(const struct net_dirs *d, struct cl_strv *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv tables = CL_STRV_INIT;
	char own[NET_HOST_NAME];

	net_host_table(d, own);
	if (nft_tables(NET_HOST_TABLE, &tables, e))
		return -1;
	for (size_t i = 0; i < tables.n; i++)
		if (strcmp(tables.v[i], own) != 0 && opened_by(tables.v[i], out, e))
			return -1;
	return 0;
}

/* --- what was switched on: one "4 eth0" a line --- */

static int opened_read(const struct net_dirs *d, struct cl_strv *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;

	if (sys_read_small(d->net, OPENED, 65536, &text, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	cl_split(text.p, '\n', &lines);
	for (size_t i = 0; i < lines.n; i++)
		if (strlen(lines.v[i]) > 2)
			cl_strv_add(out, lines.v[i]);
	return 0;
}

static int opened_write(const struct net_dirs *d, const struct cl_strv *l, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (!l->n) {
		if (unlinkat(d->net, OPENED, 0) && errno != ENOENT)
			return cl_fail_sys(
				e, CL_EOS, errno, "cannot remove '%s/net/" OPENED "'", d->root);
		return 0;
	}
	for (size_t i = 0; i < l->n; i++)
		cl_buf_addf(&text, "%s\n", l->v[i]);
	return sys_write_atomic(d->net, OPENED, text.p, text.len, &owner, e);
}

static char *switch_of(const char *opened)
{
	return *opened == '4' ? cl_asprintf(SWITCH4, opened + 2) : cl_asprintf(SWITCH6, opened + 2);
}

/* A host that was made a router since is left one. */
static bool routes_anyway(const char *opened)
{
	return net_sysctl_get(*opened == '4' ? "ipv4/conf/all/forwarding"
					     : "ipv6/conf/all/forwarding") == 1;
}

/* --- which interfaces --- */

/* Does the policy let anything through to the part of the net behind this route? */
static bool reaches(const struct eg_policy *p, const struct pol_prefix *dst)
{
	for (size_t i = 0; p && i < p->nrules; i++) {
		const struct eg_rule *r = &p->rules[i];
		const struct pol_prefix *both = dst;
		bool dropped = false;

		if (r->verdict != EG_ALLOW || r->local ||
			r->prefix.addr.family != dst->addr.family ||
			!pol_prefix_overlaps(&r->prefix, dst))
			continue;
		if (pol_prefix_holds(dst, &r->prefix))
			both = &r->prefix;
		for (size_t j = 0; !dropped && j < i; j++)
			dropped = p->rules[j].verdict == EG_DROP && !p->rules[j].nports &&
				  (p->rules[j].proto == EG_PROTO_ANY ||
					  p->rules[j].proto == r->proto) &&
				  p->rules[j].prefix.addr.family == dst->addr.family &&
				  pol_prefix_holds(&p->rules[j].prefix, both);
		if (!dropped)
			return true;
	}
	return !p;
}

static const char *name_of(const struct net_links *links, unsigned index)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->v[i].index == index)
			return links->v[i].name;
	return NULL;
}

/*
 * Adds "4 eth0" for each interface that replies come in by and that does not forward, or does
 * so for another hub.
 */
static int find_closed(struct sys_nl *nl, uint8_t family, const struct eg_policy *p,
	const struct cl_strv *others, struct cl_strv *out, struct cl_err *e)
{
	cleanup_routes struct net_routes routes = {0};
	cleanup_links struct net_links links = {0};

	if (net_routes(nl, family, &routes, e) || net_links(nl, &links, e))
		return -1;
	for (size_t i = 0; i < routes.n; i++) {
		const char *name = name_of(&links, routes.v[i].index);
		cleanup_free char *line = NULL, *key = NULL;

		if (!name || !strcmp(name, "lo") || cl_starts(name, "csbx-") ||
			!reaches(p, &routes.v[i].dst))
			continue;
		line = cl_asprintf("%u %s", family, name);
		key = switch_of(line);
		if (!routes_anyway(line) &&
			(net_sysctl_get(key) == 0 || cl_strv_has(others, line)) &&
			!cl_strv_has(out, line))
			cl_strv_add(out, line);
	}
	return 0;
}

/* --- the table --- */

/* Through an interface that was opened for replies comes nothing else. */
static void guard(struct nft_batch *b, const char *opened)
{
	uint8_t family = *opened == '4' ? 4 : 6;
	struct nft_rule r = nft_rule_begin(b, "forward");

	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, opened + 2);
	nft_nfproto(&r, family);
	nft_ct_state(&r, NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
	nft_counter(&r);
	nft_verdict(&r, NF_ACCEPT, NULL);
	nft_rule_end(&r, NULL);
	r = nft_rule_begin(b, "forward");
	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, opened + 2);
	nft_nfproto(&r, family);
	nft_counter(&r);
	nft_verdict(&r, NF_DROP, NULL);
	nft_rule_end(&r, "forwards answers only");
}

static void masquerade(struct nft_batch *b, const struct pol_prefix *pool)
{
	struct nft_rule r = nft_rule_begin(b, "postrouting");

	nft_address(&r, true, NFT_CMP_EQ, pool);
	nft_meta(&r, NFT_META_OIFNAME, NFT_REG_1);
	nft_cmp(&r, NFT_CMP_NEQ, "csbx-", 5);
	nft_counter(&r);
	nft_masquerade(&r);
	nft_rule_end(&r, NULL);
}

static int masquerade_pools(struct nft_batch *b, const struct net_states *all, struct cl_err *e)
{
	cleanup_strv struct cl_strv pools = CL_STRV_INIT;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pool && !cl_strv_has(&pools, all->v[i].pool))
			cl_strv_add(&pools, all->v[i].pool);
	for (size_t i = 0; i < pools.n; i++) {
		struct pol_prefix pool, pool6;

		if (net_pool_parse(pools.v[i], &pool, e))
			return -1;
		pool6 = net_ula_pool(&pool);
		masquerade(b, &pool);
		masquerade(b, &pool6);
	}
	return 0;
}

static int put_table(const struct net_dirs *d, struct nft_batch *b, const struct net_states *all,
	const struct cl_strv *opened, struct cl_err *e)
{
	char table[NET_HOST_NAME];

	net_host_table(d, table);
	nft_batch_table(b, NFPROTO_INET, table);
	nft_replace_table(b);
	nft_add_chain(b, "forward",
		&(struct nft_hook){.type = "filter", .hook = NF_INET_FORWARD, .priority = -1});
	nft_add_chain(b, "postrouting",
		&(struct nft_hook){.type = "nat", .hook = NF_INET_POST_ROUTING, .priority = 100});
	for (size_t i = 0; i < opened->n; i++) {
		cleanup_free char *chain =
			cl_asprintf(OPENED_CHAIN "%c-%s", *opened->v[i], opened->v[i] + 2);

		nft_add_chain(b, chain, NULL);
		guard(b, opened->v[i]);
	}
	return masquerade_pools(b, all, e);
}

/* --- open and close --- */

int net_host_plan(struct net_dirs *d, struct sys_nl *nl, const struct net_states *all,
	const struct eg_policy *policy, const struct net_state *run, struct cl_strv *opened,
	struct nft_batch *b, struct cl_err *e)
{
	cleanup_strv struct cl_strv before = CL_STRV_INIT, others = CL_STRV_INIT;

	net_lock_host(d);
	if (opened_read(d, &before, e) || opened_by_others(d, &others, e))
		return -1;
	for (size_t i = 0; i < before.n; i++)
		if (!routes_anyway(before.v[i]))
			cl_strv_add(opened, before.v[i]);
	if (find_closed(nl, 4, policy, &others, opened, e) ||
		(run->address6.family && find_closed(nl, 6, policy, &others, opened, e)))
		return -1;
	/* Recorded before they are on. */
	return put_table(d, b, all, opened, e) || opened_write(d, opened, e) ? -1 : 0;
}

int net_host_open(const struct net_state *run, const struct cl_strv *opened, struct cl_err *e)
{
	cleanup_free char *bridge = cl_asprintf(SWITCH6, run->bridge);

	for (size_t i = 0; i < opened->n; i++) {
		cleanup_free char *key = switch_of(opened->v[i]);

		if (net_sysctl_get(key) == 0 && net_sysctl(-1, key, "1", true, e))
			return -1;
	}
	if (!run->address6.family || net_sysctl_get("ipv6/conf/all/forwarding") == 1)
		return 0;
	return net_sysctl(-1, bridge, "1", false, e);
}

static bool any_pool(const struct net_states *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pool)
			return true;
	return false;
}

int net_host_put(const struct net_dirs *d, const struct net_states *all, struct nft_batch *b,
	struct cl_err *e)
{
	cleanup_strv struct cl_strv opened = CL_STRV_INIT;

	if (!any_pool(all))
		return 0;
	return opened_read(d, &opened, e) || put_table(d, b, all, &opened, e) ? -1 : 0;
}

int net_host_close(
	struct net_dirs *d, const struct net_states *left, struct nft_batch *b, struct cl_err *e)
{
	cleanup_strv struct cl_strv opened = CL_STRV_INIT, none = CL_STRV_INIT,
				    others = CL_STRV_INIT;
	char table[NET_HOST_NAME];

	if (any_pool(left))
		return 0;
	net_lock_host(d);
	if (opened_read(d, &opened, e) || (opened.n && opened_by_others(d, &others, e)))
		return -1;
	for (size_t i = 0; i < opened.n; i++) {
		cleanup_free char *key = switch_of(opened.v[i]);

		if (!routes_anyway(opened.v[i]) && !cl_strv_has(&others, opened.v[i]) &&
			net_sysctl(-1, key, "0", true, e))
			return -1;
	}
	net_host_table(d, table);
	nft_batch_table(b, NFPROTO_INET, table);
	nft_remove_table(b);
	return opened_write(d, &none, e);
}

int net_recover(const char *rundir, bool *left, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_strv struct cl_strv tables = CL_STRV_INIT, opened = CL_STRV_INIT,
				    said = CL_STRV_INIT;
	char own[NET_HOST_NAME];

	*left = false;
	d.root = cl_strdup(rundir ? rundir : NET_RUN_DIR);
	net_host_table(&d, own);
	if (nft_tables(NET_HOST_TABLE, &tables, e))
		return -1;
	*left = cl_strv_has(&tables, own);
	if (!*left)
		return 0;
	net_dirs_close(&d);
	if (net_dirs_open(&d, rundir, true, e) || opened_read(&d, &opened, e))
		return -1;
	if (opened.n)
		return 0;
	return opened_by(own, &said, e) || opened_write(&d, &said, e) ? -1 : 0;
}
