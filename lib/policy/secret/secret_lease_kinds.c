/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a proxy a grant delivers. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool mine(const struct sec_offer *o, enum sec_kind k)
{
	return o->grant->kind == k;
}

/* ---- egress_proxy ---- */

/* The password of scheme://user:password@host, to be scrubbed alone too. */
static void add_proxy_secrets(struct sec_lease *l, const char *p, size_t n)
{
	cleanup_strv struct cl_strv passwords = CL_STRV_INIT;

	sec_lease_secret(l, p, n);
	sec_url_password(p, n, &passwords);
	for (size_t i = 0; i < passwords.n; i++) {
		sec_lease_secret(l, passwords.v[i], strlen(passwords.v[i]));
		explicit_bzero(passwords.v[i], strlen(passwords.v[i]));
	}
}

static void deliver_proxy(struct sec_lease *l, const struct sec_offer *o, const char *p, size_t n)
{
	static const char *const names[] = {
		"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
	const struct cl_strv *hosts = &o->grant->constraints->list[SEC_HOSTS];
	cleanup_free char *list = sec_joined(hosts);
	struct sec_material *m = sec_lease_material(l, o->grant);
	struct sec_file *f = sec_material_file(m, "egress-allow.txt", false);

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		cl_buf_add(sec_lease_set(l, m, names[i], true), p, n);
	cl_buf_adds(sec_lease_set(l, m, "CLOOP_EGRESS_ALLOW", false), list);
	cl_buf_addf(sec_lease_set(l, m, "CLOOP_EGRESS_ALLOW_FILE", false), "%s/%s",
		SEC_LEASE_DIR_MARK, f->name);
	for (size_t i = 0; i < hosts->n; i++)
		cl_buf_addf(&f->data, "%s\n", hosts->v[i]);
	cl_buf_addf(&m->delivers, "egress hosts: %s", list);
	add_proxy_secrets(l, p, n);
}

/* A run has one proxy: of several grants the last is delivered, and the others say so. */
void sec_build_proxy(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	const struct sec_offer *last = NULL;

	for (size_t i = 0; i < n; i++)
		last = mine(&o[i], SEC_EGRESS_PROXY) ? &o[i] : last;
	for (size_t i = 0; i < n; i++) {
		const char *p = o[i].payload;
		size_t len = o[i].len;
		struct cl_err e;

		if (!mine(&o[i], SEC_EGRESS_PROXY))
			continue;
		sec_trim(&p, &len);
		if (&o[i] == last) {
			if (sec_proxy_check(p, len, &e))
				sec_lease_refuse(l, o[i].grant, &e);
			else
				deliver_proxy(l, &o[i], p, len);
			continue;
		}
		(void)cl_fail(&e, CL_EREFUSED,
			"a run has one outbound proxy, and grant %s of secret '%s' takes the place",
			last->grant->id, last->grant->secret_name);
		(void)cl_fix(&e, "cloop secret revoke the one that is not meant");
		sec_lease_refuse(l, o[i].grant, &e);
	}
}
