/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/provenance.h"
#include "base/mem.h"
#include "policy/image/oci.h"
#include "work/registry.h"

#include <string.h>

static int refuse(
	const struct provenance_ask *a, const char *why, const char *fix, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "image '%.200s' %.700s", a->reference, why);
	(void)cl_slug(e, "sandbox_image_denied");
	(void)cl_rule(e, IP_RULE_PROVENANCE);
	return cl_fix(e, "%s", fix);
}

static int wrong(const struct provenance_ask *a, const struct cl_err *why, struct cl_err *e)
{
	cleanup_free char *text = cl_asprintf("has the name of one of cloop's own, and a signature "
					      "that is not its publisher's: %s",
		why->msg);

	return refuse(a, text,
		"find out who put it there; pull one that the workflow published, and name it by "
		"its digest",
		e);
}

/* Nobody says that it is false, and nobody that it is not. */
static int unproved(const struct provenance_ask *a, const char *what, const struct cl_err *why,
	char **warning, struct cl_err *e)
{
	cleanup_free char *text = cl_asprintf("is one of cloop's own, and %s: %s", what, why->msg);
	cleanup_free char *fix = NULL;

	if (!a->required) {
		*warning = cl_asprintf(
			"'%s' %s%s%s", a->reference, text, *why->fix ? "; fix: " : "", why->fix);
		return 0;
	}
	fix = cl_asprintf("%s%sor have the operator set executors.image_provenance: warn", why->fix,
		*why->fix ? "; " : "");
	return refuse(a, text, fix, e);
}

int provenance_check(
	const struct provenance_ask *a, json_t **signature, char **warning, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("%s/%s", a->own->registry, a->own->repository);
	cleanup_ip_policy struct ip_policy policy = IP_POLICY_INIT;
	struct cl_err why;

	*signature = NULL;
	*warning = NULL;
	own_image_policy(a->own, &policy);
	if (!a->digests->n) {
		(void)cl_fail(&why, CL_EREFUSED,
			"the local store has no digest of its registry that a signature could be "
			"over");
		(void)cl_fix(&why, "pull it from %s", a->own->registry);
		return unproved(a, "is not known to be signed", &why, warning, e);
	}
	if (!work_registry_verify(a->reach, &policy, name, a->digests, a->cache, signature, &why))
		return 0;
	if (!strcmp(why.constraint, OCI_SIGNATURE_WRONG))
		return wrong(a, &why, e);
	return unproved(a,
		!strcmp(why.constraint, OCI_SIGNATURE_MISSING)
			? "carries no signature of its publisher"
			: "its signature could not be checked",
		&why, warning, e);
}
