/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key ring: its registry, what it refuses to make anew, rotation among other writers. */
#include "store-fixture.h"
#include "base/text.h"
#include "seal/ring.h"
#include "store/secret.h"
#include "sys/id.h"

static const char one[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
		  two[] = "BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
static const struct seal_who who = {"uid:0", 1000};

static struct seal_root root_of(const char *text)
{
	struct seal_root r = SEAL_ROOT_INIT;
	struct cl_err e;

	CHECK_INT(seal_root_parse(text, strlen(text), "'the key file'", &r, &e), 0);
	return r;
}

static struct seal_ring *ring_with(struct store *s, const struct seal_root *root)
{
	struct seal_ring *r = NULL;
	struct cl_err e;

	if (seal_ring_open(s, root, &who, &r, &e))
		UNIT_FAIL("%s", e.msg);
	return r;
}

static int count_key(const struct store_key *k, void *arg, struct cl_err *e)
{
	(void)k;
	(void)e;
	++*(int *)arg;
	return 0;
}

static int keys(struct store *s)
{
	struct cl_err e;
	int n = 0;

	CHECK_INT(store_key_each(s, count_key, &n, &e), 0);
	return n;
}

/* Seals `text` as the secret `name`, however often the primary changes meanwhile. */
static int put(struct store *s, struct seal_ring *r, const char *name, const char *text)
{
	enum store_put how = STORE_MOVED;
	struct cl_err e;

	while (how == STORE_MOVED) {
		cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;
		cleanup_sealed_row struct store_sealed sealed = {0};
		char id[32];

		if (sys_new_id("sec_", 24, id, sizeof(id), &e) ||
			seal_ring_seal(r, STORE_SECRETS, id, text, strlen(text), &sealed, &e))
			return -1;
		row.id = cl_steal(&sealed.id);
		row.kind = cl_strdup("env");
		row.name = cl_strdup(name);
		row.key_id = cl_steal(&sealed.key_id);
		row.wrapped = cl_steal(&sealed.wrapped);
		row.sealed = cl_steal(&sealed.sealed);
		row.metadata = cl_strdup("{}");
		row.owner = cl_strdup("");
		row.created_at = 5;
		row.created_by = cl_strdup("uid:0");
		if (store_secret_insert(s, &row, &how, &e))
			return -1;
	}
	return how == STORE_PUT ? 0 : 1;
}

/* What the secret holds, owned; or NULL with *e filled. */
static char *get(struct store *s, struct seal_ring *r, const char *name, struct cl_err *e)
{
	cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;
	cleanup_seal struct seal_buf text = SEAL_BUF_INIT;
	struct store_sealed sealed;
	bool found;

	if (store_secret_find(s, name, &row, &found, e) || !found)
		return NULL;
	sealed = (struct store_sealed){row.id, row.key_id, row.wrapped, row.sealed};
	if (seal_ring_unseal(r, STORE_SECRETS, &sealed, "the secret", &text, e))
		return NULL;
	return cl_strdup((const char *)text.p);
}

static void holds(struct store *s, struct seal_ring *r, const char *name, const char *want)
{
	struct cl_err e;
	cleanup_free char *got = get(s, r, name, &e);

	if (!got)
		UNIT_FAIL("%s: %s", name, e.msg);
	else
		CHECK_STR(got, want);
}

static int64_t others(struct store *s, const char *target)
{
	int64_t all, other;
	struct cl_err e;

	CHECK_INT(store_sealed_count(s, STORE_SECRETS, target, &all, &other, &e), 0);
	return other;
}

static char *primary(struct store *s)
{
	char *id = NULL;
	struct cl_err e;

	CHECK_INT(store_key_primary(s, &id, &e), 0);
	return id;
}

void test_ring__first_key_is_made_once(void)
{
	struct seal_root root = root_of(one);

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root), *again = NULL;

		CHECK_INT(keys(s), 1);
		CHECK_INT(put(s, r, "app", "the value"), 0);
		CHECK_INT(put(s, r, "app", "another"), 1);
		again = ring_with(s, &root);
		CHECK_INT(keys(s), 1);
		holds(s, again, "app", "the value");
	}
	expect_sound();
	gone();
	seal_root_release(&root);
}

static void refused(struct store *s, const struct seal_root *root, const char *slug)
{
	cleanup_ring struct seal_ring *r = NULL;
	int before = keys(s);
	struct cl_err e;

	CHECK_INT(seal_ring_open(s, root, &who, &r, &e), -1);
	CHECK_STR(cl_err_slug(&e), slug);
	CHECK(e.fix[0]);
	CHECK_INT(keys(s), before);
}

/* A root that opens nothing never starts a registry of its own. */
void test_ring__wrong_root_forks_nothing(void)
{
	struct seal_root root = root_of(one), raw = root_of(two), pass = root_of("a passphrase");

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root), *none = NULL;
		cleanup_free char *id = primary(s);
		struct cl_err e;

		refused(s, &raw, "key_wrong");
		refused(s, &pass, "key_wrong");
		CHECK_INT(seal_ring_open(s, &raw, &who, &none, &e), -1);
		CHECK_HAS(e.msg, id);
		CHECK_HAS(e.msg, "1 key ");
		CHECK_HAS(e.msg, "'the key file'");
		CHECK_HAS(e.fix, "CLOOP_SECRET_KEY");
		/* Whatever state the rows are put into from outside. */
		outside("UPDATE sealing_key SET state = 'active'");
		refused(s, &raw, "key_wrong");
		outside("UPDATE sealing_key SET state = 'primary'");
		CHECK_INT(put(s, r, "app", "x"), 0);
		holds(s, r, "app", "x");
	}
	gone();
	seal_root_release(&root);
	seal_root_release(&raw);
	seal_root_release(&pass);
}

void test_ring__unproven_key_is_not_trusted(void)
{
	static const char *const harm[] = {"UPDATE sealing_key SET proof = ''",
		"UPDATE sealing_key SET proof = 'zz'", "UPDATE sealing_key SET salt = 'abc'",
		"UPDATE sealing_key SET method = 'scrypt'",
		"UPDATE sealing_key SET proof = substr(proof, 1, 90) || '00'",
		"UPDATE sealing_key SET salt = replace(salt, substr(salt, 1, 1), 'g')"};
	struct seal_root root = root_of(one);

	for (size_t i = 0; i < CL_ARRAY_LEN(harm); i++) {
		fresh();
		{
			cleanup_store struct store *s = open_as(STORE_CREATE);
			seal_ring_free(ring_with(s, &root));
			outside(harm[i]);
			refused(s, &root, "key_wrong");
		}
		gone();
	}
	seal_root_release(&root);
}

void test_ring__lost_primary(void)
{
	struct seal_root root = root_of(one);

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *again = NULL;
		cleanup_free char *id = NULL, *now = NULL;

		seal_ring_free(ring_with(s, &root));
		id = primary(s);
		outside("UPDATE sealing_key SET state = 'active'");
		again = ring_with(s, &root);
		now = primary(s);
		CHECK_STR(now, id);
		CHECK_INT(keys(s), 1);
		/* Rows without any key: there was one, so none is made. */
		CHECK_INT(put(s, again, "app", "x"), 0);
		outside("PRAGMA foreign_keys = OFF; DELETE FROM sealing_key");
		refused(s, &root, "key_unknown");
	}
	gone();
	seal_root_release(&root);
}

/* A row's envelope is its own: nothing of another's fits, nor anything altered. */
void test_ring__rows_cannot_be_moved(void)
{
	static const char *const harm[] = {
		"UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'b')",
		"UPDATE secret SET wrapped = (SELECT wrapped FROM secret WHERE name = 'b')",
		"UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'b'), wrapped "
		"= "
		"(SELECT wrapped FROM secret WHERE name = 'b')",
		"UPDATE secret SET sealed = ''", "UPDATE secret SET sealed = '!!'",
		"UPDATE secret SET wrapped = 'xy'", "UPDATE secret SET wrapped = ''",
		"UPDATE secret SET id = 'sec_000000000000000000000000' WHERE name = 'a'"};
	struct seal_root root = root_of(one);

	for (size_t i = 0; i < CL_ARRAY_LEN(harm); i++) {
		fresh();
		{
			cleanup_store struct store *s = open_as(STORE_CREATE);
			cleanup_ring struct seal_ring *r = ring_with(s, &root);
			cleanup_free char *got = NULL;
			struct cl_err e;

			CHECK_INT(put(s, r, "a", "first"), 0);
			CHECK_INT(put(s, r, "b", "second"), 0);
			outside(harm[i]);
			got = get(s, r, "a", &e);
			CHECK(!got);
			CHECK_STR(cl_err_slug(&e), "sealed_altered");
			CHECK(!strstr(e.msg, "second"));
		}
		gone();
	}
	seal_root_release(&root);
}

/* ---- rotation ---- */

static void rotated(struct store *s, struct seal_ring *r, const struct seal_rotate *how,
	const char *state, int64_t rewrapped)
{
	cleanup_rotation struct store_rotation rot = {0};
	struct cl_err e;

	(void)s;
	if (seal_ring_rotate(r, how, &who, &rot, &e)) {
		UNIT_FAIL("%s", e.msg);
		return;
	}
	CHECK_STR(rot.state, state);
	if (rewrapped >= 0)
		CHECK_INT(rot.rewrapped, rewrapped);
}

static char *payloads(void)
{
	struct cl_buf b = CL_BUF_INIT;
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;

	CHECK_INT(sqlite3_open(path, &db), 0);
	CHECK_INT(
		sqlite3_prepare_v2(db, "SELECT id, sealed FROM secret ORDER BY id", -1, &st, NULL),
		0);
	while (sqlite3_step(st) == SQLITE_ROW)
		cl_buf_addf(&b, "%s %s\n", (const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return cl_buf_detach(&b);
}

void test_ring__rotation_only_rewraps(void)
{
	struct seal_root root = root_of(one);
	const struct seal_rotate how = {.batch = 7}, resume = {.batch = 7, .resume = true};

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_free char *old = primary(s), *now = NULL, *before = NULL, *after = NULL;
		cleanup_sealed_row struct store_sealed kept = {0};
		struct cl_err e;
		bool won;

		for (int i = 0; i < 50; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "s%d", i);
			CHECK_INT(put(s, r, name, name), 0);
		}
		CHECK_INT(seal_ring_seal(r, STORE_SECRETS, "sec_x", "late", 4, &kept, &e), 0);
		before = payloads();
		/* Still in use: it is not retired, whatever state it is in. */
		CHECK_INT(store_key_retire(s, old, 9, &won, &e), 0);
		CHECK(!won);
		rotated(s, r, &how, "completed", 50);
		now = primary(s);
		after = payloads();
		CHECK(strcmp(old, now) != 0);
		CHECK_STR(after, before);
		CHECK_INT(others(s, now), 0);
		for (int i = 0; i < 50; i += 7) {
			char name[16];

			(void)snprintf(name, sizeof(name), "s%d", i);
			holds(s, r, name, name);
		}
		rotated(s, r, &resume, "completed", 0);
		CHECK_INT(keys(s), 2);
		/* What was sealed before, and not stored, still opens until the key is retired. */
		{
			cleanup_seal struct seal_buf text = SEAL_BUF_INIT;

			CHECK_INT(seal_ring_unseal(r, STORE_SECRETS, &kept, "it", &text, &e), 0);
		}
		CHECK_INT(store_key_retire(s, now, 9, &won, &e), 0);
		CHECK(!won);
		CHECK_INT(store_key_retire(s, old, 9000, &won, &e), 0);
		CHECK(won);
		{
			cleanup_seal struct seal_buf text = SEAL_BUF_INIT;

			CHECK_INT(seal_ring_unseal(r, STORE_SECRETS, &kept, "it", &text, &e), -1);
			CHECK_STR(cl_err_slug(&e), "key_retired");
			CHECK_HAS(e.msg, "1970-01-01T00:00:09Z");
			CHECK_HAS(e.msg, old);
		}
	}
	expect_sound();
	gone();
	seal_root_release(&root);
}

static bool stop_after(void *arg)
{
	return --*(int *)arg < 0;
}

void test_ring__rotation_stops_and_goes_on(void)
{
	struct seal_root root = root_of(one);
	int turns = 4;
	const struct seal_rotate how = {.batch = 5, .stop = stop_after, .arg = &turns},
				 resume = {.batch = 5, .resume = true};

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_free char *now = NULL;

		for (int i = 0; i < 40; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "s%d", i);
			CHECK_INT(put(s, r, name, name), 0);
		}
		rotated(s, r, &how, "interrupted", 20);
		now = primary(s);
		CHECK_INT(others(s, now), 20);
		holds(s, r, "s0", "s0");
		holds(s, r, "s39", "s39");
		rotated(s, r, &resume, "completed", 20);
		CHECK_INT(others(s, now), 0);
		CHECK_INT(keys(s), 2);
	}
	gone();
	seal_root_release(&root);
}

void test_ring__a_row_that_does_not_open_stops_no_other(void)
{
	struct seal_root root = root_of(one);
	const struct seal_rotate how = {.batch = 3};

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_rotation struct store_rotation rot = {0};
		struct cl_err e;

		for (int i = 0; i < 10; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "s%d", i);
			CHECK_INT(put(s, r, name, name), 0);
		}
		outside("UPDATE secret SET wrapped = '00' WHERE name IN ('s3', 's8')");
		CHECK_INT(seal_ring_rotate(r, &how, &who, &rot, &e), 0);
		CHECK_STR(rot.state, "failed");
		CHECK_INT(rot.rewrapped, 8);
		CHECK_INT(rot.failed, 2);
		CHECK_HAS(rot.error, "does not open");
		holds(s, r, "s9", "s9");
	}
	gone();
	seal_root_release(&root);
}

/* A child that writes, or rotates, on its own connection. */
static pid_t worker(const struct seal_root *root, int id, bool rotates)
{
	pid_t pid = fork();

	if (!pid) {
		struct seal_root mine = root_of(one);
		struct store *s = NULL;
		struct seal_ring *r = NULL;
		struct cl_err e;
		int bad = 0;

		(void)root;
		if (store_open(path, STORE_RW, &s, &e) || seal_ring_open(s, &mine, &who, &r, &e))
			_exit(2);
		for (int i = 0; i < (rotates ? 4 : 40); i++) {
			const struct seal_rotate how = {.batch = 3};
			struct store_rotation rot = {0};
			char name[24];

			(void)snprintf(name, sizeof(name), "w%d-%d", id, i);
			if (!rotates)
				bad += put(s, r, name, name) != 0;
			/* Two that start at once: one is told to try again. */
			else if (seal_ring_rotate(r, &how, &who, &rot, &e) && e.code != CL_EBUSY)
				bad++;
		}
		_exit(bad != 0);
	}
	return pid;
}

void test_ring__rotations_and_writers_at_once(void)
{
	struct seal_root root = root_of(one);
	const struct seal_rotate resume = {.batch = 128, .resume = true};
	pid_t pid[4];

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);

		seal_ring_free(ring_with(s, &root));
	}
	for (int i = 0; i < 4; i++)
		pid[i] = worker(&root, i, i >= 2);
	for (int i = 0; i < 4; i++) {
		int status = -1;

		CHECK_INT(waitpid(pid[i], &status, 0), pid[i]);
		CHECK_INT(status, 0);
	}
	{
		cleanup_store struct store *s = open_as(STORE_RW);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_free char *now = primary(s);

		rotated(s, r, &resume, "completed", -1);
		CHECK_INT(others(s, now), 0);
		for (int w = 0; w < 2; w++)
			for (int i = 0; i < 40; i++) {
				char name[24];

				(void)snprintf(name, sizeof(name), "w%d-%d", w, i);
				holds(s, r, name, name);
			}
	}
	expect_sound();
	gone();
	seal_root_release(&root);
}

/* ---- the key that signs ---- */

void test_ring__signer(void)
{
	struct seal_root root = root_of(one);
	const struct seal_rotate how = {.batch = 9};

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_signer struct seal_signer a = SEAL_SIGNER_INIT, b = SEAL_SIGNER_INIT,
						  c = SEAL_SIGNER_INIT;
		unsigned char sig[SEAL_SIG], other[SEAL_KEY] = {1};
		struct cl_err e;
		bool made;

		CHECK_INT(seal_ring_signer(r, NULL, &who, &a, &made, &e), 0);
		CHECK(made);
		rotated(s, r, &how, "completed", 1);
		CHECK_INT(seal_ring_signer(r, a.public_key, &who, &b, &made, &e), 0);
		CHECK(!made);
		seal_sign(b.private_key.p, "x", 1, sig);
		CHECK(seal_verify(a.public_key, "x", 1, sig));
		CHECK_INT(seal_ring_signer(r, other, &who, &c, &made, &e), -1);
		CHECK_STR(cl_err_slug(&e), "signing_altered");
		seal_signer_release(&c);
		outside("UPDATE signing_key SET public = replace(public, '0', '1') || ''");
		if (seal_ring_signer(r, NULL, &who, &c, &made, &e))
			CHECK_STR(cl_err_slug(&e), "signing_altered");
		seal_signer_release(&c);
		outside("DELETE FROM signing_key");
		CHECK_INT(seal_ring_signer(r, a.public_key, &who, &c, &made, &e), -1);
		CHECK_HAS(e.msg, "gone from state.db");
		CHECK(!made);
	}
	gone();
	seal_root_release(&root);
}

/* ---- what is deleted ---- */

void test_ring__tombstones(void)
{
	struct seal_root root = root_of(one);

	fresh();
	{
		cleanup_store struct store *s = open_as(STORE_CREATE);
		cleanup_ring struct seal_ring *r = ring_with(s, &root);
		cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;
		cleanup_tombstone struct store_tombstone found = {0};
		struct store_tombstone t = {0};
		struct cl_err e;
		bool won, there;

		CHECK_INT(put(s, r, "app", "x"), 0);
		CHECK_INT(store_secret_find(s, "app", &row, &there, &e), 0);
		CHECK(there);
		t = (struct store_tombstone){.secret_id = row.id,
			.name = row.name,
			.kind = row.kind,
			.owner = row.owner,
			.deleted_at = 77,
			.deleted_by = row.created_by,
			.cause = (char *)(uintptr_t) "deleted",
			.reason = (char *)(uintptr_t) "old"};
		CHECK_INT(store_secret_delete(s, &t, &won, &e), 0);
		CHECK(won);
		CHECK_INT(store_secret_delete(s, &t, &won, &e), 0);
		CHECK(!won);
		store_secret_release(&row);
		CHECK_INT(store_secret_find(s, "app", &row, &there, &e), 0);
		CHECK(!there);
		CHECK_INT(store_tombstone_find(s, "app", &found, &there, &e), 0);
		CHECK(there);
		CHECK_STR(found.reason, "old");
		/* The name is free again. */
		CHECK_INT(put(s, r, "app", "y"), 0);
		holds(s, r, "app", "y");
	}
	gone();
	seal_root_release(&root);
}
