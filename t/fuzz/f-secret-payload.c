/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Payloads of every kind: the first byte says which. What mint takes, a lease must be able to
 * read; what it refuses, it refuses without repeating the payload.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum sec_list needs[SEC_NKINDS] = {
	[SEC_GITHUB_PAT] = SEC_REPOS,
	[SEC_GITHUB_APP] = SEC_REPOS,
	[SEC_KUBECONFIG] = SEC_CONTEXTS,
	[SEC_REGISTRY] = SEC_REGISTRIES,
	[SEC_ENV] = SEC_NLISTS,
	[SEC_EGRESS_PROXY] = SEC_HOSTS,
	[SEC_LOCAL_REPO] = SEC_REPOS,
	[SEC_HOST_DEVICE] = SEC_DEVICES,
	[SEC_HOST_INTERFACE] = SEC_INTERFACES,
};

static void lease(enum sec_kind k, const char *payload, size_t len, bool accepted)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	struct sec_subject any = {.kind = SEC_ANY};
	const struct sec_candidate repo = {"x", "/r/x", "fd01:1a"};
	struct sec_grant g = {.id = "g",
		.secret_id = "s",
		.secret_name = "n",
		.kind = k,
		.subject = &any,
		.constraints = &c,
		.unguarded = true};
	struct sec_offer o = {.grant = &g,
		.payload = payload,
		.len = len,
		.candidates = &repo,
		.ncandidates = 1,
		.token = "ghs_token"};
	struct cl_err e;

	if (needs[k] != SEC_NLISTS && sec_constraints_add(&c, needs[k], "*", &e))
		abort();
	sec_lease_build(&o, 1, 1000, &l);
	if (l.nmaterials + l.nrefused != 1)
		abort();
	/* A token, a path or a proxy that mint took is delivered whatever it is. */
	if (accepted && l.nrefused &&
		(k == SEC_GITHUB_PAT || k == SEC_GITHUB_APP || k == SEC_EGRESS_PROXY ||
			k == SEC_LOCAL_REPO))
		abort();
	sec_lease_place(&l, "lease_1", "/run/x");
	for (size_t i = 0; i < l.nvars; i++)
		if (strchr(l.vars[i].name, '=') ||
			memchr(l.vars[i].value.p, '\0', l.vars[i].value.len))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	struct cl_err e;
	enum sec_kind k;
	int rc;

	if (!size)
		return 0;
	k = (enum sec_kind)(data[0] % SEC_NKINDS);
	rc = sec_payload_check(k, (const char *)data + 1, size - 1, &out, &notes, &e);
	if (rc && (strcmp(cl_err_slug(&e), "invalid_payload") != 0 || !*e.msg))
		abort();
	if (rc && k < SEC_LOCAL_REPO && size > 40 && strstr(e.msg, (const char *)out.p) && out.len)
		abort();
	lease(k, rc ? (const char *)data + 1 : out.p, rc ? size - 1 : out.len, !rc);
	return 0;
}
