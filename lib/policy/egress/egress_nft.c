/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ruleset, as text for nft(8). lib/sys/nft.c installs the same one over netlink: what
 * is written here holds for both, and t/ compares `nft -j list table` of the two. Order
 * of sets, chains and rules is part of it. B is the bridge, S4 and S6 the sandbox's own
 * addresses; [in brackets]: only when asked for.
 *
 *   add table inet T; delete table inet T		the replace: one transaction
 *   table inet T
 *     set blocked4 { type ipv4_addr . ipv4_addr . inet_proto . inet_service; flags dynamic,timeout;
 *                    size EG_BLOCKED_SIZE; timeout EG_BLOCKED_SECONDS; }
 *     set blocked6	the same with ipv6_addr
 *     set since4, since6	the same two again
 *    [map allowed4 { type ipv4_addr : verdict; flags interval; elements = {
 *                    LO-HI : accept | goto allowN, ... }; }	with maps
 *     or where that costs a packet less (egress_lookup.h), for each length L of prefixes, ascending
 *     map allowed4_L { type ipv4_addr : verdict; size as many as there are; elements = {
 *                    PREFIX : accept | goto allowN | goto allowed4_LONGER, ... }; }
 *      or, where all of a length say the same,
 *     set allowed4_L { type ipv4_addr; size as many as there are; elements = { PREFIX, ... }; }
 *     map allowed6	the same with ipv6_addr]
 *
 *     chain forward	type filter hook forward priority 0; policy accept;
 *       ct state established,related counter accept				without sources
 *      [ip saddr S4 ct state established,related counter accept		 with S4
 *       ip6 saddr S6 ct state established,related counter accept		 with S6]
 *       oifname B goto inbound				also from B to B: a peer, E11
 *      [SOURCES
 *       ct state established,related counter accept]
 *       ct state invalid iifname B counter drop
 *       goto outbound
 *     chain input	type filter hook input priority 0; policy accept;
 *       iifname != B return comment EG_SAY_FOREIGN
 *       icmpv6 type { 133, 135, 136 } ip6 hoplimit 255 counter accept comment EG_SAY_NEIGHBOUR
 *       icmpv6 type { 131, 132, 143 } counter drop comment EG_SAY_LISTENER
 *      [SOURCES]
 *       ct state established,related counter accept
 *       ct state invalid iifname B counter drop
 *       goto outbound | tohost			tohost where the policy opens the public Internet
 *     chain output	type filter hook output priority 0; policy accept;
 *       oifname != B return comment EG_SAY_FOREIGN
 *       icmpv6 type { 134, 135, 136 } ip6 hoplimit 255 counter accept comment EG_SAY_NEIGHBOUR
 *       goto inbound
 *
 *     SOURCES
 *       ip saddr != S4 iifname B counter drop comment EG_SAY_SOURCE		with S4
 *       meta nfproto ipv4 iifname B counter drop comment EG_SAY_SOURCE		S6 alone is given
 *       ip6 saddr != fe80::/10 ip6 saddr != S6 iifname B counter drop comment EG_SAY_SOURCE
 *       ip6 saddr != fe80::/10 iifname B counter drop comment EG_SAY_SOURCE	S4 alone is given
 *
 *     chain outbound					new: from the sandbox, and what passes by
 *       what the flat form of the policy allows (without the local rules), as rules or,
 *       where there would be more than EG_LINEAR_RULES (egress_maps.h; or, where one lookup
 *       is enough, EG_FEW_RULES), by maps:
 *         rules: for each interval that allows something, IPv4 first, ascending
 *           MATCH PORTS counter accept comment "<eg_comment(reason)>"	for TCP, UDP, the rest
 *           MATCH counter accept comment ...				for every protocol at once
 *           MATCH    ip daddr P | ip daddr LO-HI | ip6 ... | meta nfproto ipv4|ipv6 for all
 *           PORTS    tcp|udp dport N | N-M | { N, M-O, ... } | meta l4proto tcp|udp for every
 *                    port | for the rest meta l4proto != { 6, 17 } [th dport ...]
 *         maps:
 *           ip daddr vmap @allowed4, or for the lengths of the chain
 *           ip daddr & MASK vmap @allowed4_L | ip daddr & MASK == @allowed4_L accept | goto ...
 *           or where all of a length are for up to EG_DIRECT_RULES ports, for each of these
 *           PORTS ip daddr & MASK == @allowed4_L accept
 *           ip6 daddr vmap @allowed6	the same
 *       iifname B counter goto denied comment EG_SAY_DEFAULT
 *    [chain allowed4_L		for each length that a half of longer ones begins with, then for IPv6
 *       ip daddr & MASK vmap @allowed4_L ...		the lengths of that half
 *       iifname B counter goto denied comment EG_SAY_DEFAULT]
 *    [chain allowN			with maps: one for each class that is gone to, in their order
 *       PORTS accept			for TCP, UDP, the rest; up to three ports a rule each, downwards
 *       iifname B counter goto denied comment EG_SAY_DEFAULT]
 *    [chain tohost			with the public Internet: from the sandbox to the host
 *       as outbound, of the flat form of what is named alone, and for EG_SAY_DEFAULT
 *       EG_SAY_HOST; its maps are named4 and named6, behind the others, its classes namedN]
 *     chain inbound					to the sandbox
 *       ct state established,related counter accept
 *       ct state invalid counter drop
 *       iifname B icmpv6 type { 131, 132, 133, 135, 136, 143 } counter drop comment EG_SAY_LINK
 *       iifname B counter goto denied comment EG_SAY_PEER
 *       meta l4proto tcp counter reject with tcp reset comment EG_SAY_INTO
 *       counter reject with icmpx admin-prohibited comment EG_SAY_INTO
 *     chain denied					counted (E4), then refused (E3)
 *       meta l4proto PORTED update @blocked4 { ip saddr . ip daddr . meta l4proto . th dport counter }
 *                           add @since4 { the same key } goto refused
 *       meta l4proto PORTED ... blocked6, since6: ip6 saddr . ip6 daddr . meta l4proto . th dport
 *       meta l4proto != PORTED ... blocked4, since4: ip saddr . ip daddr . meta l4proto . 0
 *       meta l4proto != PORTED ... blocked6, since6: ip6 saddr . ip6 daddr . meta l4proto . 0
 *       counter goto refused comment EG_SAY_FULL
 *     chain refused
 *       meta l4proto tcp counter reject with tcp reset
 *       counter reject with icmpx admin-prohibited
 *    [chain postrouting	type nat hook postrouting priority 100; policy accept;
 *       ip saddr S4 oifname != B counter masquerade				with S4
 *       ip6 saddr S6 oifname != B counter masquerade				with S6]
 *
 * A silent policy has `counter drop` (and the same comment, where there is one) for each
 * pair of reject rules. Expressions are those of `nft --debug=netlink`: `ip` and `ip6`
 * load meta nfproto first and compare it (once a rule), `tcp`, `udp` and `icmpv6` meta
 * l4proto after that, an address prefix of whole bytes is a payload load of that many
 * bytes and a cmp, another one a full load, bitwise and cmp; sets in braces are anonymous
 * and constant; a comment is userdata type 0. A map's elements are the start of an interval
 * with its verdict and the address behind its end with NFT_SET_ELEM_INTERVAL_END, which is
 * left out behind the last address (then the start carries userdata type 1 with
 * SET_ELEM_F_INTERVAL_OPEN); before a first interval that does not start at 0 stands an end
 * at 0. A set of port ranges has the same elements. A map or set of prefixes has the first
 * address of each, and `& MASK` is a bitwise, which the mask of a whole address leaves out.
 *
 * Why so: the host's own addresses are judged as any other (E11), but they are not the
 * public Internet, wherever they lie: what listens there was not meant for sandboxes. Where
 * that makes no difference forward and input share one chain, so that a rule stands once.
 * Neighbour discovery is for the host alone: it
 * is accepted at the input hook, and with a hop limit of 255 it never was forwarded
 * (RFC 4861 7.1). Listener reports, and neighbour discovery that a bridge floods to the
 * other sandboxes, are the kernel's own talk: dropped, and not counted as an attempt of the
 * workload. Established traffic passes before the rules, answers to refused packets with it.
 * Whose packet it is costs the most to ask (60 ns for the name of an interface, where a rule of
 * another kind takes 7 to 25), so it is asked last: what is let through is let through whoever
 * sent it, for that is what would become of a foreign packet anyway, and what is not is refused
 * only to the sandbox. What comes with the sandbox's own address likewise, established, before
 * its source is judged.
 * What is not allowed needs no rule, so that rules are few or a map costs the same whatever
 * the policy; why something was refused is said by the policy, which is kept elsewhere. And
 * what is missing is closed: when a table is replaced, the kernel (seen on 6.18) has the new
 * rules look into a new map some moments before it has its elements, about 100 ns a range. An
 * IPv4-mapped destination is no IPv6 address of anybody's, and closed (flat.h).
 * The sets keep the source, because several sandboxes may share a bridge. An element of
 * blocked4 is kept for a while after the last packet, one of since4 after the first: so both
 * times are known, and nobody has to listen. PORTED is { 6, 17, 33, 132, 136 }. A set that is
 * full ends the rule, and what it has no room for is counted as a whole.
 *
 * The namespace form: no B and no brackets; the three chains have policy drop and hold
 *   output	icmpv6 type { 133, 135, 136 } ... accept; { 131, 132, 143 } drop; goto outbound
 *   input	iifname "lo" counter accept; icmpv6 type { 134, 135, 136 } ... accept; goto inbound
 *   forward	counter drop comment EG_SAY_DEFAULT
 * outbound holds the local rules too and begins with
 *   ct state established,related counter accept; ct state invalid counter drop
 * No rule is about B.
 */
#include "policy/egress/egress_internal.h"
#include "policy/egress/egress_lookup.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define PORTED "{ tcp, udp, dccp, sctp, udplite }"

static void chain(struct cl_buf *b, const char *name, const char *hook, const char *policy)
{
	cl_buf_addf(b, "\n\tchain %s {\n", name);
	if (hook)
		cl_buf_addf(b, "\t\ttype filter hook %s priority 0; policy %s;\n", hook, policy);
}

static void line(struct cl_buf *b, const char *text)
{
	cl_buf_addf(b, "\t\t%s\n", text);
}

static void end(struct cl_buf *b)
{
	cl_buf_adds(b, "\t}\n");
}

static void blocked_set(struct cl_buf *b, const char *name, int version, bool first)
{
	cl_buf_addf(b,
		"%s\tset %s%d {\n"
		"\t\ttype ipv%d_addr . ipv%d_addr . inet_proto . inet_service\n"
		"\t\tsize %d\n"
		"\t\tflags dynamic,timeout\n"
		"\t\ttimeout %ds\n"
		"\t}\n",
		first ? "" : "\n", name, version, version, version, EG_BLOCKED_SIZE,
		EG_BLOCKED_SECONDS);
}

static void blocked_sets(struct cl_buf *b)
{
	blocked_set(b, "blocked", 4, true);
	blocked_set(b, "blocked", 6, false);
	blocked_set(b, "since", 4, false);
	blocked_set(b, "since", 6, false);
}

static void neighbours(struct cl_buf *b, const char *first)
{
	cl_buf_addf(b,
		"\t\ticmpv6 type { %s, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 "
		"counter accept comment \"" EG_SAY_NEIGHBOUR "\"\n",
		first);
}

static void listeners(struct cl_buf *b)
{
	line(b, "icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } "
		"counter drop comment \"" EG_SAY_LISTENER "\"");
}

/* Only the sandbox's own address may be the source (E11). */
static void sources(const struct eg_nft *f, struct cl_buf *b)
{
	char a[POL_ADDR_TEXT];

	if (f->source4.family) {
		pol_addr_text(&f->source4, a);
		cl_buf_addf(b, "\t\tip saddr != %s ", a);
	} else {
		cl_buf_adds(b, "\t\tmeta nfproto ipv4 ");
	}
	cl_buf_addf(b,
		"iifname \"%s\" counter drop comment \"" EG_SAY_SOURCE
		"\"\n\t\tip6 saddr != fe80::/10 ",
		f->bridge);
	if (f->source6.family) {
		pol_addr_text(&f->source6, a);
		cl_buf_addf(b, "ip6 saddr != %s ", a);
	}
	cl_buf_addf(b, "iifname \"%s\" counter drop comment \"" EG_SAY_SOURCE "\"\n", f->bridge);
}

static void own_established(const char *ip, const struct pol_addr *own, struct cl_buf *b)
{
	char a[POL_ADDR_TEXT];

	if (!own->family)
		return;
	pol_addr_text(own, a);
	cl_buf_addf(b, "\t\t%s saddr %s " EG_ESTABLISHED "\n", ip, a);
}

static void invalid(const char *bridge, struct cl_buf *b)
{
	cl_buf_addf(b, "\t\tct state invalid iifname \"%s\" counter drop\n", bridge);
}

static void forward(const struct eg_nft *f, struct cl_buf *b)
{
	bool any = f->source4.family || f->source6.family;

	chain(b, "forward", "forward", "accept");
	if (!any)
		line(b, EG_ESTABLISHED);
	own_established("ip", &f->source4, b);
	own_established("ip6", &f->source6, b);
	cl_buf_addf(b, "\t\toifname \"%s\" goto inbound\n", f->bridge);
	if (any) {
		sources(f, b);
		line(b, EG_ESTABLISHED);
	}
	invalid(f->bridge, b);
	line(b, "goto outbound");
	end(b);
}

static void bridge_hooks(const struct eg_nft *f, bool to_host, struct cl_buf *b)
{
	forward(f, b);
	chain(b, "input", "input", "accept");
	cl_buf_addf(b, "\t\tiifname != \"%s\" return comment \"" EG_SAY_FOREIGN "\"\n", f->bridge);
	neighbours(b, "nd-router-solicit");
	listeners(b);
	if (f->source4.family || f->source6.family)
		sources(f, b);
	line(b, EG_ESTABLISHED);
	invalid(f->bridge, b);
	cl_buf_addf(b, "\t\tgoto %s\n", to_host ? eg_to_host.chain : eg_leaving.chain);
	end(b);
	chain(b, "output", "output", "accept");
	cl_buf_addf(b, "\t\toifname != \"%s\" return comment \"" EG_SAY_FOREIGN "\"\n", f->bridge);
	neighbours(b, "nd-router-advert");
	line(b, "goto inbound");
	end(b);
}

static void namespace_hooks(struct cl_buf *b)
{
	chain(b, "output", "output", "drop");
	neighbours(b, "nd-router-solicit");
	listeners(b);
	line(b, "goto outbound");
	end(b);
	chain(b, "input", "input", "drop");
	line(b, "iifname \"lo\" counter accept");
	neighbours(b, "nd-router-advert");
	line(b, "goto inbound");
	end(b);
	chain(b, "forward", "forward", "drop");
	line(b, "counter drop comment \"" EG_SAY_DEFAULT "\"");
	end(b);
}

static void refuse(bool silent, const char *comment, struct cl_buf *b)
{
	const char *before = comment ? " comment \"" : "", *after = comment ? "\"" : "";

	if (!comment)
		comment = "";
	if (silent) {
		cl_buf_addf(b, "\t\tcounter drop%s%s%s\n", before, comment, after);
		return;
	}
	cl_buf_addf(b, "\t\tmeta l4proto tcp counter reject with tcp reset%s%s%s\n", before,
		comment, after);
	cl_buf_addf(b, "\t\tcounter reject with icmpx admin-prohibited%s%s%s\n", before, comment,
		after);
}

/* What comes from the same bridge: another sandbox. */
static void peers(const char *bridge, struct cl_buf *b)
{
	cl_buf_addf(b,
		"\t\tiifname \"%s\" icmpv6 type { mld-listener-report, mld-listener-done, "
		"nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, "
		"mld2-listener-report } counter drop comment \"" EG_SAY_LINK "\"\n",
		bridge);
	cl_buf_addf(
		b, "\t\tiifname \"%s\" counter goto denied comment \"" EG_SAY_PEER "\"\n", bridge);
}

static void record(int version, bool has_port, struct cl_buf *b)
{
	const char *ip = version == 4 ? "ip" : "ip6", *port = has_port ? "th dport" : "0";

	cl_buf_addf(b,
		"\t\tmeta l4proto %s" PORTED
		" update @blocked%d { %s saddr . %s daddr . meta l4proto . %s counter } "
		"add @since%d { %s saddr . %s daddr . meta l4proto . %s } goto refused\n",
		has_port ? "" : "!= ", version, ip, ip, port, version, ip, ip, port);
}

static void inbound_and_denied(const struct eg_policy *p, const struct eg_nft *f, struct cl_buf *b)
{
	chain(b, "inbound", NULL, NULL);
	eg_states_text(b);
	if (f->bridge)
		peers(f->bridge, b);
	refuse(p->silent, EG_SAY_INTO, b);
	end(b);
	chain(b, "denied", NULL, NULL);
	for (int i = 0; i < 4; i++)
		record(i % 2 ? 6 : 4, i < 2, b);
	line(b, "counter goto refused comment \"" EG_SAY_FULL "\"");
	end(b);
	chain(b, "refused", NULL, NULL);
	refuse(p->silent, NULL, b);
	end(b);
}

static void masquerade(const struct eg_nft *f, struct cl_buf *b)
{
	char a[POL_ADDR_TEXT];

	cl_buf_adds(b, "\n\tchain postrouting {\n"
		       "\t\ttype nat hook postrouting priority 100; policy accept;\n");
	if (f->source4.family) {
		pol_addr_text(&f->source4, a);
		cl_buf_addf(
			b, "\t\tip saddr %s oifname != \"%s\" counter masquerade\n", a, f->bridge);
	}
	if (f->source6.family) {
		pol_addr_text(&f->source6, a);
		cl_buf_addf(
			b, "\t\tip6 saddr %s oifname != \"%s\" counter masquerade\n", a, f->bridge);
	}
	end(b);
}

static void head(const struct eg_policy *p, const struct eg_nft *f, struct cl_buf *b)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	cl_buf_addf(b, "# cloop sandbox egress filter \u2014 mode %s\n", eg_mode_name(p->mode));
	cl_buf_addf(b, "# generated by cloop egress firewall, for %s%s; load with: nft -f FILE\n",
		f->bridge ? "bridge " : "a network namespace of the sandbox's own",
		f->bridge ? f->bridge : "");
	for (size_t i = 0; i < p->warnings.n; i++) {
		cl_buf_reset(&text);
		eg_clean(p->warnings.v[i], "\\", &text);
		eg_wrap(text.p, "# WARNING: ", "# WARNING: ", 74, b);
	}
	cl_buf_addf(b, "\nadd table inet %s\ndelete table inet %s\ntable inet %s {\n", f->table,
		f->table, f->table);
}

int eg_render_nft_form(
	const struct eg_policy *p, const struct eg_nft *f, struct cl_buf *out, struct cl_err *e)
{
	cleanup_flat struct flat flat = FLAT_INIT, named = FLAT_INIT;
	cleanup_maps struct eg_maps leaving = EG_MAPS_INIT, to_named = EG_MAPS_INIT;
	bool to_host = f->bridge && eg_has_internet(p);

	if (eg_check_table(f->table, e) || (f->bridge && eg_check_interface(f->bridge, e)))
		return -1;
	flat_build(p, f->bridge != NULL, &flat);
	eg_maps_make(&flat, &leaving);
	if (to_host) {
		flat_build_named(p, &named);
		eg_maps_make(&named, &to_named);
	}
	head(p, f, out);
	blocked_sets(out);
	eg_maps_text(&eg_leaving, &flat, &leaving, out);
	eg_maps_text(&eg_to_host, &named, &to_named, out);
	if (f->bridge)
		bridge_hooks(f, to_host, out);
	else
		namespace_hooks(out);
	eg_judging_text(&eg_leaving, f->bridge, &flat, &leaving, out);
	if (to_host)
		eg_judging_text(&eg_to_host, f->bridge, &named, &to_named, out);
	inbound_and_denied(p, f, out);
	if (f->bridge && f->masquerade)
		masquerade(f, out);
	cl_buf_adds(out, "}\n");
	return 0;
}

int eg_render_nft(const struct eg_policy *p, const char *table, const char *bridge,
	struct cl_buf *out, struct cl_err *e)
{
	return eg_render_nft_form(p, &(struct eg_nft){.table = table, .bridge = bridge}, out, e);
}
