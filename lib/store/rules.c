/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/rules.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                  \
	{                                                                  \
#member, type, offsetof(struct store_rules, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, level),
	COL(DB_TEXT, subject),
	COL(DB_INT, version),
	COL(DB_JSON, rules),
	COL(DB_TEXT, sha256),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
	COL(DB_TEXT, key_id),
	COL(DB_TEXT, signature),
};
static const struct db_table table = {
	"egress_rules", columns, CL_ARRAY_LEN(columns), sizeof(struct store_rules)};

#define NEWEST                                                          \
	" AS r WHERE version = (SELECT max(version) FROM egress_rules " \
	"WHERE level = r.level AND subject = r.subject)"

void store_rules_release(struct store_rules *r)
{
	db_release(&table, r);
	*r = STORE_RULES_INIT;
}

json_t *store_rules_json(const struct store_rules *r)
{
	return db_json(&table, r);
}

char *store_rules_text(const struct store_rules *r)
{
	json_t *o = json_object();
	char *text;

	(void)json_object_set_new(o, "level", cl_json_string(r->level));
	(void)json_object_set_new(o, "subject", cl_json_string(r->subject));
	(void)json_object_set_new(o, "version", json_integer(r->version));
	(void)json_object_set_new(o, "rules", r->rules ? cl_json_string(r->rules) : json_null());
	(void)json_object_set_new(o, "created_at", json_integer(r->created_at));
	(void)json_object_set_new(o, "created_by", cl_json_string(r->created_by));
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

char *store_rules_words(const struct store_rules_of *of)
{
	cleanup_free char *word = cl_shell_word(of->subject);
	bool executor = !strcmp(of->level, "executor");

	if (!strcmp(of->level, "project"))
		return cl_asprintf("--project %s", word);
	return cl_asprintf(
		"--executor %s%s%s", word, executor ? "" : " --level ", executor ? "" : of->level);
}

static void digest(const struct store_rules *r, char out[CL_SHA256_HEX])
{
	cleanup_free char *text = store_rules_text(r);

	cl_sha256_hex(text, strlen(text), out);
}

static int check(const struct store_rules *r, struct cl_err *e)
{
	const struct store_rules_of of = {r->level, r->subject};
	cleanup_free char *words = NULL;
	char hex[CL_SHA256_HEX];

	digest(r, hex);
	if (!strcmp(hex, r->sha256))
		return 0;
	words = store_rules_words(&of);
	(void)cl_fail(e, CL_ECONFIG,
		"the stored egress rules of %s '%s', version %lld, are not as they were written",
		r->level, r->subject, (long long)r->version);
	(void)cl_constraint(e, "egress_rules");
	(void)cl_slug(e, "rules_altered");
	return cl_fix(e,
		"look who changed the state file (cloop hub audit verify), then set them again: "
		"cloop egress rules set %s",
		words);
}

static int read_rows(struct store *s, sqlite3_stmt *st, struct db_rows *rows, struct cl_err *e)
{
	if (db_collect(s, st, &table, rows, e))
		return -1;
	for (size_t i = 0; i < rows->n; i++)
		if (check(db_row_at(rows, i), e))
			return -1;
	return 0;
}

static void take(struct store_rules *out, const struct store_rules *r)
{
	*out = (struct store_rules){.level = cl_strdup(r->level),
		.subject = cl_strdup(r->subject),
		.version = r->version,
		.rules = r->rules ? cl_strdup(r->rules) : NULL,
		.sha256 = cl_strdup(r->sha256),
		.created_at = r->created_at,
		.created_by = cl_strdup(r->created_by),
		.key_id = r->key_id ? cl_strdup(r->key_id) : NULL,
		.signature = r->signature ? cl_strdup(r->signature) : NULL};
}

int store_rules_newest(struct store *s, const struct store_rules_of *of, size_t n,
	struct store_rules *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_rows struct db_rows rows = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, NEWEST " AND (0");
	for (size_t i = 0; i < n && i < STORE_RULES_MAX; i++)
		cl_buf_addf(&sql, " OR (level = :level%zu AND subject = :subject%zu)", i, i);
	cl_buf_addc(&sql, ')');
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	for (size_t i = 0; i < n && i < STORE_RULES_MAX; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), ":level%zu", i);
		db_text(st, name, of[i].level);
		(void)snprintf(name, sizeof(name), ":subject%zu", i);
		db_text(st, name, of[i].subject);
	}
	if (read_rows(s, st, &rows, e))
		return -1;
	for (size_t k = 0; k < rows.n; k++) {
		const struct store_rules *r = db_row_at(&rows, k);

		for (size_t i = 0; i < n; i++)
			if (of[i].subject && !strcmp(of[i].level, r->level) &&
				!strcmp(of[i].subject, r->subject))
				take(&out[i], r);
	}
	return 0;
}

static int last_version(
	struct store *s, const struct store_rules_of *of, int64_t *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s,
		    "SELECT coalesce(max(version), 0) FROM egress_rules "
		    "WHERE level = :level AND subject = :subject",
		    &st, e))
		return -1;
	db_text(st, ":level", of->level);
	db_text(st, ":subject", of->subject);
	if (db_step(s, st, &row, e))
		return -1;
	*out = row ? sqlite3_column_int64(st, 0) : 0;
	return 0;
}

int store_rules_put(struct store *s, const struct store_rules_of *of, const char *rules,
	const char *actor, int64_t at, int64_t *version, struct cl_err *e)
{
	cleanup_rules struct store_rules row = STORE_RULES_INIT;
	cleanup_txn struct store_txn t = {0};
	char hex[CL_SHA256_HEX];

	/* A newest row that was tampered with is no reason not to replace it. */
	if (store_begin(s, &t, e) || last_version(s, of, version, e))
		return -1;
	++*version;
	row = (struct store_rules){.level = cl_strdup(of->level),
		.subject = cl_strdup(of->subject),
		.version = *version,
		.rules = rules ? cl_strdup(rules) : NULL,
		.created_at = at,
		.created_by = cl_strdup(actor)};
	digest(&row, hex);
	row.sha256 = cl_strdup(hex);
	return db_insert(s, &table, &row, e) || store_commit(&t, e) ? -1 : 0;
}

int store_rules_each(struct store *s, store_rules_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_rows struct db_rows rows = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	int rc = 0;

	db_select(&table, &sql);
	cl_buf_adds(&sql, NEWEST " AND rules IS NOT NULL ORDER BY level, subject");
	if (db_prepare(s, sql.p, &st, e) || read_rows(s, st, &rows, e))
		return -1;
	for (size_t i = 0; !rc && i < rows.n; i++)
		rc = fn(db_row_at(&rows, i), arg, e);
	return rc;
}
