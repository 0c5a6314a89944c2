/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_kube.h"
#include "tsv.h"

static char *file(const char *name)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char path[512], line[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/secret/kube/%s", T_CASES, name);
	f = fopen(path, "r");
	CHECK(f != NULL);
	while (f && fgets(line, sizeof(line), f))
		cl_buf_adds(&b, line);
	if (f)
		(void)fclose(f);
	return cl_buf_detach(&b);
}

static void limits(struct sec_constraints *c, const char *ctx, const char *ns, const char *verbs)
{
	struct cl_err e;

	if (*ctx)
		CHECK_INT(sec_constraints_add(c, SEC_CONTEXTS, ctx, &e), 0);
	if (*ns)
		CHECK_INT(sec_constraints_add(c, SEC_NAMESPACES, ns, &e), 0);
	if (*verbs)
		CHECK_INT(sec_constraints_add(c, SEC_VERBS, verbs, &e), 0);
}

static void kube_row(const struct tsv_row *r)
{
	cleanup_kube struct sec_kube k = SEC_KUBE_INIT, again = SEC_KUBE_INIT;
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_buf struct cl_buf sum = CL_BUF_INIT, yaml = CL_BUF_SECRET, sum2 = CL_BUF_INIT;
	cleanup_free char *text = file(r->field[0]);
	int before = unit_failures, rc;
	struct cl_err e;

	limits(&c, r->field[1], r->field[2], "");
	CHECK_INT(sec_kube_read(text, strlen(text), &k, &e), 0);
	rc = sec_kube_minimise(&k, &c, "prod-kube", &e);
	if (!strcmp(r->field[3], "!")) {
		CHECK_INT(rc, -1);
		if (rc) {
			CHECK_INT(e.code, CL_EREFUSED);
			CHECK_HAS(e.msg, r->field[4]);
			CHECK_HAS(e.msg, "'prod-kube'");
			CHECK(*e.fix != '\0');
		}
	} else if (rc) {
		UNIT_FAIL("%s", e.msg);
	} else {
		sec_kube_summary(&k, &sum);
		CHECK_STR(sum.p, r->field[3]);
		CHECK_STR(
			json_string_value(json_object_get(k.doc, "current-context")), r->field[4]);
		sec_kube_write(&k, &yaml);
		CHECK(!strstr(yaml.p, r->field[5]));
		CHECK_INT(sec_kube_read(yaml.p, yaml.len, &again, &e), 0);
		sec_kube_summary(&again, &sum2);
		CHECK_STR(sum2.p, sum.p);
		CHECK_INT(json_equal(k.doc, again.doc), 1);
	}
	if (unit_failures != before)
		printf("# case line %d\n", r->line);
}

void test_minimise__cases(void)
{
	tsv_each("secret/kube.tsv", kube_row);
}

void test_read__malformed(void)
{
	static const char *const rows[][2] = {
		{"contexts: [{name: a}, {name: a}]", "contexts[1] has a name that was there"},
		{"contexts: [{context: {}}]", "contexts[0] has no name"},
		{"contexts: [a]", "contexts[0] has no name"},
		{"contexts: {a: b}", "contexts[0] is no list"},
		{"contexts: [{name: a}]\nusers: [{name: u, user: [x]}]", "users[0] is no mapping"},
		{"contexts: [{name: 5}]", "contexts[0] has no name"},
		{"users: []", "no contexts"},
		{"", "no contexts"},
		{"a: &x b\nc: *x", "no YAML"},
		{"a: b\n---\nc: d", "no YAML"},
		{"contexts: [{name: a", "no YAML"},
		{"a: s3cr3t-t0ken\nb: {", "line"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_kube struct sec_kube k = SEC_KUBE_INIT;
		struct cl_err e;

		if (!sec_kube_read(rows[i][0], strlen(rows[i][0]), &k, &e)) {
			UNIT_FAIL("taken: %s", rows[i][0]);
			continue;
		}
		CHECK_HAS(e.msg, rows[i][1]);
		CHECK(!strstr(e.msg, "s3cr3t") && !strstr(e.fix, "s3cr3t"));
	}
}

void test_read__a_bound_on_names(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	cl_buf_adds(&b, "contexts:\n");
	for (int i = 0; i < 1001; i++) {
		cleanup_kube struct sec_kube k = SEC_KUBE_INIT;
		struct cl_err e;

		cl_buf_addf(&b, "- {name: c%d}\n", i);
		if (i < 999)
			continue;
		CHECK_INT(sec_kube_read(b.p, b.len, &k, &e), i < 1000 ? 0 : -1);
		if (i == 1000)
			CHECK_HAS(e.msg, "contexts[1000] is one entry too many");
	}
}

void test_merge__names_order_and_json(void)
{
	static const char *const what[3][4] = {
		{"staging-kube", "staging", "", ""},
		{"prod-kube", "prod", "team-b", "get,list,watch,create"},
		{"prod-kube", "prod", "team-a", ""},
	};
	struct sec_kube k[3] = {SEC_KUBE_INIT, SEC_KUBE_INIT, SEC_KUBE_INIT};
	struct sec_constraints c[3] = {0};
	struct sec_kube_part part[3] = {0};
	cleanup_kube struct sec_kube all = SEC_KUBE_INIT;
	cleanup_buf struct cl_buf sum = CL_BUF_INIT;
	cleanup_free char *text = file("three.yaml"), *json = NULL;
	struct cl_err e;

	for (size_t i = 0; i < 3; i++) {
		limits(&c[i], what[i][1], what[i][2], what[i][3]);
		CHECK_INT(sec_kube_read(text, strlen(text), &k[i], &e), 0);
		CHECK_INT(sec_kube_minimise(&k[i], &c[i], what[i][0], &e), 0);
		part[i] = (struct sec_kube_part){&k[i], &c[i], what[i][0], CL_STRV_INIT};
	}
	sec_kube_merge(part, 3, &all);
	sec_kube_summary(&all, &sum);
	CHECK_STR(sum.p, "prod-kube/team-a,prod-kube-2/team-b,staging-kube/staging-ns");
	CHECK_STR(json_string_value(json_object_get(all.doc, "current-context")), "prod-kube");
	json = sec_kube_grants_json(part, 3);
	CHECK(cl_starts(json, "[{\"contexts\":[\"prod-kube\"],\"secret\":\"prod-kube\","
			      "\"namespace\":\"team-a\",\"namespaces\":[\"team-a\"],\"verbs\":"
			      "[\"get\",\"list\",\"watch\"],\"monitored\":false},{\"contexts\":["
			      "\"prod-kube-2\"],"));
	CHECK(!strstr(json, "token"));
	for (size_t i = 0; i < 3; i++) {
		cl_strv_release(&part[i].contexts);
		sec_constraints_release(&c[i]);
		sec_kube_release(&k[i]);
	}
}

void test_merge__several_contexts_of_one_grant(void)
{
	struct sec_kube k[2] = {SEC_KUBE_INIT, SEC_KUBE_INIT};
	cleanup_kube struct sec_kube all = SEC_KUBE_INIT;
	struct sec_constraints c[2] = {0};
	cleanup_buf struct cl_buf sum = CL_BUF_INIT;
	cleanup_strv struct cl_strv secrets = CL_STRV_INIT;
	cleanup_free char *text = file("three.yaml");
	struct sec_kube_part part[2];
	struct cl_err e;

	for (size_t i = 0; i < 2; i++) {
		limits(&c[i], i ? "prod" : "staging,dev", i ? "*" : "", "");
		CHECK_INT(sec_kube_read(text, strlen(text), &k[i], &e), 0);
		CHECK_INT(sec_kube_minimise(&k[i], &c[i], "Corp_X", &e), 0);
		part[i] =
			(struct sec_kube_part){&k[i], &c[i], i ? "Corp_X" : "corp.y", CL_STRV_INIT};
	}
	sec_kube_merge(part, 2, &all);
	sec_kube_summary(&all, &sum);
	/* A pattern of namespaces reaches less than a whole cluster. */
	CHECK_STR(sum.p, "corp-x/default,corp-y-staging/staging-ns,corp-y-dev/dev-ns");
	sec_kube_secrets(&all, &secrets);
	CHECK_INT(secrets.n, 3);
	CHECK(cl_strv_has(&secrets, "prod-token-000000") &&
		cl_strv_has(&secrets, "dev-password-22"));
	for (size_t i = 0; i < 2; i++) {
		cl_strv_release(&part[i].contexts);
		sec_constraints_release(&c[i]);
		sec_kube_release(&k[i]);
	}
}

void test_notes__plugins_and_files(void)
{
	cleanup_kube struct sec_kube k = SEC_KUBE_INIT;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	cleanup_free char *text = file("06-gcp-cmd-path-minikube-files.yaml");
	struct cl_err e;

	CHECK_INT(sec_kube_read(text, strlen(text), &k, &e), 0);
	sec_kube_notes(&k, &notes);
	CHECK_INT(notes.n, 2);
	CHECK_HAS(notes.v[0], "signs in through gcp");
	CHECK_HAS(notes.v[1], "client-certificate");
}

void test_unenforced__as_the_guide_words_it(void)
{
	static const char *const rows[][3] = {
		{"team-a", "", "namespaces team-a and read-only access (get, list, watch)"},
		{"", "", "read-only access (get, list, watch)"},
		{"a,b", "get,create", "namespaces a, b and verbs (get, create)"},
		{"team-a", "get,list,watch,create,update,patch,delete,deletecollection",
			"namespaces team-a"},
		{"", "get,list,watch,create,update,patch,delete,deletecollection", ""},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		limits(&c, "prod", rows[i][0], rows[i][1]);
		sec_kube_unenforced(&c, &b);
		CHECK_STR(b.p, rows[i][2]);
	}
}

void test_secrets__wherever_they_stand(void)
{
	static const char text[] =
		"clusters:\n"
		"- {name: a, cluster: {server: 'https://su:server-pass-1@a', proxy-url: "
		"'http://pu:proxy%2dpass-2@p'}}\n"
		"contexts: [{name: a, context: {cluster: a, user: a}}]\n"
		"users: [{name: a, user: {password: 12345678, token: 1.5e8, client-key-data: "
		"a2V5LWRhdGEtMw==, x: {y: [deep-list-4, {z: deep-map-5}]}, username: "
		"not-secret}}]\n";
	static const char *const want[] = {"server-pass-1", "proxy%2dpass-2", "proxy-pass-2",
		"12345678", "150000000", "a2V5LWRhdGEtMw==", "key-data-3", "deep-list-4",
		"deep-map-5"};
	cleanup_kube struct sec_kube k = SEC_KUBE_INIT;
	cleanup_strv struct cl_strv got = CL_STRV_INIT;
	struct cl_err e;

	CHECK_INT(sec_kube_read(text, sizeof(text) - 1, &k, &e), 0);
	sec_kube_secrets(&k, &got);
	for (size_t i = 0; i < CL_ARRAY_LEN(want); i++)
		if (!cl_strv_has(&got, want[i]))
			UNIT_FAIL("'%s' is not taken out of output", want[i]);
	CHECK(!cl_strv_has(&got, "not-secret"));
	CHECK_INT(got.n, CL_ARRAY_LEN(want));
}

void test_read__hostile_documents(void)
{
	static const char head[] = "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
				   "clusters: [{name: a, cluster: {server: 'https://a'}}]\n";
	static const char *const users[] = {"users: [&x {name: a, user: {token: planted-1}}]\n",
		"users: [{name: a, user: &x {token: planted-1}}, {name: b, user: *x}]\n",
		"users: [{name: a, user: {<<: {exec: {command: planted-1}}}}]\n",
		"users: [{name: a, user: {token: b, token: planted-1}}]\n",
		"users: [{name: a, user: !!binary planted-1}]\n",
		"users: [{name: a, user: {token: planted-1}}]\n---\nusers: []\n",
		"users: [{name: a, user: {token: planted-1}}]\nusers: []\n",
		"users: [{name: a, user: {token: \"planted-1\\0\"}}]\n",
		"users: [{name: a, user: planted-1}]\n", "users: planted-1\n",
		"users: [{name: a, user: {token: planted-1}}, {name: a}]\n",
		"users: [{user: {token: planted-1}}]\n",
		"users: [{name: a, user: {planted-1: [[\n"};

	for (size_t i = 0; i < CL_ARRAY_LEN(users); i++) {
		cleanup_kube struct sec_kube k = SEC_KUBE_INIT;
		cleanup_free char *text = cl_asprintf("%s%s", head, users[i]);
		struct cl_err e = {0};

		CHECK_INT(sec_kube_read(text, strlen(text), &k, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
		if (strstr(e.msg, "planted") || strstr(e.fix, "planted") || !*e.fix)
			UNIT_FAIL("%s / %s", e.msg, e.fix);
	}
}
