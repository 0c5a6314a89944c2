/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Patterns, subjects and constraints: lines of the input. A pattern that may be written and has
 * no wildcard matches what it spells; nothing reaches another owner; what is written reads back.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_constraint.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_pattern.h"
#include "policy/secret/secret_subject.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const char *pattern, const char *text)
{
	char repo[SEC_REPO_TEXT], again[SEC_REPO_TEXT], host[SEC_HOST_TEXT];
	struct cl_err e;

	if (sec_repo_of(text, repo) && (!sec_repo_of(repo, again) || strcmp(repo, again) != 0) &&
		!cl_ends(repo, ".git"))
		abort();
	if (sec_repo_match(pattern, text) && !sec_repo_of(text, repo))
		abort();
	if (sec_repo_pattern_dead(pattern) && sec_repo_match(pattern, "org/tool"))
		abort();
	if (sec_host_of(text, host) && strpbrk(host, "/@ "))
		abort();
	(void)sec_host_match(pattern, text);
	(void)sec_name_match(pattern, text);
	if (sec_branch_match(pattern, text) && cl_starts(text, "refs/") &&
		!cl_starts(text, "refs/heads/"))
		abort();
	if (!sec_branch_check(pattern, &e) && !sec_has_wildcard(pattern) &&
		!sec_branch_match(pattern, pattern))
		abort();
	if (!sec_pattern_check(pattern, "x", &e) && !sec_has_wildcard(pattern) &&
		!sec_glob(pattern, pattern))
		abort();
}

/* The form in which hosts are compared is its own form. */
static void web_host(const char *text)
{
	cleanup_buf struct cl_buf a = CL_BUF_INIT, b = CL_BUF_INIT;

	if (!sec_web_host_of(text, &a))
		return;
	if (!sec_web_host_of(a.p, &b) || strcmp(a.p, b.p) != 0 || !sec_web_host_same(text, a.p))
		abort();
}

static void subject(const char *text)
{
	cleanup_subject struct sec_subject s = SEC_SUBJECT_INIT, t = SEC_SUBJECT_INIT;
	cleanup_buf struct cl_buf a = CL_BUF_INIT, b = CL_BUF_INIT, why = CL_BUF_INIT;
	struct sec_requester r = {"/srv/app", "edge-01", &s.labels};
	struct cl_err e;

	if (sec_subject_parse(text, &s, &e))
		return;
	sec_subject_text(&s, &a);
	if (sec_subject_parse(a.p, &t, &e))
		abort();
	sec_subject_text(&t, &b);
	if (strcmp(a.p, b.p) != 0)
		abort();
	sec_subject_why_not(&s, &r, &why);
	if (sec_subject_matches(&s, &r) != (why.len == 0))
		abort();
}

static void constraints(const char *text)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "fuzz", text, strlen(text), NULL, &e))
		return;
	for (int k = 0; k < SEC_NKINDS; k++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT,
							   again = SEC_CONSTRAINTS_INIT;
		cleanup_doc struct cl_doc d2 = CL_DOC_INIT;
		cleanup_free char *canon = NULL;

		if (sec_constraints_read(&d, d.root, &c, &e) ||
			sec_constraints_check((enum sec_kind)k, &c, NULL, &e))
			continue;
		canon = sec_constraints_canonical(&c);
		if (cl_doc_parse(&d2, CL_DOC_JSON, "again", canon, strlen(canon), NULL, &e) ||
			sec_constraints_read(&d2, d2.root, &again, &e) ||
			sec_constraints_check((enum sec_kind)k, &again, NULL, &e) ||
			sec_constraints_compare((enum sec_kind)k, &c, &again, NULL) != SEC_SAME)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = cl_strndup((const char *)data, size);
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;

	if (*text == '{') {
		constraints(text);
		return 0;
	}
	cl_split(text, '\n', &lines);
	for (size_t i = 0; i < lines.n && i < 8; i++) {
		subject(lines.v[i]);
		web_host(lines.v[i]);
		match(lines.v[i], lines.v[(i + 1) % lines.n]);
	}
	return 0;
}
