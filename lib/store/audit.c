/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/audit.h"
#include "base/credpat.h"
#include "base/doc.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/db.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COL(type, member)                                                  \
	{                                                                  \
#member, type, offsetof(struct store_audit, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_INT, seq),
	COL(DB_TIME, at),
	COL(DB_TEXT, actor),
	COL(DB_TEXT, action),
	COL(DB_TEXT, entity),
	COL(DB_TEXT, entity_id),
	COL(DB_TEXT, project),
	COL(DB_JSON, detail),
	COL(DB_TEXT, prev),
	COL(DB_TEXT, hash),
	COL(DB_BOOL, at_end),
};
/* All but at_end, which is of the trail and not of the row. */
static const struct db_table table = {
	"audit", columns, CL_ARRAY_LEN(columns) - 1, sizeof(struct store_audit)};
static const struct db_table stored = {
	"audit", columns, CL_ARRAY_LEN(columns), sizeof(struct store_audit)};

/*
 * What is hashed: the hash before it, a newline, and canonical JSON of everything but the hashes; a
 * row altered to no UTF-8 hashes as nothing.
 */
static void hash_row(const struct store_audit *a, char out[CL_SHA256_HEX])
{
	const struct {
		const char *name, *const *text;
		const int64_t *number;
	} members[] = {
		{"action", (const char *const *)&a->action, NULL},
		{"actor", (const char *const *)&a->actor, NULL},
		{"at", NULL, &a->at},
		{"detail", (const char *const *)&a->detail, NULL},
		{"entity", (const char *const *)&a->entity, NULL},
		{"entity_id", (const char *const *)&a->entity_id, NULL},
		{"project", (const char *const *)&a->project, NULL},
		{"seq", NULL, &a->seq},
	};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	size_t before;
	bool held = true;

	(void)cl_buf_reserve(&text, 1000);
	cl_buf_adds(&text, a->prev ? a->prev : "");
	cl_buf_addc(&text, '\n');
	before = text.len;
	for (size_t i = 0; held && i < CL_ARRAY_LEN(members); i++) {
		cl_buf_adds(&text, i ? ",\"" : "{\"");
		cl_buf_adds(&text, members[i].name);
		cl_buf_adds(&text, "\":");
		if (members[i].number)
			cl_json_int(&text, *members[i].number);
		else
			held = *members[i].text && cl_json_quote_exact(&text, *members[i].text,
							   strlen(*members[i].text));
	}
	if (held)
		cl_buf_addc(&text, '}');
	cl_sha256_hex(text.p, held ? text.len : before, out);
}

/* Where the trail ends, by its last row and by the one that it is known to have passed. */
#define END                                                                                 \
	"SELECT p.seq, p.hash, a.seq, a.hash, a.at_end FROM audit_head p LEFT JOIN (SELECT" \
	" seq, hash, at_end FROM audit ORDER BY seq DESC LIMIT 1) a ON 1"

/*
 * Of a trail whose end was cut off the next row has another number than the one that would follow, so
 * that it is missed ever after.
 */
static void end_of(sqlite3_stmt *st, struct db_head *h)
{
	bool any = sqlite3_column_type(st, 2) != SQLITE_NULL;
	const char *last;

	h->passed = sqlite3_column_int64(st, 0);
	(void)snprintf(h->passed_hash, sizeof(h->passed_hash), "%s", db_column(st, 1));
	h->was = sqlite3_column_int64(st, 2);
	h->cut = h->was < h->passed || (any && !sqlite3_column_int(st, 4));
	h->seq = h->was < h->passed ? h->passed : h->was + (h->cut && h->was < INT64_MAX);
	last = h->was < h->passed ? h->passed_hash : db_column(st, 3);
	(void)snprintf(h->hash, sizeof(h->hash), "%s", last);
}

#define FIX_CHANGED                                         \
	"somebody has changed the file: bring back a copy " \
	"of it that 'cloop hub audit verify' finds whole"

/* What was read in a transaction, or written by one, is so until somebody else has written. */
static int read_head(struct store *s, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	struct store_mark now = {0};
	bool row;

	if (s->depth && store_mark(s, &now, e))
		return -1;
	if (s->depth && s->head.known && s->head.others == now.others)
		return 0;
	if (db_prepare(s, END, &st, e) || db_step(s, st, &row, e))
		return -1;
	if (!row) {
		(void)cl_fail(e, CL_ECONFIG, "%s: the audit trail has lost its head", s->path);
		return cl_fix(e, FIX_CHANGED);
	}
	s->head = (struct db_head){.known = s->depth > 0, .others = now.others};
	end_of(st, &s->head);
	return 0;
}

/* Rows between two that audit_head has: it is a page of its own. */
#define PASSED 64

static int pass(struct store *s, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (s->head.passed && s->head.passed / PASSED == s->head.seq / PASSED)
		return 0;
	if (db_prepare(s, "UPDATE audit_head SET seq = :seq, hash = :hash", &st, e))
		return -1;
	db_int(st, ":seq", s->head.seq);
	db_text(st, ":hash", s->head.hash);
	if (db_done(s, st, NULL, e))
		return -1;
	s->head.passed = s->head.seq;
	memcpy(s->head.passed_hash, s->head.hash, sizeof(s->head.hash));
	return 0;
}

static int set_end(struct store *s, int64_t seq, bool at_end, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "UPDATE audit SET at_end = :end WHERE seq = :seq", &st, e))
		return -1;
	db_int(st, ":end", at_end);
	db_int(st, ":seq", seq);
	return db_done(s, st, NULL, e);
}

int db_write_head(struct store *s, struct cl_err *e)
{
	struct db_head *h = &s->head;

	if (!h->moved)
		return 0;
	/* Of several rows the first was written as the last one: of most transactions it is. */
	if ((h->was && set_end(s, h->was, false, e)) ||
		(h->first != h->seq &&
			(set_end(s, h->first, false, e) || set_end(s, h->seq, true, e))) ||
		pass(s, e))
		return -1;
	h->was = h->seq;
	h->moved = false;
	return 0;
}

/* What people and other programs wrote may have a credential in it; nothing else is theirs. */
static char *detail_text(const json_t *detail)
{
	static const char *const theirs[] = {"reason", "error"};
	json_t *clean = NULL;
	char *text;

	for (size_t i = 0; i < CL_ARRAY_LEN(theirs); i++) {
		const char *said = json_string_value(json_object_get(detail, theirs[i]));
		cleanup_free char *without = said ? cp_redact(said) : NULL;

		if (!said || !strcmp(said, without))
			continue;
		clean = clean ? clean : json_copy((json_t *)(uintptr_t)detail);
		(void)json_object_set_new(clean, theirs[i], cl_json_string(without));
	}
	text = cl_json_text(clean ? clean : detail);
	json_decref(clean);
	return text;
}

int store_audit_add_text(struct store *s, int64_t at, const struct store_audit_row *row,
	const char *detail, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	char hash[CL_SHA256_HEX];
	struct store_audit a = {.at = at, .prev = s->head.hash, .hash = hash};
	int rc;

	if (store_begin(s, &t, e) || read_head(s, e))
		return -1;
	if (s->head.seq == INT64_MAX) {
		(void)cl_fail(
			e, CL_ECONFIG, "%s: no row can follow the audit trail's last", s->path);
		return cl_fix(e, FIX_CHANGED);
	}
	a.seq = s->head.seq + 1;
	a.at_end = !s->head.moved;
	a.actor = db_plain(row->actor ? row->actor : "");
	a.action = db_plain(row->action ? row->action : "");
	a.entity = db_plain(row->entity ? row->entity : "");
	a.entity_id = db_plain(row->entity_id ? row->entity_id : "");
	a.project = db_plain(row->project ? row->project : "");
	a.detail = cl_strdup(detail);
	hash_row(&a, hash);
	rc = db_insert(s, &stored, &a, e);
	a.prev = a.hash = NULL;
	db_release(&table, &a);
	if (rc)
		return -1;
	s->head.seq = a.seq;
	s->head.first = a.at_end ? a.seq : s->head.first;
	s->head.moved = true;
	memcpy(s->head.hash, hash, sizeof(hash));
	return store_commit(&t, e);
}

int store_audit_add(
	struct store *s, int64_t at, const struct store_audit_row *row, struct cl_err *e)
{
	cleanup_free char *detail = row->detail ? detail_text(row->detail) : cl_strdup("{}");

	return store_audit_add_text(s, at, row, detail, e);
}

int store_audit_each(struct store *s, const struct store_audit_filter *f, store_audit_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	cleanup_free char *action = cl_strdup(f->action ? f->action : "");
	size_t len = strlen(action);

	if (len && action[len - 1] == '*')
		action[--len] = '\0';
	else if (len && action[len - 1] != '.')
		len = 0;
	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE at >= :since AND (:action = '' OR action = :action OR "
			  "(:len > 0 AND substr(action, 1, :len) = :action))"
			  " AND (:entity_id IS NULL OR entity_id = :entity_id)"
			  " AND (:project IS NULL OR project = :project)"
			  " AND (:actor IS NULL OR actor = :actor)"
			  " AND (:secret IS NULL OR entity_id = :secret OR"
			  " CASE WHEN json_valid(detail) THEN :secret IN (detail->>'$.secret_id',"
			  " detail->>'$.secret_name') END)"
			  " AND (:grant IS NULL OR entity_id = :grant OR"
			  " CASE WHEN json_valid(detail) THEN detail->>'$.grant_id' = :grant END)"
			  " ORDER BY seq DESC LIMIT :limit");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":since", f->since);
	db_text(st, ":action", action);
	db_int(st, ":len", (int64_t)len);
	db_text(st, ":entity_id", f->entity_id);
	db_text(st, ":project", f->project);
	db_text(st, ":actor", f->actor);
	db_text(st, ":secret", f->secret);
	db_text(st, ":grant", f->grant_id);
	db_int(st, ":limit", f->limit ? f->limit : -1);
	return DB_EACH(s, st, &table, fn, arg, e);
}

json_t *store_audit_json(const struct store_audit *a)
{
	return db_json(&table, a);
}

static void broken(struct store_chain *c, int64_t seq, const char *why)
{
	if (c->broken)
		return;
	c->broken = true;
	c->bad_seq = seq;
	(void)snprintf(c->why, sizeof(c->why), "%s", why);
}

/* A row that must have that hash; seq 0: none. */
struct noted {
	int64_t seq;
	const char *hash, *why;
};

/* One row against what must come next; text of a NULL column cannot be (NOT NULL). */
static void check_row(struct store_chain *c, const struct store_audit *a, const char *prev,
	const struct noted noted[2])
{
	char hash[CL_SHA256_HEX];

	hash_row(a, hash);
	if (c->broken)
		return;
	if (a->seq != c->rows + 1)
		broken(c, c->rows + 1, "the row is not there");
	else if (strcmp(a->prev, prev) != 0)
		broken(c, a->seq, "it does not follow the row before it");
	else if (strcmp(a->hash, hash) != 0)
		broken(c, a->seq, "its content is not what was hashed");
	for (int i = 0; i < 2; i++)
		if (noted[i].seq && a->seq == noted[i].seq && strcmp(a->hash, noted[i].hash) != 0)
			broken(c, a->seq, noted[i].why);
	if (!c->broken)
		c->rows++;
}

/* A NUL would hide what stands behind it from everybody who reads the text. */
static bool has_nul(sqlite3_stmt *st)
{
	for (int i = 0; i < (int)CL_ARRAY_LEN(columns); i++)
		if (strlen(db_column(st, i)) != (size_t)sqlite3_column_bytes(st, i))
			return true;
	return false;
}

static int walk(
	struct store *s, const struct noted noted[2], struct store_chain *c, struct cl_err *e)
{
	char prev[CL_SHA256_HEX] = "";
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row = true;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY seq");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	while (!c->broken) {
		struct store_audit a = {0};

		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			break;
		db_read(st, &table, &a);
		if (has_nul(st))
			broken(c, a.seq, "a text of it has a NUL inside");
		check_row(c, &a, prev, noted);
		(void)snprintf(prev, CL_SHA256_HEX, "%s", a.hash);
		db_release(&table, &a);
	}
	return 0;
}

/* No row but the last one says that it is the last: a cut behind such a one would not be missed. */
static int check_ends(struct store *s, struct store_chain *c, struct cl_err *e)
{
	int64_t early = 0;

	if (db_number(s,
		    "SELECT coalesce(min(seq), 0) FROM audit WHERE at_end AND seq <"
		    " (SELECT max(seq) FROM audit)",
		    &early, e))
		return -1;
	if (s->head.cut)
		broken(c, c->rows + 1, "the trail ends before its head: rows were cut off");
	/* Who adds rows in a transaction of his own tells the last one so at its end. */
	if (early && !s->head.moved)
		broken(c, early, "it says that it is the trail's head, and rows follow it");
	return 0;
}

int store_audit_verify(struct store *s, int64_t expect_seq, const char *expect_hash,
	struct store_chain *out, struct cl_err *e)
{
	struct noted noted[] = {{expect_seq, expect_hash, "its hash is not the one that was noted"},
		{.why = "its hash is not the one that the head was seen to have"}};
	int rc;

	*out = (struct store_chain){0};
	/* A deferred one: rows and head of the same moment, and nobody waits for us. */
	if (!s->depth && db_exec(s, "BEGIN", e))
		return -1;
	rc = read_head(s, e);
	if (!rc) {
		out->head_seq = s->head.seq;
		memcpy(out->head, s->head.hash, sizeof(out->head));
		noted[1].seq = s->head.passed;
		noted[1].hash = s->head.passed_hash;
		rc = walk(s, noted, out, e) || check_ends(s, out, e) ? -1 : 0;
	}
	if (!s->depth)
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	if (rc)
		return -1;
	if (expect_seq > out->rows)
		broken(out, expect_seq, "the row that was noted is not there");
	return 0;
}
