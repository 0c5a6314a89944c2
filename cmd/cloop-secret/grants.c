/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_kube.h"

#include <string.h>

struct listing {
	struct cl_ctx *ctx;
	struct keyed *k;
	unsigned char pub[SEAL_KEY];
	bool known;
	const struct sec_requester *who; /* only grants that are for it; NULL: all */
	size_t n;
};

/* Characters of a cell, not bytes: what is cut ends with an ellipsis. */
static void cell(const char *text, size_t width)
{
	size_t chars = 0, at = 0, len = strlen(text), cut = 0;

	while (at < len) {
		size_t n = cl_utf8_next(text + at, len - at);

		at += n ? n : 1;
		if (++chars == width - 1)
			cut = at;
	}
	if (chars > width)
		(void)printf("%.*s… ", (int)cut, text);
	else
		(void)printf("%s%*s", text, (int)(width - chars + 1), "");
}

static char *expires_text(const struct listing *l, const struct store_grant *g)
{
	int64_t left = g->expires_at - l->k->now;
	char text[40];

	if (g->revoked_at)
		return cl_strdup("revoked");
	if (!g->expires_at)
		return cl_strdup("never");
	if (left <= 0)
		return cl_strdup("expired");
	cl_format_duration((left + 30000) / 60000 * 60000, text);
	return cl_strdup(text);
}

/* "good", "forged" (one that was put back, too), or "unknown" where none was ever signed here. */
static int signature(
	const struct listing *l, const struct store_grant *g, const char **out, struct cl_err *e)
{
	enum grant_proof proof;

	*out = "unknown";
	if (!l->known)
		return 0;
	if (grant_prove(l->k, g, &proof, e))
		return -1;
	*out = proof == GRANT_GENUINE ? "good" : "forged";
	return 0;
}

/* A row that cannot be read is shown: somebody who should not has written it. */
static bool is_for(const struct listing *l, const struct store_grant *g)
{
	cleanup_view struct grant_view v = GRANT_VIEW_INIT;
	struct cl_err e;

	return !l->who || grant_view(g, &v, &e) || sec_subject_matches(&v.subject, l->who);
}

/* What becomes of limits that nothing enforces without the Kubernetes access monitor. */
static void add_guard(const struct listing *l, const struct store_grant *g, struct cl_buf *out)
{
	cleanup_view struct grant_view v = GRANT_VIEW_INIT;
	cleanup_buf struct cl_buf what = CL_BUF_INIT;
	cleanup_free char *word = NULL;
	struct cl_err ignored;

	if (g->revoked_at || grant_view(g, &v, &ignored) || v.kind != SEC_KUBECONFIG)
		return;
	sec_kube_unenforced(&v.constraints, &what);
	if (!what.len)
		return;
	if (l->known && secret_word_stands(l->k, l->pub, g))
		word = secret_unguarded(g);
	if (word)
		cl_buf_addf(out, " (unguarded: %s)", word);
	else
		cl_buf_adds(out, " (no kube monitor: not delivered)");
}

static int one(const struct store_grant *g, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	cleanup_free char *expires = expires_text(l, g), *summary = grant_summary(g);
	cleanup_buf struct cl_buf guard = CL_BUF_INIT;
	const char *signed_by;
	bool found;

	if (!is_for(l, g))
		return 0;
	if (signature(l, g, &signed_by, e) ||
		store_secret_find(l->k->store, g->secret_id, &secret, &found, e))
		return -1;
	l->n++;
	if (l->ctx->json) {
		json_t *o = store_grant_json(g);

		(void)json_object_set_new(o, "summary", json_string(summary));
		(void)json_object_set_new(o, "signature", json_string(signed_by));
		(void)json_object_set_new(o, "secret_deleted", json_boolean(!found));
		cl_take_json(o);
		return 0;
	}
	cell(g->id, 32);
	cell(found ? g->secret_name : "(deleted)", 18);
	cell(g->kind, 13);
	cell(g->subject, 24);
	cell(expires, 10);
	add_guard(l, g, &guard);
	(void)printf("%s%s%s\n",
		strcmp(signed_by, "forged") ? "" : "FORGED, never delivered: ", summary, guard.p);
	return 0;
}

static void head(void)
{
	cell("GRANT", 32);
	cell("SECRET", 18);
	cell("KIND", 13);
	cell("SUBJECT", 24);
	cell("EXPIRES", 10);
	(void)printf("CONSTRAINTS\n");
	for (int i = 0; i < 114; i++)
		(void)fputs("─", stdout);
	(void)printf("\n");
}

int cmd_secret_grants(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct store_grant_filter f = {0};
	struct listing l = {.ctx = c, .k = &k};

	if (cl_given(c, "subject")) {
		if (sec_subject_parse(cl_str(c, "subject"), &subject, e))
			return -1;
		sec_subject_text(&subject, &text);
		f.subject = text.p;
	}
	if (keyed_without(c, STORE_RO, &k, e) || keyed_public(&k, l.pub, &l.known, e) ||
		(cl_given(c, "secret") && secret_find(&k, cl_str(c, "secret"), &secret, e)))
		return -1;
	f.secret_id = secret.id;
	f.active_at = cl_flag(c, "all") ? 0 : k.now;
	if (!c->json)
		head();
	if (store_grant_each(k.store, &f, one, &l, e))
		return -1;
	if (!c->json)
		(void)printf("\n%zu grant(s)\n", l.n);
	return 0;
}

/* Who is asked about: a project, an executor with its labels, labels, or whoever there is. */
static int requester(struct keyed *k, const struct sec_subject *subject, struct sec_labels *labels,
	struct sec_requester *out, struct cl_err *e)
{
	*out = (struct sec_requester){.labels = labels};
	if (subject->kind == SEC_PROJECT)
		out->project = subject->value;
	if (subject->kind == SEC_EXECUTOR)
		out->executor = subject->value;
	if (subject->kind == SEC_LABEL)
		out->labels = &subject->labels;
	return out->executor ? secret_labels(k, out->executor, labels, e) : 0;
}

int cmd_secret_access(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	cleanup_labels struct sec_labels labels = SEC_LABELS_INIT;
	struct sec_requester who;
	struct store_grant_filter f = {0};
	struct listing l = {.ctx = c, .k = &k, .who = &who};

	if (sec_subject_parse(cl_operand(c, 0), &subject, e))
		return -1;
	if (keyed_without(c, STORE_RO, &k, e) || keyed_public(&k, l.pub, &l.known, e) ||
		requester(&k, &subject, &labels, &who, e))
		return -1;
	f.active_at = k.now;
	if (!c->json)
		head();
	if (store_grant_each(k.store, &f, one, &l, e))
		return -1;
	if (!c->json)
		(void)printf("\n%zu grant(s)\n", l.n);
	return l.n ? 0 : 1;
}
