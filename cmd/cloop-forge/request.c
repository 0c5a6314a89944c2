/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "forge.h"
#include "seal/jwt.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)2 << 20)
#define ONE_MS      30000
#define ALL_MS      120000
#define DESTROY_MS  10000

void forge_release(struct forge *f)
{
	http_close(f->http);
	sec_github_app_release(&f->app);
	free(f->api_host);
	cl_doc_release(&f->d);
	seal_buf_release(&f->jwt);
	seal_buf_release(&f->in);
}

static int read_line(struct forge *f, size_t len, struct cl_err *e)
{
	static const char *const known[] = {
		"secret", "base_url", "ca_file", "proxy", "timeout_ms", "constraints", "scope"};
	int64_t timeout = ALL_MS;

	f->name = "";
	if (cl_doc_parse(&f->d, CL_DOC_JSON, "-", (const char *)f->in.p, len, NULL, e) ||
		cl_doc_closed(&f->d, f->d.root, "", known, CL_ARRAY_LEN(known), e) ||
		cl_doc_str(&f->d, f->d.root, "secret", &f->name, e) ||
		cl_doc_str(&f->d, f->d.root, "base_url", &f->base_url, e) ||
		cl_doc_str(&f->d, f->d.root, "ca_file", &f->to.ca_file, e) ||
		cl_doc_str(&f->d, f->d.root, "proxy", &f->to.proxy, e) ||
		cl_doc_int(&f->d, f->d.root, "timeout_ms", 1, ALL_MS, &timeout, e))
		return -1;
	f->deadline = sys_mono_ms() + timeout;
	f->to.timeout_ms = timeout < ONE_MS ? timeout : ONE_MS;
	f->to.max_bytes = GH_ANSWER_MAX;
	return 0;
}

int forge_read(struct forge *f, struct cl_err *e)
{
	const char *end;

	if (isatty(STDIN_FILENO)) {
		(void)cl_fail(e, CL_EUSAGE,
			"standard input is a terminal, and a request is JSON "
			"from another program");
		return cl_fix(e, "use cloop secret app");
	}
	if (seal_process(e) || seal_read_fd(STDIN_FILENO, "standard input", REQUEST_MAX, &f->in, e))
		return -1;
	end = memchr(f->in.p, '\n', f->in.len);
	if (!end)
		return cl_fail(e, CL_EDATA, "the request ends before its secret");
	f->secret = end + 1;
	f->len = f->in.len - (size_t)(f->secret - (const char *)f->in.p);
	return read_line(f, (size_t)(end - (const char *)f->in.p), e);
}

/* The configured certificates are an Enterprise Server's: they do not vouch for github.com. */
static bool is_public(const char *host)
{
	return !strcmp(host, "api.github.com") || cl_ends(host, ".ghe.com");
}

int forge_connect(struct forge *f, const char *base_url, struct cl_err *e)
{
	cleanup_buf struct cl_buf host = CL_BUF_INIT;

	if (!cl_starts(base_url, "https://") || !sec_web_host_of(base_url, &host)) {
		(void)cl_fail(e, CL_EREFUSED, "'%s' is no https:// address of an API", base_url);
		(void)cl_slug(e, "http_plain");
		return cl_fix(e, "a credential goes over TLS only");
	}
	f->base_url = base_url;
	f->api_host = cl_buf_detach(&host);
	f->ask = (struct gh_ask){.host = f->api_host,
		.secret = f->name,
		.app_id = f->app.app_id,
		.installation_id = f->app.installation_id};
	if (is_public(f->api_host))
		f->to.ca_file = NULL;
	return http_open(&f->to, &f->http, e);
}

int forge_read_app(struct forge *f, bool installed, struct cl_err *e)
{
	int rc = installed ? sec_github_app_read(f->secret, f->len, &f->app, e)
			   : sec_github_app_seek(f->secret, f->len, &f->app, e);

	return rc || forge_connect(f, f->app.base_url, e) ? -1 : 0;
}

const char *forge_jwt(struct forge *f, struct cl_err *e)
{
	if (!f->jwt.p &&
		seal_app_jwt(f->app.private_key, f->app.app_id, sys_now_ms() / 1000, &f->jwt, e))
		return NULL;
	return (const char *)f->jwt.p;
}

static int late(const struct forge *f, struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "%s took too long in all", f->api_host);
	(void)cl_slug(e, "http_timeout");
	return cl_fix(e, "try again");
}

static int not_reached(const struct forge *f, struct cl_err *e)
{
	if (!strcmp(e->slug, "http_tls") && !is_public(f->api_host))
		(void)cl_fix(e, "name the file with its authority as secrets.github.ca_file in the "
				"hub's configuration, or add it to the system's");
	if (*f->name)
		(void)cl_wrap(e, "github_app secret '%s'", f->name);
	return -1;
}

int forge_ask(struct forge *f, const struct forge_call *call, struct http_answer *http,
	struct gh_answer *out, struct cl_err *e)
{
	static const char *const headers[] = {
		"Accept: " GH_ACCEPT, "X-GitHub-Api-Version: " GH_VERSION, NULL};
	cleanup_free char *url = cl_asprintf("%s%s", f->base_url, call->path);
	int64_t left = f->deadline - sys_mono_ms();
	struct http_request r = {.method = call->method,
		.url = url,
		.headers = headers,
		.bearer = call->bearer,
		.body = call->body,
		.timeout_ms = call->timeout_ms ? call->timeout_ms : left};

	if (!call->timeout_ms && left > f->to.timeout_ms)
		r.timeout_ms = f->to.timeout_ms;
	if (r.timeout_ms <= 0)
		return late(f, e);
	f->ask.call = call->call;
	if (http_ask(f->http, &r, http, e))
		return not_reached(f, e);
	*out = (struct gh_answer){.status = http->status,
		.content_type = http->content_type,
		.location = http->location,
		.retry_after = http->retry_after,
		.remaining = http->remaining,
		.reset_at = http->reset_at,
		.date = http->date,
		.now = sys_now_ms() / 1000,
		.body = http->body.p,
		.len = http->body.len};
	return gh_check(&f->ask, out, e);
}

int forge_destroy(struct forge *f, const char *token, bool *gone, struct cl_err *e)
{
	const struct forge_call call = {.call = GH_DESTROY,
		.method = "DELETE",
		.path = "/installation/token",
		.bearer = token,
		.timeout_ms = DESTROY_MS};
	cleanup_http_answer struct http_answer http = HTTP_ANSWER_INIT;
	struct gh_answer a;

	if (forge_ask(f, &call, &http, &a, e))
		return -1;
	if (gone)
		*gone = a.status == 401 || a.status == 404;
	return 0;
}
