/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leases: what is taken, how it lives on, how it ends, and the bytes it travels as. */
#include "lease-fixture.h"
#include "base/doc.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/run.h"
#include "work/control.h"
#include "work/lease/revoke.h"

#include <sys/socket.h>

static const struct lease_env *variable(const struct lease *l, const char *name)
{
	for (size_t i = 0; i < l->nenv; i++)
		if (!strcmp(l->env[i].name, name))
			return &l->env[i];
	for (size_t i = 0; i < l->nitems; i++)
		for (size_t n = 0; n < l->items[i].nenv; n++)
			if (!strcmp(l->items[i].env[n].name, name))
				return &l->items[i].env[n];
	return NULL;
}

static int count_hold(const struct store_hold *h, void *arg, struct cl_err *e)
{
	(void)e;
	cl_strv_addf(arg, "%s", h->state);
	return 0;
}

/* The states of what the lease stands on, by grant: "held,taking". */
static char *holds(struct store *s, const char *id)
{
	cleanup_lease_row struct store_lease row = STORE_LEASE_INIT;
	cleanup_strv struct cl_strv states = CL_STRV_INIT;
	struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(store_lease_get(s, id, &row, &e), 0);
	CHECK_INT(store_hold_each(s, row.seq, count_hold, &states, &e), 0);
	cl_strv_sort(&states);
	for (size_t i = 0; i < states.n; i++)
		cl_buf_addf(&text, "%s%s", i ? "," : "", states.v[i]);
	return cl_buf_detach(&text);
}

void test_lease__delivers_narrowed(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;
	cleanup_free char *states = NULL;
	char env[40], pat[40];

	hub_make(&k);
	hub_mint(&k, "app-env", "env", "{\"API_KEY\":\"planted-1\",\"OTHER\":\"planted-2\"}");
	hub_mint(&k, "pat", "github_pat", "ghp_planted3");
	hub_grant(
		&k, "app-env", "project:/srv/app", "{\"env_keys\":[\"API_KEY\"]}", NOW + HOUR, env);
	hub_grant(&k, "pat", "executor:container", "{\"repos\":[\"myorg/*\"]}", NOW + HOUR, pat);
	l = hub_take(&k, "/srv/app");
	if (!l)
		return;
	CHECK_INT(l->nitems, 2);
	CHECK_INT(l->nrefused, 0);
	CHECK_INT(l->expires_at, NOW + 15 * 60 * 1000);
	CHECK_STR(variable(l, "API_KEY")->value.p, "planted-1");
	CHECK(variable(l, "API_KEY")->sensitive);
	CHECK(!variable(l, "OTHER"));
	CHECK_STR(variable(l, "CLOOP_LEASE_DIR")->value.p, l->dir);
	CHECK_STR(variable(l, "CLOOP_LEASE_ID")->value.p, l->id);
	CHECK_STR(l->dir + strlen(LEASE_DIR_PREFIX), l->id + strlen("lease_"));
	CHECK_HAS(variable(l, "GIT_CONFIG_GLOBAL")->value.p, l->dir);
	states = holds(k.store, l->id);
	CHECK_STR(states, "held,held");
	for (size_t i = 0; i < l->nitems; i++)
		CHECK_INT(l->items[i].nfiles, l->items[i].kind == SEC_ENV ? 0 : 3);
	CHECK(l->nredact >= 2);
	hub_gone(&k);
}

void test_lease__ends_with_its_first_grant(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;
	char a[40], b[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_mint(&k, "two", "env", "planted-2");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + 60000, a);
	hub_grant(&k, "two", "project:/srv/app", "{}", NOW + HOUR, b);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(l->expires_at, NOW + 60000);
	hub_gone(&k);
}

void test_lease__nothing_is_for_it(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/other");
	CHECK_INT(l->nitems, 0);
	CHECK_STR(l->id, "");
	hub_gone(&k);
}

void test_lease__a_forged_grant_is_refused_by_name(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;
	char a[40], b[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_mint(&k, "two", "env", "planted-2");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	hub_grant(&k, "two", "project:/srv/theirs", "{}", NOW + HOUR, b);
	outside("UPDATE \"grant\" SET subject = 'project:/srv/app'");
	l = hub_take(&k, "/srv/app");
	CHECK_INT(l->nitems, 1);
	CHECK_STR(l->items[0].name, "one");
	CHECK_INT(l->nrefused, 1);
	CHECK_STR(l->refused[0].name, "two");
	CHECK_STR(l->refused[0].code, "forged_grant");
	hub_gone(&k);
}

void test_lease__renewal_takes_back_what_ended(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL, *more = NULL, *none = NULL, *late = NULL;
	cleanup_free char *states = NULL;
	struct cl_err e;
	char a[40], b[40], c[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_mint(&k, "two", "env", "planted-2");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	hub_grant(&k, "two", "project:/srv/app", "{}", NOW + HOUR, b);
	l = hub_take(&k, "/srv/app");
	hub_revoke(&k, a, NULL, NULL);
	/* One that is new meanwhile is for the next lease. */
	hub_mint(&k, "three", "env", "planted-3");
	hub_grant(&k, "three", "project:/srv/app", "{}", NOW + HOUR, c);
	CHECK_INT(lease_renew(&k, l->id, NULL, NOW + 600000, &more, &e), 0);
	CHECK_INT(more->nitems, 1);
	CHECK_STR(more->items[0].name, "two");
	CHECK_STR(more->id, l->id);
	CHECK_INT(more->expires_at, NOW + 600000 + 15 * 60 * 1000);
	CHECK_STR(more->refused[0].name, "one");
	CHECK_STR(more->refused[0].code, "revoked");
	states = holds(k.store, l->id);
	CHECK_STR(states, "held,taking");
	hub_revoke(&k, b, NULL, NULL);
	CHECK_INT(lease_renew(&k, l->id, NULL, NOW + 700000, &none, &e), 0);
	CHECK_INT(none->nitems, 0);
	CHECK_INT(lease_renew(&k, l->id, NULL, NOW + 800000, &late, &e), -1);
	CHECK_STR(cl_err_slug(&e), "lease_over");
	hub_gone(&k);
}

void test_lease__lapsed_stays_lapsed(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL, *more = NULL;
	struct cl_err e;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(lease_renew(&k, l->id, NULL, l->expires_at, &more, &e), -1);
	CHECK_STR(cl_err_slug(&e), "lease_over");
	CHECK_HAS(e.msg, "lapsed");
	hub_gone(&k);
}

void test_lease__stands_on_a_successor(void)
{
	struct keyed k;
	int64_t n = 0;
	cleanup_held struct lease *l = NULL, *more = NULL;
	cleanup_free char *states = NULL;
	struct cl_err e;
	char a[40], b[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"planted-1\",\"B\":\"planted-2\"}");
	hub_grant(&k, "one", "project:/srv/app", "{\"env_keys\":[\"A\"]}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/app");
	hub_grant(&k, "one", "project:/srv/app", "{\"env_keys\":[\"A\",\"B\"]}", NOW + HOUR, b);
	hub_revoke(&k, a, "superseded", b);
	CHECK_INT(store_grant_succeed(k.store, a, b, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(lease_renew(&k, l->id, NULL, NOW + 1000, &more, &e), 0);
	CHECK_INT(more->nitems, 1);
	CHECK_STR(more->items[0].grant_id, b);
	states = holds(k.store, l->id);
	CHECK_STR(states, "held");
	hub_gone(&k);
}

void test_lease__labels_are_asked_again(void)
{
	struct keyed k;
	cleanup_labels struct sec_labels eu = SEC_LABELS_INIT, us = SEC_LABELS_INIT;
	struct lease_request r = {
		.project = "/srv/app", .executor = "edge", .labels = &eu, .now = NOW};
	cleanup_held struct lease *l = NULL, *more = NULL;
	struct cl_err e;
	char a[40];

	hub_make(&k);
	CHECK_INT(sec_label_set(&eu, "region", "eu", &e), 0);
	CHECK_INT(sec_label_set(&us, "region", "us", &e), 0);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "label:region=eu", "{}", NOW + HOUR, a);
	CHECK_INT(lease_take(&k, &r, &l, &e), 0);
	CHECK_INT(l->nitems, 1);
	CHECK_INT(lease_renew(&k, l->id, &us, NOW + 1000, &more, &e), 0);
	CHECK_INT(more->nitems, 0);
	CHECK_STR(more->refused[0].code, "subject");
	hub_gone(&k);
}

/* ---- the bytes ---- */

static struct seal_buf packed(void)
{
	struct keyed k;
	cleanup_held struct lease *l = NULL;
	struct seal_buf copy = SEAL_BUF_INIT;
	struct cl_err e;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "pat", "github_pat", "ghp_planted3");
	hub_grant(&k, "pat", "project:/srv/app", "{\"repos\":[\"myorg/*\"]}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(seal_buf_copy(&copy, l->mem.p, l->mem.len, &e), 0);
	hub_gone(&k);
	return copy;
}

void test_lease_wire__every_cut_is_refused(void)
{
	cleanup_seal struct seal_buf whole = packed();
	struct cl_err e;

	for (size_t n = 0; n <= whole.len; n++) {
		struct seal_buf part = SEAL_BUF_INIT;
		struct lease *l = NULL;

		CHECK_INT(seal_buf_copy(&part, whole.p, n, &e), 0);
		CHECK_INT(lease_parse(&part, &l, &e), n == whole.len ? 0 : -1);
		CHECK(!part.p);
		if (n < whole.len)
			CHECK_STR(cl_err_slug(&e), "bad_lease");
		lease_free(l);
	}
}

void test_lease_wire__a_changed_byte_never_harms(void)
{
	cleanup_seal struct seal_buf whole = packed();
	struct cl_err e;

	for (size_t n = 0; n < whole.len; n++)
		for (int bit = 0; bit < 8; bit++) {
			struct seal_buf part = SEAL_BUF_INIT;
			struct lease *l = NULL;

			CHECK_INT(seal_buf_copy(&part, whole.p, whole.len, &e), 0);
			part.p[n] ^= (unsigned char)(1 << bit);
			if (!lease_parse(&part, &l, &e))
				for (size_t i = 0; i < l->nitems; i++)
					for (size_t f = 0; f < l->items[i].nfiles; f++)
						CHECK(!strchr(l->items[i].files[f].name, '/'));
			lease_free(l);
		}
}

/* ---- who holds it ---- */

void test_lease__what_stays_until_the_workload_ends_is_answered_for_twice(void)
{
	struct keyed k;
	const struct lease_actor who = {"run:1", NOW + 5000};
	const struct store_lease_end end = {
		.state = "revoked", .at = NOW + 4000, .by = "cli:root", .action = "scrub"};
	const struct lease_answer heard = {.stays = true}, done = {.terminated = true};
	cleanup_held struct lease *l = NULL;
	cleanup_take_backs struct lease_take_backs asked = LEASE_TAKE_BACKS_INIT,
						   heard_of = LEASE_TAKE_BACKS_INIT,
						   again = LEASE_TAKE_BACKS_INIT;
	cleanup_free char *while_it_lives = NULL, *at_end = NULL;
	struct cl_err e;
	int64_t n = 0;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(store_hold_kill(k.store, a, NULL, NOW, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(store_grant_take(k.store, a, &end, &n, &e), 0);
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &asked, &e), 0);
	CHECK(!asked.v[0].answered && !asked.v[0].kill);
	CHECK_INT(lease_answer(k.store, &who, l->id, a, &heard, &e), 0);
	while_it_lives = holds(k.store, l->id);
	CHECK_STR(while_it_lives, "taking");
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &heard_of, &e), 0);
	CHECK(heard_of.n == 1 && heard_of.v[0].answered && !heard_of.v[0].kill);
	/* By the lease as well as by the grant, and once. */
	CHECK_INT(store_hold_kill(k.store, NULL, l->id, NOW + 6000, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_hold_kill(k.store, a, NULL, NOW + 6000, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &again, &e), 0);
	CHECK(again.n == 1 && !again.v[0].answered && again.v[0].kill);
	CHECK_INT(lease_answer(k.store, &who, l->id, a, &done, &e), 0);
	at_end = holds(k.store, l->id);
	CHECK_STR(at_end, "taken");
	hub_gone(&k);
}

void test_lease__a_holder_gives_up_and_says_so(void)
{
	struct keyed k;
	const struct lease_actor who = {"run:1", NOW + 5000};
	const struct store_lease_end end = {
		.state = "revoked", .at = NOW + 4000, .by = "cli:root", .action = "kill"};
	const struct lease_answer done = {.files_removed = 3};
	cleanup_held struct lease *l = NULL;
	cleanup_take_backs struct lease_take_backs before = LEASE_TAKE_BACKS_INIT,
						   asked = LEASE_TAKE_BACKS_INIT,
						   after = LEASE_TAKE_BACKS_INIT;
	cleanup_free char *states = NULL, *at_end = NULL;
	struct cl_err e;
	int64_t n = 0;
	char a[40], b[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_mint(&k, "two", "env", "planted-2");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	hub_grant(&k, "two", "project:/srv/app", "{}", NOW + HOUR, b);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &before, &e), 0);
	CHECK_INT(before.n, 0);
	CHECK(!before.over);
	CHECK_INT(store_grant_take(k.store, a, &end, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &asked, &e), 0);
	CHECK_INT(asked.n, 1);
	CHECK_STR(asked.v[0].secret_name, "one");
	CHECK(asked.v[0].kill);
	CHECK(!asked.over);
	CHECK_INT(lease_answer(k.store, &who, l->id, a, &done, &e), 0);
	CHECK_INT(lease_answer(k.store, &who, l->id, a, &done, &e), 0);
	states = holds(k.store, l->id);
	CHECK_STR(states, "held,taken");
	CHECK_INT(store_grant_take(k.store, b, &end, &n, &e), 0);
	CHECK_INT(lease_take_backs(k.store, l->id, NOW, &after, &e), 0);
	CHECK(after.over);
	CHECK_INT(lease_release(k.store, &who, l->id, "the workload has ended", &e), 0);
	CHECK_INT(lease_release(k.store, &who, l->id, "the workload has ended", &e), 0);
	at_end = holds(k.store, l->id);
	CHECK_STR(at_end, "taken,taken");
	hub_gone(&k);
}

void test_lease__a_released_one_is_never_renewed(void)
{
	struct keyed k;
	const struct lease_actor who = {"run:1", NOW + 5000};
	cleanup_held struct lease *l = NULL, *more = NULL;
	cleanup_free char *states = NULL;
	struct cl_err e;
	char a[40];

	hub_make(&k);
	hub_mint(&k, "one", "env", "planted-1");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	l = hub_take(&k, "/srv/app");
	CHECK_INT(lease_release(k.store, &who, l->id, NULL, &e), 0);
	CHECK_INT(lease_renew(&k, l->id, NULL, NOW + 6000, &more, &e), -1);
	CHECK_STR(cl_err_slug(&e), "lease_over");
	CHECK_HAS(e.msg, "released");
	states = holds(k.store, l->id);
	CHECK_STR(states, "taken");
	hub_gone(&k);
}

/* Whoever revokes may have another run directory than the holder was started under. */
void test_lease__holders_are_told_where_they_were_started(void)
{
	static const char sandbox[] = "c-0123456789ab", *const at[] = {
								"x", "x/w", "x/w/c-0123456789ab"};
	char grant[40], made[3][120], sock[130];
	const struct store_end end = {.at = NOW + 1, .by = "uid:0"};
	struct lease_request ask = {
		.sandbox = sandbox, .project = "/srv/app", .executor = "container", .now = NOW};
	struct store_handle h = {.id = (char *)(uintptr_t)sandbox,
		.executor_id = (char *)(uintptr_t) "container",
		.driver = (char *)(uintptr_t) "container",
		.project = (char *)(uintptr_t) "/srv/app",
		.runtime_dir = made[2],
		.started_at = NOW,
		.disk_baseline = -1};
	struct keyed k;
	struct cl_err e;
	size_t nfds;
	bool won;
	int64_t leases;
	json_t *msg = NULL;
	int fds[CONTROL_FDS];

	hub_make(&k);
	for (size_t i = 0; i < CL_ARRAY_LEN(at); i++) {
		(void)snprintf(made[i], sizeof(made[i]), "%s/%s", dir, at[i]);
		CHECK_INT(mkdir(made[i], 0700), 0);
	}
	(void)snprintf(sock, sizeof(sock), "%s/sock", made[2]);
	hub_mint(&k, "one", "env", "{\"API_KEY\":\"planted-1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, grant);
	{
		cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
		cleanup_fd int listens = -1, holder = -1;
		cleanup_held struct lease *l = NULL;

		CHECK_INT(store_handle_insert(k.store, &h, &e), 0);
		CHECK_INT(control_listen(sock, &listens, &e), 0);
		CHECK_INT(lease_take(&k, &ask, &l, &e), 0);
		CHECK_INT(store_grant_get(k.store, grant, &g, &e), 0);
		CHECK_INT(revoke_grant(k.store, &g, &end, "scrub", dir, &won, &leases, &e), 0);
		CHECK_INT(leases, 1);
		holder = accept4(listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		CHECK(holder >= 0);
		CHECK_INT(control_recv(holder, &msg, fds, &nfds, &e), 0);
		CHECK_STR(json_string_value(json_object_get(msg, "op")), "lease");
		json_decref(msg);
	}
	(void)unlink(sock);
	for (size_t i = CL_ARRAY_LEN(at); i-- > 0;)
		CHECK_INT(rmdir(made[i]), 0);
	hub_gone(&k);
}

static int canonical(const struct store_audit *a, void *arg, struct cl_err *e)
{
	json_t *said = json_loads(a->detail, JSON_REJECT_DUPLICATES, NULL);
	cleanup_free char *again = said ? cl_json_text(said) : NULL;

	(void)e;
	CHECK_STR(again ? again : "(no JSON)", a->detail);
	cl_buf_addf(arg, "%s %s %s;", json_string_value(json_object_get(said, "decision")),
		cl_starts(a->entity_id, "sec_") ? "secret" : a->entity_id,
		json_object_get(said, "reason") ? "why" : "-");
	json_decref(said);
	return 0;
}

/* Whatever stands in the texts, in the way in which every other row is written. */
void test_lease__its_audit_rows_are_canonical(void)
{
	const struct store_audit_filter f = {.action = "secret.lease"};
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	struct keyed k;
	char a[40], b[40];
	struct cl_err e;

	hub_make(&k);
	hub_mint(&k, "one", "env", "{\"A\":\"planted-1\"}");
	hub_grant(&k, "one", "project:/srv/app", "{}", NOW + HOUR, a);
	hub_grant(
		&k, "one", "project:/srv/\"q\"\n\xc3\xa9", "{\"env_keys\":[\"B\"]}", NOW + HOUR, b);
	lease_free(hub_take(&k, "/srv/app"));
	lease_free(hub_take(&k, "/srv/\"q\"\n\xc3\xa9"));
	lease_free(hub_take(&k, "/srv/none"));
	CHECK_INT(store_audit_each(k.store, &f, canonical, &got, &e), 0);
	CHECK_STR(got.p, "allow  -;deny secret why;allow secret -;");
	hub_gone(&k);
}

/* ---- ids ---- */

void test_lease_id__stands_where_its_time_is(void)
{
	static const int64_t times[] = {-5, 0, 1, NOW, NOW + 1, INT64_MAX};
	static const char *const none[] = {"", "lease_", "lease_0123456789abcdef0123456",
		"lease_0123456789abcdef012345678", "lease_0123456789ABCDEF01234567",
		"grant_0123456789abcdef01234567", "0123456789abcdef01234567",
		"lease_0123456789abcdef0123456g"};
	int64_t before = 0;
	char id[STORE_LEASE_ID];
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(times); i++) {
		CHECK_INT(store_lease_new_id(times[i], id, &e), 0);
		CHECK_INT(strlen(id), STORE_LEASE_ID - 1);
		/* Nothing is earlier than the first millisecond. */
		CHECK(store_lease_seq(id) > (i == 2 || i == 1 ? 0 : before));
		before = store_lease_seq(id);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(none); i++)
		CHECK_INT(store_lease_seq(none[i]), 0);
	CHECK_INT(store_lease_seq("lease_01234567ffffffffffffffff"), INT64_MAX);
	CHECK_INT(store_lease_seq("lease_012345670000000000000007"), 7);
}

/* Two of one millisecond that drew alike: the second one is not written, and draws again. */
void test_lease_id__a_place_is_taken_once(void)
{
	char same[] = "lease_aaaaaaaa000000000000beef", other[] = "lease_bbbbbbbb000000000000beef";
	char none[] = "", project[] = "/srv/app";
	struct store_lease l = {.id = same,
		.project = project,
		.executor_id = none,
		.labels = none,
		.actor = none,
		.created_at = NOW,
		.expires_at = NOW + HOUR};
	cleanup_lease_row struct store_lease row = STORE_LEASE_INIT;
	struct keyed k;
	struct cl_err e;
	bool won;

	hub_make(&k);
	CHECK_INT(store_lease_insert(k.store, &l, NULL, 0, &won, &e), 0);
	CHECK(won && l.seq == 0xbeef);
	l.id = other;
	CHECK_INT(store_lease_insert(k.store, &l, NULL, 0, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_lease_get(k.store, same, &row, &e), 0);
	CHECK_STR(row.id, same);
	store_lease_release(&row);
	CHECK_INT(store_lease_get(k.store, "aaaaaaaa", &row, &e), 0);
	CHECK_INT(row.seq, 0xbeef);
	CHECK_INT(store_lease_get(k.store, other, &row, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	l.id = none;
	CHECK_INT(store_lease_insert(k.store, &l, NULL, 0, &won, &e), -1);
	hub_gone(&k);
}
