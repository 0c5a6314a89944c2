/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/expect_internal.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void exp_suite_release(struct exp_suite *s)
{
	for (size_t i = 0; i < s->nlists; i++) {
		free(s->lists[i].name);
		free(s->lists[i].targets);
	}
	for (size_t i = 0; i < s->ncases; i++) {
		free(s->cases[i].name);
		free(s->cases[i].reason);
		free(s->cases[i].targets);
		free(s->cases[i].ports);
	}
	free(s->lists);
	free(s->cases);
	eg_stack_release(&s->policy);
	*s = EXP_SUITE_INIT;
}

/*
 * obj[key], one text or a list of them, handed to `take` one by one. An error is given
 * its place.
 */
static int each_text(struct cl_doc *d, const json_t *obj, const char *key,
	int (*take)(void *data, const char *text, struct cl_err *e), void *data, struct cl_err *e)
{
	json_t *list = json_object_get(obj, key);
	const char *text = NULL;

	if (!json_is_array(list)) {
		if (cl_doc_str(d, obj, key, &text, e))
			return -1;
		if (text && take(data, text, e)) {
			unsigned line, column;

			cl_doc_where(d, obj, key, 0, false, &line, &column);
			return cl_at(e, d->name, line, column);
		}
		return 0;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		unsigned line, column;

		if (cl_doc_str_at(d, list, i, &text, e))
			return -1;
		if (!text || !take(data, text, e))
			continue;
		cl_doc_where(d, list, NULL, i, false, &line, &column);
		return cl_at(e, d->name, line, column);
	}
	return 0;
}

/* --- lists --- */

struct filling {
	const struct exp_suite *suite;
	struct exp_targets to;
	bool lists;
};

static int take_target(void *data, const char *text, struct cl_err *e)
{
	const struct filling *f = data;

	return exp_target_read(f->suite, text, f->lists, f->to, e);
}

static int read_list(struct cl_doc *d, const json_t *lists, const char *name, struct exp_suite *out,
	struct cl_err *e)
{
	struct exp_list *l;
	struct filling f = {.suite = out};

	if (!exp_list_name(name) || exp_list_is_built_in(name)) {
		unsigned line, column;

		(void)cl_fail(e, CL_EDATA, "'%.80s' cannot be a list's name", name);
		cl_doc_where(d, lists, name, 0, true, &line, &column);
		(void)cl_at(e, d->name, line, column);
		return cl_fix(e, "write a letter, then letters, digits, '-' and '_', and none of "
				 "metadata, blocked, special-use and everything");
	}
	out->lists = cl_grow(out->lists, &out->lists_cap, out->nlists + 1, sizeof(*l));
	l = &out->lists[out->nlists++];
	*l = (struct exp_list){.name = cl_strdup(name)};
	f.to = (struct exp_targets){&l->targets, &l->ntargets, &l->cap};
	return each_text(d, lists, name, take_target, &f, e);
}

static int read_lists(struct cl_doc *d, struct exp_suite *out, struct cl_err *e)
{
	json_t *lists = NULL, *value;
	const char *name;

	if (cl_doc_map(d, d->root, "lists", &lists, e))
		return -1;
	json_object_foreach (lists, name, value) {
		if (read_list(d, lists, name, out, e))
			return -1;
	}
	return 0;
}

/* --- one case --- */

/* "443" or "8000-8100" */
static int take_port(void *data, const char *text, struct cl_err *e)
{
	struct exp_case *c = data;
	cleanup_free char *copy = cl_trim_dup(text);
	char *dash = strchr(copy, '-');
	uint64_t lo = 0, hi = 0;
	bool ok;

	if (dash)
		*dash++ = '\0';
	ok = !cl_parse_u64(copy, 1, FLAT_MAX_PORT, "ports", &lo, e) &&
	     !cl_parse_u64(dash ? dash : copy, 1, FLAT_MAX_PORT, "ports", &hi, e) && lo <= hi;
	if (!ok) {
		(void)cl_fail(
			e, CL_EDATA, "ports: '%.40s' is neither a port nor a range of ports", text);
		return cl_fix(e, "write ports from 1 to 65535, such as 443 or 8000-8100");
	}
	c->ports = cl_grow(c->ports, &c->ports_cap, c->nports + 1, sizeof(*c->ports));
	c->ports[c->nports++] = (struct flat_ports){(uint16_t)lo, (uint16_t)hi};
	return 0;
}

static int take_proto(void *data, const char *text, struct cl_err *e)
{
	static const struct {
		const char *name;
		unsigned bits;
	} names[] = {{"tcp", 1u << EG_PROTO_TCP}, {"udp", 1u << EG_PROTO_UDP},
		{"any", 1u << EG_PROTO_ANY}, {"all", FLAT_EVERY_PROTO}};
	struct exp_case *c = data;

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		if (!strcmp(text, names[i].name)) {
			c->protos |= names[i].bits;
			return 0;
		}
	}
	(void)cl_fail(e, CL_EDATA, "protocol: '%.40s' is unknown", text);
	return cl_fix(e, "write tcp, udp, any (ICMP and the rest) or all");
}

/* What is expected, as a name: "drop 10.0.0.0/8", "drop 10.0.0.0/8 and 3 more". */
static char *describe(const json_t *obj, const char *verdict)
{
	const json_t *value = json_object_get(obj, verdict);
	size_t n = json_is_array(value) ? json_array_size(value) : 1;
	const char *first =
		json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);

	if (n > 1)
		return cl_asprintf("%s %.100s and %zu more", verdict, first ? first : "?", n - 1);
	return cl_asprintf("%s %.100s", verdict, first ? first : "?");
}

static int need_verdict(struct cl_doc *d, const json_t *list, size_t i, const json_t *obj,
	struct exp_case *c, struct cl_err *e)
{
	bool allow = cl_doc_has(obj, "allow"), drop = cl_doc_has(obj, "drop");

	c->want = allow ? EG_ALLOW : EG_DROP;
	if (allow != drop)
		return 0;
	(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e, "a test has %s",
		allow ? "both 'allow' and 'drop'" : "neither 'allow' nor 'drop'");
	return cl_fix(e, "give each test one of them");
}

/* Ports and protocols are those of addresses and ranges; an endpoint has its own. */
static int check_sense(struct cl_doc *d, const json_t *list, size_t i, const json_t *obj,
	const struct exp_case *c, struct cl_err *e)
{
	bool given = cl_doc_has(obj, "ports") || cl_doc_has(obj, "protocol");
	size_t endpoints = 0;

	for (size_t k = 0; k < c->ntargets; k++)
		endpoints += c->targets[k].endpoint;
	if (!c->ntargets) {
		(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e, "a test names no destination");
		return cl_fix(e, "name an address, a range, an endpoint or a list");
	}
	if (c->ntargets >= EXP_MAX_TARGETS) {
		(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e,
			"a test has %d destinations or more", EXP_MAX_TARGETS);
		return cl_fix(e, "write ranges instead of single addresses");
	}
	if (given && endpoints) {
		(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e,
			"'ports' and 'protocol' do not go with a destination that has a port");
		return cl_fix(e, "write the address alone, or put it into a test of its own");
	}
	if (c->nports && c->protos == 1u << EG_PROTO_ANY) {
		(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e, "protocol any has no ports");
		return cl_fix(e, "leave 'ports' out");
	}
	return 0;
}

static int read_case(
	struct cl_doc *d, const json_t *list, size_t i, struct exp_suite *out, struct cl_err *e)
{
	static const char *const known[] = {"name", "allow", "drop", "ports", "protocol", "reason"};
	json_t *obj = json_array_get(list, i);
	struct exp_case *c;
	struct filling f = {.suite = out, .lists = true};
	const char *name = NULL, *reason = NULL, *verdict;
	unsigned column;

	out->cases = cl_grow(out->cases, &out->cases_cap, out->ncases + 1, sizeof(*c));
	c = &out->cases[out->ncases++];
	*c = (struct exp_case){.want = EG_DROP};
	cl_doc_where(d, list, NULL, i, false, &c->line, &column);
	if (!json_is_object(obj)) {
		(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e, "a test is a mapping");
		return cl_fix(e, "write it as '- drop: 10.0.0.0/8'");
	}
	if (cl_doc_closed(d, obj, "a test", known, CL_ARRAY_LEN(known), e) ||
		need_verdict(d, list, i, obj, c, e))
		return -1;
	verdict = c->want == EG_ALLOW ? "allow" : "drop";
	f.to = (struct exp_targets){&c->targets, &c->ntargets, &c->cap};
	if (each_text(d, obj, verdict, take_target, &f, e) ||
		each_text(d, obj, "ports", take_port, c, e) ||
		each_text(d, obj, "protocol", take_proto, c, e) ||
		cl_doc_str(d, obj, "name", &name, e) || cl_doc_str(d, obj, "reason", &reason, e) ||
		check_sense(d, list, i, obj, c, e))
		return -1;
	if (!c->protos)
		c->protos = c->want == EG_ALLOW ? 1u << EG_PROTO_TCP : FLAT_EVERY_PROTO;
	c->name = name && *name ? cl_strdup(name) : describe(obj, verdict);
	c->reason = reason ? cl_strdup(reason) : NULL;
	return 0;
}

static int read_policy(struct cl_doc *d, struct exp_suite *out, struct cl_err *e)
{
	json_t *policy = NULL;

	if (cl_doc_map(d, d->root, "policy", &policy, e))
		return -1;
	out->has_policy = policy != NULL;
	out->policy.max_cidrs = EG_MAX_CIDRS_FILE;
	return policy ? eg_stack_read(d, policy, &out->policy, e) : 0;
}

int exp_read(struct cl_doc *d, struct exp_suite *out, struct cl_err *e)
{
	static const char *const known[] = {"policy", "lists", "tests"};
	json_t *tests = NULL;
	size_t targets = 0;

	if (!json_is_object(d->root)) {
		(void)cl_fail(e, CL_EDATA, "a file of policy tests is a mapping");
		(void)cl_at(e, d->name, 1, 1);
		return cl_fix(e, "write 'policy:' and 'tests:', as cloop-egress(1) shows");
	}
	if (cl_doc_closed(d, d->root, "", known, CL_ARRAY_LEN(known), e) ||
		read_policy(d, out, e) || read_lists(d, out, e) ||
		cl_doc_list(d, d->root, "tests", &tests, e))
		return -1;
	if (!json_array_size(tests) || json_array_size(tests) > EXP_MAX_CASES) {
		(void)cl_fail(e, CL_EDATA, "the file has %zu tests", json_array_size(tests));
		(void)cl_at(e, d->name, 1, 1);
		return cl_fix(e, "list from 1 to %d under 'tests:'", EXP_MAX_CASES);
	}
	for (size_t i = 0; i < json_array_size(tests); i++) {
		if (read_case(d, tests, i, out, e))
			return -1;
		targets += out->cases[i].ntargets;
		if (targets > EXP_MAX_TARGETS) {
			(void)cl_doc_fail(d, tests, NULL, i, CL_EDATA, e,
				"the tests have more than %d destinations", EXP_MAX_TARGETS);
			return cl_fix(e, "put some of the tests into another file");
		}
	}
	return 0;
}
