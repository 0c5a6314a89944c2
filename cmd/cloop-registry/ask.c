/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request to the registry with all that may come in between: a login, a token, a redirect. */
#include "registry.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define ONE_MS    20000
#define REDIRECTS 4

/* One exchange with one server. `mine`: it is the registry, which may see the login. */
struct ask {
	struct client *c;
	struct server *server;
	const char *url, *accept, *what;
	const char *form; /* posted; secret; NULL: it is a GET */
	size_t max;
	bool mine;
};

static int late(const struct client *c, struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "registry '%s' took too long in all", c->ref.registry);
	(void)cl_slug(e, "http_timeout");
	return cl_fix(e, "try again, and see that this host reaches it quickly");
}

static int not_reached(const struct ask *a, struct cl_err *e)
{
	const char *host = strstr(a->server->origin, "://") + 3;

	if (!strcmp(e->slug, "http_tls"))
		(void)cl_fix(e,
			"put its authority into /etc/containers/certs.d/%s/ca.crt, or into the "
			"folder of sandbox.registry.certs_dir",
			host);
	return cl_wrap(e, "registry '%s'", a->c->ref.registry);
}

/* HTTP without TLS is spoken to loopback alone, and there a server without TLS is a common slip. */
static int exchange(const struct ask *a, const char *basic, const char *bearer,
	struct http_answer *out, struct cl_err *e)
{
	cleanup_free char *accept = cl_asprintf("Accept: %s", a->accept);
	const char *const headers[] = {accept, NULL};
	struct http_request r = {.method = a->form ? "POST" : "GET",
		.body = a->form,
		.form = true,
		.url = a->url,
		.headers = headers,
		.basic = basic,
		.bearer = bearer,
		.timeout_ms = client_left(a->c, ONE_MS)};

	if (!r.timeout_ms)
		return late(a->c, e);
	a->server->to.max_bytes = a->max;
	return http_ask(a->server->http, &r, out, e) ? not_reached(a, e) : 0;
}

/* ---- tokens ---- */

static int denied(const struct client *c, const char *what, struct cl_err *e)
{
	(void)oci_status(401, c->ref.registry, what, e);
	if (c->login.helper)
		return cl_fix(e,
			"the login for it is kept by the credential helper '%.60s', which is not "
			"run: "
			"log in without one, into a file that sandbox.registry.auth_file names",
			c->login.helper);
	if (c->login.key)
		return cl_fix(e, "its login for '%.100s' is not taken: log in again", c->login.key);
	return -1;
}

/* The registry names who gives tokens; a login goes there too, so it must be TLS as well. */
static int take_token(
	struct client *c, const struct oci_challenge *challenge, const char *what, struct cl_err *e)
{
	cleanup_free char *origin = NULL;
	cleanup_free char *url = oci_token_url(challenge, c->ref.repository);
	cleanup_buf struct cl_buf form = CL_BUF_SECRET;
	cleanup_server struct server other = SERVER_INIT;
	cleanup_http_answer struct http_answer answer = HTTP_ANSWER_INIT;
	struct ask a = {.c = c,
		.server = &c->registry,
		.url = url,
		.accept = "application/json",
		.max = OCI_TOKEN_MAX * 2};
	bool stepped_down;

	if (oci_url(challenge->realm, &c->plain, "the token service", &origin, e))
		return -1;
	stepped_down = cl_starts(c->registry.origin, "https:") && !cl_starts(origin, "https:");
	if (stepped_down) {
		(void)cl_fail(e, CL_EREFUSED, "the token service '%.200s' is no https:// address",
			challenge->realm);
		(void)cl_slug(e, "registry_redirect");
		return cl_fix(e, "a login goes over TLS only: mend the registry's realm");
	}
	if (strcmp(origin, c->registry.origin) != 0) {
		if (server_open(c, origin, &other, e))
			return -1;
		a.server = &other;
	}
	if (c->login.identity.len) {
		oci_token_form(challenge, c->ref.repository, c->login.identity.p, &form);
		a.url = challenge->realm;
		a.form = form.p;
	}
	if (exchange(&a, c->login.basic.len ? c->login.basic.p : NULL, NULL, &answer, e))
		return -1;
	/* RFC 6749 5.2: a refresh token that is over is a bad request. */
	if (answer.status == 400 && a.form)
		return denied(c, what, e);
	if (answer.status == 401 || answer.status == 403)
		return denied(c, what, e);
	if (answer.status != 200)
		return oci_status(answer.status, c->ref.registry, "a token", e);
	return oci_token_read(answer.body.p, answer.body.len, &c->token, e);
}

/* What a 401 asks for, once. */
static int log_in(struct client *c, const char *header, const char *what, struct cl_err *e)
{
	cleanup_oci_challenge struct oci_challenge challenge = OCI_CHALLENGE_INIT;

	if (oci_challenge_read(header, &challenge, e) || client_login(c, e))
		return -1;
	if (challenge.scheme == OCI_BEARER && c->login.token.len) {
		cl_buf_adds(&c->token, c->login.token.p);
		return 0;
	}
	if (challenge.scheme == OCI_BEARER)
		return take_token(c, &challenge, what, e);
	if (challenge.scheme != OCI_BASIC || !c->login.basic.len)
		return denied(c, what, e);
	c->basic = true;
	return 0;
}

static int ask_registry(const struct ask *a, struct http_answer *out, struct cl_err *e)
{
	struct client *c = a->c;
	bool tried = c->basic || c->token.len;

	for (;;) {
		const char *basic = c->basic ? c->login.basic.p : NULL;

		if (exchange(a, basic, c->token.len ? c->token.p : NULL, out, e))
			return -1;
		if (out->status != 401)
			return 0;
		/* It asks again though it has all that we have. */
		if (tried)
			return denied(c, a->what, e);
		tried = true;
		if (log_in(c, out->challenge, a->what, e))
			return -1;
		http_answer_release(out);
	}
}

/* ---- redirects ---- */

static bool moved(const struct http_answer *a)
{
	return (a->status == 301 || a->status == 302 || a->status == 303 || a->status == 307 ||
		       a->status == 308) &&
	       *a->location;
}

static int too_far(const struct ask *a, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "registry '%s' sends one on more than %d times for %s",
		a->c->ref.registry, REDIRECTS, a->what);
	(void)cl_slug(e, "registry_redirect");
	return cl_fix(e, "mend the registry, or what stands in front of it");
}

int client_get(struct client *c, const char *path, const char *accept, size_t max, const char *what,
	struct http_answer *out, struct cl_err *e)
{
	cleanup_free char *url = cl_asprintf("%s%s", c->registry.origin, path);
	cleanup_server struct server other = SERVER_INIT;
	struct ask a = {.c = c,
		.server = &c->registry,
		.url = url,
		.accept = accept,
		.what = what,
		.max = max,
		.mine = true};

	for (int hops = 0; hops <= REDIRECTS; hops++) {
		cleanup_free char *next = NULL, *origin = NULL;
		bool same;

		a.url = url;
		if (a.mine ? ask_registry(&a, out, e) : exchange(&a, NULL, NULL, out, e))
			return -1;
		if (!moved(out))
			return out->status == 200
				       ? 0
				       : oci_status(out->status, c->ref.registry, what, e);
		if (oci_redirect(url, out->location, &c->plain, &next, &same, e) ||
			oci_url(next, &c->plain, "the redirect to", &origin, e))
			return -1;
		http_answer_release(out);
		free(url);
		url = cl_steal(&next);
		if (same)
			continue;
		/* Once away it stays away: a way back would be a way to have the login replayed. */
		server_release(&other);
		if (server_open(c, origin, &other, e))
			return -1;
		a.server = &other;
		a.mine = false;
	}
	return too_far(&a, e);
}
