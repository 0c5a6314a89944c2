/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/undone.h"
#include "store/db.h"

/* As share/schema/0016 has them: a query is served by an index only in the words of the index. */
#define OF_GRANT                                                              \
	"substr(a.detail, instr(a.detail, '\"grant_id\":\"') + 12, 30) = :id" \
	" AND (a.action = 'secret.revoke' OR a.action = 'secret.unguarded_ack')"
#define OF_ENTITY "(a.action = 'secret.delete' OR a.action = 'lease.revoke_sent')"

int store_grant_undone(struct store *s, const char *id, bool *end, bool *word, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	*end = *word = false;
	if (db_prepare(s,
		    "SELECT EXISTS (SELECT 1 FROM audit a WHERE " OF_GRANT
		    " AND a.action = 'secret.revoke') OR EXISTS (SELECT 1 FROM audit a"
		    " WHERE a.entity_id = g.secret_id AND " OF_ENTITY
		    " AND a.action = 'secret.delete'), g.unguarded IS NOT NULL AND"
		    " coalesce((SELECT instr(a.detail, '\"unenforced\":\"withdrawn\"') > 0"
		    " FROM audit a WHERE " OF_GRANT " AND a.action = 'secret.unguarded_ack'"
		    " ORDER BY a.seq DESC LIMIT 1), 0)"
		    " FROM \"grant\" g WHERE g.id = :id AND g.revoked_at = 0",
		    &st, e))
		return -1;
	db_text(st, ":id", id);
	if (db_step(s, st, &row, e))
		return -1;
	*end = row && sqlite3_column_int(st, 0);
	*word = row && sqlite3_column_int(st, 1);
	return 0;
}

int store_lease_undone(struct store *s, const char *id, bool *end, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "SELECT 1 FROM audit a JOIN lease l ON l.seq = lease_seq(:id) AND l.id = :id"
		    " AND l.state = 'live'"
		    " WHERE a.entity_id = :id AND " OF_ENTITY " AND a.action = 'lease.revoke_sent'",
		    &st, e))
		return -1;
	db_text(st, ":id", id);
	return db_step(s, st, end, e);
}
