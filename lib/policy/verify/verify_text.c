/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for people and for programs. */
#include "policy/egress/egress_internal.h"
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 8 /* ranges of destinations in a text */

static const struct {
	uint32_t bit;
	const char *name;
} states[] = {
	{VF_NEW, "new"},
	{VF_ESTABLISHED, "established"},
	{VF_RELATED, "related"},
	{VF_UNTRACKED, "untracked"},
	{VF_INVALID, "invalid"},
};

static const char *state_name(uint32_t bit)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(states); i++)
		if (states[i].bit == bit)
			return states[i].name;
	return "";
}

static void proto_text(uint8_t proto, struct cl_buf *out)
{
	static const struct {
		uint8_t proto;
		const char *name;
	} known[] = {{1, "icmp"}, {6, "tcp"}, {17, "udp"}, {33, "dccp"}, {47, "gre"},
		{58, "icmpv6"}, {132, "sctp"}, {136, "udplite"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (known[i].proto == proto) {
			cl_buf_adds(out, known[i].name);
			return;
		}
	cl_buf_addf(out, "protocol %u", proto);
}

static const char *verdict_words(enum vf_verdict v)
{
	static const char *const words[] = {[VF_ACCEPT] = "let through",
		[VF_DROP] = "dropped in silence",
		[VF_RESET] = "reset",
		[VF_PROHIBITED] = "refused as prohibited",
		[VF_REFUSED] = "refused by another message",
		[VF_MASQUERADE] = "masqueraded"};

	return v < VF_OUTCOMES ? words[v] : "";
}

static const struct vf_cell *cell(
	const struct vf_report *r, const struct vf_difference *d, int dim, size_t i)
{
	return &r->cells[flat_half(d->family)][dim][i];
}

/* The next run of neighbouring cells from *i on; false: there is none. */
static bool next_range(const struct vf_report *r, const struct vf_difference *d, int dim, size_t *i,
	flat_u128 *lo, flat_u128 *hi)
{
	size_t n = r->ncells[flat_half(d->family)][dim];

	while (*i < n && !(d->cells[dim] >> *i & 1))
		++*i;
	if (*i >= n)
		return false;
	*lo = cell(r, d, dim, *i)->lo;
	while (*i < n && d->cells[dim] >> *i & 1)
		*hi = cell(r, d, dim, (*i)++)->hi;
	return true;
}

static bool any(const struct vf_report *r, const struct vf_difference *d, int dim)
{
	return d->cells[dim] == vf_possible(r, d->hook, d->family, (enum vf_dim)dim);
}

static void number_text(uint8_t family, int dim, flat_u128 x, struct cl_buf *out)
{
	char text[POL_ADDR_TEXT];
	struct pol_addr a;

	if (dim == VF_D_SOURCE) {
		a = flat_addr(family, x);
		pol_addr_text(&a, text);
		cl_buf_adds(out, text);
	} else if (dim == VF_D_PROTO) {
		proto_text((uint8_t)x, out);
	} else {
		cl_buf_addf(out, "%u", (unsigned)x);
	}
}

/* ICMP types stand in the upper byte of what a port is elsewhere. */
static bool is_icmp(const struct vf_report *r, const struct vf_difference *d)
{
	size_t i = 0;
	flat_u128 lo, hi;

	return next_range(r, d, VF_D_PROTO, &i, &lo, &hi) && lo == hi && (lo == 1 || lo == 58);
}

/* Protocols by the few that are missing; false: they are not few. */
static bool all_but(const struct vf_report *r, const struct vf_difference *d, const char *before,
	struct cl_buf *out)
{
	struct vf_difference others = *d;
	size_t ranges = 0;
	flat_u128 lo, hi;

	others.cells[VF_D_PROTO] ^= vf_possible(r, d->hook, d->family, VF_D_PROTO);
	for (size_t i = 0; next_range(r, d, VF_D_PROTO, &i, &lo, &hi);)
		ranges++;
	for (size_t i = 0; next_range(r, &others, VF_D_PROTO, &i, &lo, &hi); ranges--)
		if (lo != hi)
			return false;
	if (ranges != 1)
		return false;
	cl_buf_addf(out, "%severy protocol but", before);
	for (size_t i = 0, n = 0; next_range(r, &others, VF_D_PROTO, &i, &lo, &hi); n++) {
		cl_buf_adds(out, n ? ", " : " ");
		number_text(d->family, VF_D_PROTO, lo, out);
	}
	return true;
}

static void numbers_text(const struct vf_report *r, const struct vf_difference *d, int dim,
	const char *before, struct cl_buf *out)
{
	bool type = dim == VF_D_HEAD && is_icmp(r, d);
	flat_u128 lo, hi;

	if (any(r, d, dim) || (dim == VF_D_PROTO && all_but(r, d, before, out)))
		return;
	for (size_t i = 0; next_range(r, d, dim, &i, &lo, &hi);) {
		cl_buf_adds(out, before);
		if (type) {
			lo >>= 8;
			hi >>= 8;
		}
		number_text(d->family, dim, lo, out);
		if (lo != hi) {
			cl_buf_addc(out, '-');
			number_text(d->family, dim, hi, out);
		}
		before = ",";
	}
}

static void states_text(
	const struct vf_report *r, const struct vf_difference *d, struct cl_buf *out)
{
	const char *before = ", ";

	if (any(r, d, VF_D_STATE))
		return;
	for (size_t i = 0; i < CL_ARRAY_LEN(states); i++)
		if (d->cells[VF_D_STATE] >> i & 1) {
			cl_buf_addf(out, "%s%s", before,
				state_name((uint32_t)cell(r, d, VF_D_STATE, i)->lo));
			before = "/";
		}
}

static void names_text(const struct vf_report *r, const struct vf_difference *d, int dim,
	const char *before, struct cl_buf *out)
{
	size_t n = r->ncells[flat_half(d->family)][dim];

	/* At the input hook there is no interface to leave by, and the other way round. */
	if (any(r, d, dim))
		return;
	for (size_t i = 1; i < n + 1; i++) {
		/* "Any other" at the end. */
		size_t at = i % n;
		const char *name = cell(r, d, dim, at)->name;

		if (!(d->cells[dim] >> at & 1) || !*name)
			continue;
		cl_buf_addf(out, "%s%s", before, strcmp(name, "*") ? name : "any other");
		before = " or ";
	}
}

static void ports_text(const struct flat_ports *p, uint32_t n, struct cl_buf *out)
{
	if (n == 1 && !p->lo && p->hi == FLAT_MAX_PORT)
		return;
	cl_buf_adds(out, n == 1 && p->lo == p->hi ? " port " : " ports ");
	for (uint32_t i = 0; i < n; i++) {
		cl_buf_addf(out, "%s%u", i ? "," : "", p[i].lo);
		if (p[i].lo != p[i].hi)
			cl_buf_addf(out, "-%u", p[i].hi);
	}
}

static void range_text(uint8_t family, flat_u128 lo, flat_u128 hi, struct cl_buf *out)
{
	number_text(family, VF_D_SOURCE, lo, out);
	if (lo == hi)
		return;
	cl_buf_addc(out, '-');
	number_text(family, VF_D_SOURCE, hi, out);
}

static void destinations_text(
	const struct vf_report *r, const struct vf_difference *d, struct cl_buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < d->to.n; i++) {
		const struct flat_class *c = &r->classes[d->to.id[i]];

		if (d->to.id[i] == FLAT_DROP_ALL || n++ >= SHOWN)
			continue;
		cl_buf_adds(out, "\tto ");
		range_text(d->family, d->to.lo[i], flat_hi(&d->to, i, d->family), out);
		ports_text(r->spans + c->at[EG_PROTO_TCP], c->n[EG_PROTO_TCP], out);
		cl_buf_addc(out, '\n');
	}
	if (n > SHOWN)
		cl_buf_addf(out, "\tand %zu ranges more\n", n - SHOWN);
}

static bool has_ports(uint8_t proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

static void example_text(
	const struct vf_report *r, const struct vf_difference *d, struct cl_buf *out)
{
	const struct vf_example *e = &d->example;
	const char *state = state_name(e->state);
	char text[POL_ADDR_TEXT];
	size_t i = 0;
	flat_u128 lo, hi;

	cl_buf_adds(out, "\tfor example ");
	proto_text(e->proto, out);
	if (is_icmp(r, d) && next_range(r, d, VF_D_HEAD, &i, &lo, &hi) && !any(r, d, VF_D_HEAD))
		cl_buf_addf(out, " type %u", e->head >> 8);
	if (e->source.family) {
		pol_addr_text(&e->source, text);
		cl_buf_addf(out, " from %s", text);
	}
	pol_addr_text(&e->to, text);
	cl_buf_addf(out, has_ports(e->proto) && e->to.family == 6 ? " to [%s]" : " to %s", text);
	if (has_ports(e->proto))
		cl_buf_addf(out, ":%u", e->port);
	cl_buf_addf(out, " (%s)\n", state);
}

void vf_difference_text(const struct vf_report *r, size_t i, struct cl_buf *out)
{
	const struct vf_difference *d = &r->v[i];

	cl_buf_addf(out, "%s%s, should be %s: %s, IPv%u", d->possible ? "may be " : "",
		verdict_words(d->got), verdict_words(d->want), vf_hook_name(d->hook), d->family);
	names_text(r, d, VF_D_IIF, ", in by ", out);
	names_text(r, d, VF_D_OIF, ", out by ", out);
	numbers_text(r, d, VF_D_PROTO, ", ", out);
	states_text(r, d, out);
	numbers_text(r, d, VF_D_SOURCE, ", from ", out);
	numbers_text(r, d, VF_D_HEAD, is_icmp(r, d) ? ", type " : ", source port ", out);
	numbers_text(r, d, VF_D_HOPS, ", hop limit ", out);
	cl_buf_addc(out, '\n');
	destinations_text(r, d, out);
	example_text(r, d, out);
}

void vf_note_text(const struct vf_note *n, struct cl_buf *out)
{
	switch (n->kind) {
	case VF_NO_TABLE:
		cl_buf_adds(out, "the table is not there");
		break;
	case VF_DORMANT:
		cl_buf_adds(out, "the table is dormant: none of its rules is in force");
		break;
	case VF_NO_HOOK:
		cl_buf_addf(out, "no filter stands at the %s hook with priority 0", n->name);
		break;
	case VF_WRONG_HOOK:
		cl_buf_addf(out, "chain '%s' does not stand as a filter with priority 0: %s",
			n->name, n->text);
		break;
	case VF_OTHER_CHAIN:
		cl_buf_addf(out,
			"cannot be judged: chain '%s' stands at a hook that is none of the "
			"filter's",
			n->name);
		break;
	case VF_UNJUDGED:
		cl_buf_addf(out, "cannot be judged: rule %u of chain '%s' uses %s", n->rule,
			n->name, n->text);
		break;
	case VF_TOO_MUCH:
		cl_buf_addf(out, "cannot be judged: too many %s", n->text);
		break;
	}
}

/* --- JSON --- */

static json_t *text_of(uint8_t family, int dim, flat_u128 x)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	if (dim != VF_D_SOURCE)
		return json_integer((json_int_t)x);
	number_text(family, dim, x, &b);
	return json_stringn(b.p, b.len);
}

/* Ranges as [first, last]; null: any. */
static json_t *ranges_json(const struct vf_report *r, const struct vf_difference *d, int dim)
{
	flat_u128 lo, hi;
	json_t *a;

	if (any(r, d, dim))
		return json_null();
	a = json_array();
	for (size_t i = 0; next_range(r, d, dim, &i, &lo, &hi);)
		(void)json_array_append_new(a, json_pack("[o, o]", text_of(d->family, dim, lo),
						       text_of(d->family, dim, hi)));
	return a;
}

static json_t *plain(const char *text)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	eg_clean(text, "", &b);
	return json_stringn(b.p, b.len);
}

static json_t *names_json(const struct vf_report *r, const struct vf_difference *d, int dim)
{
	json_t *a;

	if (any(r, d, dim))
		return json_null();
	a = json_array();
	for (size_t i = 0; i < r->ncells[flat_half(d->family)][dim]; i++)
		if (d->cells[dim] >> i & 1)
			(void)json_array_append_new(a, plain(cell(r, d, dim, i)->name));
	return a;
}

static json_t *states_json(const struct vf_report *r, const struct vf_difference *d)
{
	json_t *a = json_array();

	for (size_t i = 0; i < CL_ARRAY_LEN(states); i++)
		if (d->cells[VF_D_STATE] >> i & 1)
			(void)json_array_append_new(a,
				json_string(state_name((uint32_t)cell(r, d, VF_D_STATE, i)->lo)));
	return a;
}

static json_t *destinations_json(const struct vf_report *r, const struct vf_difference *d)
{
	json_t *a = json_array();

	for (size_t i = 0; i < d->to.n; i++) {
		const struct flat_class *c = &r->classes[d->to.id[i]];
		const struct flat_ports *p = r->spans + c->at[EG_PROTO_TCP];
		json_t *ports;

		if (d->to.id[i] == FLAT_DROP_ALL)
			continue;
		ports = json_array();
		for (uint32_t k = 0; k < c->n[EG_PROTO_TCP]; k++)
			(void)json_array_append_new(
				ports, json_pack("[i, i]", (int)p[k].lo, (int)p[k].hi));
		(void)json_array_append_new(
			a, json_pack("{s:o, s:o, s:o}", "from",
				   text_of(d->family, VF_D_SOURCE, d->to.lo[i]), "to",
				   text_of(d->family, VF_D_SOURCE, flat_hi(&d->to, i, d->family)),
				   "ports", ports));
	}
	return a;
}

static json_t *example_json(const struct vf_example *e)
{
	char to[POL_ADDR_TEXT], from[POL_ADDR_TEXT] = "";

	pol_addr_text(&e->to, to);
	if (e->source.family)
		pol_addr_text(&e->source, from);
	return json_pack("{s:o, s:o, s:s, s:o, s:s, s:i, s:i, s:i}", "in", plain(e->iif), "out",
		plain(e->oif), "state", state_name(e->state), "source",
		*from ? json_string(from) : json_null(), "address", to, "protocol", (int)e->proto,
		"port", (int)e->port, "head", (int)e->head);
}

static json_t *difference_json(const struct vf_report *r, const struct vf_difference *d)
{
	json_t *o = json_pack("{s:s, s:i, s:b, s:s, s:s}", "hook", vf_hook_name(d->hook), "family",
		(int)d->family, "possible", (int)d->possible, "expected", vf_verdict_name(d->want),
		"actual", vf_verdict_name(d->got));

	(void)json_object_set_new(o, "in", names_json(r, d, VF_D_IIF));
	(void)json_object_set_new(o, "out", names_json(r, d, VF_D_OIF));
	(void)json_object_set_new(o, "states", states_json(r, d));
	(void)json_object_set_new(o, "protocols", ranges_json(r, d, VF_D_PROTO));
	(void)json_object_set_new(o, "sources", ranges_json(r, d, VF_D_SOURCE));
	(void)json_object_set_new(o, "head", ranges_json(r, d, VF_D_HEAD));
	(void)json_object_set_new(o, "hop_limits", ranges_json(r, d, VF_D_HOPS));
	(void)json_object_set_new(o, "destinations", destinations_json(r, d));
	(void)json_object_set_new(o, "example", example_json(&d->example));
	return o;
}

static json_t *note_json(const struct vf_note *n)
{
	static const char *const kinds[] = {[VF_NO_TABLE] = "no_table",
		[VF_DORMANT] = "dormant",
		[VF_NO_HOOK] = "no_hook",
		[VF_WRONG_HOOK] = "wrong_hook",
		[VF_OTHER_CHAIN] = "other_chain",
		[VF_UNJUDGED] = "unjudged",
		[VF_TOO_MUCH] = "too_much"};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	vf_note_text(n, &text);
	return json_pack("{s:s, s:o, s:o, s:o}", "kind", kinds[n->kind], "name",
		*n->name ? plain(n->name) : json_null(), "rule",
		n->rule ? json_integer(n->rule) : json_null(), "text", plain(text.p));
}

json_t *vf_report_json(const struct vf_report *r)
{
	json_t *notes = json_array(), *differences = json_array();

	for (size_t i = 0; i < r->nnotes; i++)
		(void)json_array_append_new(notes, note_json(&r->notes[i]));
	for (size_t i = 0; i < r->n; i++)
		(void)json_array_append_new(differences, difference_json(r, &r->v[i]));
	return json_pack("{s:b, s:o, s:o}", "identical", !r->n && !r->nnotes, "notes", notes,
		"differences", differences);
}
