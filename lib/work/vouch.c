/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/vouch.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE (16u << 20)
#define NONE     "-" /* no row */
/* Whoever changes rules all the time lets a reader through in between. */
#define TRIES 32

#define HEAD                                                                                       \
	"# Digests of the newest stored egress rules of each subject: what of the state file is\n" \
	"# enforced. Written by 'cloop egress rules'; keep it with state.db in backups.\n"

/* Lines "LEVEL SUBJECT-SHA256 ROW-SHA256 [ROW-SHA256]"; no file is none. */
static int read_lines(const struct hub *h, struct cl_strv *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv all = CL_STRV_INIT;

	if (hub_own_read(h, VOUCH_FILE, geteuid(), MAX_FILE, &text, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	cl_split(text.len ? text.p : "", '\n', &all);
	for (size_t i = 0; i < all.n; i++)
		if (*all.v[i] && *all.v[i] != '#')
			cl_strv_add(out, all.v[i]);
	return 0;
}

/* Subjects are directories of any name. */
static char *key_of(const struct store_rules_of *of)
{
	char hex[CL_SHA256_HEX];

	cl_sha256_hex(of->subject, strlen(of->subject), hex);
	return cl_asprintf("%s %s ", of->level, hex);
}

/* The digests of a subject's line, or "-". */
static const char *digests(const struct cl_strv *lines, const struct store_rules_of *of)
{
	cleanup_free char *key = key_of(of);

	for (size_t i = 0; i < lines->n; i++)
		if (cl_starts(lines->v[i], key))
			return lines->v[i] + strlen(key);
	return NONE;
}

static const char *digest(const struct store_rules *r)
{
	return r->sha256 ? r->sha256 : NONE;
}

static bool holds(const struct cl_strv *lines, const struct store_rules_of *of, const char *sha256)
{
	cleanup_strv struct cl_strv words = CL_STRV_INIT;

	cl_split(digests(lines, of), ' ', &words);
	return cl_strv_has(&words, sha256);
}

static int altered(const struct store_rules_of *of, const struct store_rules *r, struct cl_err *e)
{
	cleanup_free char *words = store_rules_words(of);

	if (r->sha256)
		(void)cl_fail(e, CL_ECONFIG,
			"the stored egress rules of %s '%s' are not those that were set: nothing "
			"vouches for version %lld",
			of->level, of->subject, (long long)r->version);
	else
		(void)cl_fail(e, CL_ECONFIG,
			"the stored egress rules of %s '%s' are gone from the state file",
			of->level, of->subject);
	(void)cl_constraint(e, "egress_rules");
	(void)cl_slug(e, "rules_altered");
	return cl_fix(e,
		"restore state.db and .cloop/" VOUCH_FILE " from one backup, or set them again "
		"(cloop egress rules set %s) or take them away (rules clear)",
		words);
}

/* The first of n that is not vouched for, or n. */
static size_t first_altered(const struct cl_strv *lines, const struct store_rules_of *of, size_t n,
	const struct store_rules *r)
{
	size_t i = 0;

	while (i < n && (!of[i].subject || holds(lines, &of[i], digest(&r[i]))))
		i++;
	return i;
}

int vouch_newest(const struct hub *h, struct store *s, const struct store_rules_of *of, size_t n,
	struct store_rules *out, struct cl_err *e)
{
	size_t bad = 0;

	for (int try = 0; try < TRIES; try++) {
		cleanup_strv struct cl_strv lines = CL_STRV_INIT;

		for (size_t i = 0; i < n; i++)
			store_rules_release(&out[i]);
		if (read_lines(h, &lines, e) || store_rules_newest(s, of, n, out, e))
			return -1;
		bad = first_altered(&lines, of, n, out);
		if (bad == n)
			return 0;
	}
	return altered(&of[bad], &out[bad], e);
}

static int write_lines(const struct hub *h, const struct cl_strv *lines,
	const struct store_rules_of *of, const char *first, const char *second, struct cl_err *e)
{
	cleanup_free char *key = key_of(of);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	cl_buf_adds(&text, HEAD);
	for (size_t i = 0; i < lines->n; i++)
		if (!cl_starts(lines->v[i], key))
			cl_buf_addf(&text, "%s\n", lines->v[i]);
	cl_buf_addf(&text, "%s%s%s%s\n", key, first, second ? " " : "", second ? second : "");
	return hub_own_write(h, VOUCH_FILE, geteuid(), &text, e);
}

int vouch_add(const struct hub *h, struct store *s, const struct store_rules_of *of,
	const struct store_rules *before, struct cl_err *e)
{
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;
	cleanup_rules struct store_rules now = STORE_RULES_INIT;
	bool vouched;

	if (read_lines(h, &lines, e) || store_rules_newest(s, of, 1, &now, e))
		return -1;
	/* A row that somebody put there does not become good by being replaced. */
	vouched = holds(&lines, of, digest(before));
	return write_lines(h, &lines, of, digest(&now), vouched ? digest(before) : NULL, e);
}

int vouch_settle(
	const struct hub *h, struct store *s, const struct store_rules_of *of, struct cl_err *e)
{
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;
	cleanup_rules struct store_rules now = STORE_RULES_INIT;
	cleanup_txn struct store_txn t = {0};

	/* Nobody else writes meanwhile. */
	if (store_begin(s, &t, e) || read_lines(h, &lines, e) ||
		store_rules_newest(s, of, 1, &now, e))
		return -1;
	if (holds(&lines, of, digest(&now)) && write_lines(h, &lines, of, digest(&now), NULL, e))
		return -1;
	return store_commit(&t, e);
}
