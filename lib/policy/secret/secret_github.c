/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_github.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/image/imageref.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_kind.h"

#include <stdlib.h>
#include <string.h>

#define PAT       "github_pat"
#define APP       "github_app"
#define TOKEN_MAX 4096

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void sec_github_pat_release(struct sec_github_pat *p)
{
	wipe(p->token);
	free(p->host);
	*p = SEC_GITHUB_PAT_INIT;
}

void sec_github_app_release(struct sec_github_app *a)
{
	wipe(a->private_key);
	free(a->base_url);
	free(a->host);
	*a = SEC_GITHUB_APP_INIT;
}

bool sec_web_host(const char *text, struct cl_buf *out)
{
	char host[IR_MAX + 1], *colon;
	size_t n = strcspn(text, ":");
	cleanup_free char *plain = NULL;

	/* "example.com." and "example.com.:8443" are the same server as without the dot. */
	plain = n && text[n - 1] == '.' ? cl_asprintf("%.*s%s", (int)n - 1, text, text + n)
					: cl_strdup(text);
	if (*plain == '[' || !ir_registry(plain, host))
		return false;
	/* ir_registry folds Docker Hub's names, which have no place here. */
	(void)snprintf(host, sizeof(host), "%s", plain);
	cl_lower(host);
	colon = strchr(host, ':');
	if (colon && (!colon[1] || !strcmp(colon, ":443")))
		*colon = '\0';
	cl_buf_adds(out, host);
	return true;
}

static int bad_token(struct cl_err *e, const char *why)
{
	(void)sec_payload_bad(e, PAT, "payload: the token %s", why);
	return cl_fix(e, "give the token that GitHub showed, alone on one line");
}

static int check_token(const char *s, size_t len, struct cl_err *e)
{
	if (!len)
		return bad_token(e, "is empty");
	if (len > TOKEN_MAX)
		return bad_token(e, "is longer than 4096 bytes");
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return bad_token(e, "has a blank, a line end or a byte that is not ASCII");
	return 0;
}

static int bad_host(struct cl_err *e, const char *host)
{
	(void)sec_payload_bad(e, PAT, "payload: '%.80s' is no host of a GitHub server", host);
	return cl_fix(e, "write HOST or HOST:PORT, without a scheme, such as ghes.example.com");
}

static int set_pat(struct sec_github_pat *out, const char *token, size_t len, const char *host,
	struct cl_err *e)
{
	cleanup_buf struct cl_buf h = CL_BUF_INIT;

	sec_trim(&token, &len);
	if (check_token(token, len, e))
		return -1;
	if (!sec_web_host(host, &h))
		return bad_host(e, host);
	out->token = cl_strndup(token, len);
	out->host = cl_buf_detach(&h);
	return 0;
}

int sec_github_pat_read(const char *text, size_t len, struct sec_github_pat *out, struct cl_err *e)
{
	static const char *const known[] = {"token", "host"};
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const char *token, *host = SEC_GITHUB_HOST, *key;
	json_t *v;

	sec_trim(&text, &len);
	if (!len || *text != '{')
		return set_pat(out, text, len, host, e);
	if (sec_doc_parse(&d, CL_DOC_JSON, PAT, text, len, e))
		return -1;
	json_object_foreach (d.root, key, v)
		if ((strcmp(key, known[0]) != 0 && strcmp(key, known[1]) != 0) ||
			!json_is_string(v))
			return sec_payload_bad(e, PAT,
				"payload takes \"token\" and \"host\", both text, and nothing "
				"else");
	token = json_string_value(json_object_get(d.root, "token"));
	if (!token)
		return bad_token(e, "is missing");
	if (json_object_get(d.root, "host"))
		host = json_string_value(json_object_get(d.root, "host"));
	return set_pat(out, token, strlen(token), host, e);
}

int sec_github_pat_join(
	const char *token, size_t len, const char *host, struct cl_buf *out, struct cl_err *e)
{
	cleanup_github_pat struct sec_github_pat pat = SEC_GITHUB_PAT_INIT;

	if (len && *token == '{') {
		(void)bad_token(e, "names its host already");
		return cl_fix(e, "give the token alone with --github-host, or the JSON without it");
	}
	if (set_pat(&pat, token, len, host, e))
		return -1;
	/* Neither has a byte that JSON escapes, but for '"' and '\' of a token. */
	cl_buf_addf(out, "{\"host\":\"%s\",\"token\":\"", pat.host);
	for (const char *p = pat.token; *p; p++) {
		if (*p == '"' || *p == '\\')
			cl_buf_addc(out, '\\');
		cl_buf_addc(out, *p);
	}
	cl_buf_adds(out, "\"}");
	return 0;
}

/* ---- App installations ---- */

static int bad_app(struct cl_err *e, const char *why)
{
	(void)sec_payload_bad(e, APP, "payload: %s", why);
	return cl_fix(e, "give JSON such as {\"app_id\": 424242, \"installation_id\": 313131, "
			 "\"private_key\": \"PEM\"}");
}

static int read_id(json_t *root, const char *key, uint64_t *out, struct cl_err *e)
{
	json_t *v = json_object_get(root, key);
	struct cl_err quiet;

	if (json_is_integer(v) && json_integer_value(v) > 0) {
		*out = (uint64_t)json_integer_value(v);
		return 0;
	}
	if (json_is_string(v) &&
		!cl_parse_u64(json_string_value(v), 1, INT64_MAX, key, out, &quiet))
		return 0;
	(void)sec_payload_bad(
		e, APP, "payload: %s is %s", key, v ? "no positive whole number" : "missing");
	return cl_fix(e,
		"it stands on the page of the App's settings at GitHub, or in the address of "
		"its installation");
}

static int read_key(json_t *root, struct sec_github_app *out, struct cl_err *e)
{
	const char *pem = json_string_value(json_object_get(root, "private_key"));
	unsigned bits;

	if (!pem)
		return bad_app(e, "private_key is missing");
	bits = sec_rsa_bits(pem);
	if (!bits) {
		(void)sec_payload_bad(e, APP,
			"payload: private_key is no RSA private key in PEM that can be read");
		return cl_fix(e, "give the file that GitHub's 'Generate a private key' downloads, "
				 "with its line ends as \\n (jq -Rs does this)");
	}
	if (bits < 2048) {
		(void)sec_payload_bad(e, APP,
			"payload: private_key has %u bits, and fewer than 2048 are too weak", bits);
		return cl_fix(e, "generate a new key for the App at GitHub");
	}
	out->private_key = cl_strdup(pem);
	return 0;
}

static int bad_url(struct cl_err *e, const char *why)
{
	(void)sec_payload_bad(e, APP, "payload: base_url %s", why);
	return cl_fix(e, "write the API's address, such as https://ghes.example.com/api/v3");
}

/* The web host that an API's host belongs to: api.github.com and api.X of GHE.com serve X. */
static const char *web_of(const char *api_host)
{
	if (!strcmp(api_host, "api.github.com"))
		return SEC_GITHUB_HOST;
	return cl_starts(api_host, "api.") && cl_ends(api_host, ".ghe.com") ? api_host + 4
									    : api_host;
}

static int read_url(json_t *root, struct sec_github_app *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf host = CL_BUF_INIT, url = CL_BUF_INIT;
	json_t *v = json_object_get(root, "base_url");
	const char *s = v ? json_string_value(v) : SEC_GITHUB_API, *authority, *path;
	cleanup_free char *name = NULL;
	size_t n;

	if (!s || !cl_starts(s, "https://"))
		return bad_url(e, "does not start with https://");
	authority = s + strlen("https://");
	n = strcspn(authority, "/?#");
	name = cl_strndup(authority, n);
	if (strchr(name, '@'))
		return bad_url(e, "holds a user or a password");
	if (!sec_web_host(name, &host))
		return bad_url(e, "names no host");
	path = authority + n;
	n = strcspn(path, "?#");
	for (size_t i = 0; i < n; i++)
		if (path[i] <= ' ' || path[i] > '~')
			return bad_url(e, "has a blank or a byte that is not ASCII in its path");
	while (n && path[n - 1] == '/')
		n--;
	cl_buf_addf(&url, "https://%s%.*s", host.p, (int)n, path);
	out->base_url = cl_buf_detach(&url);
	out->host = cl_strdup(web_of(host.p));
	return 0;
}

static int read_app(
	const char *text, size_t len, bool installed, struct sec_github_app *out, struct cl_err *e)
{
	static const char *const known[] = {"app_id", "installation_id", "private_key", "base_url"};
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const char *key;
	json_t *v;
	bool need;

	sec_trim(&text, &len);
	if (!len || *text != '{') {
		(void)bad_app(e, "it is no JSON object");
		return cl_fix(e, "a bare token is a github_pat: mint it with --kind github_pat");
	}
	if (sec_doc_parse(&d, CL_DOC_JSON, APP, text, len, e))
		return -1;
	json_object_foreach (d.root, key, v) {
		bool is = false;

		for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
			is = is || !strcmp(key, known[i]);
		if (!is)
			return bad_app(e, "it has a key other than app_id, installation_id, "
					  "private_key and base_url");
	}
	need = installed || json_object_get(d.root, "installation_id");
	return read_id(d.root, "app_id", &out->app_id, e) ||
			       (need && read_id(d.root, "installation_id", &out->installation_id,
						e)) ||
			       read_key(d.root, out, e) || read_url(d.root, out, e)
		       ? -1
		       : 0;
}

int sec_github_app_read(const char *text, size_t len, struct sec_github_app *out, struct cl_err *e)
{
	return read_app(text, len, true, out, e);
}

int sec_github_app_seek(const char *text, size_t len, struct sec_github_app *out, struct cl_err *e)
{
	return read_app(text, len, false, out, e);
}
