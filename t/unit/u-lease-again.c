/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who lends again and again reads the grants once, and never misses that somebody wrote. */
#include "lease-fixture.h"
#include "store/db.h"
#include "store/undone.h"
#include "work/lease/revoke.h"

static bool same(struct store *s, const struct store_mark *before)
{
	struct store_mark now;
	struct cl_err e;

	CHECK_INT(store_mark(s, &now, &e), 0);
	return store_mark_same(before, &now);
}

static struct store_mark mark(struct store *s)
{
	struct store_mark m;
	struct cl_err e;

	CHECK_INT(store_mark(s, &m, &e), 0);
	return m;
}

static void audit(struct store *s)
{
	const struct store_audit_row row = {"uid:0", "a.b", "thing", "id", "", NULL};
	struct cl_err e;

	CHECK_INT(store_audit_add(s, NOW, &row, &e), 0);
}

void test_mark__says_that_somebody_wrote(void)
{
	struct store_mark m = {0};
	struct store_txn t = {0};
	struct store *s;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK(!same(s, &m)); /* none that was taken */
	m = mark(s);
	CHECK(same(s, &m));
	audit(s);
	CHECK(same(s, &m));
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK(!same(s, &m));
	m = mark(s);
	outside("UPDATE run SET task = 'x'");
	CHECK(!same(s, &m));
	CHECK_INT(store_begin(s, &t, &e), 0);
	m = mark(s);
	audit(s);
	CHECK(same(s, &m));
	CHECK_INT(insert_run(s, "run_1123456789abcdef01234567", 1, &e), 0);
	CHECK(!same(s, &m));
	m = mark(s);
	store_rollback(&t);
	CHECK(!same(s, &m));
	m = mark(s);
	CHECK_INT(store_begin(s, &t, &e), 0);
	CHECK(same(s, &m));
	CHECK_INT(store_commit(&t, &e), 0);
	CHECK(same(s, &m));
	store_close(s);
	gone();
}

/* How many grants a new lease of the project delivers and refuses. */
static void lends(struct keyed *k, size_t items, size_t refused, const char *code)
{
	cleanup_held struct lease *l = hub_take(k, "/srv/app");

	CHECK_INT(l->nitems, items);
	CHECK_INT(l->nrefused, refused);
	if (code && refused && l->nrefused)
		CHECK_STR(l->refused[0].code, code);
}

/* It comes with a file, and the state file is what it was. */
void test_lease_again__sees_the_key_that_signs_when_it_comes(void)
{
	struct keyed k;
	char one[40], pub[120], away[120];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "any", "{}", NOW + HOUR, one);
	(void)snprintf(pub, sizeof(pub), "%s/.cloop/grants.pub", dir);
	(void)snprintf(away, sizeof(away), "%s/.cloop/away", dir);
	CHECK_INT(rename(pub, away), 0);
	lends(&k, 0, 1, "forged_grant");
	lends(&k, 0, 1, "forged_grant");
	CHECK_INT(rename(away, pub), 0);
	lends(&k, 1, 0, NULL);
	hub_gone(&k);
}

void test_lease_again__sees_what_changed(void)
{
	struct keyed k;
	char one[40], two[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_mint(&k, "two", "env", "{\"B\":\"2\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	lends(&k, 1, 0, NULL);
	hub_grant(&k, "two", "any", "{}", NOW + HOUR, two);
	lends(&k, 2, 0, NULL);
	lends(&k, 2, 0, NULL);
	hub_revoke(&k, two, NULL, NULL);
	lends(&k, 1, 0, NULL);
	/* From outside: the row, the secret, its key. */
	outside("UPDATE \"grant\" SET expires_at = expires_at + 1");
	lends(&k, 0, 1, "forged_grant");
	outside("UPDATE \"grant\" SET expires_at = expires_at - 1");
	lends(&k, 1, 0, NULL);
	outside("UPDATE secret SET name = 'other' WHERE name = 'one'");
	lends(&k, 0, 1, "forged_grant");
	outside("UPDATE secret SET name = 'one' WHERE name = 'other'");
	outside("UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'two')"
		" WHERE name = 'one'");
	lends(&k, 0, 1, "sealed_altered");
	hub_gone(&k);
}

void test_lease_again__a_retired_key_opens_nothing(void)
{
	struct keyed k;
	char one[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	lends(&k, 1, 0, NULL);
	outside("UPDATE sealing_key SET state = 'retired', salt = ''");
	lends(&k, 0, 1, "key_retired");
	hub_gone(&k);
}

void test_lease_again__time_passes(void)
{
	struct lease_request r = {.project = "/srv/app", .now = NOW};
	struct lease *l = NULL;
	struct keyed k;
	struct cl_err e;
	char one[40];
	/* Later, too late, and back to when it was good. */
	static const struct {
		int64_t at;
		size_t items;
	} rows[] = {{NOW, 1}, {NOW + HOUR - 1000, 1}, {NOW + HOUR, 0}, {NOW, 1}};

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		r.now = rows[i].at;
		CHECK_INT(lease_take(&k, &r, &l, &e), 0);
		CHECK_INT(l->nitems, rows[i].items);
		lease_free(l);
	}
	hub_gone(&k);
}

/* Who asks for some kinds opens no secret of another, and hears of none. */
void test_lease_again__only_the_kinds_that_are_looked_at(void)
{
	const struct lease_request r = {.project = "/srv/app", .now = NOW};
	struct keyed k;
	struct cl_err e;
	char one[40], two[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_mint(&k, "two", "local_repo", "/srv/two");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	hub_grant(&k, "two", "project:/srv/app", "{}", NOW + HOUR, two);
	lends(&k, 1, 1, NULL);
	for (unsigned kinds = 0; kinds < 2; kinds++) {
		cleanup_case struct lease_case c = LEASE_CASE_INIT;

		c.kinds = kinds ? 1U << SEC_LOCAL_REPO : 0;
		CHECK_INT(lease_judge(&c, &k, &r, &e), 0);
		CHECK_INT(c.n, kinds ? 1 : 2);
		CHECK_INT(c.lease.nmaterials, kinds ? 0 : 1);
		CHECK_INT(c.lease.nrefused, 1);
	}
	hub_gone(&k);
}

/* What a transaction that is rolled back had read is not kept. */
void test_lease_again__forgets_what_was_rolled_back(void)
{
	struct store_txn t = {0};
	struct keyed k;
	struct cl_err e;
	char one[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	CHECK_INT(store_begin(k.store, &t, &e), 0);
	hub_revoke(&k, one, NULL, NULL);
	lends(&k, 0, 0, NULL);
	store_rollback(&t);
	lends(&k, 1, 0, NULL);
	hub_gone(&k);
}

void test_lease_again__the_trail_holds(void)
{
	const struct store_audit_row row = {.actor = "cli:else", .action = "test.row"};
	cleanup_store struct store *other = NULL;
	struct store_chain chain;
	struct store_txn t = {0};
	struct keyed k;
	struct cl_err e;
	char one[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, one);
	CHECK_INT(store_begin(k.store, &t, &e), 0);
	for (int i = 0; i < 5; i++)
		lends(&k, 1, 0, NULL);
	/* Walked before the head is written, too. */
	CHECK_INT(store_audit_verify(k.store, 0, "", &chain, &e), 0);
	CHECK(!chain.broken);
	CHECK_INT(chain.rows, 5);
	CHECK_INT(store_commit(&t, &e), 0);
	lends(&k, 1, 0, NULL);
	CHECK_INT(store_audit_verify(k.store, 0, "", &chain, &e), 0);
	CHECK(!chain.broken);
	CHECK_INT(chain.rows, 6);
	/* Its end is known from before, until somebody else has written, or what was written is undone. */
	CHECK_INT(store_open(path, STORE_RW, &other, &e), 0);
	CHECK_INT(store_audit_add(other, NOW, &row, &e), 0);
	lends(&k, 1, 0, NULL);
	CHECK_INT(store_begin(k.store, &t, &e), 0);
	lends(&k, 1, 0, NULL);
	store_rollback(&t);
	lends(&k, 1, 0, NULL);
	CHECK_INT(store_audit_add(other, NOW, &row, &e), 0);
	CHECK_INT(store_audit_verify(k.store, 0, "", &chain, &e), 0);
	CHECK(!chain.broken);
	CHECK_INT(chain.rows, 10);
	hub_gone(&k);
}

/* ---- by id ---- */

/* Rows that were looked at one after the other, by every statement that is kept. */
static int scanned(struct store *s)
{
	int n = 0;

	for (size_t i = 0; i < DB_KEPT; i++)
		if (s->kept[i].st)
			n += sqlite3_stmt_status(s->kept[i].st, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
	return n;
}

void test_lease_again__nobody_looks_through_all_of_them_for_one(void)
{
	const struct store_lease_end taken = {.at = NOW, .by = "cli:root", .action = "scrub"};
	const struct lease_actor who = {"cli:root", NOW};
	struct keyed k;
	struct cl_err e;
	bool was, asked, end;
	int64_t n;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	for (int i = 0; i < 20; i++) {
		cleanup_held struct lease *other = hub_take(&k, "/srv/app");
		cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;

		if (i < 19)
			continue;
		(void)scanned(k.store);
		CHECK_INT(store_lease_get(k.store, other->id, &l, &e), 0);
		CHECK_INT(store_lease_undone(k.store, l.id, &end, &e), 0);
		CHECK_INT(store_lease_ask(k.store, l.id, NOW, &n, &e), 0);
		CHECK_INT(n, 1);
		CHECK_INT(revoke_lease(k.store, &l, &who, "kill", NULL, dir, &was, &asked, &e), 0);
		CHECK(was && asked);
		CHECK_INT(store_lease_undone(k.store, l.id, &end, &e), 0);
		CHECK(!end);
		CHECK_INT(store_grant_succeed(k.store, a, "grant_b", &n, &e), 0);
		CHECK_INT(n, 19);
		CHECK_INT(store_grant_take(k.store, "grant_b", &taken, &n, &e), 0);
		CHECK_INT(n, 19);
		CHECK_INT(scanned(k.store), 0);
	}
	hub_gone(&k);
}
