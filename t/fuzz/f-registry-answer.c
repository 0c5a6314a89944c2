/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a registry sends, whatever it is: the first byte says how it is read. What is taken keeps its
 * promises, and no refusal brings a byte that a terminal would obey.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/image/oci.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void refusal(const struct cl_err *e)
{
	assert(*e->msg && *e->fix && cl_utf8_valid(e->msg, strlen(e->msg)));
	assert(!strpbrk(e->msg, "\n\r\x1b\x7f"));
}

static void challenge(const char *text)
{
	cleanup_oci_challenge struct oci_challenge c = OCI_CHALLENGE_INIT;
	cleanup_free char *url = NULL, *origin = NULL;
	struct cl_err e;

	if (oci_challenge_read(text, &c, &e)) {
		refusal(&e);
		assert(!c.realm && !c.service && c.scheme == OCI_NO_SCHEME);
		return;
	}
	assert((c.scheme == OCI_BEARER) == (c.realm != NULL));
	if (c.scheme != OCI_BEARER)
		return;
	url = oci_token_url(&c, "acme/tools");
	assert(cl_ends(url, "scope=repository%3Aacme%2Ftools%3Apull"));
	/* A realm that is an address makes a URL that is one, at the same place. */
	if (!oci_url(c.realm, NULL, "x", &origin, &e)) {
		cleanup_free char *also = NULL;

		assert(strlen(url) > 4096 ||
			(!oci_url(url, NULL, "x", &also, &e) && !strcmp(origin, also)));
		assert(cl_starts(origin, "https://") && !strchr(origin + 8, '/') &&
			!strchr(origin, '@'));
	}
}

static void redirect(const char *text)
{
	cleanup_free char *to = NULL, *origin = NULL;
	bool same = false;
	struct cl_err e;

	if (oci_redirect("https://r.test/v2/x", text, NULL, &to, &same, &e)) {
		refusal(&e);
		return;
	}
	assert(cl_starts(to, "https://") && !oci_url(to, NULL, "x", &origin, &e));
	assert(same == !strcmp(origin, "https://r.test"));
}

static void token(const char *text, size_t len)
{
	cleanup_buf struct cl_buf b = CL_BUF_SECRET;
	struct cl_err e;

	if (oci_token_read(text, len, &b, &e))
		refusal(&e);
	else
		assert(b.len && !strpbrk(b.p, " \t\r\n\",;"));
}

/* Whatever a refresh token is, it makes no field of its own. */
static void form(const char *identity)
{
	const struct oci_challenge c = {OCI_BEARER, NULL, (char *)(uintptr_t)identity};
	cleanup_buf struct cl_buf b = CL_BUF_SECRET;
	size_t fields = 1;

	oci_token_form(&c, "acme/tools", identity, &b);
	for (const char *p = b.p; *p; p++) {
		assert(*p > ' ' && *p < 0x7f);
		fields += *p == '&';
	}
	assert(fields == 5);
}

static void login(const char *text, size_t len)
{
	cleanup_oci_login struct oci_login l = OCI_LOGIN_INIT;
	struct cl_err e;

	if (oci_login_find("/auth.json", text, len, "ghcr.io", "acme/tools", &l, &e)) {
		refusal(&e);
	} else {
		assert(!strpbrk(l.basic.p, " \r\n") && !strpbrk(l.token.p, " \r\n"));
		form(l.identity.p);
	}
	(void)oci_login_find("/auth.json", text, len, IR_DOCKER, "library/x", &l, &e);
}

static void manifest(const char *text, size_t len)
{
	cleanup_oci_manifest struct oci_manifest m = OCI_MANIFEST_INIT;
	const struct oci_descriptor *d;
	struct cl_err e;

	if (oci_manifest_read(text, len, "", &m, &e)) {
		refusal(&e);
		return;
	}
	for (size_t i = 0; i < m.n; i++)
		assert(strlen(m.v[i].digest) == OCI_DIGEST - 1 && m.v[i].size >= 0);
	d = oci_platform(&m, "arm", "v7", &e);
	if (!d)
		refusal(&e);
	else
		assert(!strcmp(d->os, "linux") && !strcmp(d->arch, "arm"));
	if (oci_signatures_check(&m, &e))
		refusal(&e);
	else
		assert(m.n && m.n <= OCI_SIGNATURES_MAX && !m.index);
}

static void payload(const char *text, size_t len)
{
	static const char name[] =
		"registry-testing.svc.lan/"
		"alpine@sha256:69704ef328d05a9f806b6b8502915e6a0a4faa4d72018dc42343f511490daf8a";
	struct ir_ref r;
	struct cl_err e;

	assert(!ir_parse(name, &r, &e));
	if (oci_payload_check(text, len, &r, &e))
		refusal(&e);
	else
		assert(memmem(text, len, r.digest + 7, 32) || memchr(text, '\\', len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = NULL;

	if (!size)
		return 0;
	text = cl_strndup((const char *)data + 1, size - 1);
	switch (data[0] % 6) {
	case 0:
		challenge(text);
		break;
	case 1:
		redirect(text);
		break;
	case 2:
		token(text, size - 1);
		break;
	case 3:
		login(text, size - 1);
		break;
	case 4:
		manifest(text, size - 1);
		break;
	default:
		payload(text, size - 1);
		break;
	}
	return 0;
}
