/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/image/imagepolicy.h"
#include "base/json_text.h"
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

static void deny(struct ip_decision *d, const char *rule)
{
	d->allowed = d->needs_pin = d->needs_signature = false;
	d->rule = rule;
}

void ip_refuse(
	struct ip_decision *d, const char *rule, const char *remediation, const char *fmt, ...)
{
	va_list ap;

	deny(d, rule);
	va_start(ap, fmt);
	(void)vsnprintf(d->reason, sizeof(d->reason), fmt, ap);
	va_end(ap);
	(void)snprintf(d->remediation, sizeof(d->remediation), "%s", remediation);
}

/* The parts one after the other, cut at the room there is; the last part is NULL. */
static void join(char *out, size_t size, size_t at, const char *const *parts)
{
	for (; *parts; parts++) {
		size_t len = strlen(*parts);

		len = len < size - 1 - at ? len : size - 1 - at;
		memcpy(out + at, *parts, len);
		at += len;
	}
	out[at] = '\0';
}

/* How much of a remediation a list may take. */
#define LIST_ROOM 300

/* "use an image from KEY=a, b, c, or ..."; a long list is cut. */
static void refuse_listed(struct ip_decision *d, const char *rule, const char *what,
	const char *value, const char *key, const struct cl_strv *list)
{
	const char *const reason[] = {"image '", d->ref.original, "' comes from ", what, " '",
		value, "', which is not on ", key, NULL};
	const char *const begin[] = {"use an image from ", key, "=", NULL};
	static const char *const end[] = {
		", or have the operator extend sandbox.image_policy", NULL};
	char *fix = d->remediation;
	size_t i;

	deny(d, rule);
	join(d->reason, sizeof(d->reason), 0, reason);
	join(fix, LIST_ROOM, 0, begin);
	for (i = 0; i < list->n && strlen(fix) + 3 < LIST_ROOM; i++) {
		const char *const entry[] = {i ? ", " : "", list->v[i], NULL};

		join(fix, LIST_ROOM, strlen(fix), entry);
	}
	if (strlen(fix) + 3 >= LIST_ROOM)
		join(fix, LIST_ROOM + 6, strlen(fix), (const char *const[]){", ...", NULL});
	join(fix, sizeof(d->remediation), strlen(fix), end);
}

/* Rules 3 to 5 of facts 2.2, on a reference that names a registry. */
static void judge(const struct ip_policy *p, struct ip_decision *d)
{
	if (!allowed_registry(p, &d->ref)) {
		refuse_listed(d, IP_RULE_REGISTRY, "registry", d->ref.registry,
			"allowed_registries", &p->registries);
	} else if (!allowed_repo(p, &d->ref)) {
		char name[2 * IR_MAX + 16];

		join(name, sizeof(name), 0,
			(const char *const[]){d->ref.registry, "/", d->ref.repository, NULL});
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

	out->allowed = true;
	out->needs_pin = out->needs_signature = false;
	out->policy_active = ip_policy_active(p);
	out->rule = NULL;
	*out->reason = *out->remediation = '\0';
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

static void member(struct cl_buf *out, const char *key, const char *text)
{
	cl_buf_adds(out, key);
	if (text)
		cl_json_quote(out, text);
	else
		cl_buf_add(out, "null", 4);
}

void ip_decision_json(const struct ip_decision *d, struct cl_buf *out)
{
	const bool no = !d->allowed;

	cl_buf_adds(out, d->allowed ? "{\"allowed\":true" : "{\"allowed\":false");
	member(out, ",\"digest\":", d->ref.digest);
	cl_buf_adds(out, d->needs_pin ? ",\"needs_pin\":true" : ",\"needs_pin\":false");
	cl_buf_adds(out,
		d->needs_signature ? ",\"needs_signature\":true" : ",\"needs_signature\":false");
	member(out, ",\"reason\":", no ? d->reason : NULL);
	member(out, ",\"reference\":", d->ref.original);
	member(out, ",\"registry\":", d->ref.registry);
	member(out, ",\"remediation\":", no ? d->remediation : NULL);
	member(out, ",\"repository\":", d->ref.repository);
	member(out, ",\"rule\":", no ? d->rule : NULL);
	member(out, ",\"tag\":", d->ref.tag);
	cl_buf_addc(out, '}');
}
