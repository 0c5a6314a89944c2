/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every situation is looked at, and what differs is put together again. */
#include "policy/egress/egress_maps.h"
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Situations and rules that are looked at, with a sixteenth for each interval: some seconds. */
#define LIMIT 100000000u
#define MORE  1000 /* differences; what would be more is not listed */
#define NEAR  64   /* of them to join a new one with */

static void groups_release(struct vf_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		vf_forget(&g->v[i].to);
	free(g->v);
}

static void run_release(struct vf_run *run)
{
	for (int i = 0; i < VF_OUTCOMES; i++) {
		vf_forget(&run->got[0][i]);
		vf_forget(&run->got[1][i]);
		vf_forget(&run->want[i]);
	}
	for (size_t i = 0; i < run->r->nsets; i++) {
		groups_release(&run->groups[i]);
		while (run->groups[i].more) {
			struct vf_groups *g = run->groups[i].more;

			run->groups[i].more = g->more;
			groups_release(g);
			free(g);
		}
	}
	free(run->groups);
	flat_release(&run->leaving);
	flat_release(&run->named);
	vf_sets_release(&run->sets);
}

/* --- examples --- */

/* A port of the class, one that everybody knows where it has such. */
static uint16_t port_of(const struct vf_run *run, const struct flat_class *c)
{
	static const uint16_t known[] = {443, 80, 53};
	const struct flat_ports *p = run->sets.classes.spans + c->at[EG_PROTO_TCP];

	for (size_t k = 0; k < CL_ARRAY_LEN(known); k++)
		for (uint32_t i = 0; i < c->n[EG_PROTO_TCP]; i++)
			if (known[k] >= p[i].lo && known[k] <= p[i].hi)
				return known[k];
	return p->lo;
}

/* A destination that says something where it can: a metadata service, a private host ... */
static void choose(const struct vf_run *run, const struct flat_view *v, struct vf_example *e)
{
	static const struct pol_addr telling[] = {
		{4, {169, 254, 169, 254}},
		{4, {10, 0, 0, 1}},
		{4, {93, 184, 216, 34}},
		{6, {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}},
		{6, {0xfd, [15] = 1}},
		{6, {0x26, 0x06, 0x47, 0x00, [14] = 0x11, 0x11}},
	};
	size_t at = v->id[0] == FLAT_DROP_ALL;

	e->to = flat_addr(run->family, v->lo[at]);
	for (size_t i = 0; i < CL_ARRAY_LEN(telling); i++) {
		size_t k = telling[i].family == run->family
				   ? flat_find(v, run->family, flat_number(&telling[i]))
				   : at;

		if (telling[i].family != run->family || v->id[k] == FLAT_DROP_ALL)
			continue;
		e->to = telling[i];
		at = k;
		break;
	}
	e->port = port_of(run, &run->sets.classes.v[v->id[at]]);
}

static const struct vf_cell *cell_of(
	const struct vf_run *run, const struct vf_difference *d, int dim)
{
	return &run->out->cells[flat_half(d->family)][dim][__builtin_ctzll(d->cells[dim])];
}

/* Of several protocols one that everybody knows. */
static uint8_t protocol_of(const struct vf_run *run, const struct vf_difference *d)
{
	static const uint8_t known[] = {VF_TCP, VF_UDP, VF_ICMPV6, 1, 132};
	const struct vf_cell *v = run->out->cells[flat_half(d->family)][VF_D_PROTO];
	size_t n = run->out->ncells[flat_half(d->family)][VF_D_PROTO];

	for (size_t k = 0; k < CL_ARRAY_LEN(known); k++)
		for (size_t i = 0; i < n; i++)
			if (d->cells[VF_D_PROTO] >> i & 1 && known[k] >= v[i].lo &&
				known[k] <= v[i].hi && (known[k] != VF_ICMPV6 || d->family == 6))
				return known[k];
	return (uint8_t)cell_of(run, d, VF_D_PROTO)->lo;
}

static void example(const struct vf_run *run, struct vf_difference *d)
{
	struct vf_example *e = &d->example;

	e->proto = protocol_of(run, d);
	e->state = (uint32_t)cell_of(run, d, VF_D_STATE)->lo;
	memcpy(e->iif, cell_of(run, d, VF_D_IIF)->name, sizeof(e->iif));
	memcpy(e->oif, cell_of(run, d, VF_D_OIF)->name, sizeof(e->oif));
	e->head = (uint16_t)cell_of(run, d, VF_D_HEAD)->lo;
	if (d->cells[VF_D_SOURCE] != vf_possible(run->out, d->hook, d->family, VF_D_SOURCE))
		e->source = flat_addr(d->family, cell_of(run, d, VF_D_SOURCE)->lo);
	choose(run, &d->to, e);
}

/* --- one situation --- */

/* The only dimension in which two differences are not the same; -1: none can be joined. */
static int joint(const struct vf_difference *a, const struct vf_difference *b)
{
	int dim = -1;

	if (a->hook != b->hook || a->family != b->family || a->possible != b->possible ||
		a->want != b->want || a->got != b->got)
		return -1;
	for (int i = 0; i < VF_DIMS; i++) {
		if (a->cells[i] == b->cells[i])
			continue;
		if (dim >= 0)
			return -1;
		dim = i;
	}
	return dim >= 0 && vf_same(&a->to, &b->to) ? dim : -1;
}

static void drop(struct vf_report *r, size_t i)
{
	vf_forget(&r->v[i].to);
	memmove(&r->v[i], &r->v[i + 1], (--r->n - i) * sizeof(*r->v));
}

static void join(struct vf_report *r)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < r->n; i++) {
			for (size_t k = i + 1; k < r->n; k++) {
				int dim = joint(&r->v[i], &r->v[k]);

				if (dim < 0)
					continue;
				r->v[i].cells[dim] |= r->v[k].cells[dim];
				drop(r, k--);
				again = true;
			}
		}
	}
}

/* Takes d->to. The cells of one dimension come one after the other, and are joined at once. */
static void add(struct vf_report *out, struct vf_difference *d)
{
	for (size_t i = out->n; i > 0 && out->n - i < NEAR; i--) {
		int dim = joint(&out->v[i - 1], d);

		if (dim < 0)
			continue;
		out->v[i - 1].cells[dim] |= d->cells[dim];
		vf_forget(&d->to);
		return;
	}
	if (out->n == MORE)
		join(out);
	if (out->n == MORE) {
		vf_note(out, VF_TOO_MUCH, "", 0, "differences");
		vf_forget(&d->to);
		return;
	}
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*d));
	out->v[out->n++] = *d;
}

static void differs(struct vf_run *run, enum vf_verdict want, enum vf_verdict got, bool possible,
	struct flat_view *take)
{
	struct vf_difference d = {.hook = run->hook,
		.family = run->family,
		.possible = possible,
		.want = want,
		.got = got,
		.to = *take};

	for (int i = 0; i < VF_DIMS; i++)
		d.cells[i] = run->cell[i] >= 0 ? UINT64_C(1) << run->cell[i]
					       : vf_possible(run->out, run->hook, run->family,
							 (enum vf_dim)i);
	if (vf_empty(take))
		vf_forget(take);
	else
		add(run->out, &d);
}

static void compare(struct vf_run *run)
{
	for (int w = 0; w < VF_OUTCOMES; w++) {
		for (int g = 0; g < 2 * VF_OUTCOMES; g++) {
			const struct flat_view *got = &run->got[g / VF_OUTCOMES][g % VF_OUTCOMES];
			struct flat_view both = {0};

			if (g % VF_OUTCOMES == w || vf_empty(got) || vf_empty(&run->want[w]))
				continue;
			vf_combine(&run->sets, run->family, VF_AND, &run->want[w], got, &both);
			differs(run, (enum vf_verdict)w, (enum vf_verdict)(g % VF_OUTCOMES),
				g >= VF_OUTCOMES, &both);
		}
	}
}

/* A situation that depends on a cell is looked at with each of them. */
static void look(struct vf_run *run)
{
	uint64_t possible;
	int dim;

	run->asked = -1;
	run->spent = ++run->steps > run->limit;
	vf_expect(run);
	if (run->asked < 0)
		vf_eval(run);
	if (run->spent)
		return;
	if (run->asked < 0) {
		compare(run);
		return;
	}
	dim = run->asked;
	possible = vf_possible(run->out, run->hook, run->family, (enum vf_dim)dim);
	for (int i = 0; i < VF_CELLS && !run->spent; i++) {
		if (!(possible >> i & 1))
			continue;
		run->cell[dim] = i;
		look(run);
	}
	run->cell[dim] = -1;
}

/* What is open and should not be comes first, and new connections before others. */
static int weight(const struct vf_difference *d)
{
	return (d->got != VF_ACCEPT) * 8 + d->possible * 4 + !(d->cells[VF_D_STATE] & 1) * 2 +
	       (d->example.proto != VF_TCP);
}

static int by_weight(const void *a, const void *b)
{
	const struct vf_difference *x = a, *y = b;
	int c = weight(x) - weight(y);

	if (!c)
		c = (int)x->hook - (int)y->hook;
	return c ? c : (int)x->family - (int)y->family;
}

/* --- the ruleset as such --- */

static void look_at_hook(const struct vf_ruleset *r, enum vf_hook hook, struct vf_report *out)
{
	bool there = false;

	for (size_t i = 0; i < r->nchains; i++) {
		const struct vf_chain *c = &r->chains[i];

		if (!c->base || c->hook != hook)
			continue;
		if (c->type && !strcmp(c->type, "filter") && !c->priority)
			there = true;
		else if (hook != VF_POSTROUTING && (c->n || c->policy_drop)) {
			cleanup_free char *how = cl_asprintf(
				"type %s, priority %d", c->type ? c->type : "?", (int)c->priority);

			vf_note(out, VF_WRONG_HOOK, c->name, 0, how);
		}
	}
	if (!there && hook != VF_POSTROUTING)
		vf_note(out, VF_NO_HOOK, vf_hook_name(hook), 0, "");
}

static void look_at_table(const struct vf_ruleset *r, struct vf_report *out)
{
	if (!r->there)
		vf_note(out, VF_NO_TABLE, "", 0, "");
	else if (r->dormant)
		vf_note(out, VF_DORMANT, "", 0, "");
	for (int h = 0; r->there && h < VF_HOOKS; h++)
		look_at_hook(r, (enum vf_hook)h, out);
	for (size_t i = 0; i < r->nchains; i++) {
		const struct vf_chain *c = &r->chains[i];

		if (c->base && c->hook == VF_OTHER_HOOK && (c->n || c->policy_drop))
			vf_note(out, VF_OTHER_CHAIN, c->name, 0, "");
	}
}

bool vf_verify(const struct vf_ruleset *r, const struct vf_want *w, struct vf_report *out)
{
	struct vf_run run = {.r = r,
		.w = w,
		.out = out,
		.leaving = FLAT_INIT,
		.named = FLAT_INIT,
		.groups = cl_calloc(r->nsets + 1, sizeof(*run.groups)),
		.limit = w->limit ? w->limit : LIMIT};

	vf_sets_init(&run.sets);
	if (w->policy) {
		flat_build(w->policy, true, &run.leaving);
		run.has_named = eg_has_internet(w->policy);
		if (run.has_named)
			flat_build_named(w->policy, &run.named);
	}
	look_at_table(r, out);
	vf_cells_find(r, w, out);
	for (int i = 0; i < VF_DIMS; i++)
		run.cell[i] = -1;
	for (int i = 0; i < 2 * VF_HOOKS && !run.spent; i++) {
		run.hook = (enum vf_hook)(i / 2);
		run.family = i % 2 ? 6 : 4;
		look(&run);
	}
	if (run.spent)
		vf_note(out, VF_TOO_MUCH, "", 0, "work");
	join(out);
	for (size_t i = 0; i < out->n; i++) {
		run.family = out->v[i].family;
		example(&run, &out->v[i]);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_weight);
	out->classes = cl_steal(&run.sets.classes.v);
	out->spans = cl_steal(&run.sets.classes.spans);
	out->nclasses = run.sets.classes.n;
	out->nspans = run.sets.classes.nspans;
	run_release(&run);
	return !out->n && !out->nnotes;
}
