/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many processes granting, leasing, renewing, rotating, revoking and sweeping one hub at once. */
#include "lease-fixture.h"
#include "sys/clock.h"
#include "work/lease/revoke.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define MANY 10

/* Shared by all processes: what was said to be done. */
struct board {
	atomic_int taken, renewed, revoked, over, failed;
	char grant[8][40];
};
static struct board *board;

static void board_make(void)
{
	board = mmap(
		NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		abort();
}

/* Runs fn in MANY processes that start together, each with the hub opened anew. */
static void together(void (*fn)(struct keyed *k, int n))
{
	int gate[2], st;
	char c;

	if (pipe(gate))
		abort();
	for (int i = 0; i < MANY; i++) {
		struct keyed k;

		/* What stands in the buffer would be said by each of them. */
		(void)fflush(stdout);
		if (fork())
			continue;
		(void)close(gate[1]);
		(void)!read(gate[0], &c, 1);
		hub_open(&k, STORE_RW);
		fn(&k, i);
		keyed_release(&k);
		(void)fflush(stdout);
		_exit(unit_failures ? 1 : 0);
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int i = 0; i < MANY; i++) {
		(void)wait(&st);
		if (!WIFEXITED(st) || WEXITSTATUS(st))
			UNIT_FAIL("a process failed: %x", st);
	}
}

static int64_t number(const char *sql)
{
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, sql, -1, &st, NULL) &&
		sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return n;
}

/* What must hold whatever was done, once swept: nothing is held of a grant that has ended. */
static void expect_order(struct keyed *k)
{
	const struct lease_actor who = {"sweep", NOW + 1000};
	struct store_chain chain;
	struct lease_sweep swept;
	struct cl_err e;

	CHECK_INT(lease_sweep(k->store, &who, dir, &swept, &e), 0);

	CHECK_INT(number("SELECT count(*) FROM lease_grant h JOIN lease l ON l.seq = h.lease"
			 " JOIN \"grant\" g ON g.id = h.grant_id"
			 " WHERE h.state = 'held' AND l.state = 'live' AND g.revoked_at <> 0"),
		0);
	CHECK_INT(number("SELECT count(*) FROM lease l WHERE l.state = 'live' AND NOT EXISTS"
			 " (SELECT 1 FROM lease_grant h WHERE h.lease = l.seq AND"
			 " h.state = 'held')"),
		0);
	CHECK_INT(number("SELECT count(*) FROM lease WHERE expires_at - max(created_at, renewed_at)"
			 " > 900000"),
		0);
	CHECK_INT(store_audit_verify(k->store, 0, NULL, &chain, &e), 0);
	CHECK(!chain.broken);
	expect_sound();
}

/* ---- one grant, everybody at it ---- */

static void take_or_revoke(struct keyed *k, int n)
{
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	const struct store_end end = {.at = NOW + 1, .by = "uid:0"};
	struct cl_err e;
	int64_t leases;
	bool won;

	if (n == MANY / 2) {
		CHECK_INT(store_grant_get(k->store, board->grant[0], &g, &e), 0);
		CHECK_INT(revoke_grant(k->store, &g, &end, "scrub", dir, &won, &leases, &e), 0);
		CHECK(won);
		return;
	}
	for (int i = 0; i < 10; i++) {
		cleanup_held struct lease *l = hub_take(k, "/srv/app"), *more = NULL;

		if (!l || !l->nitems)
			continue;
		atomic_fetch_add(&board->taken, 1);
		if (lease_renew(k, l->id, NULL, NOW + 1000, &more, &e))
			CHECK_STR(cl_err_slug(&e), "lease_over");
	}
}

void test_lease_race__a_revoked_grant_is_held_by_nobody(void)
{
	struct keyed k;

	hub_make(&k);
	board_make();
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, board->grant[0]);
	together(take_or_revoke);
	expect_order(&k);
	CHECK_INT(number("SELECT count(*) FROM lease WHERE state = 'live'"), 0);
	CHECK_INT(number("SELECT count(*) FROM lease"), board->taken);
	hub_gone(&k);
}

/* ---- everything at once ---- */

static void rotate(struct keyed *k)
{
	static const struct seal_who who = {"uid:0", NOW};
	const struct seal_rotate how = {.batch = 1};
	cleanup_rotation struct store_rotation done = {0};
	struct cl_err e;

	for (int i = 0; i < 3; i++) {
		store_rotation_release(&done);
		if (seal_ring_rotate(k->ring, &how, &who, &done, &e))
			UNIT_FAIL("%s", e.msg);
	}
}

static void regrant(struct keyed *k, int n)
{
	cleanup_free char *name = cl_asprintf("s%d", n % 4);
	struct cl_err e;

	for (int i = 0; i < 5; i++) {
		cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
		const struct store_end end = {.at = NOW + 1, .by = "uid:0"};
		char id[40];
		int64_t leases;
		bool won;

		hub_grant(k, name, "project:/srv/app", "{}", NOW + HOUR, id);
		if (store_grant_get(k->store, id, &g, &e) ||
			revoke_grant(k->store, &g, &end, "scrub", dir, &won, &leases, &e))
			UNIT_FAIL("%s", e.msg);
	}
}

static void hold(struct keyed *k)
{
	const struct lease_actor who = {"run:1", NOW + 2000};
	struct cl_err e;

	for (int i = 0; i < 8; i++) {
		cleanup_held struct lease *l = hub_take(k, "/srv/app"), *more = NULL;

		if (!l || !*l->id)
			continue;
		if (lease_renew(k, l->id, NULL, NOW + 1000 + i, &more, &e))
			CHECK_STR(cl_err_slug(&e), "lease_over");
		if (i % 2 && lease_release(k->store, &who, l->id, NULL, &e))
			UNIT_FAIL("%s", e.msg);
	}
}

static void sweep(struct keyed *k)
{
	struct lease_actor who = {"sweep", NOW + 1000};
	struct lease_sweep d;
	struct cl_err e;

	for (int i = 0; i < 10; i++)
		if (lease_sweep(k->store, &who, dir, &d, &e))
			UNIT_FAIL("%s", e.msg);
}

static void anything(struct keyed *k, int n)
{
	if (n == 0)
		rotate(k);
	else if (n == 1 || n == 2)
		sweep(k);
	else if (n < 6)
		regrant(k, n);
	else
		hold(k);
}

void test_lease_race__granting_leasing_renewing_rotating_revoking(void)
{
	struct keyed k;
	char id[40];

	hub_make(&k);
	board_make();
	for (int i = 0; i < 4; i++) {
		cleanup_free char *name = cl_asprintf("s%d", i);

		hub_mint(&k, name, "env", "planted-1");
	}
	hub_grant(&k, "s0", "project:/srv/app", "{}", NOW + HOUR, id);
	together(anything);
	expect_order(&k);
	hub_gone(&k);
}

/* ---- a lease ends once ---- */

static void end_it(struct keyed *k, int n)
{
	const struct store_lease_end end = {.state = n % 2 ? "released" : "revoked",
		.at = NOW + n,
		.by = "x",
		.action = n % 2 ? NULL : "scrub"};
	struct cl_err e;
	bool won = false;

	CHECK_INT(store_lease_end(k->store, board->grant[1], &end, &won, &e), 0);
	if (won)
		atomic_fetch_add(&board->over, 1);
}

void test_lease_race__a_lease_ends_once(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;

	hub_make(&k);
	board_make();
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, board->grant[0]);
	l = hub_take(&k, "/srv/app");
	(void)snprintf(board->grant[1], sizeof(board->grant[1]), "%s", l->id);
	together(end_it);
	CHECK_INT(board->over, 1);
	CHECK_INT(number("SELECT count(*) FROM lease_grant WHERE state = 'held'"), 0);
	hub_gone(&k);
}
