/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_subject.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sec_labels_release(struct sec_labels *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].key);
		free(l->v[i].value);
	}
	free(l->v);
	*l = SEC_LABELS_INIT;
}

static const char *find(const struct sec_labels *l, const char *key)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (!strcmp(l->v[i].key, key))
			return l->v[i].value;
	return NULL;
}

static bool printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int bad_label(struct cl_err *e, const char *key, const char *value, const char *why)
{
	(void)cl_fail(e, CL_EDATA, "the label '%.80s=%.80s' %s", key, value, why);
	(void)cl_slug(e, "invalid_label");
	return cl_fix(e, "write KEY=VALUE, such as region=eu");
}

int sec_label_set(struct sec_labels *l, const char *key, const char *value, struct cl_err *e)
{
	size_t at = 0;

	if (!*key)
		return bad_label(e, key, value, "has no key");
	if (strpbrk(key, " \t,=") || !printable(key))
		return bad_label(e, key, value, "has a blank, ',' or '=' in its key");
	if (strchr(value, ',') || !printable(value))
		return bad_label(e, key, value, "has ',' in its value");
	while (at < l->n && strcmp(l->v[at].key, key) < 0)
		at++;
	if (at < l->n && !strcmp(l->v[at].key, key)) {
		free(l->v[at].value);
		l->v[at].value = cl_strdup(value);
		return 0;
	}
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof(*l->v));
	l->v[at] = (struct sec_label){cl_strdup(key), cl_strdup(value)};
	l->n++;
	return 0;
}

void sec_labels_text(const struct sec_labels *l, struct cl_buf *out)
{
	for (size_t i = 0; l && i < l->n; i++)
		cl_buf_addf(out, "%s%s=%s", i ? "," : "", l->v[i].key, l->v[i].value);
}

void sec_subject_release(struct sec_subject *s)
{
	free(s->value);
	sec_labels_release(&s->labels);
	*s = SEC_SUBJECT_INIT;
}

static int bad(struct cl_err *e, const char *text, const char *why)
{
	(void)cl_fail(e, CL_EDATA, "the subject '%.200s' %s", text, why);
	(void)cl_slug(e, "invalid_subject");
	return cl_fix(
		e, "write project:/srv/app, executor:edge-01, label:region=eu,gpu=true or any");
}

static int take_pair(const char *text, char *pair, struct sec_subject *out, struct cl_err *e)
{
	cleanup_free char *p = cl_trim_dup(pair);
	char *eq = strchr(p, '=');
	const char *before;

	if (!*p)
		return 0;
	if (!eq)
		return bad(e, text, "has a label without '='");
	*eq = '\0';
	before = find(&out->labels, p);
	if (before && strcmp(before, eq + 1) != 0)
		return bad(e, text, "asks one label for two values");
	if (!sec_label_set(&out->labels, p, eq + 1, e))
		return 0;
	(void)cl_wrap(e, "the subject '%.200s'", text);
	return cl_slug(e, "invalid_subject");
}

static int take_labels(
	const char *text, const char *rest, struct sec_subject *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv pairs = CL_STRV_INIT;

	cl_split(rest, ',', &pairs);
	for (size_t i = 0; i < pairs.n; i++)
		if (take_pair(text, pairs.v[i], out, e))
			return -1;
	if (out->labels.n)
		return 0;
	(void)bad(e, text, "selects no label");
	return cl_fix(e, "to mean everybody write any");
}

/* An absolute path as it is meant; anything else without its final slashes. */
static char *clean_project(const char *p)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	if (*p == '/') {
		sb_path_clean(p, &b);
	} else {
		cl_buf_adds(&b, p);
		while (b.len && b.p[b.len - 1] == '/')
			b.p[--b.len] = '\0';
	}
	return cl_buf_detach(&b);
}

static const struct {
	const char *word;
	enum sec_subject_kind kind;
} words[] = {{"project", SEC_PROJECT}, {"executor", SEC_EXECUTOR}, {"label", SEC_LABEL}};

static int take_value(const char *text, const char *rest, enum sec_subject_kind kind,
	struct sec_subject *out, struct cl_err *e)
{
	cleanup_free char *v = cl_trim_dup(rest);

	out->kind = kind;
	if (kind == SEC_LABEL)
		return take_labels(text, v, out, e);
	out->value = kind == SEC_PROJECT ? clean_project(v) : cl_strdup(v);
	if (!*out->value)
		return bad(e, text, "names nobody");
	return printable(out->value) ? 0 : bad(e, text, "has a control character in it");
}

int sec_subject_parse(const char *text, struct sec_subject *out, struct cl_err *e)
{
	cleanup_free char *t = cl_trim_dup(text);
	size_t n = strcspn(t, ":");

	if (!strcasecmp(t, "any") || !strcmp(t, "*")) {
		out->kind = SEC_ANY;
		return 0;
	}
	for (size_t i = 0; t[n] && i < CL_ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == n && !strncasecmp(t, words[i].word, n))
			return take_value(t, t + n + 1, words[i].kind, out, e);
	(void)bad(e, t, "is none that a grant can have");
	return *t == '/' ? cl_fix(e, "write project:%s", t) : -1;
}

void sec_subject_text(const struct sec_subject *s, struct cl_buf *out)
{
	if (s->kind == SEC_ANY) {
		cl_buf_adds(out, "any");
		return;
	}
	cl_buf_addf(out, "%s:", words[s->kind].word);
	if (s->kind == SEC_LABEL)
		sec_labels_text(&s->labels, out);
	else
		cl_buf_adds(out, s->value);
}

bool sec_subject_everybody(const struct sec_subject *s)
{
	return s->kind == SEC_ANY || (s->kind != SEC_LABEL && !strcmp(s->value, "*"));
}

/* The hub's own mark on a virtual executor; it selects nothing. */
#define PARENT "parent"

static bool labels_match(const struct sec_labels *want, const struct sec_labels *have)
{
	for (size_t i = 0; i < want->n; i++) {
		const char *v = find(have, want->v[i].key);

		if (!v || strcmp(v, want->v[i].value) != 0 || !strcmp(want->v[i].key, PARENT))
			return false;
	}
	return want->n > 0;
}

bool sec_subject_matches(const struct sec_subject *s, const struct sec_requester *r)
{
	cleanup_free char *value = NULL;

	if (s->kind == SEC_ANY)
		return true;
	if (s->kind == SEC_LABEL)
		return labels_match(&s->labels, r->labels);
	if (s->kind == SEC_PROJECT && r->project)
		value = clean_project(r->project);
	if (s->kind == SEC_EXECUTOR && r->executor)
		value = cl_trim_dup(r->executor);
	return value && *value && (!strcmp(s->value, "*") || !strcmp(s->value, value));
}

void sec_subject_why_not(
	const struct sec_subject *s, const struct sec_requester *r, struct cl_buf *out)
{
	const char *is = s->kind == SEC_PROJECT ? r->project : r->executor;

	if (sec_subject_matches(s, r))
		return;
	if (s->kind != SEC_LABEL) {
		cl_buf_addf(out, "is for %s %s, and this is %s", words[s->kind].word, s->value,
			is && *is ? is : "none");
		return;
	}
	cl_buf_adds(out, "is for executors labelled ");
	sec_labels_text(&s->labels, out);
	cl_buf_addf(out, ", and the hub records %s for %s",
		r->labels && r->labels->n ? "others" : "none",
		r->executor && *r->executor ? r->executor : "this one");
	if (r->labels && r->labels->n) {
		cl_buf_adds(out, ": ");
		sec_labels_text(r->labels, out);
	}
}
