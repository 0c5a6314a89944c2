/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_kind.h"
#include "policy/secret/secret_lease.h"
#include "case_file.h"
#include "tsv.h"

#include <stdlib.h>

#define NOW 1000000

static void slurp(const char *name, struct cl_buf *out)
{
	cleanup_free char *path = cl_asprintf("secret/registry/%s", name);

	case_file(path, out);
}

/* A lease of one grant of that payload. */
static void lease_of(const char *list, const struct cl_buf *payload, struct sec_lease *l)
{
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	struct sec_constraints c = {0};
	struct sec_grant g = {.id = "grant_1",
		.secret_id = "sec_1",
		.secret_name = "login",
		.kind = SEC_REGISTRY,
		.subject = &subject,
		.constraints = &c};
	struct sec_offer o = {.grant = &g, .payload = payload->p, .len = payload->len};
	struct cl_err e;

	CHECK_INT(sec_subject_parse("project:/srv/app", &subject, &e), 0);
	cl_strv_add(&c.list[SEC_REGISTRIES], list);
	sec_lease_build(&o, 1, NOW, l);
	sec_constraints_release(&c);
}

/* The names under "auths", sorted; each of them with something to log in with. */
static char *logins(const char *text)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	const char *key;
	struct cl_err e;
	json_t *v;

	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "config.json", text, strlen(text), NULL, &e), 0);
	CHECK_INT(json_object_size(d.root), 1);
	json_object_foreach (json_object_get(d.root, "auths"), key, v) {
		CHECK(json_object_size(v) > 0);
		cl_strv_add(&names, key);
	}
	cl_strv_sort(&names);
	return cl_join((const char *const *)names.v, names.n, ",");
}

static void delivered(const struct tsv_row *r, const struct sec_lease *l)
{
	cleanup_free char *got = NULL;

	CHECK_INT(l->nrefused, 0);
	CHECK_INT(l->nmaterials, 1);
	if (l->nmaterials != 1 || l->materials[0].nfiles != 1)
		return;
	got = logins(l->materials[0].files[0].data.p);
	CHECK_STR(got, r->field[2]);
	if (r->n > 4 && *r->field[4])
		CHECK(!strstr(l->materials[0].files[0].data.p, r->field[4]));
}

static void row(const struct tsv_row *r)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET, out = CL_BUF_SECRET;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	bool mint = !strcmp(r->field[2], "!mint");
	int before = unit_failures, rc;
	struct cl_err e;

	slurp(r->field[0], &text);
	rc = sec_payload_check(SEC_REGISTRY, text.p, text.len, &out, &notes, &e);
	CHECK_INT(rc, mint ? -1 : 0);
	if (mint) {
		CHECK_HAS(e.msg, r->field[3]);
		/* One that was sealed before this was refused is refused at the lease. */
		lease_of(r->field[1], &text, &l);
		CHECK_INT(l.nmaterials, 0);
		CHECK_INT(l.nrefused, 1);
	} else {
		lease_of(r->field[1], &out, &l);
		if (strcmp(r->field[2], "!lease") != 0) {
			delivered(r, &l);
		} else if (l.nrefused == 1) {
			cleanup_free char *all = cl_asprintf(
				"%s %s", l.refused[0].error.msg, l.refused[0].error.fix);

			CHECK_INT(l.nmaterials, 0);
			CHECK_HAS(all, r->field[3]);
		} else {
			UNIT_FAIL("%zu refusals", l.nrefused);
		}
	}
	if (unit_failures != before)
		printf("# case line %d\n", r->line);
}

void test_registry__cases(void)
{
	tsv_each("secret/registry.tsv", row);
}

void test_registry__user_and_password(void)
{
	static const struct {
		const char *list, *want;
	} rows[] = {
		{"docker.io", "https://index.docker.io/v1/"},
		{"registry-1.docker.io", "https://index.docker.io/v1/"},
		{"reg.test:5000", "reg.test:5000"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_buf struct cl_buf login = CL_BUF_SECRET;
		cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
		cleanup_free char *got = NULL;

		cl_buf_adds(&login, "somebody:a-password-0001");
		lease_of(rows[i].list, &login, &l);
		CHECK_INT(l.nmaterials, 1);
		if (l.nmaterials == 1) {
			got = logins(l.materials[0].files[0].data.p);
			CHECK_STR(got, rows[i].want);
		}
	}
}

/* Two secrets with a login for one host: the first is lent, and who has the other hears of it. */
void test_registry__one_login_a_host(void)
{
	static const char two[] = "{\"auths\":{\"quay.io\":{\"auth\":\"YTp4eA==\"},"
				  "\"ghcr.io\":{\"auth\":\"YTp4eA==\"}}}";
	static const char *const payloads[] = {
		"a:first-of-them", "b:second-of-them", two, "a:first-of-them"};
	static const char *const ids[] = {"sec_1", "sec_2", "sec_3", "sec_1"};
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	struct sec_constraints c = {0};
	struct sec_grant g[4];
	struct sec_offer o[4];
	cleanup_lease struct sec_lease l = SEC_LEASE_INIT;
	struct cl_err e;

	CHECK_INT(sec_subject_parse("project:/srv/app", &subject, &e), 0);
	cl_strv_add(&c.list[SEC_REGISTRIES], "ghcr.io");
	cl_strv_add(&c.list[SEC_REGISTRIES], "quay.io");
	for (size_t i = 0; i < 4; i++) {
		g[i] = (struct sec_grant){.id = "grant_1",
			.secret_id = ids[i],
			.secret_name = ids[i],
			.kind = SEC_REGISTRY,
			.subject = &subject,
			.constraints = &c};
		o[i] = (struct sec_offer){
			.grant = &g[i], .payload = payloads[i], .len = strlen(payloads[i])};
	}
	sec_lease_build(o, 4, NOW, &l);
	CHECK_INT(l.nmaterials, 2);
	CHECK_INT(l.nrefused, 2);
	CHECK_HAS(l.refused[0].error.msg, "'sec_2' has a login for 'ghcr.io', and so has 'sec_1'");
	CHECK_HAS(l.refused[1].error.msg, "'sec_3' has a login for 'ghcr.io', and so has 'sec_1'");
	CHECK_HAS(l.materials[0].files[0].data.p, "ghcr.io");
	CHECK(!strstr(l.materials[0].files[0].data.p, "quay.io"));
	sec_constraints_release(&c);
}
