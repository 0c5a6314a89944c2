/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <net/if.h>

static int check_names(const char *table, const char *interface, struct cl_err *e)
{
	return eg_check_table(table, e) || (interface && eg_check_interface(interface, e)) ? -1 : 0;
}

void nft_replace_table(struct nft_batch *b)
{
	nft_add_table(b);
	nft_del_table(b);
	nft_add_table(b);
}

void nft_remove_table(struct nft_batch *b)
{
	nft_add_table(b);
	nft_del_table(b);
}

int nft_put_filter(struct nft_batch *b, const struct nft_filter *f, const struct eg_policy *p,
	struct cl_err *e)
{
	cleanup_blocked struct nft_blocked_list kept = NFT_BLOCKED_INIT;

	if (check_names(f->table, f->bridge, e))
		return -1;
	if (nft_blocked_read(f->table, NULL, 0, &kept, e) && e->code != CL_ENOTFOUND)
		return -1;
	nft_blocked_drop(&kept, f->fresh, CL_ARRAY_LEN(f->fresh));
	nft_batch_table(b, NFPROTO_INET, f->table);
	nft_replace_table(b);
	nft_build_filter(b, f, p, &kept);
	return 0;
}

int nft_apply(const struct nft_filter *f, const struct eg_policy *p, struct cl_err *e)
{
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	return nft_put_filter(&b, f, p, e) || nft_batch_send(&b, e) ? -1 : 0;
}

int nft_put_port(struct nft_batch *b, const struct nft_port *p, struct cl_err *e)
{
	if (check_names(p->table, p->device, e))
		return -1;
	/* The kernel's own word for it, ENOENT, is also that for a missing feature. */
	if (!if_nametoindex(p->device))
		return cl_fail(e, CL_ENOTFOUND, "there is no interface '%s'", p->device);
	nft_batch_table(b, NFPROTO_NETDEV, p->table);
	nft_replace_table(b);
	nft_build_port(b, p);
	return 0;
}

int nft_apply_port(const struct nft_port *p, struct cl_err *e)
{
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	return nft_put_port(&b, p, e) || nft_batch_send(&b, e) ? -1 : 0;
}

/*
 * One rule for each of n ranges: few make rules, many make maps, of prefixes when these have few
 * lengths.
 */
static int probe_filter(size_t n, bool many_lengths, struct cl_err *e)
{
	static const uint16_t ports[] = {80, 81, 443};
	struct eg_rule rules[2 * EG_LINEAR_RULES];
	const struct eg_policy p = {.rules = rules, .nrules = n};
	const struct nft_filter f = {.table = "cloop_probe",
		.bridge = "lo",
		.source4 = {.family = 4, .b = {10, 0, 0, 1}},
		.source6 = {.family = 6, .b = {0xfd, [15] = 1}},
		.masquerade = true};
	const struct nft_blocked_list none = NFT_BLOCKED_INIT;
	cleanup_batch struct nft_batch b;

	for (size_t i = 0; i < n; i++)
		rules[i] = (struct eg_rule){.verdict = EG_ALLOW,
			.prefix = {.addr = {.family = i % 2 ? 6 : 4, .b = {(uint8_t)(10 + 2 * i)}},
				.len = (uint8_t)(9 + (many_lengths ? i : 0))},
			.proto = EG_PROTO_TCP,
			.ports = ports,
			.nports = CL_ARRAY_LEN(ports),
			.reason = ""};
	nft_batch_begin(&b);
	nft_batch_table(&b, NFPROTO_INET, f.table);
	nft_add_table(&b);
	nft_build_filter(&b, &f, &p, &none);
	return nft_batch_try(&b, e);
}

static int probe_port(struct cl_err *e)
{
	const struct nft_port p = {.table = "cloop_probe",
		.device = "lo",
		.source4 = {.family = 4, .b = {10, 0, 0, 1}},
		.source6 = {.family = 6, .b = {0xfd, [15] = 1}}};
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	nft_batch_table(&b, NFPROTO_NETDEV, p.table);
	nft_add_table(&b);
	nft_build_port(&b, &p);
	return nft_batch_try(&b, e);
}

enum nft_state nft_probe(struct cl_err *e)
{
	if (!probe_filter(2, false, e) && !probe_filter(2 * EG_LINEAR_RULES, false, e) &&
		!probe_filter(2 * EG_LINEAR_RULES, true, e) && !probe_port(e))
		return NFT_USABLE;
	if (e->code == CL_EDENIED)
		return NFT_NO_PERMISSION;
	return e->code == CL_EUNAVAIL ? NFT_NO_KERNEL : NFT_BROKEN;
}

static int remove_table(uint32_t family, const char *table, struct cl_err *e)
{
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	if (check_names(table, NULL, e))
		return -1;
	nft_batch_table(&b, family, table);
	nft_remove_table(&b);
	return nft_batch_send(&b, e);
}

int nft_remove(const char *table, struct cl_err *e)
{
	return remove_table(NFPROTO_INET, table, e);
}

int nft_remove_port(const char *table, struct cl_err *e)
{
	return remove_table(NFPROTO_NETDEV, table, e);
}
