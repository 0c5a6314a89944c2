/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Challenges and tokens. */
#include "policy/image/oci.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADER_MAX 8192
/* RFC 9110 5.6.2 */
#define TOKEN_CHARS CL_ALNUM "!#$%&'*+-.^_`|~"

void oci_challenge_release(struct oci_challenge *c)
{
	free(c->realm);
	free(c->service);
	*c = OCI_CHALLENGE_INIT;
}

/* Where the reading stands, and the challenge that parameters belong to. */
struct reader {
	const char *p;
	enum oci_scheme scheme; /* of the challenge that is being read */
	bool any;               /* there is one */
	bool bearer, basic;     /* seen */
	bool take;              /* its parameters are the ones we want */
	struct oci_challenge *out;
};

static void blanks(struct reader *r)
{
	r->p += strspn(r->p, " \t");
}

/* A quoted-string (RFC 9110 5.6.4) or a token; owned, NULL when it is neither. */
static char *value(struct reader *r)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	size_t n;

	if (*r->p != '"') {
		n = strspn(r->p, TOKEN_CHARS);
		r->p += n;
		return n ? cl_strndup(r->p - n, n) : NULL;
	}
	for (r->p++; *r->p && *r->p != '"'; r->p++) {
		if (*r->p == '\\' && r->p[1])
			r->p++;
		if ((unsigned char)*r->p < ' ' || *r->p == 0x7f)
			return NULL;
		cl_buf_addc(&b, *r->p);
	}
	if (*r->p != '"')
		return NULL;
	r->p++;
	return cl_buf_detach(&b);
}

/* token68 to the end of the challenge, as Negotiate has it. */
static bool token68(struct reader *r)
{
	size_t n = strspn(r->p, CL_ALNUM "-._~+/"), pad = strspn(r->p + n, "=");
	size_t rest = strspn(r->p + n + pad, " \t");

	if (!n || (r->p[n + pad + rest] && r->p[n + pad + rest] != ','))
		return false;
	r->p += n + pad;
	return true;
}

static bool param(struct reader *r, const char *name, size_t len)
{
	cleanup_free char *v = value(r);
	char **slot = NULL;

	if (!v || !r->any)
		return false;
	if (len == 5 && !strncasecmp(name, "realm", 5))
		slot = &r->out->realm;
	else if (len == 7 && !strncasecmp(name, "service", 7))
		slot = &r->out->service;
	if (!slot || !r->take)
		return true;
	if (*slot)
		return false;
	*slot = cl_steal(&v);
	return true;
}

static void start(struct reader *r, const char *name, size_t len)
{
	bool bearer = len == 6 && !strncasecmp(name, "Bearer", 6);

	r->any = true;
	r->take = bearer && !r->bearer;
	r->bearer = r->bearer || bearer;
	r->basic = r->basic || (len == 5 && !strncasecmp(name, "Basic", 5));
}

/* One element of the list; a scheme's first parameter stands in it. False: it is malformed. */
static bool element(struct reader *r, bool after_scheme)
{
	const char *name = r->p;
	size_t len = strspn(name, TOKEN_CHARS), gap;

	if (!len)
		return false;
	r->p += len;
	gap = strspn(r->p, " \t");
	if (r->p[gap] == '=') {
		r->p += gap + 1;
		blanks(r);
		return param(r, name, len);
	}
	if (after_scheme || (!gap && *r->p && *r->p != ','))
		return false;
	r->p += gap;
	start(r, name, len);
	return !*r->p || *r->p == ',' || token68(r) || element(r, true);
}

static bool parse(struct reader *r)
{
	for (r->p += strspn(r->p, " \t,"); *r->p; r->p += strspn(r->p, " \t,")) {
		if (!element(r, false))
			return false;
		blanks(r);
		if (*r->p && *r->p != ',')
			return false;
	}
	return true;
}

int oci_challenge_read(const char *header, struct oci_challenge *out, struct cl_err *e)
{
	struct reader r = {.p = header, .out = out};

	if (strlen(header) > HEADER_MAX || !parse(&r) || (r.bearer && !out->realm)) {
		oci_challenge_release(out);
		(void)cl_fail(e, CL_EUNAVAIL,
			"the registry asks for a login in a way that does not parse: %.200s",
			header);
		(void)cl_slug(e, "registry_answer");
		return cl_fix(e, "see that it is a registry, and not a proxy in between");
	}
	out->scheme = r.bearer ? OCI_BEARER : r.basic ? OCI_BASIC : OCI_NO_SCHEME;
	return 0;
}

/* RFC 3986 2.1 */
static void escape(struct cl_buf *out, const char *s)
{
	for (; *s; s++)
		if (strchr(CL_ALNUM "-._~", *s))
			cl_buf_addc(out, *s);
		else
			cl_buf_addf(out, "%%%02X", (unsigned char)*s);
}

/* "service=...&scope=repository:NAME:pull", as a query and a form have it. */
static void add_scope(const struct oci_challenge *c, const char *repository, struct cl_buf *out)
{
	if (c->service) {
		cl_buf_adds(out, "service=");
		escape(out, c->service);
		cl_buf_addc(out, '&');
	}
	cl_buf_adds(out, "scope=repository%3A");
	escape(out, repository);
	cl_buf_adds(out, "%3Apull");
}

void oci_token_form(const struct oci_challenge *c, const char *repository, const char *identity,
	struct cl_buf *out)
{
	cl_buf_adds(out, "grant_type=refresh_token&client_id=cloop&");
	add_scope(c, repository, out);
	cl_buf_adds(out, "&refresh_token=");
	escape(out, identity);
}

char *oci_token_url(const struct oci_challenge *c, const char *repository)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	cl_buf_addf(&b, "%s%s", c->realm, strchr(c->realm, '?') ? "&" : "?");
	add_scope(c, repository, &b);
	return cl_buf_detach(&b);
}

int oci_token_read(const char *text, size_t len, struct cl_buf *out, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const char *token = NULL, *also = NULL;
	struct cl_err quiet;

	/* What the parser would quote may be the token. */
	if (!cl_doc_parse(&d, CL_DOC_JSON, "token", text, len, NULL, &quiet) &&
		json_is_object(d.root)) {
		(void)cl_doc_str(&d, d.root, "token", &token, &quiet);
		(void)cl_doc_str(&d, d.root, "access_token", &also, &quiet);
	}
	token = token && *token ? token : also;
	if (token && *token && strlen(token) <= OCI_TOKEN_MAX &&
		cl_all_in(token, CL_ALNUM "-._~+/=")) {
		cl_buf_adds(out, token);
		return 0;
	}
	(void)cl_fail(e, CL_EUNAVAIL, "what the registry's token service gave is no token");
	(void)cl_slug(e, "registry_answer");
	return cl_fix(e, "see that the registry's realm is a token service");
}
