/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/imagepolicy.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ip_policy_release(struct ip_policy *p)
{
	for (size_t i = 0; i < p->nidentities; i++) {
		free(p->identities[i].issuer);
		free(p->identities[i].subject_regexp);
	}
	free(p->identities);
	cl_strv_release(&p->registries);
	cl_strv_release(&p->repos);
	cl_strv_release(&p->keys);
	free(p->default_registry);
	free(p->unusable);
	*p = IP_POLICY_INIT;
}

void ip_policy_break(struct ip_policy *p, const char *why)
{
	free(p->unusable);
	p->unusable = cl_strdup(why);
}

bool ip_policy_active(const struct ip_policy *p)
{
	return p->unusable || p->registries.n || p->repos.n || p->require_digest ||
	       p->require_signature;
}

/* "*", "*.suffix" (a strict subdomain), or the host itself with its port. */
static bool registry_matches(const char *pattern, const char *registry)
{
	if (!strcmp(pattern, "*"))
		return true;
	if (*pattern == '*')
		return strlen(registry) > strlen(pattern) - 1 && cl_ends(registry, pattern + 1);
	return !strcmp(pattern, registry);
}

/* A path matches itself, or "prefix/" + star what is the prefix or below it. */
static bool path_matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (!len || pattern[len - 1] != '*')
		return !strcmp(pattern, path);
	if (len == 1)
		return true;
	len -= 2;
	return !strncmp(pattern, path, len) && (!path[len] || path[len] == '/');
}

static bool repo_matches(const char *pattern, const struct ir_ref *r)
{
	const char *slash = strchr(pattern, '/');
	size_t host = slash ? (size_t)(slash - pattern) : 0;

	if (slash && ir_names_registry(pattern, host))
		return strlen(r->registry) == host && !memcmp(pattern, r->registry, host) &&
		       path_matches(slash + 1, r->repository);
	if (path_matches(pattern, r->repository))
		return true;
	/* "alpine" without a registry is also Docker Hub's own alpine. */
	return !slash && !strcmp(r->registry, IR_DOCKER) && cl_starts(r->repository, "library/") &&
	       path_matches(pattern, r->repository + 8);
}

static bool allowed_registry(const struct ip_policy *p, const struct ir_ref *r)
{
	for (size_t i = 0; i < p->registries.n; i++)
		if (registry_matches(p->registries.v[i], r->registry))
			return true;
	return !p->registries.n;
}

static bool allowed_repo(const struct ip_policy *p, const struct ir_ref *r)
{
	for (size_t i = 0; i < p->repos.n; i++)
		if (repo_matches(p->repos.v[i], r))
			return true;
	return !p->repos.n;
}

void ip_refuse(
	struct ip_decision *d, const char *rule, const char *remediation, const char *fmt, ...)
{
	va_list ap;

	d->allowed = d->needs_pin = d->needs_signature = false;
	d->rule = rule;
	va_start(ap, fmt);
	(void)vsnprintf(d->reason, sizeof(d->reason), fmt, ap);
	va_end(ap);
	(void)snprintf(d->remediation, sizeof(d->remediation), "%s", remediation);
}

/* A piece of a list for a remediation: a long one is cut. */
static void add_list(struct cl_buf *out, const struct cl_strv *list)
{
	for (size_t i = 0; i < list->n && out->len < 300; i++)
		cl_buf_addf(out, "%s%s", i ? ", " : "", list->v[i]);
	if (out->len >= 300)
		cl_buf_adds(out, ", ...");
}

static void refuse_listed(struct ip_decision *d, const char *rule, const char *what,
	const char *value, const char *key, const struct cl_strv *list)
{
	cleanup_buf struct cl_buf fix = CL_BUF_INIT;

	cl_buf_addf(&fix, "use an image from %s=", key);
	add_list(&fix, list);
	cl_buf_adds(&fix, ", or have the operator extend sandbox.image_policy");
	ip_refuse(d, rule, fix.p, "image '%s' comes from %s '%s', which is not on %s",
		d->ref.original, what, value, key);
}

/* Rules 3 to 5 of facts 2.2, on a reference that names a registry. */
static void judge(const struct ip_policy *p, struct ip_decision *d)
{
	if (!allowed_registry(p, &d->ref)) {
		refuse_listed(d, IP_RULE_REGISTRY, "registry", d->ref.registry,
			"allowed_registries", &p->registries);
	} else if (!allowed_repo(p, &d->ref)) {
		cleanup_free char *name = cl_asprintf("%s/%s", d->ref.registry, d->ref.repository);

		refuse_listed(
			d, IP_RULE_REPOSITORY, "repository", name, "allowed_repos", &p->repos);
	} else if (p->require_digest && !*d->ref.digest) {
		ip_refuse(d, IP_RULE_DIGEST, "pin it: write NAME@sha256:... with the digest",
			"image '%s' names no digest, and the policy has require_digest",
			d->ref.original);
	}
}

void ip_decide(const struct ip_policy *p, const char *reference, struct ip_decision *out)
{
	struct cl_err e;

	*out = (struct ip_decision){.allowed = true, .policy_active = ip_policy_active(p)};
	if (ir_parse(reference, &out->ref, &e)) {
		ip_refuse(out, IP_RULE_SYNTAX, e.fix, "%s", e.msg);
		return;
	}
	if (p->unusable) {
		ip_refuse(out, IP_RULE_CONFIG,
			"the operator mends sandbox.image_policy; 'cloop hub config check' says "
			"where",
			"image '%s' cannot be judged: the image policy is unusable: %s",
			out->ref.original, p->unusable);
		return;
	}
	if (!out->ref.qualified && p->default_registry) {
		ir_qualify(&out->ref, p->default_registry);
	} else if (!out->ref.qualified && out->policy_active) {
		ip_refuse(out, IP_RULE_UNQUALIFIED,
			"write the registry in front, for example docker.io/library/alpine:3",
			"image '%s' names no registry, and the policy has no default_registry",
			out->ref.original);
		return;
	}
	judge(p, out);
	if (!out->allowed)
		return;
	out->needs_pin = !*out->ref.digest;
	out->needs_signature = p->require_signature;
}

int ip_decision_err(const struct ip_decision *d, struct cl_err *e)
{
	if (d->allowed)
		return 0;
	if (!strcmp(d->rule, IP_RULE_SYNTAX))
		(void)cl_fail(e, CL_EDATA, "%s", d->reason);
	else if (!strcmp(d->rule, IP_RULE_CONFIG))
		(void)cl_fail(e, CL_ECONFIG, "%s", d->reason);
	else
		(void)cl_fail(e, CL_EREFUSED, "%s", d->reason);
	if (e->code == CL_EREFUSED)
		(void)cl_slug(e, "sandbox_image_denied");
	(void)cl_fix(e, "%s", d->remediation);
	return cl_rule(e, d->rule);
}

/* Text for JSON: a reference may hold bytes that are no UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

json_t *ip_decision_json(const struct ip_decision *d)
{
	json_t *j = json_pack("{s:o, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b}", "reference",
		text(d->ref.original), "registry", d->ref.registry, "repository", d->ref.repository,
		"tag", d->ref.tag, "digest", d->ref.digest, "qualified", d->ref.qualified,
		"allowed", d->allowed, "needs_pin", d->needs_pin, "needs_signature",
		d->needs_signature, "policy_active", d->policy_active);

	if (d->allowed)
		return j;
	(void)json_object_set_new(j, "rule", json_string(d->rule));
	(void)json_object_set_new(j, "reason", text(d->reason));
	(void)json_object_set_new(j, "remediation", json_string(d->remediation));
	return j;
}
