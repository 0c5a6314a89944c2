/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The credential helper and the gitconfig, as texts. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_pattern.h"

#include <string.h>

/* gitcredentials(7), git-credential(1): key=value lines up to an empty one. */
static const char head[] =
	"#!/bin/sh\n"
	"# Answers git for the repositories that this run was granted, and for no other.\n"
	"[ \"${1-}\" = get ] || exit 0\n"
	"protocol= host= path=\n"
	"while IFS= read -r line && [ -n \"$line\" ]; do\n"
	"	case $line in\n"
	"	protocol=*) protocol=${line#protocol=} ;;\n"
	"	host=*) host=${line#host=} ;;\n"
	"	path=*) path=${line#path=} ;;\n"
	"	esac\n"
	"done\n";
static const char split[] =
	"path=$(printf %s \"$path\" | LC_ALL=C tr A-Z a-z 2>/dev/null) || exit 0\n"
	"path=${path#/} path=${path%/} path=${path%.git}\n"
	"owner=${path%%/*} name=${path#*/}\n"
	"[ \"$owner/$name\" = \"$path\" ] || exit 0\n"
	"for part in \"$owner\" \"$name\"; do\n"
	"	case $part in\n"
	"	'' | . | *..* | *[!abcdefghijklmnopqrstuvwxyz0123456789._-]*) exit 0 ;;\n"
	"	esac\n"
	"done\n"
	"ok=\n";
static const char tail[] = "[ -n \"$ok\" ] || exit 0\n"
			   "token=\n"
			   "{ IFS= read -r token <\"${0%/*}/@\"; } 2>/dev/null\n"
			   "[ -n \"$token\" ] || exit 0\n"
			   "printf 'username=x-access-token\\npassword=%s\\n' \"$token\"\n"
			   "exit 0\n";

/* A pattern's two segments become two nested words of `case`: neither of them sees a '/'. */
static int add_pattern(const char *pattern, struct cl_buf *out, struct cl_err *e)
{
	cleanup_free char *p = cl_trim_dup(pattern);
	char *slash;

	if (sec_pattern_check(p, "--repos", e)) {
		e->code = CL_EREFUSED;
		return -1;
	}
	if (sec_repo_pattern_dead(p))
		return 0;
	cl_lower(p);
	if (cl_ends(p, ".git"))
		p[strlen(p) - 4] = '\0';
	slash = strchr(p, '/');
	if (!slash) {
		cl_buf_adds(out, "ok=1\n");
		return 0;
	}
	*slash = '\0';
	cl_buf_addf(
		out, "case $owner in %s) case $name in %s) ok=1 ;; esac ;; esac\n", p, slash + 1);
	return 0;
}

int sec_github_helper(const struct cl_strv *repos, const char *host, const char *token_file,
	struct cl_buf *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	const char *at = strchr(tail, '@');

	if (!cl_all_in(host, CL_ALNUM ".-:") || !cl_all_in(token_file, CL_ALNUM ".-"))
		return cl_fail(
			e, CL_EREFUSED, "'%s' is no host that a helper can be made for", host);
	cl_buf_adds(&text, head);
	cl_buf_addf(&text, "[ \"$protocol\" = https ] && [ \"$host\" = '%s' ] || exit 0\n", host);
	cl_buf_adds(&text, split);
	for (size_t i = 0; i < repos->n; i++)
		if (add_pattern(repos->v[i], &text, e))
			return -1;
	cl_buf_add(&text, tail, (size_t)(at - tail));
	cl_buf_adds(&text, token_file);
	cl_buf_adds(&text, at + 1);
	cl_buf_add(out, text.p, text.len);
	return 0;
}

void sec_github_gitconfig(const struct cl_strv *helpers, struct cl_buf *out)
{
	/*
	 * The empty one drops what the image's own configuration installs: a helper that stores
	 * would write the token to the sandbox's disk.
	 */
	cl_buf_adds(out, "[credential]\n\tuseHttpPath = true\n\thelper =\n");
	for (size_t i = 0; i < helpers->n; i++)
		cl_buf_addf(out, "\thelper = \"!\\\"$CLOOP_LEASE_DIR/%s\\\"\"\n", helpers->v[i]);
}
