/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/forge.h"

#include "base/mem.h"
#include "base/num.h"
#include "policy/secret/github_api.h"
#include "sys/proc.h"
#include "work/part.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM "cloop-forge"
/* cloop-forge bounds itself; this is for one that does not. */
#define TIMEOUT_MS 180000

void forge_lefts_release(struct forge_lefts *l)
{
	for (size_t i = 0; i < l->n; i++) {
		seal_buf_release(&l->v[i].token);
		free(l->v[i].base_url);
		free(l->v[i].why);
	}
	free(l->v);
	*l = FORGE_LEFTS_INIT;
}

void forge_token_release(struct forge_token *t)
{
	seal_buf_release(&t->token);
	free(t->base_url);
	free(t->host);
	json_decref(t->scope);
	cl_strv_release(&t->repositories);
	cl_strv_release(&t->notes);
	forge_lefts_release(&t->left);
	*t = FORGE_TOKEN_INIT;
}

bool forge_retry(const struct cl_err *e)
{
	return gh_retry(e);
}

bool forge_token_due(int64_t expires_at, int64_t now)
{
	return expires_at - now <= FORGE_DUE;
}

static const char *configured(const struct keyed *k, const char *path)
{
	const struct cfg_value *v = cfg_value(&k->cfg, path);

	return v ? json_string_value(v->value) : NULL;
}

/* What every request says besides its own. */
static void add_common(const struct keyed *k, json_t *o, const char *secret_name)
{
	const char *ca = configured(k, "secrets.github.ca_file"),
		   *proxy = configured(k, "secrets.github.proxy");

	(void)json_object_set_new(o, "secret", cl_json_string(secret_name ? secret_name : ""));
	if (ca)
		(void)json_object_set_new(o, "ca_file", cl_json_string(ca));
	if (proxy)
		(void)json_object_set_new(o, "proxy", cl_json_string(proxy));
}

/* One line of JSON, and the secret behind it, in locked memory. */
static int request(
	const json_t *o, const char *secret, size_t len, struct seal_buf *out, struct cl_err *e)
{
	cleanup_free char *line = cl_json_text(o);
	size_t n = strlen(line);

	if (seal_buf_make(out, n + 1 + len, e))
		return -1;
	memcpy(out->p, line, n);
	out->p[n] = '\n';
	memcpy(out->p + n + 1, secret, len);
	out->len = n + 1 + len;
	return 0;
}

/* ---- what it says (cmd/cloop-forge/forge.h) ---- */

struct answer_line {
	const char *p;
	size_t len;
};

/* "EXPIRES URL TOKEN" */
static int add_given(const char *p, size_t len, struct forge_lefts *l, struct cl_err *e)
{
	const char *url = memchr(p, ' ', len), *token, *end = p + len;
	cleanup_free char *number = NULL;
	struct forge_left *v;
	int64_t expires;

	token = url ? memchr(url + 1, ' ', (size_t)(end - url - 1)) : NULL;
	if (!token || token + 1 == end)
		return cl_fail(e, CL_EBUG, PROGRAM " gave a line that holds no token");
	number = cl_strndup(p, (size_t)(url - p));
	if (cl_parse_i64(number, INT64_MIN, INT64_MAX, "an end", &expires, e))
		return -1;
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	v = &l->v[l->n++];
	*v = (struct forge_left){
		.expires_at = expires, .base_url = cl_strndup(url + 1, (size_t)(token - url - 1))};
	return seal_buf_copy(&v->token, token + 1, (size_t)(end - token - 1), e);
}

static void drop_last(struct forge_lefts *l)
{
	struct forge_lefts last = {.v = cl_calloc(1, sizeof(*last.v)), .n = 1};

	*last.v = l->v[--l->n];
	forge_lefts_release(&last);
}

/* What it wrote up to its end, which may have been in the middle of a line; *json is borrowed. */
static int read_lines(
	const struct cl_buf *out, struct forge_lefts *l, struct answer_line *json, struct cl_err *e)
{
	const char *p = out->p, *end;

	for (; (end = memchr(p, '\n', (size_t)(out->p + out->len - p))); p = end + 1) {
		size_t n = (size_t)(end - p);

		if (*p == '+' && add_given(p + 1, n - 1, l, e))
			return -1;
		if (*p == '-' && l->n)
			drop_last(l);
		if (*p == '!' && l->n && !l->v[l->n - 1].why)
			l->v[l->n - 1].why = cl_strndup(p + 1, n - 1);
		if (*p == '{')
			*json = (struct answer_line){p, n};
	}
	return 0;
}

/*
 * Runs cloop-forge: *json is what it answered, in r->out, which is wiped. *left is filled also when it
 * failed, or was killed.
 */
static int run(const char *verb, const json_t *o, const char *secret, size_t len,
	struct forge_lefts *left, struct answer_line *json, struct sys_run *r, struct cl_err *e)
{
	cleanup_free char *verb_copy = cl_strdup(verb);
	char *argv[] = {(char *)(uintptr_t)PROGRAM, verb_copy, (char *)(uintptr_t) "--json", NULL};
	cleanup_seal struct seal_buf in = SEAL_BUF_INIT;
	struct cl_err lines;
	int rc;

	if (request(o, secret, len, &in, e))
		return -1;
	r->out = CL_BUF_SECRET;
	r->input = in.p;
	r->input_len = in.len;
	r->timeout_ms = TIMEOUT_MS;
	r->max_output = GH_ANSWER_MAX;
	rc = work_part_run(r, argv, verb, e);
	if (!read_lines(&r->out, left, json, &lines))
		return rc;
	if (!rc)
		*e = lines;
	return -1;
}

static void copy_texts(const json_t *list, struct cl_strv *out)
{
	const json_t *v;
	size_t i;

	json_array_foreach (list, i, v)
		if (json_is_string(v))
			cl_strv_add(out, json_string_value(v));
}

/* The answer, and the token that it is about: the last of those that are there. */
static int take(const struct answer_line *json, struct forge_token *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *scope, *repositories, *notes;
	json_int_t expires, installation;
	const char *base_url, *host;

	if (!json->p || !out->left.n)
		return cl_fail(e, CL_EBUG, PROGRAM " mint gave no token");
	if (cl_doc_parse(&d, CL_DOC_JSON, PROGRAM, json->p, json->len, NULL, e))
		return -1;
	if (json_unpack(d.root, "{s:I, s:I, s:s, s:s, s:o, s:o, s:o}", "expires_at", &expires,
		    "installation_id", &installation, "base_url", &base_url, "host", &host, "scope",
		    &scope, "repositories", &repositories, "notes", &notes))
		return cl_fail(e, CL_EBUG, PROGRAM " mint gave an answer that is none");
	out->token = out->left.v[out->left.n - 1].token;
	out->left.v[out->left.n - 1].token = SEAL_BUF_INIT;
	drop_last(&out->left);
	out->expires_at = expires;
	out->installation_id = (uint64_t)installation;
	out->base_url = cl_strdup(base_url);
	out->host = cl_strdup(host);
	out->scope = json_deep_copy(scope);
	copy_texts(repositories, &out->repositories);
	copy_texts(notes, &out->notes);
	return 0;
}

int forge_token_mint(
	struct keyed *k, const struct forge_grant *g, struct forge_token *out, struct cl_err *e)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	json_t *o = json_object();
	struct answer_line json = {0};
	int rc;

	add_common(k, o, g->secret_name);
	(void)json_object_set_new(o, "constraints", sec_constraints_json(g->constraints));
	if (g->timeout_ms)
		(void)json_object_set_new(o, "timeout_ms", json_integer(g->timeout_ms));
	if (g->scope)
		(void)json_object_set_new(o, "scope", json_deep_copy(g->scope));
	rc = run("mint", o, g->payload, g->len, &out->left, &json, &r, e);
	json_decref(o);
	return rc || take(&json, out, e) ? -1 : 0;
}

static bool says_gone(const struct answer_line *json)
{
	json_t *o = json->p ? json_loadb(json->p, json->len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	bool gone = json_is_true(json_object_get(o, "gone"));

	json_decref(o);
	return gone;
}

int forge_token_destroy(struct keyed *k, const struct forge_end *t, bool *gone, struct cl_err *e)
{
	cleanup_forge_lefts struct forge_lefts none = FORGE_LEFTS_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct answer_line json = {0};
	json_t *o = json_object();
	int rc;

	add_common(k, o, t->secret_name);
	(void)json_object_set_new(o, "base_url", cl_json_string(t->base_url));
	rc = run("revoke", o, t->token, t->len, &none, &json, &r, e);
	if (gone)
		*gone = says_gone(&json);
	json_decref(o);
	return rc;
}

static void add_text(json_t *o, const char *key, const char *text)
{
	if (text && *text)
		(void)json_object_set_new(o, key, cl_json_string(text));
}

int forge_token_write(struct keyed *k, const struct forge_end *t, const char *why, struct cl_err *e)
{
	json_t *detail = json_object();
	char when[32];

	cl_format_time(t->expires_at, when);
	if (why)
		(void)json_object_set_new(detail, "decision", json_string("deny"));
	add_text(detail, "secret_id", t->secret_id);
	add_text(detail, "secret_name", t->secret_name);
	add_text(detail, "grant_id", t->grant_id);
	add_text(detail, "lease_id", t->lease_id);
	(void)json_object_set_new(detail, "kind", json_string("github_app"));
	(void)json_object_set_new(detail, "token_expires_at", json_string(when));
	add_text(detail, "reason", why ? why : t->reason);
	return keyed_audit(k, "github_app.token_destroy", "secret",
		t->secret_id ? t->secret_id : "", detail, e);
}

int forge_token_revoke(struct keyed *k, const struct forge_end *t, struct cl_err *e)
{
	int rc = forge_token_destroy(k, t, NULL, e);
	struct cl_err ignored;
	char when[32];

	cl_format_time(t->expires_at, when);
	if (rc)
		(void)cl_wrap(e, "the token was not destroyed and lives until %s", when);
	/* Best effort: what became of the token does not depend on the row. */
	(void)forge_token_write(k, t, rc ? e->msg : NULL, &ignored);
	return rc;
}

void forge_token_lost(struct keyed *k, const struct forge_end *t)
{
	cleanup_free char *why = NULL;
	struct cl_err ignored;
	char when[32];

	cl_format_time(t->expires_at, when);
	why = cl_asprintf("nobody has the token any more, so it lives until %s", when);
	(void)forge_token_write(k, t, why, &ignored);
}

int forge_discover(struct keyed *k, enum forge_list what, const char *secret_name,
	const char *payload, size_t len, json_t **out, struct forge_lefts *left, struct cl_err *e)
{
	const struct cl_doc_limits limits = {.max_bytes = GH_ANSWER_MAX, .nodes = 1u << 20};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct answer_line json = {0};
	json_t *o = json_object();
	int rc;

	add_common(k, o, secret_name);
	rc = run(what == FORGE_INSTALLATIONS ? "installations" : "repositories", o, payload, len,
		left, &json, &r, e);
	json_decref(o);
	if (rc ||
		cl_doc_parse(&d, CL_DOC_JSON, PROGRAM, json.p ? json.p : "", json.len, &limits, e))
		return -1;
	*out = json_incref(d.root);
	return 0;
}
