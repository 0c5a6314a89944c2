/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/credpat.h"
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS   5000
#define SHORT_LOG (256 * 1024)
/* Pages of log after which it goes into the file and is written over. */
#define LOG_PAGES "250"
/* What that many take, and what a transaction may write beyond them. */
#define LONG_LOG (1088 * 1024)
/* Commits after which a connection is one that goes on. */
#define OFTEN 8

/* Of this hub, which need not be the one that is taken when none is named. */
static int fix_bootstrap(const char *path, const char *before, struct cl_err *e)
{
	static const char tail[] = "/.cloop/state.db";
	cleanup_free char *dir = NULL, *word = NULL;

	if (!cl_ends(path, tail) || *path != '/')
		return cl_fix(e, "%scloop hub bootstrap", before);
	dir = cl_strndup(path, strlen(path) - (sizeof(tail) - 1));
	word = cl_shell_word(dir);
	return cl_fix(e, "%scloop -C %s hub bootstrap", before, word);
}

/*
 * The file exists, or is made with a mode that SQLite would not choose. One that is there
 * is never opened here: closing it would drop the locks of another connection of this
 * process (fcntl(2), SQLite's "How To Corrupt", 2.2).
 */
static int ensure_file(const char *path, enum store_mode mode, struct cl_err *e)
{
	struct stat st;

	if (mode == STORE_CREATE) {
		cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd < 0 && errno != EEXIST)
			return cl_fail_sys(
				e, CL_EOS, errno, "cannot make the state file '%s'", path);
	}
	if (!lstat(path, &st)) {
		if (S_ISREG(st.st_mode))
			return 0;
		(void)cl_fail(e, CL_ECONFIG, "the state file '%s' is no regular file", path);
		return fix_bootstrap(path, "move it away, then: ", e);
	}
	if (errno != ENOENT)
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at the state file '%s'", path);
	(void)cl_fail(e, CL_ECONFIG, "there is no state file '%s'", path);
	return fix_bootstrap(path, "", e);
}

/* What SQLite lets a connection do that no statement of ours needs. */
static const struct {
	int option, on;
} settings[] = {
	{SQLITE_DBCONFIG_DEFENSIVE, 1},
	{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
	{SQLITE_DBCONFIG_DQS_DML, 0},
	{SQLITE_DBCONFIG_DQS_DDL, 0},
	{SQLITE_DBCONFIG_ENABLE_FKEY, 1},
	{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
};

/* Counting what it allocates costs SQLite a lock each time; nobody asks it for the sum. */
static void configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int connect_file(struct store *s, enum store_mode mode, struct cl_err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE |
		    (mode == STORE_RO ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);

	(void)pthread_once(&once, configure);
	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return db_fail(s, "open it", e);
	(void)sqlite3_rollback_hook(s->db, NULL, s);
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	for (size_t i = 0; i < CL_ARRAY_LEN(settings); i++)
		(void)sqlite3_db_config(s->db, settings[i].option, settings[i].on, NULL);
	/*
	 * FULL: a revocation that was reported done survives a power cut. A short log: one that is
	 * written over again syncs faster than one that grows, which the file system has to note.
	 */
	return db_exec(s,
		       "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;"
		       "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA "
		       "wal_autocheckpoint = " LOG_PAGES ";",
		       e) || db_lease_seq(s, e)
		       ? -1
		       : 0;
}

/* Ours, or empty and about to be. */
static int check_owner(struct store *s, enum store_mode mode, struct cl_err *e)
{
	int64_t id, objects;

	/* In this order: whoever makes the file commits both at once. */
	if (db_number(s, "SELECT count(*) FROM sqlite_schema", &objects, e) ||
		db_number(s, "PRAGMA application_id", &id, e))
		return -1;
	if ((id == DB_APPLICATION_ID && objects) ||
		(mode != STORE_RO && (!id || id == DB_APPLICATION_ID) && !objects))
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "'%s' is not a state file of cloop's", s->path);
	return fix_bootstrap(s->path, objects ? "move it away, then: " : "", e);
}

static int no_wal(const struct store *s, const char *mode, struct cl_err *e)
{
	(void)cl_fail(
		e, CL_EOS, "'%s' cannot use a write-ahead log (journal mode '%s')", s->path, mode);
	return cl_fix(e, "keep the hub's directory on a local file system, not on NFS or the like");
}

/*
 * Two processes that make one file at once: the switch to WAL fails at once with
 * SQLITE_BUSY, the busy timeout does not cover it.
 */
static int use_wal(struct store *s, struct cl_err *e)
{
	for (int waited = 0;; waited += 20) {
		cleanup_stmt sqlite3_stmt *st = NULL;
		bool row = false;
		int rc = db_prepare(s, "PRAGMA journal_mode = WAL", &st, e);

		rc = rc ? rc : db_step(s, st, &row, e);
		if (!rc && row && !strcmp(db_column(st, 0), "wal"))
			return 0;
		if (!rc)
			return no_wal(s, row ? db_column(st, 0) : "", e);
		if (e->code != CL_EBUSY || waited >= BUSY_MS)
			return -1;
		(void)usleep(20000);
	}
}

int store_open(const char *path, enum store_mode mode, struct store **out, struct cl_err *e)
{
	cleanup_store struct store *s = cl_calloc(1, sizeof(*s));

	*out = NULL;
	s->path = cl_strdup(path);
	if (ensure_file(path, mode, e) || connect_file(s, mode, e) || check_owner(s, mode, e))
		return -1;
	if (mode != STORE_RO && use_wal(s, e))
		return -1;
	if (db_migrate(s, mode != STORE_RO, e))
		return -1;
	*out = cl_steal(&s);
	return 0;
}

/*
 * SQLite empties the log into the file when the last connection goes, and the next process makes
 * it anew: four syncs and two files for a command that wrote a row. A short log may stay; reading
 * it again costs the next one less.
 */
static void leave_short_log(struct store *s)
{
	cleanup_free char *log = cl_asprintf("%s-wal", s->path);
	struct stat st;

	if (s->db && !s->wipes && !stat(log, &st) && st.st_size <= SHORT_LOG)
		(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	db_drop_kept(s);
	leave_short_log(s);
	(void)sqlite3_close_v2(s->db);
	free(s->path);
	free(s);
}

void store_cleanup(struct store **s)
{
	store_close(*s);
	*s = NULL;
}

int store_begin(struct store *s, struct store_txn *t, struct cl_err *e)
{
	if (s->depth == 0 && db_exec_kept(s, "BEGIN IMMEDIATE", e))
		return -1;
	if (!s->depth++)
		s->marked = false;
	t->s = s;
	return 0;
}

void store_rollback(struct store_txn *t)
{
	struct store *s = t->s;

	if (!s)
		return;
	t->s = NULL;
	s->depth--;
	s->poisoned = s->depth > 0;
	s->head = (struct db_head){0};
	s->marked = false;
	s->mark.own++;
	/* A full disk may have rolled it back already. */
	if (!s->depth && !sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/*
 * While the log grows, a file system notes at each commit how long it is and where, beside what was
 * written. Who commits again and again has it at its full length at once: what follows the last frame is
 * none, and nobody else writes while we may. Where there is no room it stays as it is.
 */
static void lengthen_log(struct store *s)
{
	static char nothing[64 * 1024]; /* not const: it would be that long in each executable */
	sqlite3_file *log = NULL;
	sqlite3_int64 at;

	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
		!log || !log->pMethods || log->pMethods->xFileSize(log, &at) != SQLITE_OK)
		return;
	while (at < LONG_LOG &&
		log->pMethods->xWrite(log, nothing, sizeof(nothing), at) == SQLITE_OK)
		at += (sqlite3_int64)sizeof(nothing);
}

int store_commit(struct store_txn *t, struct cl_err *e)
{
	struct store *s = t->s;

	if (!s)
		return cl_fail(e, CL_EBUG, "commit of a transaction that is not open");
	/* SQLite itself takes a transaction back when the disk is full. */
	if (s->poisoned || (s->depth == 1 && sqlite3_get_autocommit(s->db))) {
		(void)cl_fail(
			e, CL_EBUG, "%s: a part of this transaction was rolled back", s->path);
		store_rollback(t);
		return -1;
	}
	if (s->depth == 1 && ++s->commits == OFTEN)
		lengthen_log(s);
	if (s->depth == 1 && (db_write_head(s, e) || db_exec_kept(s, "COMMIT", e))) {
		store_rollback(t);
		return -1;
	}
	s->depth--;
	if (!s->depth)
		s->marked = false;
	t->s = NULL;
	return 0;
}

int store_mark(struct store *s, struct store_mark *out, struct cl_err *e)
{
	if (!s->marked && db_number(s, "PRAGMA data_version", &s->mark.others, e))
		return -1;
	/* Nobody else writes while we may. */
	s->marked = s->depth > 0;
	*out = s->mark;
	return 0;
}

bool store_mark_same(const struct store_mark *a, const struct store_mark *b)
{
	return a->own && a->own == b->own && a->others == b->others;
}

int store_check(struct store *s, struct cl_strv *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *whole = NULL, *keys = NULL;
	bool row;

	if (db_prepare(s, "PRAGMA integrity_check", &whole, e) ||
		db_prepare(s, "PRAGMA foreign_key_check", &keys, e))
		return -1;
	for (;;) {
		if (db_step(s, whole, &row, e))
			return -1;
		if (!row)
			break;
		if (strcmp(db_column(whole, 0), "ok") != 0)
			cl_strv_add(out, db_column(whole, 0));
	}
	for (;;) {
		if (db_step(s, keys, &row, e))
			return -1;
		if (!row)
			return 0;
		cl_strv_addf(out, "a row of '%s' names a row of '%s' that is not there",
			db_column(keys, 0), db_column(keys, 2));
	}
}

/* "run_4f2a91" or "4f2a91" as "run_4f2a91"; NULL: not of that form. */
static char *whole_prefix(const char *prefix, const char *text)
{
	const char *hex = cl_starts(text, prefix) ? text + strlen(prefix) : text;

	if (strlen(hex) < 6 || strlen(hex) > 64 || !cl_all_in(hex, "0123456789abcdef"))
		return NULL;
	return cl_asprintf("%s%s", prefix, hex);
}

int store_id(struct store *s, const char *table, const char *what, const char *prefix,
	const char *text, char **out, struct cl_err *e)
{
	cleanup_free char *from = whole_prefix(prefix, text), *to = NULL, *sql = NULL;
	cleanup_strv struct cl_strv found = CL_STRV_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row = true;

	*out = NULL;
	if (!from)
		return db_no_id(what, prefix, text, e);
	to = cl_asprintf("%sg", from);
	sql = cl_asprintf("SELECT id FROM %s WHERE id >= :from AND id < :to LIMIT 4", table);
	if (db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":from", from);
	db_text(st, ":to", to);
	for (;;) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			break;
		cl_strv_add(&found, db_column(st, 0));
	}
	if (found.n == 1 || (found.n && !strcmp(found.v[0], from))) {
		*out = cl_strdup(found.v[0]);
		return 0;
	}
	if (!found.n)
		return db_no_row(what, text, e);
	to = (free(to), cl_join((const char *const *)found.v, found.n, ", "));
	(void)cl_fail(e, CL_EDATA, "'%s' begins the id of more than one %s: %s%s", text, what, to,
		found.n == 4 ? ", ..." : "");
	return cl_fix(e, "type more of it");
}
