/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of leases: where live ones are looked for, and what each stands on. */
#include "store-fixture.h"
#include "base/text.h"
#include "store/db.h"
#include "store/lease.h"
#include "work/lease/lease.h"
#include "work/lease/revoke.h"

#define AT  INT64_C(1800000000000)
#define TTL 900000

static char *ask(const char *text)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	char *out = NULL;

	if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, text, -1, &st, NULL) &&
		sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0))
		out = cl_strdup((const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return out ? out : cl_strdup("");
}

#define CHECK_SQL(text, want)                       \
	do {                                        \
		cleanup_free char *got = ask(text); \
		CHECK_STR(got, want);               \
	} while (0)

static struct store *granted(void)
{
	struct store *s;

	fresh();
	s = open_as(STORE_CREATE);
	outside("INSERT INTO \"grant\" (id, secret_id, secret_name, kind, scope, subject, "
		"constraints,"
		" expires_at, created_at, created_by, owner, signature)"
		" SELECT value, 'sec_a', 'a', 'env', '', 'any', '{}', 0, 1, 'cli:root', '', 'none'"
		" FROM json_each('[\"grant_a\",\"grant_b\",\"grant_c\"]')");
	return s;
}

static void over(struct store *s)
{
	store_close(s);
	gone();
}

/* A lease of that time, on these grants; its id. */
static char *lend(struct store *s, int64_t at, int64_t ttl, const char *a, const char *b)
{
	const struct store_hold holds[] = {{.grant_id = (char *)(uintptr_t)a, .how = 2},
		{.grant_id = (char *)(uintptr_t)b, .how = 2}};
	char id[STORE_LEASE_ID];
	struct store_lease l = {.project = "/srv/app",
		.executor_id = "",
		.labels = "",
		.actor = "cli:root",
		.created_at = at,
		.expires_at = at + ttl};
	struct cl_err e;
	bool won = false;

	CHECK_INT(store_lease_new_id(at, id, &e), 0);
	l.id = id;
	if (store_lease_insert(s, &l, holds, b ? 2 : 1, &won, &e))
		UNIT_FAIL("%s", e.msg);
	CHECK(won);
	return cl_strdup(id);
}

static int count_lease(const struct store_lease *l, void *arg, struct cl_err *e)
{
	(void)l;
	(void)e;
	++*(int *)arg;
	return 0;
}

static int live(struct store *s)
{
	const struct store_lease_filter f = {0};
	struct cl_err e;
	int n = 0;

	CHECK_INT(store_lease_each(s, &f, count_lease, &n, &e), 0);
	return n;
}

static int expire(struct store *s, int64_t at, int64_t most, int64_t *after)
{
	struct cl_err e;
	int64_t n = -1;

	CHECK_INT(store_lease_expire(s, at, "test", most, after, &n, &e), 0);
	CHECK_INT(store_lease_raise_floor(s, &e), 0);
	return (int)n;
}

static int add_hold(const struct store_hold *h, void *arg, struct cl_err *e)
{
	(void)e;
	cl_strv_addf(arg, "%s:%s", h->grant_id, h->state);
	return 0;
}

static char *holds_of(struct store *s, const char *id)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;
	struct cl_err e;

	CHECK_INT(store_hold_each(s, store_lease_seq(id), add_hold, &all, &e), 0);
	return cl_join((const char *const *)all.v, all.n, " ");
}

#define CHECK_HOLDS(s, id, want)                          \
	do {                                              \
		cleanup_free char *got = holds_of(s, id); \
		CHECK_STR(got, want);                     \
	} while (0)

void test_lease_rows__live_ones_stand_at_the_floor_or_above(void)
{
	struct store *s = granted();
	cleanup_free char *first = lend(s, AT, TTL, "grant_a", NULL);
	cleanup_free char *last = lend(s, AT + 5, TTL, "grant_a", NULL), *early = NULL;
	int64_t after = 0;
	char text[32];

	CHECK_INT(expire(s, AT + 10, 100, &after), 0);
	(void)snprintf(text, sizeof(text), "%lld", (long long)store_lease_seq(first));
	CHECK_SQL("SELECT seq FROM lease_floor", text);
	CHECK_INT(live(s), 2);
	CHECK_INT(expire(s, AT + 1 + TTL, 100, &after), 1);
	(void)snprintf(text, sizeof(text), "%lld", (long long)store_lease_seq(last));
	CHECK_SQL("SELECT seq FROM lease_floor", text);
	CHECK_INT(live(s), 1);
	CHECK_INT(expire(s, AT + 5 + TTL, 100, &after), 1);
	CHECK_INT(live(s), 0);

	/* The clock was set back. */
	early = lend(s, AT - 1000, TTL, "grant_a", NULL);
	CHECK(store_lease_seq(early) < store_lease_seq(first));
	CHECK_INT(live(s), 1);
	after = 0;
	CHECK_INT(expire(s, AT - 1000 + TTL, 100, &after), 1);
	CHECK_INT(live(s), 0);
	over(s);
}

void test_lease_rows__one_that_is_put_back_is_found(void)
{
	struct store *s = granted();
	int64_t after = 0;

	free(lend(s, AT, TTL, "grant_a", NULL));
	free(lend(s, AT + 5, TTL, "grant_a", NULL));
	CHECK_INT(expire(s, AT + TTL, 100, &after), 1);
	CHECK_INT(live(s), 1);
	outside("UPDATE lease SET state = 'live', ended_at = 0");
	CHECK_INT(live(s), 2);
	after = 0;
	CHECK_INT(expire(s, AT + TTL, 100, &after), 1);
	CHECK_INT(live(s), 1);
	/* No floor: from the first on. */
	outside("DELETE FROM lease_floor");
	CHECK_INT(live(s), 1);
	over(s);
}

void test_lease_rows__expire_in_parts(void)
{
	struct store *s = granted();
	int64_t after = 0;

	free(lend(s, AT - 9, 100LL * TTL, "grant_a", NULL));
	for (int i = 0; i < 25; i++)
		free(lend(s, AT + i, i == 12 ? 2 * TTL : TTL, "grant_a", NULL));
	CHECK_INT(expire(s, AT + 24 + TTL, 10, &after), 10);
	CHECK_SQL("SELECT count(*) FROM lease WHERE state = 'expired'", "10");
	CHECK_INT(expire(s, AT + 24 + TTL, 10, &after), 10);
	CHECK_INT(expire(s, AT + 24 + TTL, 10, &after), 4);
	CHECK_INT(expire(s, AT + 24 + TTL, 10, &after), 0);
	CHECK_INT(live(s), 2);
	over(s);
}

void test_lease_rows__what_it_stands_on_follows_a_successor(void)
{
	struct store *s = granted();
	cleanup_free char *one = lend(s, AT, TTL, "grant_a", NULL);
	cleanup_free char *both = lend(s, AT + 1, TTL, "grant_b", "grant_a");
	cleanup_free char *other = lend(s, AT + 2, TTL, "grant_c", NULL);
	struct cl_err e;
	int64_t n = 0;

	CHECK_HOLDS(s, both, "grant_a:held grant_b:held");
	CHECK_INT(store_grant_succeed(s, "grant_a", "grant_b", &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_HOLDS(s, one, "grant_b:held");
	CHECK_HOLDS(s, both, "grant_a:superseded grant_b:held");
	CHECK_HOLDS(s, other, "grant_c:held");
	CHECK_SQL("SELECT group_concat(grants, '') FROM (SELECT grants FROM lease ORDER BY seq)",
		"[\"grant_b\"][\"grant_b\",\"grant_a\"][\"grant_c\"]");
	over(s);
}

void test_lease_rows__a_forgotten_one_takes_its_holds_along(void)
{
	const struct store_lease_end end = {.state = "released", .at = AT + 2, .by = "test"};
	struct store *s = granted();
	cleanup_free char *one = lend(s, AT, TTL, "grant_a", "grant_b");
	cleanup_free char *other = lend(s, AT + 1, TTL, "grant_a", NULL);
	struct cl_err e;
	int64_t n = 0;
	bool won;

	CHECK_INT(store_lease_end(s, one, &end, &won, &e), 0);
	CHECK(won);
	CHECK_HOLDS(s, one, "grant_a:taken grant_b:taken");
	CHECK_HOLDS(s, other, "grant_a:held");
	CHECK_INT(store_lease_forget(s, AT + 9, 100, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_SQL("SELECT count(*) FROM lease_grant", "1");
	CHECK_HOLDS(s, other, "grant_a:held");
	over(s);
}

void test_lease_rows__names_that_are_no_list_are_nobodys(void)
{
	static const char *const bad[] = {
		"", "[", "{\"a\":", "null", "\"grant_b\"", "[\"grant_b\"]"};
	struct store *s = granted();
	cleanup_free char *one = lend(s, AT, TTL, "grant_a", NULL);
	cleanup_free char *other = lend(s, AT + 1, TTL, "grant_a", NULL);
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_free char *put =
			cl_asprintf("UPDATE lease SET grants = '%s' WHERE id = '%s'", bad[i], one);
		int64_t n, after = 0;

		outside(put);
		CHECK_HOLDS(s, one, "");
		CHECK_HOLDS(s, other, "grant_a:held");
		CHECK_INT(store_lease_orphans(s, AT + 2, "test", 10, &after, &n, &e), 0);
		CHECK_INT(store_lease_emptied(s, AT + 2, "test", 10, &after, &n, &e), 0);
		CHECK_INT(expire(s, AT + 2, 10, &after), 0);
	}
	over(s);
}

/* Nor does one such lease keep those that ended from being forgotten. */
void test_lease_rows__one_whose_names_are_no_list_is_forgotten(void)
{
	static const char *const bad[] = {"", "[", "null", "{\"a\":7}"};
	struct store *s = granted();

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_free char *put = cl_asprintf("UPDATE lease SET grants = '%s'", bad[i]);
		struct cl_err e;
		int64_t n = 0, after = 0;

		free(lend(s, AT, TTL, "grant_a", NULL));
		outside(put);
		CHECK_INT(expire(s, AT + TTL, 10, &after), 1);
		if (store_lease_forget(s, AT + TTL + 1, 10, &n, &e))
			UNIT_FAIL("'%s': %s", bad[i], e.msg);
		CHECK_INT(n, 1);
	}
	over(s);
}

/* ---- the sweep ---- */

#define SANDBOX                                                                              \
	"INSERT INTO handle (id, executor_id, driver, project, started_at, state, ended_at)" \
	" VALUES ('c-000000000001', 'e', 'd', '/srv/app', 1, 'ended', 2);"

static struct lease_sweep sweep(struct store *s, int64_t at)
{
	const struct lease_actor who = {"sweep", at};
	struct lease_sweep out;
	struct cl_err e;

	if (lease_sweep(s, &who, dir, &out, &e))
		UNIT_FAIL("%s", e.msg);
	return out;
}

void test_lease_rows__the_sweep_goes_on_where_one_part_ends(void)
{
	struct store *s = granted();

	free(lend(s, AT, 2 * TTL, "grant_a", NULL));
	outside("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001)"
		" INSERT INTO lease (seq, id, project, executor_id, labels, actor, created_at,"
		" expires_at, state) SELECT i, printf('lease_%024x', i), '/p', '', '', 'a', 1, 2,"
		" 'live' FROM n");
	CHECK_INT(sweep(s, AT + TTL).expired, 20001);
	CHECK_INT(live(s), 1);
	CHECK_SQL("SELECT (SELECT seq FROM lease_floor) = (SELECT max(seq) FROM lease)", "1");
	over(s);
}

/* The first that may be live is looked at by everybody. */
void test_lease_rows__the_one_at_the_floor(void)
{
	struct store_lease_filter owing = {.tokens_too = true};
	struct store *s = granted();
	struct cl_err e;
	int n = 0;

	free(lend(s, AT, TTL, "grant_a", "grant_b"));
	CHECK_INT(sweep(s, AT + 1).expired, 0);
	CHECK_SQL("SELECT (SELECT seq FROM lease_floor) = (SELECT seq FROM lease)", "1");
	CHECK_INT(store_lease_each(s, &owing, count_lease, &n, &e), 0);
	CHECK_INT(n, 1);
	outside(SANDBOX "UPDATE lease SET sandbox = 'c-000000000001'");
	CHECK_INT(sweep(s, AT + 2).orphans, 1);
	CHECK_SQL("SELECT count(*) FROM lease_grant WHERE state = 'taken'", "2");
	over(s);
}

/* Where no lease stands that has a place of its own. */
void test_lease_rows__moved_below_the_floor(void)
{
	struct store *s = granted();

	free(lend(s, AT, TTL, "grant_a", NULL));
	CHECK_INT(sweep(s, AT + 1).expired, 0);
	outside("UPDATE lease SET seq = 7");
	CHECK_INT(live(s), 1);
	outside("UPDATE lease SET seq = -7");
	CHECK_INT(live(s), 1);
	CHECK_INT(sweep(s, AT + TTL).expired, 1);
	CHECK_INT(live(s), 0);
	over(s);
}

/* What SQLite did since the last time. */
static int steps(struct store *s)
{
	int n = 0;

	for (size_t i = 0; i < DB_KEPT; i++)
		if (s->kept[i].st)
			n += sqlite3_stmt_status(s->kept[i].st, SQLITE_STMTSTATUS_VM_STEP, 1);
	return n;
}

typedef int (*part_fn)(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e);

/* Holds that are given up of leases that are not over. */
static const char half_done[] = "SELECT count(*) FROM lease_grant h JOIN lease l ON l.seq = h.lease"
				" WHERE h.state = 'taken' AND l.state = 'live'";

/* Many leases, of which a part at a time is ended. */
#define MANY 300
#define PART 5

static void in_parts(part_fn part, int64_t at, const char *before)
{
	struct store *s = granted();
	struct store_txn t = {0};
	int64_t after = INT64_MIN, n;
	int first = 0, last = 0, total = 0;
	struct cl_err e;

	CHECK_INT(store_begin(s, &t, &e), 0);
	for (int i = 0; i < MANY; i++)
		free(lend(s, AT + i, TTL, "grant_a", NULL));
	CHECK_INT(store_commit(&t, &e), 0);
	outside(before);
	(void)steps(s);
	for (int i = 0; i < MANY / PART; i++) {
		if (part(s, at, "test", PART, &after, &n, &e))
			UNIT_FAIL("%s", e.msg);
		CHECK_INT(n, PART);
		total += (int)n;
		last = steps(s);
		if (!i)
			CHECK_SQL(half_done, "0");
		/* The first one compiles what others find. */
		first = i ? first : last;
	}
	CHECK_INT(total, MANY);
	if (last > first + first / 4)
		UNIT_FAIL("the first part took %d steps, the last one %d", first, last);
	over(s);
}

void test_lease_rows__no_part_looks_again_at_what_another_has_done(void)
{
	in_parts(store_lease_expire, AT + 10LL * TTL, "");
	in_parts(store_lease_orphans, AT, SANDBOX "UPDATE lease SET sandbox = 'c-000000000001'");
	in_parts(store_lease_emptied, AT, "UPDATE lease_grant SET state = 'taking'");
}

/* A part is full of those that it ends, whatever else is asked back. */
void test_lease_rows__what_is_over_is_no_part_of_a_part(void)
{
	struct store *s = granted();
	int64_t after = INT64_MIN, n;
	struct cl_err e;

	for (int i = 0; i < 6; i++)
		free(lend(s, AT + i, i < 3 ? 1 : TTL, "grant_a", i == 4 ? "grant_b" : NULL));
	CHECK_INT(sweep(s, AT + 4).expired, 3);
	outside("UPDATE lease_grant SET state = 'taking' WHERE grant_id = 'grant_a'");
	CHECK_INT(store_lease_emptied(s, AT + 5, "test", 2, &after, &n, &e), 0);
	CHECK_INT(n, 2);
	CHECK_INT(live(s), 1);
	CHECK_INT(store_lease_emptied(s, AT + 5, "test", 2, &after, &n, &e), 0);
	CHECK_INT(n, 0);
	over(s);
}

/* Nor does a sweep look at what stands below the floor. */
void test_lease_rows__what_ended_before_costs_nothing(void)
{
	struct store *s = granted();
	struct store_txn t = {0};
	int few, many;
	struct cl_err e;

	free(lend(s, AT + MANY, TTL, "grant_a", NULL));
	(void)sweep(s, AT + 1);
	(void)steps(s);
	(void)sweep(s, AT + 1);
	few = steps(s);
	CHECK_INT(store_begin(s, &t, &e), 0);
	for (int i = 0; i < MANY; i++)
		free(lend(s, AT + i, 1, "grant_a", NULL));
	CHECK_INT(store_commit(&t, &e), 0);
	CHECK_INT(sweep(s, AT + MANY + 1).expired, MANY);
	(void)steps(s);
	(void)sweep(s, AT + MANY + 1);
	many = steps(s);
	if (many > few + MANY)
		UNIT_FAIL("a sweep of one lease took %d steps, and %d beside those that ended", few,
			many);
	over(s);
}
