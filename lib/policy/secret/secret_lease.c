/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a lease out of what its grants offer. */
#include "policy/secret/secret_lease.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void material_release(struct sec_material *m)
{
	free(m->grant_id);
	free(m->secret_id);
	free(m->secret_name);
	cl_buf_release(&m->constraints);
	cl_buf_release(&m->delivers);
	for (size_t i = 0; i < m->nfiles; i++) {
		free(m->files[i].name);
		cl_buf_release(&m->files[i].data);
	}
	free(m->files);
	for (size_t i = 0; i < m->nmounts; i++) {
		free(m->mounts[i].name);
		free(m->mounts[i].source);
		free(m->mounts[i].target);
		free(m->mounts[i].id);
	}
	free(m->mounts);
	sec_devices_release(&m->devices);
	sec_interfaces_release(&m->interfaces);
}

void sec_lease_release(struct sec_lease *l)
{
	for (size_t i = 0; i < l->nmaterials; i++)
		material_release(&l->materials[i]);
	free(l->materials);
	for (size_t i = 0; i < l->nrefused; i++) {
		free(l->refused[i].grant_id);
		free(l->refused[i].secret_id);
		free(l->refused[i].secret_name);
	}
	free(l->refused);
	for (size_t i = 0; i < l->nvars; i++) {
		free(l->vars[i].name);
		cl_buf_release(&l->vars[i].value);
	}
	free(l->vars);
	for (size_t i = 0; i < l->nsecrets; i++)
		cl_buf_release(&l->secrets[i]);
	free(l->secrets);
	*l = SEC_LEASE_INIT;
}

struct sec_material *sec_lease_material(struct sec_lease *l, const struct sec_grant *g)
{
	struct sec_material *m;

	l->materials =
		cl_grow(l->materials, &l->materials_cap, l->nmaterials + 1, sizeof(*l->materials));
	m = &l->materials[l->nmaterials++];
	*m = (struct sec_material){.grant_id = cl_strdup(g->id),
		.secret_id = cl_strdup(g->secret_id),
		.secret_name = cl_strdup(g->secret_name),
		.kind = g->kind,
		.constraints = CL_BUF_INIT,
		.delivers = CL_BUF_INIT};
	sec_constraints_summary(g->constraints, &m->constraints);
	return m;
}

struct sec_file *sec_material_file(struct sec_material *m, const char *name, bool executable)
{
	m->files = cl_grow(m->files, &m->files_cap, m->nfiles + 1, sizeof(*m->files));
	m->files[m->nfiles] = (struct sec_file){cl_strdup(name), executable, CL_BUF_SECRET};
	return &m->files[m->nfiles++];
}

struct cl_buf *sec_lease_set(
	struct sec_lease *l, const struct sec_material *m, const char *name, bool sensitive)
{
	size_t at = 0, who = m ? (size_t)(m - l->materials) : SIZE_MAX;

	while (at < l->nvars && strcmp(l->vars[at].name, name) < 0)
		at++;
	if (at == l->nvars || strcmp(l->vars[at].name, name) != 0) {
		l->vars = cl_grow(l->vars, &l->vars_cap, l->nvars + 1, sizeof(*l->vars));
		memmove(l->vars + at + 1, l->vars + at, (l->nvars - at) * sizeof(*l->vars));
		l->nvars++;
		l->vars[at] = (struct sec_var){cl_strdup(name), CL_BUF_SECRET, false, who};
	}
	cl_buf_reset(&l->vars[at].value);
	l->vars[at].sensitive = sensitive;
	l->vars[at].material = who;
	return &l->vars[at].value;
}

const struct sec_var *sec_lease_var(const struct sec_lease *l, const char *name)
{
	for (size_t i = 0; i < l->nvars; i++)
		if (!strcmp(l->vars[i].name, name))
			return &l->vars[i];
	return NULL;
}

void sec_lease_secret(struct sec_lease *l, const char *text, size_t len)
{
	l->secrets = cl_grow(l->secrets, &l->secrets_cap, l->nsecrets + 1, sizeof(*l->secrets));
	l->secrets[l->nsecrets] = CL_BUF_SECRET;
	cl_buf_add(&l->secrets[l->nsecrets++], text, len);
}

void sec_lease_refuse(struct sec_lease *l, const struct sec_grant *g, const struct cl_err *e)
{
	l->refused = cl_grow(l->refused, &l->refused_cap, l->nrefused + 1, sizeof(*l->refused));
	l->refused[l->nrefused++] = (struct sec_refused){
		cl_strdup(g->id), cl_strdup(g->secret_id), cl_strdup(g->secret_name), g->kind, *e};
}

/*
 * The offers without those that must not be delivered whatever was judged before: a grant
 * that ended meanwhile, and a claim that nothing enforces. Returns how many are left.
 */
static size_t fit_offers(struct sec_lease *l, const struct sec_offer *offers, size_t n, int64_t now,
	struct sec_offer *fit)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		cleanup_reasons struct sec_reasons why = SEC_REASONS_INIT;
		const struct sec_grant *g = offers[i].grant;
		struct cl_err e;

		if (offers[i].refusal) {
			sec_lease_refuse(l, g, offers[i].refusal);
			continue;
		}
		sec_grant_judge(g, NULL, now, &why);
		if (!why.n) {
			fit[left++] = offers[i];
			continue;
		}
		(void)cl_fail(&e, CL_EREFUSED, "grant %s %s", g->id, why.v[0].text);
		if (why.v[0].fix)
			(void)cl_fix(&e, "%s", why.v[0].fix);
		(void)cl_slug(&e, why.v[0].code);
		sec_lease_refuse(l, g, &e);
	}
	return left;
}

static void end_with_the_first(struct sec_lease *l, const struct sec_offer *fit, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l->nmaterials; k++) {
			int64_t end = fit[i].grant->expires_at;

			if (!strcmp(l->materials[k].grant_id, fit[i].grant->id) && end &&
				end < l->expires_at)
				l->expires_at = end;
		}
}

/* Kinds that share files or names go in together. */
void sec_lease_build(const struct sec_offer *offers, size_t n, int64_t now, struct sec_lease *out)
{
	static const struct {
		unsigned kinds; /* without an offer of these there is nothing to build */
		void (*build)(struct sec_lease *l, const struct sec_offer *o, size_t n);
	} builders[] = {
		{1U << SEC_GITHUB_PAT | 1U << SEC_GITHUB_APP, sec_build_github},
		{1U << SEC_KUBECONFIG, sec_build_kube},
		{1U << SEC_REGISTRY, sec_build_registry},
		{1U << SEC_ENV, sec_build_env},
		{1U << SEC_EGRESS_PROXY, sec_build_proxy},
		{1U << SEC_LOCAL_REPO, sec_build_local},
		{1U << SEC_HOST_DEVICE, sec_build_devices},
		{1U << SEC_HOST_INTERFACE, sec_build_interfaces},
	};
	struct sec_offer *fit = cl_calloc(n + 1, sizeof(*fit));
	size_t left = fit_offers(out, offers, n, now, fit);
	unsigned kinds = 0;

	for (size_t i = 0; i < left; i++)
		kinds |= 1U << fit[i].grant->kind;
	out->expires_at = now + (out->longest ? out->longest : SEC_LEASE_SECONDS);
	/* A material is found again by its place, which growing the list must not move. */
	out->materials =
		cl_grow(out->materials, &out->materials_cap, left + 1, sizeof(*out->materials));
	for (size_t i = 0; i < CL_ARRAY_LEN(builders); i++)
		if (builders[i].kinds & kinds)
			builders[i].build(out, fit, left);
	end_with_the_first(out, fit, left);
	free(fit);
}

/* The mark of the directory, at a value's start, becomes its path. */
static void place_var(struct sec_var *v, const char *dir)
{
	cleanup_buf struct cl_buf rest = CL_BUF_SECRET;

	if (v->value.len == 0 || v->value.p[0] != *SEC_LEASE_DIR_MARK)
		return;
	cl_buf_add(&rest, v->value.p + 1, v->value.len - 1);
	cl_buf_reset(&v->value);
	cl_buf_adds(&v->value, dir);
	cl_buf_add(&v->value, rest.p, rest.len);
}

void sec_lease_place(struct sec_lease *l, const char *id, const char *dir)
{
	cleanup_buf struct cl_buf redact = CL_BUF_INIT;
	char when[32];

	for (size_t i = 0; i < l->nvars; i++) {
		place_var(&l->vars[i], dir);
		if (l->vars[i].sensitive)
			cl_buf_addf(&redact, "%s%s", redact.len ? "," : "", l->vars[i].name);
	}
	cl_format_time(l->expires_at, when);
	cl_buf_adds(sec_lease_set(l, NULL, "CLOOP_LEASE_DIR", false), dir);
	cl_buf_adds(sec_lease_set(l, NULL, "CLOOP_LEASE_ID", false), id);
	cl_buf_adds(sec_lease_set(l, NULL, "CLOOP_LEASE_EXPIRES_AT", false), when);
	if (redact.len)
		cl_buf_adds(sec_lease_set(l, NULL, "CLOOP_REDACT_ENV", false), redact.p);
}
