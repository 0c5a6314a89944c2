/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence as it is stored, and when it no longer holds. */
#include "race.h"
#include "store-fixture.h"
#include "store/isolation.h"
#include "sys/clock.h"
#include "sys/engine/runtime_id.h"
#include "work/isolation.h"
#include "work/paths.h"

static struct store_isolation row(const char *executor, const char *verdict, int64_t at)
{
	return (struct store_isolation){.executor_id = cl_strdup(executor),
		.runtime = cl_strdup("kata"),
		.verdict = cl_strdup(verdict),
		.standing = cl_strdup("contradicted"),
		.reason = cl_strdup("its boot ID"),
		.evidence = cl_strdup("{\"evidence\":1}"),
		.engine_release = cl_strdup("6.1"),
		.runtime_path = cl_strdup("/usr/sbin/runc"),
		.identity = cl_strdup("x"),
		.taken_at = at,
		.attempted_at = at};
}

static int add_id(const struct store_isolation *r, void *arg, struct cl_err *e)
{
	(void)e;
	cl_buf_addf(arg, "%s ", r->executor_id);
	return 0;
}

void test_rows__written_over_and_listed(void)
{
	static const char *const ids[] = {"b", "a", "b"};
	cleanup_isolation struct store_isolation got = STORE_ISOLATION_INIT;
	cleanup_store struct store *s = NULL;
	cleanup_buf struct cl_buf names = CL_BUF_INIT;
	bool found = true, won;
	struct cl_err e;
	json_t *j;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_isolation_get(s, "a", "kata", &got, &found, &e), 0);
	CHECK(!found);
	for (int i = 0; i < 3; i++) {
		cleanup_isolation struct store_isolation r = row(ids[i], "host-kernel", 1000 + i);

		CHECK_INT(store_isolation_put(s, &r, 1 << 20, &won, &e), 0);
		CHECK(won);
	}
	CHECK_INT(store_isolation_each(s, add_id, &names, &e), 0);
	CHECK_STR(names.p, "a b ");
	CHECK_INT(store_isolation_get(s, "b", "kata", &got, &found, &e), 0);
	CHECK(found && got.taken_at == 1002 && !got.failure && !got.reference);
	j = store_isolation_json(&got);
	CHECK_STR(json_string_value(json_object_get(j, "taken_at")), "1970-01-01T00:00:01Z");
	CHECK_INT(
		json_integer_value(json_object_get(json_object_get(j, "evidence"), "evidence")), 1);
	json_decref(j);
	found = true;
	store_isolation_release(&got);
	CHECK_INT(store_isolation_get(s, "b", "", &got, &found, &e), 0);
	CHECK(!found);
	store_close(cl_steal(&s));
	expect_sound();
	gone();
}

/* As it is compared with. */
static void identity_of(const struct cfg_executor *x, const char *runtime_path, char *out)
{
	cleanup_engine struct engine en = ENGINE_INIT;
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	struct cl_err e;

	work_engine_env(&env);
	CHECK_INT(engine_find(x->runtime, env.v, &en, &e), 0);
	runtime_id(&en, isolation_runtime(x), runtime_path, out);
}

/* What began last counts, whichever ends last; a clock that has jumped counts for nothing. */
void test_order__by_the_begin(void)
{
	static const struct {
		int64_t at, horizon, stands;
		bool won;
	} steps[] = {{1000, 5000, 1000, true}, {999, 5000, 1000, false}, {1000, 5000, 1000, true},
		{2000, 5000, 2000, true}, {1500, 5000, 2000, false}, {9000, 10000, 9000, true},
		{3000, 5000, 3000, true}, {2999, 5000, 3000, false}};
	cleanup_store struct store *s = NULL;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	for (size_t i = 0; i < CL_ARRAY_LEN(steps); i++) {
		cleanup_isolation struct store_isolation r = row("a", "vm", steps[i].at);
		cleanup_isolation struct store_isolation got = STORE_ISOLATION_INIT;
		bool won = !steps[i].won, found;

		CHECK_INT(store_isolation_put(s, &r, steps[i].horizon, &won, &e), 0);
		CHECK_INT(won, steps[i].won);
		CHECK_INT(store_isolation_get(s, "a", "kata", &got, &found, &e), 0);
		CHECK(found && got.attempted_at == steps[i].stands);
	}
	store_close(cl_steal(&s));
	gone();
}

#define RACERS 12

static int put_one(int n)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	int rc = 0;

	for (int i = 0; i < 8; i++) {
		/* Each begins at moments of its own, and nobody in the order of them. */
		cleanup_isolation struct store_isolation r =
			row("a", "vm", 1000 + (n * 7 + i * 31) % (RACERS * 8));
		bool won;

		if (!s && store_open(path, STORE_RW, &s, &e))
			return 2;
		/* Many at once on a loaded machine: busy is no answer. */
		while ((rc = store_isolation_put(s, &r, 1 << 20, &won, &e)) && e.code == CL_EBUSY)
			;
		if (rc)
			return 2;
	}
	store_close(cl_steal(&s));
	return 1;
}

void test_order__many_processes(void)
{
	cleanup_isolation struct store_isolation got = STORE_ISOLATION_INIT;
	cleanup_store struct store *s = NULL;
	int64_t last = 0;
	struct cl_err e;
	bool found;

	fresh();
	s = open_as(STORE_CREATE);
	store_close(cl_steal(&s));
	CHECK_INT(race(RACERS, put_one), RACERS);
	for (int n = 0; n < RACERS; n++)
		for (int i = 0; i < 8; i++)
			if ((n * 7 + i * 31) % (RACERS * 8) > last)
				last = (n * 7 + i * 31) % (RACERS * 8);
	s = open_as(STORE_RO);
	CHECK_INT(store_isolation_get(s, "a", "kata", &got, &found, &e), 0);
	CHECK(found && got.attempted_at == 1000 + last);
	store_close(cl_steal(&s));
	expect_sound();
	gone();
}

void test_due__when_it_no_longer_holds(void)
{
	cleanup_isolation struct store_isolation r = row("x", "vm", sys_now_ms());
	struct cfg_executor x = {.id = (char *)"x",
		.runtime = (char *)"/nowhere/podman",
		.oci_runtime = (char *)"kata"};
	const struct isolation_ask q = {.executor = &x};
	const char *why = NULL;
	char now[RUNTIME_ID_SIZE];

	CHECK(isolation_due(&q, NULL, &why));
	CHECK_HAS(why, "nobody");
	/* There is no engine of that name: what is not known is not what it was. */
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "the engine cannot be looked at");
	r.identity[0] = '\0';
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "the engine cannot be looked at");
	/* Nothing of it is run. */
	fresh();
	x.runtime = cl_asprintf("%s/podman", dir);
	CHECK(!symlink("/bin/true", x.runtime));
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "no longer what they were");
	identity_of(&x, r.runtime_path, now);
	free(r.identity);
	r.identity = cl_strdup(now);
	CHECK(!isolation_due(&q, &r, &why));
	CHECK(!why);
	/* A contradiction of an engine whose kernel is not known is one all the same. */
	r.engine_release[0] = '\0';
	CHECK(!isolation_due(&q, &r, &why));
	free(r.standing);
	r.standing = cl_strdup("verified");
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "which kernel the engine runs on");
	r.engine_release[0] = '6';
	CHECK(!isolation_due(&q, &r, &why));
	r.taken_at -= 25 * 3600 * 1000LL;
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "a day old");
	r.taken_at += 50 * 3600 * 1000LL;
	CHECK(isolation_due(&q, &r, NULL));
	r.failure = cl_strdup("killed");
	CHECK(!isolation_due(&q, &r, NULL));
	r.attempted_at -= 61000;
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "could not run");
	CHECK(!unlink(x.runtime));
	free(x.runtime);
	gone();
}

void test_apply__to_a_candidate(void)
{
	cleanup_isolation struct store_isolation r = row("x", "vm", 1764547200000);
	struct pl_candidate c = PL_CANDIDATE_INIT;
	char at[32];

	isolation_apply(&r, NULL, at, &c);
	CHECK_INT(c.standing, PL_CONTRADICTED);
	CHECK_STR(c.verdict, "vm");
	CHECK_STR(c.evidence, "its boot ID");
	CHECK_STR(c.evidence_at, "2025-12-01T00:00:00Z");
	/* What speaks against it is not forgotten with time. */
	isolation_apply(&r, "it is old", at, &c);
	CHECK_INT(c.standing, PL_CONTRADICTED);
	free(r.standing);
	r.standing = cl_strdup("verified");
	isolation_apply(&r, NULL, at, &c);
	CHECK_INT(c.standing, PL_VERIFIED);
	isolation_apply(&r, "it is old", at, &c);
	CHECK_INT(c.standing, PL_UNVERIFIED);
	CHECK_STR(c.evidence, "it is old");
	r.taken_at = 0;
	free(r.standing);
	r.standing = cl_strdup("what");
	isolation_apply(&r, NULL, at, &c);
	CHECK_INT(c.standing, PL_UNVERIFIED);
}

void test_identity__follows_the_files(void)
{
	static char *env[] = {NULL, (char *)"HOME=/nowhere", NULL};
	char a[RUNTIME_ID_SIZE], b[RUNTIME_ID_SIZE];
	cleanup_engine struct engine en = {.kind = CT_PODMAN};
	cleanup_free char *conf = NULL;
	FILE *f;

	fresh();
	conf = cl_asprintf("CONTAINERS_CONF=%s", path);
	env[0] = conf;
	en.path = cl_strdup("/bin/true");
	cl_strv_add(&en.env, env[0]);
	cl_strv_add(&en.env, env[1]);
	runtime_id(&en, "kata", "/bin/true", a);
	runtime_id(&en, "kata", "/bin/true", b);
	CHECK_STR(a, b);
	runtime_id(&en, "runsc", "/bin/true", b);
	CHECK(strcmp(a, b) != 0);
	runtime_id(&en, "kata", "/bin/sh", b);
	CHECK(strcmp(a, b) != 0);
	f = fopen(path, "w");
	CHECK(f && !fclose(f));
	runtime_id(&en, "kata", "/bin/true", b);
	CHECK(strcmp(a, b) != 0);
	gone();
}
