/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence as it is stored, and when it no longer holds. */
#include "store-fixture.h"
#include "store/isolation.h"
#include "sys/clock.h"
#include "sys/runtime_id.h"
#include "work/isolation.h"

static struct store_isolation row(const char *executor, const char *verdict, int64_t at)
{
	return (struct store_isolation){.executor_id = cl_strdup(executor),
		.runtime = cl_strdup("kata"),
		.verdict = cl_strdup(verdict),
		.standing = cl_strdup("contradicted"),
		.reason = cl_strdup("its boot ID"),
		.evidence = cl_strdup("{\"evidence\":1}"),
		.engine_release = cl_strdup(""),
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
	bool found = true;
	struct cl_err e;
	json_t *j;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_isolation_get(s, "a", "kata", &got, &found, &e), 0);
	CHECK(!found);
	for (int i = 0; i < 3; i++) {
		cleanup_isolation struct store_isolation r = row(ids[i], "host-kernel", 1000 + i);

		CHECK_INT(store_isolation_put(s, &r, &e), 0);
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

void test_due__when_it_no_longer_holds(void)
{
	cleanup_isolation struct store_isolation r = row("x", "vm", sys_now_ms());
	struct cfg_executor x = {.id = (char *)"x",
		.runtime = (char *)"/nowhere/podman",
		.oci_runtime = (char *)"kata"};
	const struct isolation_ask q = {.executor = &x};
	const char *why = NULL;

	CHECK(isolation_due(&q, NULL, &why));
	CHECK_HAS(why, "nobody");
	/* There is no engine of that name: then there is no identity either. */
	r.identity[0] = '\0';
	CHECK(!isolation_due(&q, &r, &why));
	CHECK(!why);
	r.identity[0] = 'x';
	CHECK(isolation_due(&q, &r, &why));
	CHECK_HAS(why, "no longer what they were");
	r.identity[0] = '\0';
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
