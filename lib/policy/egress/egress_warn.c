/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a policy's author should know, and the containment rule of DECISIONS E10. */
#include "policy/egress/egress_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

/* The unnamed metadata services that `range` strictly holds, as rows of the block set. */
static size_t contained(const struct eg_plan *plan, const struct pol_prefix *range, size_t max,
	const struct eg_block *found[])
{
	size_t n = 0;

	for (size_t i = 0; i < eg_nblocks && n < max; i++) {
		const struct eg_block *b = &eg_blocks[i];

		if (b->kind == EG_BLOCK_METADATA && range->len < b->prefix.len &&
			pol_prefix_holds(range, &b->prefix) && eg_plan_unnamed(plan, b))
			found[n++] = b;
	}
	return n;
}

#define SERVICES 32 /* more than the block set has */

/* "10.0.0.0/8 contains the metadata service A (NAME)", or a count and all of them. */
static void sentence(const struct pol_prefix *range, const struct eg_block *const *found, size_t n,
	struct cl_buf *out)
{
	char text[POL_PREFIX_TEXT];

	pol_prefix_text(range, text);
	if (n == 1)
		cl_buf_addf(out, "%s contains the cloud metadata service ", text);
	else
		cl_buf_addf(out, "%s contains %zu cloud metadata services: ", text, n);
	for (size_t i = 0; i < n; i++) {
		pol_addr_text(&found[i]->prefix.addr, text);
		cl_buf_addf(out, "%s%s (%s)", i ? ", " : "", text, found[i]->name);
	}
}

/* Adds the host prefixes to a list that is separated by ", " and holds each once. */
static void host_names(const struct eg_block *const *found, size_t n, struct cl_strv *out)
{
	char text[POL_PREFIX_TEXT];

	for (size_t i = 0; i < n; i++) {
		pol_prefix_text(&found[i]->prefix, text);
		if (!cl_strv_has(out, text))
			cl_strv_add(out, text);
	}
}

static char *joined(const struct cl_strv *s)
{
	return cl_join((const char *const *)s->v, s->n, ", ");
}

int eg_check_metadata(
	const struct eg_auth *a, const char *allow_name, const char *deny_name, struct cl_err *e)
{
	cleanup_eg_plan struct eg_plan plan = {0};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv hosts = CL_STRV_INIT;
	cleanup_free char *names = NULL;
	size_t findings = 0;
	bool everything = false;

	eg_plan_make(a, &plan);
	for (size_t i = 0; i < plan.nallow; i++) {
		const struct eg_block *found[SERVICES];
		size_t n = contained(&plan, &plan.allow[i], SERVICES, found);

		if (!n)
			continue;
		if (findings++)
			cl_buf_adds(&text, "; ");
		sentence(&plan.allow[i], found, n, &text);
		host_names(found, n, &hosts);
		everything = everything || !plan.allow[i].len;
	}
	if (!findings)
		return 0;
	names = joined(&hosts);
	(void)cl_fail(e, CL_EDATA, "%s: %s; a metadata service opens only by its own address",
		allow_name, text.p);
	(void)cl_slug(e, "unnamed_metadata");
	/* No policy takes a range of length 0, whatever else it names. */
	if (everything)
		return cl_fix(e, EG_FIX_EVERYTHING);
	if (deny_name)
		return cl_fix(e,
			"add %s to %s to open what is meant, or to %s to keep it closed; or allow "
			"a range that leaves it out",
			names, allow_name, deny_name);
	return cl_fix(e, "add %s to %s where it is meant, or allow a range that leaves it out",
		names, allow_name);
}

/* "port 443", "ports 80, 443" or "any port". */
static void on_ports(const struct eg_plan *plan, struct cl_buf *out)
{
	if (!plan->nports) {
		cl_buf_adds(out, "any port");
		return;
	}
	cl_buf_adds(out, plan->nports == 1 ? "port " : "ports ");
	eg_ports_text(plan->ports, plan->nports, ", ", out);
}

static void warn_internet(const struct eg_auth *a, const struct eg_plan *plan, struct cl_strv *w)
{
	cleanup_buf struct cl_buf ports = CL_BUF_INIT;
	cleanup_free char *hosts = NULL;

	if (!a->internet)
		return;
	on_ports(plan, &ports);
	if (!a->hosts.n) {
		cl_strv_addf(w,
			"every public address is reachable on %s; only the private, loopback, "
			"link-local, CGNAT and metadata ranges are filtered",
			ports.p);
		return;
	}
	hosts = joined(&a->hosts);
	cl_strv_addf(w,
		"a packet filter does not know names: %s stands for every public address on %s; "
		"use "
		"the egress broker where the names must hold",
		hosts, ports.p);
}

static void warn_metadata(const struct eg_plan *plan, struct cl_strv *w)
{
	for (size_t i = 0; i < plan->nallow; i++) {
		cleanup_buf struct cl_buf text = CL_BUF_INIT;
		cleanup_strv struct cl_strv hosts = CL_STRV_INIT;
		cleanup_free char *names = NULL;
		const struct eg_block *found[SERVICES];
		size_t n = contained(plan, &plan->allow[i], SERVICES, found);

		if (!n)
			continue;
		sentence(&plan->allow[i], found, n, &text);
		host_names(found, n, &hosts);
		names = joined(&hosts);
		cl_strv_addf(w, "%s; the filter keeps %s closed unless %s %s allowed too", text.p,
			n == 1 ? "it" : "them", names, n == 1 ? "is" : "are");
	}
}

static void warn_translation(const struct eg_plan *plan, struct cl_strv *w)
{
	for (size_t i = 0; i < plan->nallow; i++) {
		for (size_t k = 0; k < eg_nblocks && plan->allow[i].addr.family == 6; k++) {
			const struct eg_block *b = &eg_blocks[k];
			char range[POL_PREFIX_TEXT], block[POL_PREFIX_TEXT];

			if (b->kind != EG_BLOCK_TRANSLATION ||
				!pol_prefix_overlaps(&b->prefix, &plan->allow[i]))
				continue;
			pol_prefix_text(&plan->allow[i], range);
			pol_prefix_text(&b->prefix, block);
			cl_strv_addf(w,
				"allowed range %s overlaps %s (%s), which stays closed: a packet "
				"filter cannot see the IPv4 address inside; allow the IPv4 range "
				"instead",
				range, block, b->reason);
		}
	}
}

static void warn_denied(const struct eg_plan *plan, const struct pol_prefix *p, const char *kind,
	const char *name, struct cl_strv *w)
{
	const struct pol_prefix *by = eg_plan_denying(plan, p);
	char text[POL_PREFIX_TEXT];

	if (!by)
		return;
	pol_prefix_text(by, text);
	cl_strv_addf(w, "%s %s lies inside the denied range %s and stays closed", kind, name, text);
}

static void warn_endpoints(const struct eg_plan *plan, const struct pol_endpoint *p, size_t n,
	const char *kind, struct cl_strv *w)
{
	for (size_t i = 0; i < n; i++) {
		struct pol_prefix host = pol_host(&p[i].addr);
		char name[POL_ENDPOINT_TEXT];

		pol_endpoint_text(&p[i], name);
		warn_denied(plan, &host, kind, name, w);
	}
}

void eg_warn(const struct eg_auth *a, const struct eg_plan *plan, struct eg_policy *out)
{
	struct cl_strv *w = &out->warnings;

	warn_internet(a, plan, w);
	warn_metadata(plan, w);
	warn_translation(plan, w);
	if (out->mode == EG_ISOLATED)
		cl_strv_add(
			w, "nothing is allowed: every packet that leaves the sandbox is refused");
	if (out->mode == EG_FILTERED && a->internet && !plan->nresolvers)
		cl_strv_add(w, "no resolver is allowed, so no name resolves: pass one with "
			       "--resolver (resolvers), or send traffic through the egress broker");
	for (size_t i = 0; i < plan->nallow; i++) {
		char name[POL_PREFIX_TEXT];

		if (!eg_plan_denying(plan, &plan->allow[i]))
			continue;
		pol_prefix_text(&plan->allow[i], name);
		warn_denied(plan, &plan->allow[i], "allowed range", name, w);
	}
	warn_endpoints(plan, plan->brokers, plan->nbrokers, "broker", w);
	warn_endpoints(plan, plan->resolvers, plan->nresolvers, "resolver", w);
}
