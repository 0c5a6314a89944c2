/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ruleset as data: adding, finding, freeing. */
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void rule_release(struct vf_rule *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].name);
	free(r->v);
}

static void chain_release(struct vf_chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		rule_release(&c->v[i]);
	free(c->v);
	free(c->name);
	free(c->type);
}

static void set_release(struct vf_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].chain);
	free(s->v);
	free(s->rest.chain);
	free(s->name);
	free(s->unknown);
}

void vf_ruleset_release(struct vf_ruleset *r)
{
	for (size_t i = 0; i < r->nchains; i++)
		chain_release(&r->chains[i]);
	for (size_t i = 0; i < r->nsets; i++)
		set_release(&r->sets[i]);
	free(r->chains);
	free(r->sets);
	*r = VF_RULESET_INIT;
}

struct vf_chain *vf_add_chain(struct vf_ruleset *r, const char *name)
{
	r->chains = cl_grow(r->chains, &r->chains_cap, r->nchains + 1, sizeof(*r->chains));
	r->chains[r->nchains] = (struct vf_chain){.name = cl_strdup(name), .hook = VF_OTHER_HOOK};
	return &r->chains[r->nchains++];
}

struct vf_rule *vf_add_rule(struct vf_chain *c)
{
	c->v = cl_grow(c->v, &c->cap, c->n + 1, sizeof(*c->v));
	c->v[c->n] = (struct vf_rule){.v = NULL};
	return &c->v[c->n++];
}

struct vf_op *vf_add_op(struct vf_rule *r, enum vf_kind kind)
{
	r->v = cl_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
	r->v[r->n] = (struct vf_op){.kind = kind};
	return &r->v[r->n++];
}

struct vf_set *vf_add_set(struct vf_ruleset *r, const char *name)
{
	r->sets = cl_grow(r->sets, &r->sets_cap, r->nsets + 1, sizeof(*r->sets));
	r->sets[r->nsets] = (struct vf_set){.name = cl_strdup(name)};
	return &r->sets[r->nsets++];
}

struct vf_element *vf_add_element(struct vf_set *s)
{
	s->v = cl_grow(s->v, &s->cap, s->n + 1, sizeof(*s->v));
	s->v[s->n] = (struct vf_element){.lo = 0};
	return &s->v[s->n++];
}

static int by_key(const void *pa, const void *pb)
{
	const struct vf_element *a = pa, *b = pb;

	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* An interval goes on to the next key that is listed, which is its end or another's begin. */
void vf_settle(struct vf_set *s)
{
	flat_u128 last = s->key_len >= 16 ? ~(flat_u128)0 : ((flat_u128)1 << (8 * s->key_len)) - 1;
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_key);
	for (size_t i = 0; i < s->n; i++) {
		struct vf_element e = s->v[i];
		size_t k = i + 1;

		while (s->interval && k < s->n && s->v[k].lo == e.lo)
			k++;
		if (e.end || e.lo > last || (n && s->v[n - 1].lo == e.lo)) {
			free(e.chain);
			continue;
		}
		e.hi = !s->interval ? e.lo : k < s->n ? s->v[k].lo - 1 : last;
		s->v[n++] = e;
	}
	s->n = n;
}

struct vf_chain *vf_chain(const struct vf_ruleset *r, const char *name)
{
	for (size_t i = 0; name && i < r->nchains; i++)
		if (!strcmp(r->chains[i].name, name))
			return &r->chains[i];
	return NULL;
}

struct vf_set *vf_set(const struct vf_ruleset *r, const char *name)
{
	for (size_t i = 0; name && i < r->nsets; i++)
		if (!strcmp(r->sets[i].name, name))
			return &r->sets[i];
	return NULL;
}

flat_u128 vf_number(const uint8_t *b, size_t len)
{
	flat_u128 n = 0;

	for (size_t i = 0; i < len; i++)
		n = n << 8 | b[i];
	return n;
}

void vf_note(struct vf_report *out, enum vf_note_kind kind, const char *name, unsigned rule,
	const char *text)
{
	for (size_t i = 0; i < out->nnotes; i++) {
		const struct vf_note *n = &out->notes[i];

		if (n->kind == kind && n->rule == rule && !strcmp(n->name, name) &&
			!strcmp(n->text, text))
			return;
	}
	out->notes = cl_grow(out->notes, &out->notes_cap, out->nnotes + 1, sizeof(*out->notes));
	out->notes[out->nnotes++] = (struct vf_note){kind, cl_strdup(name), cl_strdup(text), rule};
}

void vf_report_release(struct vf_report *r)
{
	for (size_t i = 0; i < r->nnotes; i++) {
		free(r->notes[i].name);
		free(r->notes[i].text);
	}
	for (size_t i = 0; i < r->n; i++)
		vf_forget(&r->v[i].to);
	for (int half = FLAT_V4; half <= FLAT_V6; half++)
		for (int d = 0; d < VF_DIMS; d++)
			free(r->cells[half][d]);
	free(r->notes);
	free(r->v);
	free(r->classes);
	free(r->spans);
	*r = VF_REPORT_INIT;
}

const char *vf_verdict_name(enum vf_verdict v)
{
	static const char *const names[] = {[VF_ACCEPT] = "accept",
		[VF_DROP] = "drop",
		[VF_RESET] = "reset",
		[VF_PROHIBITED] = "prohibited",
		[VF_REFUSED] = "refused",
		[VF_MASQUERADE] = "masquerade"};

	return v < VF_OUTCOMES ? names[v] : "";
}

const char *vf_hook_name(enum vf_hook h)
{
	static const char *const names[] = {"forward", "input", "output", "postrouting"};

	return h < VF_HOOKS ? names[h] : "other";
}
