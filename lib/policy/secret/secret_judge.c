/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything that keeps a grant from a requester before its payload is opened. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_kube.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sec_reasons_release(struct sec_reasons *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].text);
		free(r->v[i].fix);
	}
	free(r->v);
	*r = SEC_REASONS_INIT;
}

static void add(struct sec_reasons *r, const char *code, char *text, char *fix)
{
	r->v = cl_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct sec_reason){code, text, fix};
}

bool sec_grant_aimed(const struct sec_grant *g, const struct sec_requester *r)
{
	return sec_subject_matches(g->subject, r);
}

char *sec_grant_again(const struct sec_grant *g, const struct sec_requester *r)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT, to = CL_BUF_INIT;
	cleanup_free char *word = NULL;

	if (r && r->project && *r->project)
		cl_buf_addf(&to, "project:%s", r->project);
	else if (r && r->executor && *r->executor)
		cl_buf_addf(&to, "executor:%s", r->executor);
	else
		sec_subject_text(g->subject, &to);
	word = cl_shell_word(to.p);
	cl_buf_addf(&b, "cloop secret grant %s --to %s", g->secret_name, word);
	for (int l = 0; l < SEC_NLISTS; l++) {
		cleanup_free char *list = sec_joined(&g->constraints->list[l]);
		cleanup_free char *quoted = cl_shell_word(list);

		if (*list && (l != SEC_BRANCHES || g->kind != SEC_GITHUB_PAT))
			cl_buf_addf(&b, " %s %s", sec_lists[l].flag, quoted);
	}
	if (g->constraints->writable)
		cl_buf_adds(&b, " --writable");
	return cl_buf_detach(&b);
}

char *sec_grant_named(const char *name, const char *option, const char *secret, const char *project)
{
	cleanup_free char *to = cl_asprintf("project:%s", project);
	cleanup_free char *subject = cl_shell_word(to), *word = cl_shell_word(name);

	if (sec_has_wildcard(name) || strchr(name, ','))
		return cl_asprintf("take %s out of .cloop/sandbox.yaml", word);
	return cl_asprintf("take '%s' out, or: cloop secret grant %s --to %s --%s %s", name, secret,
		subject, option, word);
}

/* What ended it, for people; the store's own word where that is none of them. */
static const char *ended_by(const char *cause)
{
	static const struct {
		const char *cause, *words;
	} rows[] = {{"secret_deleted", " when its secret was deleted"},
		{"owner_offboarded", " when its owner was offboarded"},
		{"superseded", " when another grant took its place"}};

	for (size_t i = 0; cause && i < CL_ARRAY_LEN(rows); i++)
		if (!strcmp(cause, rows[i].cause))
			return rows[i].words;
	return "";
}

static void judge_time(const struct sec_grant *g, int64_t now, struct sec_reasons *out)
{
	char when[32];

	if (g->revoked_at && now >= g->revoked_at) {
		bool gone = g->revoked_cause && !strcmp(g->revoked_cause, "secret_deleted");

		cl_format_time(g->revoked_at, when);
		add(out, "revoked",
			cl_asprintf("was revoked at %s%s", when, ended_by(g->revoked_cause)),
			gone ? cl_asprintf("cloop secret mint %s --kind %s", g->secret_name,
				       sec_kinds[g->kind].name)
			     : sec_grant_again(g, NULL));
	}
	if (g->expires_at && now >= g->expires_at) {
		cl_format_time(g->expires_at, when);
		add(out, "expired", cl_asprintf("expired at %s", when), sec_grant_again(g, NULL));
	}
}

static void judge_unguarded(const struct sec_grant *g, struct sec_reasons *out)
{
	cleanup_buf struct cl_buf what = CL_BUF_INIT;

	if (g->kind != SEC_KUBECONFIG || g->unguarded)
		return;
	sec_kube_unenforced(g->constraints, &what);
	if (what.len)
		add(out, "unguarded",
			cl_asprintf("limits to %s, which nothing enforces without the Kubernetes "
				    "access monitor",
				what.p),
			cl_asprintf("cloop hub grant unguarded %s --reason 'WHY'", g->id));
}

static void judge_branches(
	const struct sec_grant *g, const struct sec_requester *r, struct sec_reasons *out)
{
	cleanup_free char *list = NULL;

	if (g->kind != SEC_GITHUB_PAT || !g->constraints->list[SEC_BRANCHES].n)
		return;
	list = sec_joined(&g->constraints->list[SEC_BRANCHES]);
	add(out, "branches",
		cl_asprintf(
			"limits pushes to branches %s, which only the git proxy "
			"(executors.git_proxy) can enforce, and a github_pat cannot be narrowed to "
			"reading instead",
			list),
		/* What is over, or is not for them, is not edited. */
		out->n ? sec_grant_again(g, r)
		       : cl_asprintf("cloop secret grant edit %s --branches ''", g->id));
}

void sec_grant_judge(const struct sec_grant *g, const struct sec_requester *r, int64_t now,
	struct sec_reasons *out)
{
	cleanup_buf struct cl_buf why = CL_BUF_INIT;

	if (r)
		sec_subject_why_not(g->subject, r, &why);
	if (why.len)
		add(out, "subject", cl_strdup(why.p), sec_grant_again(g, r));
	judge_time(g, now, out);
	judge_unguarded(g, out);
	judge_branches(g, r, out);
}
