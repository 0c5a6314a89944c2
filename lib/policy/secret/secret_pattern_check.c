/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may be written as an entry of an allowlist. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_pattern.h"

#include <string.h>
#include <strings.h>

const char *const sec_verbs[8] = {
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"};

static int refuse(struct cl_err *e, const char *what, const char *text, const char *why)
{
	(void)cl_fail(e, CL_EDATA, "%s: '%.*s' %s", what, (int)cl_utf8_cut(text, strlen(text), 80),
		text, why);
	return cl_slug(e, "invalid_constraint");
}

static bool blank_text(const char *s)
{
	return !s[strspn(s, " \t\r\n\v\f")];
}

int sec_pattern_check(const char *text, const char *what, struct cl_err *e)
{
	size_t ok = strspn(text, CL_ALNUM "-_./*?:");

	if (blank_text(text)) {
		(void)refuse(e, what, text, "is blank");
		return cl_fix(e, "leave it out, or write '*' for everything");
	}
	if (strlen(text) > SEC_PATTERN_MAX) {
		(void)refuse(e, what, text, "is longer than 256 bytes");
		return cl_fix(e, "use '*' for a run of characters");
	}
	if (text[ok]) {
		(void)refuse(e, what, text, "has a character that no pattern may have");
		return cl_fix(e, "use letters, digits, - _ . / :, '*' for a run of characters and "
				 "'?' for one");
	}
	if (!strstr(text, ".."))
		return 0;
	(void)refuse(e, what, text, "has '..' in it");
	return cl_fix(e, "write the name itself: what a path means is not worked out");
}

int sec_env_key_check(const char *text, struct cl_err *e)
{
	const char *why = "is no name of a variable";

	if (blank_text(text))
		why = "is blank";
	else if (strlen(text) > SEC_PATTERN_MAX)
		why = "is longer than 256 bytes";
	else if (cl_all_in(text, CL_ALNUM "_") && !strchr(CL_DIGITS, *text))
		return 0;
	(void)refuse(e, "--env-keys", text, why);
	return cl_fix(e,
		"name a variable exactly, such as API_KEY; leave --env-keys out to deliver "
		"every one");
}

/* The first rule of git's (git-check-ref-format(1)) or ours that the branch breaks, or NULL. */
static const char *branch_flaw(const char *b)
{
	if (!cl_all_in(b, CL_ALNUM "-_./*?"))
		return "has a character that no branch pattern may have";
	if (*b == '-')
		return "starts with '-'";
	if (cl_ends(b, "."))
		return "ends with '.'";
	if (strstr(b, ".."))
		return "has '..' in it";
	for (const char *p = b;; p++) {
		size_t n = strcspn(p, "/");

		if (!n)
			return "has an empty part";
		if (*p == '.')
			return "has a part that starts with '.'";
		if (n >= 5 && !memcmp(p + n - 5, ".lock", 5))
			return "has a part that ends with '.lock'";
		if (memmem(p, n, "**", 2) && (n != 2 || p[n]))
			return "has '**' that is not its last part alone";
		p += n;
		if (!*p)
			return NULL;
	}
}

int sec_branch_check(const char *text, struct cl_err *e)
{
	const char *b = cl_starts(text, "refs/heads/") ? text + strlen("refs/heads/") : text, *flaw;

	if (blank_text(b))
		return refuse(e, "--branches", text, "names no branch");
	if (strlen(text) > SEC_BRANCH_MAX)
		return refuse(e, "--branches", text, "is longer than 200 bytes");
	flaw = cl_starts(b, "refs/") ? "is a ref that is no branch" : branch_flaw(b);
	if (!flaw)
		return 0;
	(void)refuse(e, "--branches", text, flaw);
	return cl_fix(e, "name branches, such as main, 'cloop/*' or 'feature/**'");
}

int sec_permission_check(const char *text, struct cl_err *e)
{
	static const char *const levels[] = {"read", "write", "admin"};
	size_t scope = strcspn(text, ":");
	bool known = !text[scope];

	if (!strcmp(text, "*"))
		return 0;
	for (size_t i = 0; i < CL_ARRAY_LEN(levels) && !known; i++)
		known = !strcasecmp(text + scope + 1, levels[i]);
	if (scope && scope <= 64 && strspn(text, CL_LOWER CL_UPPER "_") == scope && known)
		return 0;
	(void)refuse(e, "--permissions", text, "is no permission");
	return cl_fix(e, "write SCOPE:LEVEL with a level of read, write or admin, such as "
			 "contents:read; a scope alone means write, '*' all the installation has");
}

int sec_verb_check(const char *text, struct cl_err *e)
{
	cleanup_free char *all = NULL;

	for (size_t i = 0; i < CL_ARRAY_LEN(sec_verbs); i++)
		if (!strcasecmp(text, sec_verbs[i]))
			return 0;
	(void)refuse(e, "--verbs", text, "is no verb of the Kubernetes API");
	all = cl_join(sec_verbs, CL_ARRAY_LEN(sec_verbs), ", ");
	return cl_fix(e, "the verbs are %s; without --verbs a grant reads: get, list, watch", all);
}
