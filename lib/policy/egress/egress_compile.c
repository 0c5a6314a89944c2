/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Authorisation to ordered rules: facts/egress.md 2, checks and rules in its order. */
#include "policy/egress/egress_internal.h"
#include "policy/egress/blockset.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SAY_DENIED "operator deny list"

void eg_policy_release(struct eg_policy *p)
{
	free(p->rules);
	free(p->ports);
	cl_strv_release(&p->warnings);
	cl_strv_release(&p->reasons);
	cl_strv_release(&p->levels);
	*p = EG_POLICY_INIT;
}

/* --- what is refused --- */

static int check_ports(const struct eg_auth *a, struct cl_err *e)
{
	if (a->nports > EG_MAX_PORTS) {
		(void)cl_fail(e, CL_EDATA, "%zu ports are more than the %d a policy may list",
			a->nports, EG_MAX_PORTS);
		return cl_fix(e, "list fewer ports, or allow every port");
	}
	for (size_t i = 0; i < a->nports; i++) {
		if (a->ports[i])
			continue;
		(void)cl_fail(e, CL_EDATA, "port 0 is not a destination");
		return cl_fix(e, "name ports from 1 to 65535");
	}
	return 0;
}

static int check_cidrs(const struct eg_auth *a, const struct pol_prefix *p, size_t n,
	const char *kind, struct cl_err *e)
{
	size_t max = a->max_cidrs ? a->max_cidrs : EG_MAX_CIDRS;

	if (n > max) {
		(void)cl_fail(e, CL_EDATA, "%zu %s ranges are more than the %zu a policy may list",
			n, kind, max);
		return cl_fix(e, "merge neighbouring ranges");
	}
	for (size_t i = 0; i < n; i++) {
		char text[POL_PREFIX_TEXT];

		if (pol_prefix_valid(&p[i]))
			continue;
		pol_prefix_text(&p[i], text);
		(void)cl_fail(e, CL_EDATA, "%s range '%s' is invalid", kind, text);
		return cl_fix(e, "write a range such as 10.8.0.0/16");
	}
	return 0;
}

static int check_endpoints(
	const struct pol_endpoint *p, size_t n, const char *kind, struct cl_err *e)
{
	if (n > EG_MAX_ENDPOINTS) {
		(void)cl_fail(e, CL_EDATA, "%zu %ss are more than the %d a policy may list", n,
			kind, EG_MAX_ENDPOINTS);
		return cl_fix(e, "name fewer");
	}
	for (size_t i = 0; i < n; i++) {
		char text[POL_ENDPOINT_TEXT];
		bool addr = p[i].addr.family == 4 || p[i].addr.family == 6;

		if (addr && p[i].port)
			continue;
		pol_endpoint_text(&p[i], text);
		(void)cl_fail(e, CL_EDATA, "%s '%s' %s", kind, text,
			addr ? "has port 0, which is not a destination" : "is no endpoint");
		return cl_fix(e, "write the %s as ADDRESS:PORT", kind);
	}
	return 0;
}

static int check_hosts(const struct eg_auth *a, struct cl_err *e)
{
	if (a->hosts.n > EG_MAX_HOST) {
		(void)cl_fail(e, CL_EDATA,
			"%zu host patterns are more than the %d a policy may list", a->hosts.n,
			EG_MAX_HOST);
		return cl_fix(e, "cover several by one pattern, such as *.example.com");
	}
	for (size_t i = 0; i < a->hosts.n; i++)
		if (eg_check_host(a->hosts.v[i], "host pattern", e))
			return -1;
	return 0;
}

/* What destinations and ports mean together. */
static int check_sense(const struct eg_auth *a, struct cl_err *e)
{
	if ((a->nallow || a->internet) && !a->nports && !a->all_ports) {
		(void)cl_fail(e, CL_EDATA, "the policy allows %s and names no port",
			a->internet ? "the public Internet" : "address ranges");
		return cl_fix(e, "name the ports (--ports 443, allow_ports), or allow every port "
				 "(--all-ports, all_ports)");
	}
	if (a->all_ports && a->nports) {
		(void)cl_fail(e, CL_EDATA, "every port and %zu port%s are asked for at once",
			a->nports, a->nports == 1 ? "" : "s");
		return cl_fix(e, "keep the list of ports, or every port, not both");
	}
	for (size_t i = 0; i < a->nallow; i++) {
		struct pol_prefix p = a->allow[i];
		char text[POL_PREFIX_TEXT];

		(void)pol_prefix_unmap(&p);
		if (p.len)
			continue;
		pol_prefix_text(&a->allow[i], text);
		(void)cl_fail(e, CL_EDATA,
			"range '%s' is every address there is: it would open every blocked range, "
			"the metadata services with it",
			text);
		return cl_fix(e, EG_FIX_EVERYTHING);
	}
	return 0;
}

static int check(const struct eg_auth *a, struct cl_err *e)
{
	if (check_ports(a, e) || check_cidrs(a, a->allow, a->nallow, "allowed", e) ||
		check_cidrs(a, a->deny, a->ndeny, "denied", e) ||
		check_endpoints(a->brokers, a->nbrokers, "broker", e) ||
		check_endpoints(a->resolvers, a->nresolvers, "resolver", e) || check_hosts(a, e))
		return -1;
	return check_sense(a, e);
}

/* --- rules --- */

static struct eg_rule *add(struct eg_policy *p, enum eg_verdict verdict,
	const struct pol_prefix *prefix, const char *reason)
{
	struct eg_rule *r;

	p->rules = cl_grow(p->rules, &p->rules_cap, p->nrules + 1, sizeof(*p->rules));
	r = &p->rules[p->nrules++];
	*r = (struct eg_rule){.verdict = verdict, .prefix = *prefix, .reason = reason};
	return r;
}

/* "<a><b><c>" as long as the policy lives. */
static const char *say(struct eg_policy *p, const char *a, const char *b, const char *c)
{
	cl_strv_addf(&p->reasons, "%s%s%s", a, b, c);
	return p->reasons.v[p->reasons.n - 1];
}

static void add_loopback(struct eg_policy *p)
{
	static const struct pol_prefix own[] = {{{4, {127}}, 8}, {{6, {[15] = 1}}, 128}};

	for (size_t i = 0; i < CL_ARRAY_LEN(own); i++)
		add(p, EG_ALLOW, &own[i], "sandbox-local loopback")->local = true;
}

static void add_endpoint(struct eg_policy *p, const struct pol_endpoint *to, enum eg_proto proto,
	const uint16_t *port, const char *reason)
{
	struct pol_prefix host = pol_host(&to->addr);
	struct eg_rule *r = add(p, EG_ALLOW, &host, reason);

	r->proto = proto;
	r->ports = port;
	r->nports = 1;
}

/* Takes the endpoints' ports behind the port list, where the rules can point at them. */
static void add_endpoints(struct eg_policy *p, const struct eg_plan *plan)
{
	uint16_t *port = p->ports + plan->nports;

	for (size_t i = 0; i < plan->nbrokers; i++, port++) {
		*port = plan->brokers[i].port;
		add_endpoint(p, &plan->brokers[i], EG_PROTO_TCP, port, "egress broker");
	}
	for (size_t i = 0; i < plan->nresolvers; i++, port++) {
		*port = plan->resolvers[i].port;
		add_endpoint(p, &plan->resolvers[i], EG_PROTO_UDP, port, "DNS resolver");
		add_endpoint(p, &plan->resolvers[i], EG_PROTO_TCP, port,
			"DNS resolver (truncated answers retry over TCP)");
	}
}

static void add_blocks(struct eg_policy *p, enum eg_block_kind kind, bool carve)
{
	for (size_t i = 0; i < eg_nblocks; i++)
		if (eg_blocks[i].kind == kind)
			add(p, EG_DROP, &eg_blocks[i].prefix, eg_blocks[i].reason)->carve = carve;
}

/* A metadata service inside an allowed range stays closed unless it is named itself. */
static void add_carves(struct eg_policy *p, const struct eg_plan *plan)
{
	for (size_t i = 0; i < eg_nblocks; i++) {
		const struct eg_block *b = &eg_blocks[i];
		bool inside = false;

		if (b->kind != EG_BLOCK_METADATA || !eg_plan_unnamed(plan, b))
			continue;
		for (size_t k = 0; k < plan->nallow && !inside; k++)
			inside = pol_prefix_holds(&plan->allow[k], &b->prefix);
		if (inside)
			add(p, EG_DROP, &b->prefix,
				say(p, b->reason, ", inside an allowed range that does not name it",
					""))
				->carve = true;
	}
}

static void add_allowed(struct eg_policy *p, const struct eg_plan *plan, bool special)
{
	const struct eg_block *last = NULL;
	const char *reason = NULL;

	for (size_t i = 0; i < plan->nallow; i++) {
		const struct eg_block *b = eg_block_of(&plan->allow[i], special);
		struct eg_rule *r;

		if (!b)
			reason = "granted CIDR";
		else if (b != last)
			reason = say(p, "granted CIDR (waives ", b->reason, ")");
		last = b;
		r = add(p, EG_ALLOW, &plan->allow[i], reason);
		r->proto = EG_PROTO_TCP;
		r->ports = p->ports;
		r->nports = plan->nports;
	}
}

static void add_internet(struct eg_policy *p, const struct eg_plan *plan)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		struct pol_prefix all = {{family, {0}}, 0};
		struct eg_rule *r = add(p, EG_ALLOW, &all, "public Internet");

		r->proto = EG_PROTO_TCP;
		r->ports = p->ports;
		r->nports = plan->nports;
		r->internet = true;
	}
}

static enum eg_mode mode_of(const struct eg_auth *a)
{
	if (a->nallow || a->internet)
		return EG_FILTERED;
	return a->nbrokers ? EG_BROKERED : EG_ISOLATED;
}

int eg_compile(const struct eg_auth *a, struct eg_policy *out, struct cl_err *e)
{
	cleanup_eg_plan struct eg_plan plan = {0};

	if (check(a, e))
		return -1;
	eg_plan_make(a, &plan);
	out->mode = mode_of(a);
	out->silent = a->silent;
	out->ports = cl_calloc(plan.nports + plan.nbrokers + plan.nresolvers + 1, sizeof(uint16_t));
	if (plan.nports)
		memcpy(out->ports, plan.ports, plan.nports * sizeof(uint16_t));
	add_loopback(out);
	for (size_t i = 0; i < plan.ndeny; i++)
		add(out, EG_DROP, &plan.deny[i], SAY_DENIED)->denied = true;
	add_endpoints(out, &plan);
	add_blocks(out, EG_BLOCK_TRANSLATION, true);
	add_carves(out, &plan);
	add_allowed(out, &plan, a->block_special_use);
	add_blocks(out, EG_BLOCK_METADATA, false);
	add_blocks(out, EG_BLOCK_BASE, false);
	if (a->block_special_use)
		add_blocks(out, EG_BLOCK_SPECIAL, false);
	if (a->internet)
		add_internet(out, &plan);
	eg_warn(a, &plan, out);
	return 0;
}
