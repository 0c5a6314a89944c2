/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kubeconfigs of a lease: one document, whatever the number of grants. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_kube.h"
#include "policy/secret/secret_lease.h"

#include <stdlib.h>
#include <string.h>

/* A grant that passed, while the document is put together. */
struct passed {
	const struct sec_offer *offer;
	struct sec_kube kube;
};

static bool pass(struct sec_lease *l, const struct sec_offer *o, struct passed *p)
{
	const struct sec_grant *g = o->grant;
	struct cl_err e;

	if (g->kind != SEC_KUBECONFIG)
		return false;
	*p = (struct passed){o, SEC_KUBE_INIT};
	if (!sec_kube_read(o->payload, o->len, &p->kube, &e) &&
		!sec_kube_minimise(&p->kube, g->constraints, g->secret_name, &e))
		return true;
	sec_kube_release(&p->kube);
	sec_lease_refuse(l, g, &e);
	return false;
}

static void set_joined(struct sec_lease *l, const struct sec_material *m, const char *name,
	const struct cl_strv *v)
{
	cleanup_free char *list = sec_joined(v);

	if (v->n)
		cl_buf_adds(sec_lease_set(l, m, name, false), list);
}

/* The variables that describe the grant behind current-context. */
static void set_first(
	struct sec_lease *l, const struct sec_material *m, const struct sec_constraints *c)
{
	cleanup_strv struct cl_strv verbs = CL_STRV_INIT;
	const char *ns = sec_kube_namespace(c);

	sec_constraints_verbs(c, &verbs);
	if (ns)
		cl_buf_adds(sec_lease_set(l, m, "CLOOP_K8S_NAMESPACE", false), ns);
	set_joined(l, m, "CLOOP_K8S_ALLOWED_NAMESPACES", &c->list[SEC_NAMESPACES]);
	set_joined(l, m, "CLOOP_K8S_VERBS", &verbs);
}

static void set_all(struct sec_lease *l, const struct sec_material *m,
	const struct sec_kube_part *parts, size_t n)
{
	cleanup_free char *json = sec_kube_grants_json(parts, n);
	cleanup_strv struct cl_strv contexts = CL_STRV_INIT;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < parts[i].contexts.n; k++)
			cl_strv_add(&contexts, parts[i].contexts.v[k]);
	set_joined(l, m, "CLOOP_K8S_CONTEXTS", &contexts);
	cl_buf_adds(sec_lease_set(l, m, "CLOOP_K8S_GRANTS", false), json);
}

static const struct passed *behind(const struct passed *p, size_t n, const struct sec_kube_part *x)
{
	for (size_t i = 0; i < n; i++)
		if (&p[i].kube == x->kube)
			return &p[i];
	abort();
}

static void deliver(struct sec_lease *l, const struct passed *p, size_t n)
{
	struct sec_kube_part *parts = cl_calloc(n, sizeof(*parts));
	cleanup_kube struct sec_kube all = SEC_KUBE_INIT;
	cleanup_strv struct cl_strv secrets = CL_STRV_INIT;
	struct sec_material *first = NULL;

	for (size_t i = 0; i < n; i++)
		parts[i] = (struct sec_kube_part){&p[i].kube, p[i].offer->grant->constraints,
			p[i].offer->grant->secret_name, CL_STRV_INIT};
	sec_kube_merge(parts, n, &all);
	for (size_t i = 0; i < n; i++) {
		struct sec_material *m =
			sec_lease_material(l, behind(p, n, &parts[i])->offer->grant);

		cl_buf_adds(&m->delivers, "kube contexts: ");
		sec_kube_summary(parts[i].kube, &m->delivers);
		first = first ? first : m;
	}
	sec_kube_write(&all, &sec_material_file(first, "kubeconfig", false)->data);
	cl_buf_addf(
		sec_lease_set(l, first, "KUBECONFIG", false), "%s/kubeconfig", SEC_LEASE_DIR_MARK);
	set_first(l, first, parts[0].constraints);
	if (n > 1)
		set_all(l, first, parts, n);
	l->merged = l->merged || n > 1;
	sec_kube_secrets(&all, &secrets);
	for (size_t i = 0; i < secrets.n; i++) {
		sec_lease_secret(l, secrets.v[i], strlen(secrets.v[i]));
		explicit_bzero(secrets.v[i], strlen(secrets.v[i]));
	}
	for (size_t i = 0; i < n; i++)
		cl_strv_release(&parts[i].contexts);
	free(parts);
}

void sec_build_kube(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	struct passed *p = cl_calloc(n + 1, sizeof(*p));
	size_t passed = 0;

	for (size_t i = 0; i < n; i++)
		passed += pass(l, &o[i], &p[passed]);
	if (passed)
		deliver(l, p, passed);
	for (size_t i = 0; i < passed; i++)
		sec_kube_release(&p[i].kube);
	free(p);
}
