/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random rulesets, interpreted for all packets at once, against an interpreter of single
 * packets that works on bytes as a kernel does; and against what the policy says of them.
 */
#include "unit.h"
#include "verify-random.h"

#include <stdlib.h>
#include <string.h>

/* --- one packet --- */

struct packet {
	uint8_t family;
	char iif[16], oif[16];
	uint8_t proto;
	uint32_t state;
	uint8_t ip[40], behind[4];
};

static struct packet random_packet(void)
{
	struct packet p = {.family = pick(2) ? 4 : 6};

	(void)snprintf(p.iif, sizeof(p.iif), "%s", names[pick(4)]);
	(void)snprintf(p.oif, sizeof(p.oif), "%s", names[pick(4)]);
	p.proto = protos[pick(5)];
	p.state = states[pick(5)];
	address(p.ip + (p.family == 4 ? 12 : 8), p.family);
	address(p.ip + (p.family == 4 ? 16 : 24), p.family);
	p.ip[p.family == 4 ? 8 : 7] = (uint8_t)(pick(2) ? 255 : 64);
	if (p.family == 4)
		p.ip[9] = p.proto;
	p.behind[0] = types[pick(5)];
	p.behind[1] = (uint8_t)pick(2);
	p.behind[3] = (uint8_t)pick(6);
	return p;
}

static void load(const struct packet *p, const struct vf_op *op, uint8_t *to)
{
	memset(to, 0, 4 * ((op->len + 3) / 4));
	switch (op->field) {
	case VF_IIF:
		memcpy(to, p->iif, 16);
		break;
	case VF_OIF:
		memcpy(to, p->oif, 16);
		break;
	case VF_FAMILY:
		*to = p->family == 4 ? 2 : 10;
		break;
	case VF_PROTO:
		*to = p->proto;
		break;
	case VF_STATE:
		memcpy(to, &p->state, 4);
		break;
	case VF_NETWORK:
		memcpy(to, p->ip + op->offset, op->len);
		break;
	case VF_TRANSPORT:
		memcpy(to, p->behind + op->offset, op->len);
		break;
	case VF_OPAQUE:
	case VF_DATA:
	case VF_ETHERTYPE:
	default:
		abort();
	}
}

static bool compares(uint32_t what, int c)
{
	return what == VF_EQ   ? !c
	       : what == VF_NE ? c != 0
	       : what == VF_LT ? c < 0
	       : what == VF_LE ? c <= 0
	       : what == VF_GT ? c > 0
			       : c >= 0;
}

static const struct vf_element *element(const struct vf_set *s, const uint8_t *key)
{
	flat_u128 x = vf_number(key, s->key_len);

	for (size_t i = 0; i < s->n; i++)
		if (x >= s->v[i].lo && x <= s->v[i].hi)
			return &s->v[i];
	return s->catchall ? &s->rest : NULL;
}

/* What a rule says: a verdict with its chain, or VF_CONTINUE. */
static uint32_t rule_says(const struct vf_ruleset *rs, const struct vf_rule *r,
	const struct packet *p, const char **chain)
{
	uint8_t reg[4 * VF_REGS + 16] = {0};

	for (size_t i = 0; i < r->n; i++) {
		const struct vf_op *op = &r->v[i];
		uint8_t *from = reg + 4 * op->from, *to = reg + 4 * op->to;
		const struct vf_element *e;

		switch (op->kind) {
		case VF_LOAD:
			load(p, op, to);
			break;
		case VF_BITWISE:
			for (uint32_t k = 0; k < op->len; k++)
				to[k] = (from[k] & op->a[k]) ^ op->b[k];
			break;
		case VF_CMP:
			if (!compares(op->what, memcmp(from, op->a, op->len)))
				return VF_CONTINUE;
			break;
		case VF_RANGE:
			if ((memcmp(from, op->a, op->len) >= 0 &&
				    memcmp(from, op->b, op->len) <= 0) == op->invert)
				return VF_CONTINUE;
			break;
		case VF_LOOKUP:
			e = element(vf_set(rs, op->name), from);
			if (op->verdict) {
				*chain = e ? e->chain : NULL;
				return e ? e->what : (uint32_t)VF_CONTINUE;
			}
			if ((e != NULL) == op->invert)
				return VF_CONTINUE;
			break;
		case VF_VERDICT:
			*chain = op->name;
			return op->what;
		case VF_NOTHING:
		case VF_MAYBE:
		case VF_UNKNOWN:
		default:
			break;
		}
	}
	return VF_CONTINUE;
}

static uint32_t chain_says(
	const struct vf_ruleset *rs, const struct vf_chain *c, const struct packet *p)
{
	for (size_t i = 0; i < c->n; i++) {
		const char *to = NULL;
		uint32_t v = rule_says(rs, &c->v[i], p, &to);

		if (v == VF_JUMP) {
			v = chain_says(rs, vf_chain(rs, to), p);
			if (v == VF_RETURN)
				continue;
			return v;
		}
		if (v == VF_GOTO)
			return chain_says(rs, vf_chain(rs, to), p);
		if (v == VF_RESET && p->proto != 6)
			return VF_DROP;
		if (v != VF_CONTINUE)
			return v;
	}
	return VF_RETURN;
}

static uint32_t hook_says(const struct vf_ruleset *rs, enum vf_hook hook, const struct packet *p)
{
	for (size_t i = 0; i < rs->nchains; i++) {
		uint32_t v;

		if (!rs->chains[i].base || rs->chains[i].hook != hook)
			continue;
		v = chain_says(rs, &rs->chains[i], p);
		if (v == VF_RETURN)
			v = rs->chains[i].policy_drop ? VF_DROP : VF_ACCEPT;
		if (v != VF_ACCEPT)
			return v;
	}
	return VF_ACCEPT;
}

/* --- what the policy says of it, at the forward hook --- */

static struct eg_policy policy;

static uint32_t refused(const struct packet *p)
{
	return policy.silent ? VF_DROP : p->proto == 6 ? VF_RESET : VF_PROHIBITED;
}

static uint32_t wanted(const struct packet *p)
{
	struct pol_addr to = {.family = p->family};
	bool in = !strcmp(p->iif, "br0"), out = !strcmp(p->oif, "br0");
	uint8_t t = p->behind[0];

	memcpy(to.b, p->ip + (p->family == 4 ? 16 : 24), p->family == 4 ? 4 : 16);
	if (!in && !out)
		return VF_ACCEPT;
	if (p->state == 2 || p->state == 4)
		return VF_ACCEPT;
	if (p->state == 1)
		return VF_DROP;
	if (out && in && p->family == 6 && p->proto == 58 && (t == 133 || t == 135 || t == 143))
		return VF_DROP;
	if (out)
		return refused(p);
	return eg_evaluate(&policy, &to, (uint16_t)(p->behind[2] << 8 | p->behind[3]),
		       p->proto == 6    ? EG_PROTO_TCP
		       : p->proto == 17 ? EG_PROTO_UDP
					: EG_PROTO_ANY,
		       true)
				       .verdict == EG_ALLOW
		       ? VF_ACCEPT
		       : refused(p);
}

/* --- both --- */

static bool in_cells(const struct vf_report *r, const struct vf_difference *d, int dim, flat_u128 x)
{
	int half = flat_half(d->family);

	for (size_t i = 0; i < r->ncells[half][dim]; i++)
		if (x >= r->cells[half][dim][i].lo && x <= r->cells[half][dim][i].hi)
			return d->cells[dim] >> i & 1;
	return false;
}

/* The cell with the longest name that the interface's begins with: itself, or a pattern. */
static bool in_names(
	const struct vf_report *r, const struct vf_difference *d, int dim, const char *name)
{
	int half = flat_half(d->family);
	size_t best = 0, len = 0;

	for (size_t i = 1; i + 1 < r->ncells[half][dim]; i++) {
		const char *cell = r->cells[half][dim][i].name;
		size_t n = strlen(cell);

		if (!strcmp(cell, name) || (n > len && n == 2 && !strncmp(cell, name, n))) {
			best = i;
			len = strcmp(cell, name) ? n : 16;
		}
	}
	return d->cells[dim] >> best & 1;
}

static bool holds(const struct vf_report *r, const struct vf_difference *d, const struct packet *p)
{
	bool v4 = p->family == 4;
	flat_u128 to = vf_number(p->ip + (v4 ? 16 : 24), v4 ? 4 : 16);
	uint16_t port = (uint16_t)(p->behind[2] << 8 | p->behind[3]);
	const struct flat_class *c;
	bool open = false;

	if (d->hook != VF_FORWARD || d->family != p->family ||
		!in_cells(r, d, VF_D_PROTO, p->proto) || !in_cells(r, d, VF_D_STATE, p->state) ||
		!in_names(r, d, VF_D_IIF, p->iif) || !in_names(r, d, VF_D_OIF, p->oif) ||
		!in_cells(r, d, VF_D_SOURCE, vf_number(p->ip + (v4 ? 12 : 8), v4 ? 4 : 16)) ||
		!in_cells(r, d, VF_D_HEAD, vf_number(p->behind, 2)) ||
		!in_cells(r, d, VF_D_HOPS, p->ip[v4 ? 8 : 7]))
		return false;
	c = &r->classes[d->to.id[flat_find(&d->to, p->family, to)]];
	for (uint32_t i = 0; i < c->n[EG_PROTO_TCP]; i++)
		open |= port >= r->spans[c->at[EG_PROTO_TCP] + i].lo &&
			port <= r->spans[c->at[EG_PROTO_TCP] + i].hi;
	return open;
}

static bool agrees(const struct vf_ruleset *rs, const struct vf_report *r)
{
	struct packet p = random_packet();
	uint32_t want = wanted(&p), got = hook_says(rs, VF_FORWARD, &p);
	size_t found = 0, right = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (!holds(r, &r->v[i], &p))
			continue;
		found++;
		right += r->v[i].want == want && r->v[i].got == got && !r->v[i].possible;
	}
	return found == (want != got) && right == found;
}

#ifdef CL_SANITIZED
#define RULESETS 60
#else
#define RULESETS 500
#endif
#define PACKETS 200

void test_verify__every_packet(void)
{
	static const uint16_t ports[] = {1, 3};
	static struct eg_rule rules[] = {
		{.verdict = EG_DROP, .prefix = {{4, {10, 0, 0, 1}}, 32}, .reason = "a"},
		{.verdict = EG_ALLOW,
			.prefix = {{4, {10}}, 8},
			.proto = EG_PROTO_TCP,
			.ports = ports,
			.nports = 2,
			.reason = "b"},
		{.verdict = EG_ALLOW, .prefix = {{6, {0x20}}, 9}, .reason = "c"},
	};
	size_t differ = 0, same = 0;

	policy = (struct eg_policy){.rules = rules, .nrules = CL_ARRAY_LEN(rules)};
	for (int i = 0; i < RULESETS && !unit_failures; i++) {
		cleanup_ruleset struct vf_ruleset rs = VF_RULESET_INIT;
		cleanup_report struct vf_report r = VF_REPORT_INIT;
		const struct vf_want w = {.bridge = "br0", .policy = &policy};
		bool all = true;

		policy.silent = pick(2);
		random_ruleset(&rs);
		CHECK(!vf_verify(&rs, &w, &r));
		for (int k = 0; k < PACKETS && all; k++)
			all = agrees(&rs, &r);
		for (size_t k = 0; k < r.nnotes; k++)
			all &= r.notes[k].kind == VF_NO_HOOK;
		CHECK(all);
		differ += r.n > 40;
		same += r.n <= 40;
	}
	CHECK(differ > 5 && same > 5);
}

/* What was said of a condition that cannot be judged holds whichever way it goes. */
void test_verify__possible(void)
{
	struct vf_ruleset rs = VF_RULESET_INIT;
	struct vf_report r = VF_REPORT_INIT;
	const struct vf_want w = {.bridge = "br0"};
	struct vf_chain *c = vf_add_chain(&rs, "forward");
	struct vf_rule *rule = vf_add_rule(c);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	rs.there = true;
	c->base = true;
	c->hook = VF_FORWARD;
	c->type = cl_strdup("filter");
	(void)vf_add_op(rule, VF_MAYBE);
	vf_add_op(rule, VF_VERDICT)->what = VF_DROP;
	CHECK(!vf_verify(&rs, &w, &r));
	CHECK(r.n > 0);
	for (size_t i = 0; i < r.n; i++)
		CHECK(r.v[i].hook != VF_FORWARD || r.v[i].got == VF_ACCEPT ||
			(r.v[i].possible && r.v[i].got == VF_DROP));
	for (size_t i = 0; i < r.n; i++)
		if (r.v[i].possible && !text.len)
			vf_difference_text(&r, i, &text);
	CHECK_STR(text.p, "may be dropped in silence, should be let through: forward, IPv4, in by "
			  "any other, out by any other\n"
			  "\tto 0.0.0.0-255.255.255.255\n"
			  "\tfor example tcp to 169.254.169.254:443 (new)\n");
	vf_report_release(&r);
	vf_ruleset_release(&rs);
}

void test_verify__work_is_bounded(void)
{
	struct vf_ruleset rs = VF_RULESET_INIT;
	struct vf_report r = VF_REPORT_INIT;
	const struct vf_want w = {.bridge = "br0", .limit = 10000};

	rs.there = true;
	/* Each chain goes twice to the next: 2^30 ways. */
	for (int i = 0; i < 30; i++) {
		char name[16];
		struct vf_chain *c;

		(void)snprintf(name, sizeof(name), "c%d", i);
		c = vf_add_chain(&rs, name);
		c->base = !i;
		c->hook = VF_FORWARD;
		c->type = i ? NULL : cl_strdup("filter");
		for (int k = 0; k < 2; k++) {
			struct vf_op *op = vf_add_op(vf_add_rule(c), VF_VERDICT);

			op->what = VF_JUMP;
			op->name = cl_asprintf("c%d", i + 1);
		}
	}
	(void)vf_add_chain(&rs, "c30");
	CHECK(!vf_verify(&rs, &w, &r));
	CHECK(r.nnotes > 0 && r.notes[r.nnotes - 1].kind == VF_TOO_MUCH);
	vf_report_release(&r);
	vf_ruleset_release(&rs);
}
