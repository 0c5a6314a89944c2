/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/http.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 10000
/* Of a field that is joined. */
#define FIELD_MAX 8192
/* Where a system keeps the certificates that it trusts, by their hashes (openssl-rehash(1)). */
#define SYSTEM_CERTS "/etc/ssl/certs"

struct http {
	CURL *curl;
	const struct http_to *to;
	char error[CURL_ERROR_SIZE];
	/* of the request that runs */
	struct http_answer *answer;
	bool too_large;
};

/* ---- memory that is wiped when it is given back ---- */

static void wiping_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *wiping_realloc(void *p, size_t size)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *q = malloc(size);

	if (q && p)
		memcpy(q, p, had < size ? had : size);
	if (q)
		wiping_free(p);
	return q;
}

/* Once a process: libcurl counts. */
static int global(struct cl_err *e)
{
	if (!curl_global_init_mem(
		    CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup, calloc))
		return 0;
	return cl_fail(e, CL_EBUG, "libcurl cannot be used");
}

/* ---- what comes ---- */

static size_t take_body(char *p, size_t size, size_t n, void *arg)
{
	struct http *h = arg;

	n *= size;
	if (n > h->to->max_bytes - h->answer->body.len) {
		h->too_large = true;
		return 0;
	}
	cl_buf_add(&h->answer->body, p, n);
	return n;
}

static void take_text(char **to, const char *value)
{
	free(*to);
	*to = cl_strdup(value);
}

/* A field that may come more than once (RFC 9110 5.3). */
static void join_text(char **to, const char *value)
{
	char *before = *to;

	if (before && strlen(before) + strlen(value) > FIELD_MAX)
		return;
	*to = before && *before ? cl_asprintf("%s, %s", before, value) : cl_strdup(value);
	free(before);
}

/* Both forms of RFC 9110 10.2.3. */
static int64_t seconds_until(const char *value)
{
	struct cl_err quiet;
	uint64_t n;
	time_t at;

	if (!cl_parse_u64(value, 0, 1000000, "Retry-After", &n, &quiet))
		return (int64_t)n;
	at = curl_getdate(value, NULL);
	if (at < 0)
		return -1;
	at -= time(NULL);
	return at > 0 ? (int64_t)at : 0;
}

static int64_t number(const char *value, int64_t without)
{
	struct cl_err quiet;
	int64_t n;

	return cl_parse_i64(value, 0, INT64_MAX, "a header", &n, &quiet) ? without : n;
}

static size_t take_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_answer *a = ((struct http *)arg)->answer;
	cleanup_free char *line = cl_strndup(p, n * size), *value = NULL;
	char *colon = strchr(line, ':');

	/* A status line: of what comes now, and not of what came before it. */
	if (!colon)
		return n * size;
	*colon = '\0';
	value = cl_trim_dup(colon + 1);
	if (!strcasecmp(line, "content-type"))
		take_text(&a->content_type, value);
	else if (!strcasecmp(line, "location"))
		take_text(&a->location, value);
	else if (!strcasecmp(line, "www-authenticate"))
		join_text(&a->challenge, value);
	else if (!strcasecmp(line, "docker-content-digest"))
		take_text(&a->digest, value);
	else if (!strcasecmp(line, "retry-after"))
		a->retry_after = seconds_until(value);
	else if (!strcasecmp(line, "x-ratelimit-remaining"))
		a->remaining = number(value, -1);
	else if (!strcasecmp(line, "x-ratelimit-reset"))
		a->reset_at = number(value, 0);
	else if (!strcasecmp(line, "date"))
		a->date = curl_getdate(value, NULL) > 0 ? (int64_t)curl_getdate(value, NULL) : 0;
	return n * size;
}

void http_answer_release(struct http_answer *a)
{
	free(a->content_type);
	free(a->location);
	free(a->challenge);
	free(a->digest);
	cl_buf_release(&a->body);
	*a = HTTP_ANSWER_INIT;
}

/* ---- the client ---- */

#define SET(h, option, value) (curl_easy_setopt((h)->curl, CURLOPT_##option, (value)) == CURLE_OK)

static bool trust_pem(struct http *h)
{
	struct curl_blob pem = {
		(void *)(uintptr_t)h->to->ca_pem, strlen(h->to->ca_pem), CURL_BLOB_COPY};

	return SET(h, CAINFO_BLOB, &pem);
}

static bool trust(struct http *h)
{
	if (!SET(h, SSL_VERIFYPEER, 1L) || !SET(h, SSL_VERIFYHOST, 2L) ||
		!SET(h, SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2))
		return false;
	if (h->to->cert_file &&
		(!SET(h, SSLCERT, h->to->cert_file) || !SET(h, SSLKEY, h->to->key_file)))
		return false;
	if (h->to->ca_pem)
		return trust_pem(h) && SET(h, CAPATH, SYSTEM_CERTS);
	return !h->to->ca_file || (SET(h, CAINFO, h->to->ca_file) && SET(h, CAPATH, SYSTEM_CERTS));
}

static bool bound(struct http *h, int64_t timeout_ms)
{
	long all = (long)timeout_ms, connect = all < CONNECT_MS ? all : CONNECT_MS;

	return SET(h, TIMEOUT_MS, all) && SET(h, CONNECTTIMEOUT_MS, connect);
}

static bool prepare(struct http *h)
{
	return trust(h) && SET(h, ERRORBUFFER, h->error) &&
	       SET(h, PROTOCOLS_STR, h->to->plain ? "http,https" : "https") &&
	       SET(h, FOLLOWLOCATION, 0L) && SET(h, NOSIGNAL, 1L) && SET(h, NOPROGRESS, 1L) &&
	       /* An empty one keeps libcurl from asking the environment. */
	       SET(h, PROXY, h->to->proxy ? h->to->proxy : "") && SET(h, NOPROXY, "") &&
	       SET(h, SUPPRESS_CONNECT_HEADERS, 1L) &&
	       SET(h, HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(h, USERAGENT, "cloop") &&
	       SET(h, WRITEFUNCTION, take_body) && SET(h, WRITEDATA, h) &&
	       SET(h, HEADERFUNCTION, take_header) && SET(h, HEADERDATA, h);
}

int http_open(const struct http_to *to, struct http **out, struct cl_err *e)
{
	struct http *h;

	if (to->ca_file && access(to->ca_file, R_OK)) {
		(void)cl_fail_sys(
			e, CL_EUNAVAIL, errno, "cannot read the certificates in '%s'", to->ca_file);
		return cl_slug(e, "http_tls");
	}
	if (global(e))
		return -1;
	h = cl_calloc(1, sizeof(*h));
	h->to = to;
	h->curl = curl_easy_init();
	if (!h->curl || !prepare(h)) {
		http_close(h);
		return cl_fail(e, CL_EBUG, "this libcurl does not know what is needed of it");
	}
	*out = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->curl)
		curl_easy_cleanup(h->curl);
	free(h);
	curl_global_cleanup();
}

void http_cleanup(struct http **h)
{
	http_close(*h);
}

/* ---- one request ---- */

/* "ghes.example.com:8443" of the URL; owned. */
static char *host_of(const char *url)
{
	const char *p = strstr(url, "://");

	p = p ? p + 3 : url;
	return cl_strndup(p, strcspn(p, "/?#"));
}

static const struct {
	CURLcode code;
	const char *slug, *what;
} failures[] = {
	{CURLE_COULDNT_RESOLVE_HOST, "http_unreachable", "cannot find the address of %s"},
	{CURLE_COULDNT_RESOLVE_PROXY, "http_unreachable", "cannot find the proxy on the way to %s"},
	{CURLE_COULDNT_CONNECT, "http_unreachable", "cannot connect to %s"},
	{CURLE_OPERATION_TIMEDOUT, "http_timeout", "%s does not answer in time"},
	{CURLE_PEER_FAILED_VERIFICATION, "http_tls", "the certificate of %s is not trusted"},
	{CURLE_SSL_CACERT_BADFILE, "http_tls",
		"cannot read the certificates that are to vouch for %s"},
	{CURLE_SSL_CERTPROBLEM, "http_tls", "the client certificate for %s cannot be used"},
	{CURLE_SSL_CONNECT_ERROR, "http_tls", "%s does not speak TLS as it must"},
	{CURLE_PARTIAL_FILE, "http_broken", "the answer of %s broke off"},
	{CURLE_GOT_NOTHING, "http_broken", "%s hung up without an answer"},
};

static void fix(const struct http *h, const char *slug, struct cl_err *e)
{
	if (!strcmp(slug, "http_tls"))
		(void)cl_fix(e,
			"have the authority that signed it among the system's certificates, "
			"or in the file that the configuration names");
	else if (h->to->proxy)
		(void)cl_fix(
			e, "see that the proxy %s is up and lets this host through", h->to->proxy);
	else
		(void)cl_fix(e, "see that this host reaches it: name service, routes, firewalls");
}

static int failed(const struct http *h, const struct http_request *r, CURLcode rc, struct cl_err *e)
{
	cleanup_free char *host = host_of(r->url);
	const char *slug = "http_broken", *what = "the exchange with %s failed";
	const char *detail = *h->error ? h->error : curl_easy_strerror(rc);
	cleanup_free char *text = NULL;
	const char *at;

	if (h->too_large) {
		(void)cl_fail(e, CL_EUNAVAIL, "the answer of %s is larger than %zu bytes", host,
			h->to->max_bytes);
		(void)cl_slug(e, "http_too_large");
		return cl_fix(e, "see that it is the server that was meant");
	}
	if (rc == CURLE_UNSUPPORTED_PROTOCOL) {
		(void)cl_fail(e, CL_EREFUSED, "'%s' is no https:// address", r->url);
		(void)cl_slug(e, "http_plain");
		return cl_fix(e, "a credential goes over TLS only: write https://");
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(failures); i++)
		if (failures[i].code == rc) {
			slug = failures[i].slug;
			what = failures[i].what;
		}
	at = strstr(what, "%s");
	text = cl_asprintf("%.*s%s%s", (int)(at - what), what, host, at + 2);
	(void)cl_fail(e, CL_EUNAVAIL, "%s: %s", text, detail);
	(void)cl_slug(e, slug);
	fix(h, slug, e);
	return -1;
}

static struct curl_slist *add(struct curl_slist *list, const char *line, bool *ok)
{
	struct curl_slist *longer = curl_slist_append(list, line);

	*ok = *ok && longer;
	return longer ? longer : list;
}

static struct curl_slist *headers_of(const struct http_request *r, bool *ok)
{
	cleanup_buf struct cl_buf line = CL_BUF_SECRET;
	struct curl_slist *list = NULL;

	for (const char *const *p = r->headers; p && *p; p++)
		list = add(list, *p, ok);
	if (r->bearer) {
		cl_buf_addf(&line, "Authorization: Bearer %s", r->bearer);
		list = add(list, line.p, ok);
	}
	cl_buf_reset(&line);
	if (r->basic) {
		cl_buf_addf(&line, "Authorization: Basic %s", r->basic);
		list = add(list, line.p, ok);
	}
	if (r->body)
		list = add(list,
			r->form ? "Content-Type: application/x-www-form-urlencoded"
				: "Content-Type: application/json",
			ok);
	/* No wait for a "100 Continue". */
	return add(list, "Expect:", ok);
}

int http_ask(
	struct http *h, const struct http_request *r, struct http_answer *out, struct cl_err *e)
{
	bool ok = true;
	struct curl_slist *headers = headers_of(r, &ok);
	CURLcode rc;
	long status = 0;

	h->answer = out;
	h->too_large = false;
	*h->error = '\0';
	ok = ok && bound(h, r->timeout_ms ? r->timeout_ms : h->to->timeout_ms) &&
	     SET(h, URL, r->url) && SET(h, HTTPHEADER, headers);
	if (r->body)
		ok = ok && SET(h, POST, 1L) && SET(h, POSTFIELDSIZE, (long)strlen(r->body)) &&
		     SET(h, COPYPOSTFIELDS, r->body);
	else
		ok = ok && SET(h, HTTPGET, 1L);
	ok = ok && SET(h, CUSTOMREQUEST, r->method);
	rc = ok ? curl_easy_perform(h->curl) : CURLE_FAILED_INIT;
	(void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	/* What is kept of the last request must not go with the next. */
	(void)SET(h, HTTPHEADER, NULL);
	h->answer = NULL;
	out->status = (int)status;
	if (!out->content_type)
		out->content_type = cl_strdup("");
	if (!out->location)
		out->location = cl_strdup("");
	if (!out->challenge)
		out->challenge = cl_strdup("");
	if (!out->digest)
		out->digest = cl_strdup("");
	return rc == CURLE_OK ? 0 : failed(h, r, rc, e);
}
