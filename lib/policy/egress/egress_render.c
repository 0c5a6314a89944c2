/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy for people (facts/egress.md 6, the guide's listing byte for byte) and as JSON. */
#include "policy/egress/egress_internal.h"
#include "base/mem.h"

#include <string.h>

#define WARNING_WIDTH 78

void eg_ports_text(const uint16_t *ports, size_t n, const char *sep, struct cl_buf *out)
{
	if (!n)
		cl_buf_adds(out, "any");
	for (size_t i = 0; i < n; i++)
		cl_buf_addf(out, "%s%u", i ? sep : "", ports[i]);
}

void eg_wrap(
	const char *text, const char *first, const char *next, size_t width, struct cl_buf *out)
{
	size_t used = strlen(first);
	bool fresh = true;

	cl_buf_adds(out, first);
	for (;;) {
		size_t word;

		text += strspn(text, " ");
		word = strcspn(text, " ");
		if (!word)
			break;
		if (!fresh && used + 1 + word > width) {
			cl_buf_addf(out, "\n%s", next);
			used = strlen(next);
			fresh = true;
		}
		if (!fresh)
			cl_buf_addc(out, ' ');
		cl_buf_add(out, text, word);
		used += word + !fresh;
		fresh = false;
		text += word;
	}
	cl_buf_addc(out, '\n');
}

/* One line of the listing; proto and ports as text. */
static void put_line(struct cl_buf *out, bool colour, enum eg_verdict verdict, const char *prefix,
	const char *proto, const char *ports, const char *reason)
{
	const char *on = verdict == EG_ALLOW ? "\033[32m" : "\033[31m";

	cl_buf_addf(out, "  %s%-5s%s  %-22s %3s %-12s %s\n", colour ? on : "",
		verdict == EG_ALLOW ? "allow" : "drop", colour ? "\033[0m" : "", prefix, proto,
		ports, reason);
}

static void put_rule(const struct eg_rule *r, bool colour, struct cl_buf *out)
{
	cleanup_buf struct cl_buf ports = CL_BUF_INIT, reason = CL_BUF_INIT;
	char prefix[POL_PREFIX_TEXT];

	pol_prefix_text(&r->prefix, prefix);
	eg_ports_text(r->ports, r->nports, ",", &ports);
	cl_buf_addf(&reason, "%s%s", r->reason, r->local ? " [namespace-local]" : "");
	if (r->level && !r->local)
		cl_buf_addf(&reason, " [%s]", r->level);
	put_line(out, colour, r->verdict, prefix,
		r->proto == EG_PROTO_ANY ? "" : eg_proto_name(r->proto), ports.p, reason.p);
}

void eg_render_rules(const struct eg_policy *p, const char *source, bool colour, struct cl_buf *out)
{
	cleanup_buf struct cl_buf last = CL_BUF_INIT;

	cl_buf_adds(&last, EG_SAY_DEFAULT);
	cl_buf_addf(out, "IP-layer egress filter  mode %s, %zu rules, from %s\n\n",
		eg_mode_name(p->mode), p->nrules, source);
	for (size_t i = 0; i < p->warnings.n; i++) {
		eg_wrap(p->warnings.v[i], "warning: ", "", WARNING_WIDTH, out);
		cl_buf_addc(out, '\n');
	}
	for (size_t i = 0; i < p->nrules; i++)
		put_rule(&p->rules[i], colour, out);
	if (p->levels.n)
		cl_buf_addf(&last, " [%s]", p->levels.v[0]);
	put_line(out, colour, EG_DROP, "0.0.0.0/0", "", "any", last.p);
}

static json_t *rule_json(const struct eg_rule *r)
{
	char prefix[POL_PREFIX_TEXT];
	json_t *ports = json_array(), *obj = json_object();

	pol_prefix_text(&r->prefix, prefix);
	for (size_t i = 0; i < r->nports; i++)
		(void)json_array_append_new(ports, json_integer(r->ports[i]));
	(void)json_object_set_new(
		obj, "verdict", json_string(r->verdict == EG_ALLOW ? "allow" : "drop"));
	(void)json_object_set_new(obj, "prefix", json_string(prefix));
	(void)json_object_set_new(obj, "protocol", json_string(eg_proto_name(r->proto)));
	(void)json_object_set_new(obj, "ports", ports);
	(void)json_object_set_new(obj, "reason", json_string(r->reason));
	(void)json_object_set_new(obj, "local", json_boolean(r->local));
	(void)json_object_set_new(obj, "denied", json_boolean(r->denied));
	(void)json_object_set_new(obj, "carve", json_boolean(r->carve));
	if (r->level)
		(void)json_object_set_new(obj, "level", cl_json_string(r->level));
	return obj;
}

json_t *eg_policy_json(const struct eg_policy *p)
{
	json_t *rules = json_array(), *warnings = json_array(), *obj = json_object(), *levels;

	for (size_t i = 0; i < p->nrules; i++)
		(void)json_array_append_new(rules, rule_json(&p->rules[i]));
	for (size_t i = 0; i < p->warnings.n; i++)
		(void)json_array_append_new(warnings, json_string(p->warnings.v[i]));
	(void)json_object_set_new(obj, "mode", json_string(eg_mode_name(p->mode)));
	(void)json_object_set_new(obj, "rules", rules);
	(void)json_object_set_new(obj, "warnings", warnings);
	(void)json_object_set_new(obj, "default", json_string("drop"));
	(void)json_object_set_new(obj, "silent", json_boolean(p->silent));
	if (!p->levels.n)
		return obj;
	levels = json_array();
	for (size_t i = 0; i < p->levels.n; i++)
		(void)json_array_append_new(levels, cl_json_string(p->levels.v[i]));
	(void)json_object_set_new(obj, "levels", levels);
	return obj;
}
