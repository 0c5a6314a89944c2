/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report.h"
#include "base/doc.h"
#include "base/mem.h"

#include <string.h>

/* --- counts --- */

void report_counts(const struct change *c, struct cl_buf *out)
{
	bool any = false;

	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		const struct flat_count *n = &c->areas.count[half];
		char addresses[CHANGE_NUMBER_TEXT], destinations[CHANGE_NUMBER_TEXT];

		if (!n->addresses)
			continue;
		change_number_short(n->addresses, addresses);
		change_number_short(n->destinations, destinations);
		cl_buf_addf(out, "%s%s %s address%s (%s destination%s)", any ? " and " : "",
			addresses, half == FLAT_V4 ? "IPv4" : "IPv6", n->addresses == 1 ? "" : "es",
			destinations, n->destinations == 1 ? "" : "s");
		any = true;
	}
	if (!any)
		cl_buf_adds(out, "nothing");
}

/* --- one group --- */

static void put_ranges(const struct report *r, const struct change_group *g, struct cl_buf *out)
{
	size_t n = r->limit && r->limit < g->n ? r->limit : g->n;

	for (size_t i = 0; i < n; i++) {
		char text[CHANGE_RANGE_TEXT];

		change_range_text(g->like.family, g->v[i].lo, g->v[i].hi, text);
		cl_buf_addf(out, "%s%s", i ? ", " : "", text);
	}
	if (n < g->n)
		cl_buf_addf(out, " and %zu more", g->n - n);
}

/* "dropped by rule 22 (private (RFC1918/ULA)) [executor x]" */
static void put_answer(const struct change_side *s, const struct eg_answer *a, struct cl_buf *out)
{
	const char *level = eg_level_of(&s->policy, a->rule);

	cl_buf_adds(out, a->verdict == EG_ALLOW ? "allowed" : "dropped");
	if (a->rule >= 0)
		cl_buf_addf(out, " by rule %d", a->rule + 1);
	cl_buf_addf(out, ": %s", a->reason);
	if (level)
		cl_buf_addf(out, " [%s]", level);
}

static void put_group(const struct report *r, const struct change_group *g, struct cl_buf *out)
{
	char n[CHANGE_NUMBER_TEXT];

	change_number_short(g->addresses, n);
	cl_buf_adds(out, "  ");
	change_ports_text(&g->like, out);
	cl_buf_addf(out, ", %s address%s: ", n, g->addresses == 1 ? "" : "es");
	put_ranges(r, g, out);
	cl_buf_adds(out, "\n    ");
	change_example_text(&g->like.example, out);
	cl_buf_addf(out, " %s ", r->was);
	put_answer(r->before, &g->like.before, out);
	cl_buf_addf(out, "\n    %s ", r->is);
	put_answer(r->after, &g->like.after, out);
	cl_buf_addc(out, '\n');
}

void report_text(const struct report *r, const char *title, struct cl_buf *out)
{
	cl_buf_addf(out, "%s: ", title);
	report_counts(r->change, out);
	cl_buf_addc(out, '\n');
	for (size_t i = 0; i < r->change->n; i++)
		put_group(r, &r->change->v[i], out);
}

/* --- Markdown --- */

void report_escape(const char *text, struct cl_buf *out)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 0x7f)
			cl_buf_addc(out, ' ');
		else if (c == '@')
			cl_buf_adds(out, "&#64;"); /* nobody is called */
		else if (strchr("\\`*_{}[]<>|#&!~$", c))
			cl_buf_addf(out, "\\%c", c);
		else
			cl_buf_addc(out, (char)c);
	}
}

static void cell(struct cl_buf *text, const char *end, struct cl_buf *out)
{
	report_escape(text->p, out);
	cl_buf_adds(out, end);
	cl_buf_reset(text);
}

static void put_row(const struct report *r, const struct change_group *g, struct cl_buf *out)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	char n[CHANGE_NUMBER_TEXT];

	cl_buf_adds(out, "| ");
	put_ranges(r, g, &text);
	cell(&text, " | ", out);
	change_ports_text(&g->like, &text);
	cell(&text, " | ", out);
	change_number_short(g->addresses, n);
	cl_buf_addf(out, "%s | ", n);
	change_example_text(&g->like.example, &text);
	cell(&text, " | ", out);
	put_answer(r->before, &g->like.before, &text);
	cell(&text, " | ", out);
	put_answer(r->after, &g->like.after, &text);
	cell(&text, " |\n", out);
}

void report_markdown(const struct report *r, const char *title, struct cl_buf *out)
{
	cl_buf_addf(out, "#### %s: ", title);
	report_counts(r->change, out);
	cl_buf_adds(out, "\n\n");
	if (!r->change->n)
		return;
	cl_buf_adds(out, "| to | ports | addresses | example | was | is |\n"
			 "|---|---|--:|---|---|---|\n");
	for (size_t i = 0; i < r->change->n; i++)
		put_row(r, &r->change->v[i], out);
	cl_buf_addc(out, '\n');
}

/* --- JSON --- */

/* IPv4 counts are numbers; those of IPv6 do not fit one and are strings. */
static json_t *number(uint8_t family, flat_u128 n)
{
	char text[CHANGE_NUMBER_TEXT];

	if (family == 4)
		return json_integer((json_int_t)n);
	change_number(n, text);
	return json_string(text);
}

static json_t *answer_json(const struct change_side *s, const struct eg_answer *a)
{
	const char *level = eg_level_of(&s->policy, a->rule);
	json_t *o = json_object();

	(void)json_object_set_new(
		o, "verdict", json_string(a->verdict == EG_ALLOW ? "allow" : "drop"));
	(void)json_object_set_new(o, "reason", cl_json_string(a->reason));
	(void)json_object_set_new(o, "rule", a->rule < 0 ? json_null() : json_integer(a->rule + 1));
	(void)json_object_set_new(o, "level", level ? cl_json_string(level) : json_null());
	return o;
}

static json_t *ports_json(const struct change_segment *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s->proto != EG_PROTO_ANY && i < s->nports; i++)
		(void)json_array_append_new(
			list, json_pack("[i, i]", (int)s->ports[i].lo, (int)s->ports[i].hi));
	return list;
}

static json_t *ranges_json(const struct report *r, const struct change_group *g)
{
	size_t n = r->limit && r->limit < g->n ? r->limit : g->n;
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		char text[CHANGE_RANGE_TEXT];

		change_range_text(g->like.family, g->v[i].lo, g->v[i].hi, text);
		(void)json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *group_json(const struct report *r, const struct change_group *g)
{
	cleanup_buf struct cl_buf example = CL_BUF_INIT;
	json_t *o = json_object();

	change_example_text(&g->like.example, &example);
	(void)json_object_set_new(o, "family", json_integer(g->like.family));
	(void)json_object_set_new(o, "protocol", json_string(eg_proto_name(g->like.proto)));
	(void)json_object_set_new(o, "ports", ports_json(&g->like));
	(void)json_object_set_new(o, "addresses", number(g->like.family, g->addresses));
	(void)json_object_set_new(o, "nranges", json_integer((json_int_t)g->n));
	(void)json_object_set_new(o, "ranges", ranges_json(r, g));
	(void)json_object_set_new(o, "example", json_string(example.p));
	(void)json_object_set_new(o, "before", answer_json(r->before, &g->like.before));
	(void)json_object_set_new(o, "after", answer_json(r->after, &g->like.after));
	return o;
}

static json_t *count_json(uint8_t family, const struct flat_count *n)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "addresses", number(family, n->addresses));
	(void)json_object_set_new(o, "destinations", number(family, n->destinations));
	return o;
}

json_t *report_json(const struct report *r)
{
	json_t *o = json_object(), *groups = json_array();

	for (size_t i = 0; i < r->change->n; i++)
		(void)json_array_append_new(groups, group_json(r, &r->change->v[i]));
	(void)json_object_set_new(o, "ipv4", count_json(4, &r->change->areas.count[FLAT_V4]));
	(void)json_object_set_new(o, "ipv6", count_json(6, &r->change->areas.count[FLAT_V6]));
	(void)json_object_set_new(o, "groups", groups);
	return o;
}
