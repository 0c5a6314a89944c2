/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the chains at a hook do with all packets of one situation. */
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A kernel has jumps 16 deep; gotos count here too. */
#define DEEP 64

const struct vf_cell *vf_ask(struct vf_run *run, enum vf_dim dim)
{
	size_t half = flat_half(run->family);
	uint64_t possible;

	if (run->cell[dim] >= 0)
		return &run->out->cells[half][dim][run->cell[dim]];
	possible = vf_possible(run->out, run->hook, run->family, dim);
	if (!(possible & (possible - 1)))
		return &run->out->cells[half][dim][__builtin_ctzll(possible)];
	if (run->asked < 0)
		run->asked = (int)dim;
	return NULL;
}

static bool left(const struct vf_run *run)
{
	return run->asked >= 0 || run->spent;
}

/* The packets of a rule that are still with it: of those that reached it. */
struct match {
	const struct flat_view *live;
	struct flat_view own; /* n 0: all of live */
	bool possible;
};

static const struct flat_view *of(const struct match *m)
{
	return m->own.n ? &m->own : m->live;
}

static void narrow(
	struct vf_run *run, struct match *m, enum vf_set_op op, const struct flat_view *to)
{
	vf_combine(&run->sets, run->family, op, of(m), to, &m->own);
}

/* --- what a packet of the situation has --- */

static flat_u128 number_of(const struct vf_run *run, int target, const struct vf_cell *c)
{
	uint8_t b[16] = {0};
	uint32_t state;

	switch (target) {
	case VF_D_STATE:
		state = (uint32_t)c->lo;
		memcpy(b, &state, sizeof(state));
		return vf_number(b, sizeof(state));
	case VF_D_IIF:
	case VF_D_OIF:
		/* No interface has a blank in its name. */
		memcpy(b, strcmp(c->name, "*") ? c->name : " ", strnlen(c->name, 15));
		return vf_number(b, sizeof(b));
	case VF_T_FAMILY:
		return run->family == 4 ? 2 : 10;
	case VF_T_ETHERTYPE:
		return run->family == 4 ? 0x0800 : 0x86dd;
	default:
		return c->lo;
	}
}

static bool state_holds(const struct vf_test *t, flat_u128 x)
{
	uint32_t bits = 8 * (4 - t->value.len);

	x >>= bits;
	if (t->value.masked) {
		x &= vf_number(t->value.mask, t->value.len);
		x ^= vf_number(t->value.xor, t->value.len);
	}
	return vf_spans_have(&t->spans, x >> (t->shift > bits ? t->shift - bits : 0));
}

/* A test on what is the same for all packets of the situation. False: not chosen yet. */
static bool decide(struct vf_run *run, const struct vf_test *t, bool *holds)
{
	const struct vf_cell *c = NULL;
	struct vf_spans spans = {.v = NULL};
	flat_u128 x;

	if (t->target < VF_DIMS) {
		c = vf_ask(run, (enum vf_dim)t->target);
		if (!c)
			return false;
	}
	x = number_of(run, t->target, c);
	if (t->target == VF_D_STATE) {
		*holds = state_holds(t, x);
		return true;
	}
	(void)vf_test_spans(t, &spans);
	*holds = vf_spans_have(&spans, x);
	free(spans.v);
	return true;
}

static bool undecidable(const struct vf_run *run, const struct vf_test *t)
{
	return !t->exact ||
	       (t->target < VF_DIMS && run->out->vague[flat_half(run->family)] >> t->target & 1);
}

/* False: no packet of the match passes. */
static bool pass(struct vf_run *run, const struct vf_test *t, struct match *m)
{
	struct vf_spans spans = {.v = NULL};
	struct flat_view v = {0};
	bool holds = true;

	if (undecidable(run, t)) {
		m->possible = true;
		return true;
	}
	if (t->target != VF_T_ADDRESS && t->target != VF_T_PORT)
		return decide(run, t, &holds) && holds;
	(void)vf_test_spans(t, &spans);
	if (t->target == VF_T_ADDRESS)
		vf_addresses(&run->sets, run->family, &spans, &v);
	else
		vf_ports(&run->sets, &spans, &v);
	narrow(run, m, VF_AND, &v);
	vf_forget(&v);
	free(spans.v);
	return !vf_empty(of(m));
}

/* --- verdicts --- */

struct place {
	const struct vf_chain *chain;
	unsigned rule;
	bool possible; /* the chain was reached by a condition that we cannot judge */
	unsigned depth;
	struct flat_view *live, *back; /* what goes on here, and what returns to the caller */
};

static void walk_chain(struct vf_run *run, const struct vf_chain *c, const struct flat_view *in,
	bool possible, unsigned depth, struct flat_view *falls);

static void either(struct vf_run *run, struct flat_view *to, const struct flat_view *more)
{
	vf_combine(&run->sets, run->family, VF_OR, to, more, to);
}

static void unjudged(struct vf_run *run, const struct place *p, const char *what)
{
	vf_note(run->out, VF_UNJUDGED, p->chain->name, p->rule, what);
}

static void ended(struct vf_run *run, const struct place *p, uint32_t what, bool possible,
	const struct flat_view *m)
{
	const struct vf_cell *proto;

	if (what == VF_RESET) {
		proto = vf_ask(run, VF_D_PROTO);
		if (!proto)
			return;
		if (proto->lo != VF_TCP || proto->hi != VF_TCP)
			what = VF_DROP;
	}
	either(run, &run->got[p->possible || possible][what], m);
}

static void went(struct vf_run *run, const struct place *p, uint32_t what, const char *name,
	bool possible, const struct flat_view *m, struct flat_view *back)
{
	const struct vf_chain *c = vf_chain(run->r, name);

	if (c && p->depth < DEEP)
		walk_chain(run, c, m, p->possible || possible, p->depth + 1, back);
	else
		unjudged(run, p, c ? "chains without end" : "a chain that is not there");
	(void)what;
}

/* The packets m of the rule get a verdict; possible: perhaps they do. */
static void verdict(struct vf_run *run, const struct place *p, uint32_t what, const char *name,
	bool possible, const struct flat_view *m)
{
	struct flat_view back = {0};

	if (what == VF_CONTINUE || vf_empty(m) || left(run))
		return;
	vf_nothing(&back);
	if (what < VF_OUTCOMES)
		ended(run, p, what, possible, m);
	else if (what == VF_JUMP || what == VF_GOTO)
		went(run, p, what, name, possible, m, &back);
	else
		vf_copy(m, &back);
	if (!left(run)) {
		if (what != VF_JUMP)
			either(run, p->back, &back);
		if (!possible)
			vf_combine(&run->sets, run->family, VF_MINUS, p->live, m, p->live);
		if (what == VF_JUMP)
			either(run, p->live, &back);
	}
	vf_forget(&back);
}

/* --- sets --- */

static struct vf_group *group(struct vf_groups *g, const struct vf_element *e)
{
	for (size_t i = 0; i < g->n; i++) {
		const char *have = g->v[i].chain;

		if (g->v[i].what == e->what &&
			(have == e->chain || (have && e->chain && !strcmp(have, e->chain))))
			return &g->v[i];
	}
	g->v = cl_grow(g->v, &g->cap, g->n + 1, sizeof(*g->v));
	g->v[g->n] = (struct vf_group){.what = e->what, .chain = e->chain};
	return &g->v[g->n++];
}

/*
 * The addresses of a map by what is done with them; made once for a family. An element stands
 * for all that is it without the bits of rest.
 */
static struct vf_groups *groups_of(struct vf_run *run, const struct vf_set *set, flat_u128 rest)
{
	struct vf_groups *g = &run->groups[set - run->r->sets];
	cleanup_free flat_u128 *next = NULL;
	cleanup_free uint32_t *of_element = cl_calloc(set->n + 1, sizeof(*of_element));

	while (g->family && g->rest != rest) {
		if (!g->more)
			g->more = cl_calloc(1, sizeof(*g->more));
		g = g->more;
	}
	if (g->family == run->family)
		return g;
	while (g->n)
		vf_forget(&g->v[--g->n].to);
	g->family = run->family;
	g->rest = rest;
	for (size_t i = 0; i < set->n; i++)
		of_element[i] = (uint32_t)(group(g, &set->v[i]) - g->v);
	next = cl_calloc(g->n + 1, sizeof(*next));
	for (size_t i = 0; i < set->n; i++) {
		struct flat_view *v = &g->v[of_element[i]].to;
		flat_u128 *at = &next[of_element[i]];
		flat_u128 lo = set->v[i].lo & ~rest, hi = set->v[i].hi & ~rest;

		if (lo != set->v[i].lo && lo == hi)
			continue;
		if (lo != set->v[i].lo)
			lo += rest + 1;
		if (lo > *at)
			flat_view_add(v, *at, FLAT_DROP_ALL);
		flat_view_add(v, lo, run->sets.full);
		*at = (hi | rest) + 1;
	}
	for (size_t i = 0; i < g->n; i++) {
		if (!g->v[i].to.n)
			vf_nothing(&g->v[i].to);
		else if (next[i] && next[i] <= flat_last(run->family))
			flat_view_add(&g->v[i].to, next[i], FLAT_DROP_ALL);
	}
	run->sets.walked += set->n;
	return g;
}

/* A map of addresses: each verdict for the addresses that have it. */
static void map_addresses(struct vf_run *run, const struct place *p, const struct vf_set *set,
	flat_u128 rest, struct match *m)
{
	struct vf_groups *g = groups_of(run, set, rest);
	struct flat_view all = {0}, some = {0};

	vf_copy(of(m), &all);
	for (size_t i = 0; i < g->n && !left(run); i++) {
		vf_combine(&run->sets, run->family, VF_AND, &all, &g->v[i].to, &some);
		verdict(run, p, g->v[i].what, g->v[i].chain, m->possible, &some);
		if (set->catchall)
			narrow(run, m, VF_MINUS, &g->v[i].to);
	}
	if (set->catchall)
		verdict(run, p, set->rest.what, set->rest.chain, m->possible, of(m));
	vf_forget(&all);
	vf_forget(&some);
}

/* A set of addresses. False: no packet of the match is in it (or, inverted, out of it). */
static bool in_addresses(
	struct vf_run *run, const struct vf_set *set, flat_u128 rest, bool invert, struct match *m)
{
	struct vf_groups *g = groups_of(run, set, rest);

	if (!g->n)
		return invert;
	narrow(run, m, invert ? VF_MINUS : VF_AND, &g->v[0].to);
	return !vf_empty(of(m));
}

/* A map of anything else, element by element. */
static void map_others(struct vf_run *run, const struct place *p, const struct vf_set *set,
	struct vf_test *t, struct match *m)
{
	struct flat_view all = {0};

	vf_copy(of(m), &all);
	for (size_t i = 0; i < set->n && !left(run); i++) {
		struct match one = {.live = &all, .possible = m->possible};

		t->spans.n = 0;
		vf_span_add(&t->spans, set->v[i].lo, set->v[i].hi);
		if (pass(run, t, &one))
			verdict(run, p, set->v[i].what, set->v[i].chain, one.possible, of(&one));
		if (set->catchall && !one.possible && !left(run) && pass(run, t, &one))
			narrow(run, m, VF_MINUS, of(&one));
		vf_forget(&one.own);
	}
	if (set->catchall && !left(run))
		verdict(run, p, set->rest.what, set->rest.chain, m->possible || undecidable(run, t),
			of(m));
	vf_forget(&all);
}

/* True: the rule goes on. */
static bool look_up(struct vf_run *run, const struct place *p, const struct vf_registers *regs,
	const struct vf_op *op, struct match *m)
{
	const struct vf_set *set = vf_set(run->r, op->name);
	cleanup_test struct vf_test t = {.target = VF_T_OPAQUE};

	if (!set || set->unknown || set->map != op->verdict) {
		unjudged(run, p,
			!set           ? "a set that is not there"
			: set->unknown ? set->unknown
				       : "a map");
		m->possible = true;
		return true;
	}
	vf_key_of(regs, op, set->key_len, run->family, &t);
	if (op->verdict) {
		if (t.target == VF_T_ADDRESS && t.exact && !t.shift)
			map_addresses(run, p, set, vf_test_rest(&t), m);
		else
			map_others(run, p, set, &t, m);
		return false;
	}
	if (set->catchall)
		return !op->invert;
	if (t.target == VF_T_ADDRESS && t.exact && !t.shift)
		return in_addresses(run, set, vf_test_rest(&t), op->invert, m);
	t.spans.invert = op->invert;
	for (size_t i = 0; i < set->n; i++)
		vf_span_add(&t.spans, set->v[i].lo, set->v[i].hi);
	run->sets.walked += set->n;
	return pass(run, &t, m);
}

/* --- rules and chains --- */

static void walk_rule(struct vf_run *run, struct place *p, const struct vf_rule *r)
{
	struct vf_registers regs = {0};
	struct match m = {.live = p->live};
	bool on = true;

	for (size_t i = 0; on && i < r->n && !left(run); i++) {
		const struct vf_op *op = &r->v[i];

		switch (op->kind) {
		case VF_LOAD:
		case VF_BITWISE:
			vf_load(&regs, op);
			break;
		case VF_CMP:
		case VF_RANGE: {
			cleanup_test struct vf_test t;

			vf_test_of(&regs, op, run->family, &t);
			on = pass(run, &t, &m);
			break;
		}
		case VF_LOOKUP:
			on = look_up(run, p, &regs, op, &m);
			break;
		case VF_VERDICT:
			verdict(run, p, op->what, op->name, m.possible, of(&m));
			on = op->what == VF_CONTINUE;
			break;
		case VF_UNKNOWN:
			unjudged(run, p, op->name);
			m.possible = true;
			break;
		case VF_MAYBE:
			m.possible = true;
			break;
		case VF_NOTHING:
		default:
			break;
		}
	}
	vf_forget(&m.own);
}

static void walk_chain(struct vf_run *run, const struct vf_chain *c, const struct flat_view *in,
	bool possible, unsigned depth, struct flat_view *falls)
{
	struct flat_view live = {0}, back = {0};
	struct place p = {
		.chain = c, .possible = possible, .depth = depth, .live = &live, .back = &back};

	vf_copy(in, &live);
	vf_nothing(&back);
	for (size_t i = 0; i < c->n && !vf_empty(&live) && !left(run); i++) {
		p.rule = (unsigned)i + 1;
		run->spent = ++run->steps + run->sets.walked / 16 > run->limit;
		walk_rule(run, &p, &c->v[i]);
	}
	vf_combine(&run->sets, run->family, VF_OR, &live, &back, falls);
	vf_forget(&live);
	vf_forget(&back);
}

/* One base chain: what it accepts is what the next gets. */
static void walk_base(
	struct vf_run *run, const struct vf_chain *c, const struct flat_view *in, bool possible)
{
	struct flat_view falls = {0};

	walk_chain(run, c, in, possible, 0, &falls);
	if (!left(run))
		either(run, &run->got[possible][c->policy_drop ? VF_DROP : VF_ACCEPT], &falls);
	vf_forget(&falls);
}

static const struct vf_chain *next_chain(const struct vf_run *run, const struct vf_chain *before)
{
	const struct vf_chain *best = NULL;

	for (size_t i = 0; i < run->r->nchains; i++) {
		const struct vf_chain *c = &run->r->chains[i];
		bool after = !before || c->priority > before->priority ||
			     (c->priority == before->priority && c > before);

		if (c->base && c->hook == run->hook && after &&
			(!best || c->priority < best->priority))
			best = c;
	}
	return best;
}

void vf_eval(struct vf_run *run)
{
	struct flat_view certain = {0}, perhaps = {0};
	const struct vf_chain *c = NULL;

	for (int i = 0; i < 2 * VF_OUTCOMES; i++)
		vf_nothing(&run->got[i / VF_OUTCOMES][i % VF_OUTCOMES]);
	vf_everything(&run->sets, &certain);
	vf_nothing(&perhaps);
	while (run->r->there && !run->r->dormant && !left(run) && (c = next_chain(run, c))) {
		walk_base(run, c, &certain, false);
		if (!vf_empty(&perhaps))
			walk_base(run, c, &perhaps, true);
		vf_copy(&run->got[0][VF_ACCEPT], &certain);
		vf_copy(&run->got[1][VF_ACCEPT], &perhaps);
		vf_nothing(&run->got[0][VF_ACCEPT]);
		vf_nothing(&run->got[1][VF_ACCEPT]);
	}
	vf_copy(&certain, &run->got[0][VF_ACCEPT]);
	vf_copy(&perhaps, &run->got[1][VF_ACCEPT]);
	vf_forget(&certain);
	vf_forget(&perhaps);
}
