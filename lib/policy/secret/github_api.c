/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a status of GitHub's means, and what to do about it. */
#include "policy/secret/github_api.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/credpat.h"
#include "policy/secret/github_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define QUOTED 200 /* bytes of GitHub's words */

bool gh_retry(const struct cl_err *e)
{
	return e->code == CL_EUNAVAIL || e->code == CL_EBUSY || e->code == CL_EOS;
}

/* GitHub's "message", or the start of what came instead; owned, fit to be quoted. */
static char *words_of(const struct gh_answer *a)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_buf out = CL_BUF_INIT;
	const char *text = a->body;
	size_t len = a->len;
	struct cl_err quiet;
	const json_t *v;

	if (!cl_doc_parse(&d, CL_DOC_JSON, "answer", a->body, a->len, NULL, &quiet)) {
		v = json_object_get(d.root, "message");
		if (json_is_string(v)) {
			text = json_string_value(v);
			len = json_string_length(v);
		}
	}
	/* Scrubbed before it is cut: half a credential is one too. */
	len = len < CP_MAX ? len : CP_MAX;
	(void)cp_scrub(text, strnlen(text, len), &out);
	if (out.len > QUOTED) {
		out.len = cl_utf8_cut(out.p, out.len, QUOTED);
		out.p[out.len] = '\0';
	}
	return cl_buf_detach(&out);
}

static bool mentions(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

/* "secret 'deploy-app': " in front, where it is stored. */
static int fail(const struct gh_ask *q, enum cl_code code, const char *slug, struct cl_err *e,
	const char *msg)
{
	(void)cl_fail(e, code, "%s", msg);
	if (*q->secret)
		(void)cl_wrap(e, "github_app secret '%s'", q->secret);
	return cl_slug(e, slug);
}

int gh_fail(const struct gh_ask *q, enum cl_code code, const char *slug, struct cl_err *e,
	const char *fmt, ...)
{
	char msg[900];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return fail(q, code, slug, e, msg);
}

/* 401: the signature, the App's id or the clock. */
static int unauthorized(
	const struct gh_ask *q, const struct gh_answer *a, const char *words, struct cl_err *e)
{
	int64_t skew = a->date ? a->now - a->date : 0;
	bool clock = mentions(words, "'exp'") || mentions(words, "'iat'") ||
		     mentions(words, "expiration") || mentions(words, "issued at") ||
		     mentions(words, "claim");

	if (!clock) {
		(void)gh_fail(q, CL_EREFUSED, "github_auth", e,
			"%s does not take the signature of App %llu: %s", q->host,
			(unsigned long long)q->app_id, words);
		return cl_fix(e,
			"see that app_id and private_key are of one App, and that the key was not "
			"deleted in its settings at GitHub; then mint the secret again");
	}
	if (!a->date)
		(void)gh_fail(q, CL_EUNAVAIL, "github_clock", e,
			"%s takes the time in the signature for wrong: %s", q->host, words);
	else
		(void)gh_fail(q, CL_EUNAVAIL, "github_clock", e,
			"%s takes the time in the signature for wrong (this clock is %lld seconds "
			"%s its own): %s",
			q->host, (long long)(skew < 0 ? -skew : skew),
			skew < 0 ? "behind" : "ahead of", words);
	return cl_fix(e, "set this host's clock: timedatectl set-ntp true");
}

static bool limited(const struct gh_answer *a, const char *words)
{
	return a->status == 429 || a->retry_after >= 0 || !a->remaining ||
	       mentions(words, "rate limit");
}

static int rate_limited(
	const struct gh_ask *q, const struct gh_answer *a, const char *words, struct cl_err *e)
{
	char when[32] = "";

	if (a->reset_at)
		cl_format_time(a->reset_at, when);
	if (a->retry_after >= 0)
		(void)gh_fail(q, CL_EBUSY, "github_rate_limited", e,
			"%s limits the rate of requests and asks to wait %lld seconds: %s", q->host,
			(long long)a->retry_after, words);
	else
		(void)gh_fail(q, CL_EBUSY, "github_rate_limited", e,
			"%s limits the rate of requests%s%s: %s", q->host, *when ? " until " : "",
			when, words);
	return cl_fix(e, "try again then; nothing is left behind");
}

static int forbidden(
	const struct gh_ask *q, const struct gh_answer *a, const char *words, struct cl_err *e)
{
	if (limited(a, words))
		return rate_limited(q, a, words, e);
	if (mentions(words, "suspended")) {
		(void)gh_fail(q, CL_EREFUSED, "github_suspended", e,
			"the installation %llu of App %llu is suspended at %s: %s",
			(unsigned long long)q->installation_id, (unsigned long long)q->app_id,
			q->host, words);
		return cl_fix(
			e, "whoever installed the App can lift that on the installation's page");
	}
	(void)gh_fail(
		q, CL_EUNAVAIL, "github_forbidden", e, "%s refuses this (403): %s", q->host, words);
	return cl_fix(e, "what it says is the cause: an allow list of addresses, for example");
}

static int not_found(const struct gh_ask *q, const char *words, struct cl_err *e)
{
	if (q->call == GH_INSTALLATIONS) {
		(void)gh_fail(q, CL_EREFUSED, "github_not_installed", e,
			"%s knows no App %llu, or no API is there: %s", q->host,
			(unsigned long long)q->app_id, words);
		return cl_fix(e, "check app_id, and base_url of a GitHub Enterprise Server");
	}
	(void)gh_fail(q, CL_EREFUSED, "github_not_installed", e,
		"App %llu has no installation %llu at %s: %s", (unsigned long long)q->app_id,
		(unsigned long long)q->installation_id, q->host, words);
	return cl_fix(e,
		"it was uninstalled, or the id is another App's; list what there is: cloop "
		"secret app installations %s",
		*q->secret ? q->secret : "--file FILE");
}

static int not_granted(const struct gh_ask *q, const char *words, struct cl_err *e)
{
	(void)gh_fail(q, CL_EREFUSED, "github_not_granted", e,
		"installation %llu does not have what was asked for: %s",
		(unsigned long long)q->installation_id, words);
	if (mentions(words, "permission"))
		return cl_fix(e,
			"give the App that permission and have the installation accept it, or "
			"grant fewer --permissions");
	return cl_fix(e,
		"add the repository to the App's installation at GitHub, or grant fewer --repos");
}

static int redirected(const struct gh_ask *q, const struct gh_answer *a, struct cl_err *e)
{
	cleanup_buf struct cl_buf host = CL_BUF_INIT;

	if (!sec_web_host_of(a->location, &host))
		cl_buf_adds(&host, "somewhere else");
	(void)gh_fail(q, CL_EREFUSED, "github_redirect", e,
		"%s sends the request on to %s (%d), and a credential does not follow", q->host,
		host.p, a->status);
	return cl_fix(e, "name the API's own address in base_url and mint the secret again");
}

/*
 * A token that is not there any more is what destroying was for (facts/secrets.md 6). A page of a proxy,
 * or of whatever else stands in GitHub's place for a while, has a status too.
 */
static bool destroyed(const struct gh_answer *a)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err quiet;

	if (a->status == 204)
		return true;
	if (a->status != 200 && a->status != 401 && a->status != 404)
		return false;
	return !a->len ||
	       (!cl_doc_parse(&d, CL_DOC_JSON, "answer", a->body, a->len, NULL, &quiet) &&
		       (a->status == 200 || json_is_string(json_object_get(d.root, "message"))));
}

static int check_destroyed(const struct gh_ask *q, const struct gh_answer *a, struct cl_err *e)
{
	char what[80];

	if (destroyed(a))
		return 0;
	(void)snprintf(what, sizeof(what), "(%d) is not GitHub's own", a->status);
	return gh_bad(q, e, what);
}

int gh_check(const struct gh_ask *q, const struct gh_answer *a, struct cl_err *e)
{
	cleanup_free char *words = NULL;

	if (q->call == GH_DESTROY && (a->status / 100 == 2 || a->status == 401 || a->status == 404))
		return check_destroyed(q, a, e);
	if (a->status == 200 || a->status == 201)
		return 0;
	words = words_of(a);
	if (a->status >= 300 && a->status < 400)
		return redirected(q, a, e);
	switch (a->status) {
	case 401:
		return unauthorized(q, a, words, e);
	case 403:
		return forbidden(q, a, words, e);
	case 404:
		return not_found(q, words, e);
	case 422:
		return not_granted(q, words, e);
	case 429:
		return rate_limited(q, a, words, e);
	default:
		break;
	}
	if (a->status >= 500) {
		(void)gh_fail(q, CL_EUNAVAIL, "github_unavailable", e,
			"%s is out of order (%d): %s", q->host, a->status, words);
		return cl_fix(e, "try again; https://www.githubstatus.com says more of github.com");
	}
	(void)gh_fail(q, CL_EREFUSED, "github_refused", e, "%s answers with status %d: %s", q->host,
		a->status, words);
	return cl_fix(e, "see that base_url is the address of GitHub's API");
}
