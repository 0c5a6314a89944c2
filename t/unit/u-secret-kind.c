/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_kind.h"
#include "tsv.h"

static void payload_row(const struct tsv_row *r)
{
	cleanup_buf struct cl_buf out = CL_BUF_SECRET;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	cleanup_free char *note = NULL;
	int before = unit_failures, rc;
	enum sec_kind k;
	struct cl_err e;

	CHECK_INT(sec_kind_parse(r->field[0], &k, &e), 0);
	cl_err_init(&e);
	rc = sec_payload_check(k, r->field[1], r->len[1], &out, &notes, &e);
	if (!strcmp(r->field[2], "!")) {
		CHECK_INT(rc, -1);
		if (rc) {
			CHECK_HAS(e.msg, r->field[3]);
			CHECK_STR(cl_err_slug(&e), "invalid_payload");
			CHECK(cl_starts(e.msg, r->field[0]));
			CHECK(*e.fix != '\0');
			CHECK_INT(e.line,
				*r->field[4] ? (int)strtol(r->field[4], NULL, 10) : (int)e.line);
			CHECK_INT(out.len, 0);
		}
	} else if (rc) {
		UNIT_FAIL("%s", e.msg);
	} else {
		note = cl_join((const char *const *)notes.v, notes.n, "; ");
		CHECK_HAS(note, r->field[3]);
		CHECK_INT(notes.n != 0, *r->field[3] != '\0');
		CHECK(out.len > 0 && out.len <= r->len[1]);
	}
	if (unit_failures != before)
		printf("# case line %d\n", r->line);
}

void test_payload__cases(void)
{
	tsv_each("secret/payloads.tsv", payload_row);
}

void test_payload__bounds(void)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT, out = CL_BUF_INIT;
	struct cl_err e;

	for (size_t i = 0; i < SEC_PAYLOAD_MAX; i++)
		cl_buf_addc(&in, 'x');
	CHECK_INT(sec_payload_check(SEC_ENV, in.p, in.len, &out, NULL, &e), 0);
	CHECK_INT(out.len, SEC_PAYLOAD_MAX);
	cl_buf_addc(&in, 'x');
	CHECK_INT(sec_payload_check(SEC_ENV, in.p, in.len, &out, NULL, &e), -1);
	CHECK_HAS(e.msg, "larger than 1 MiB");
}

/* The key as it stands in JSON: line ends as \n. */
static char *app_json(const char *file, const char *more)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char path[512], line[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/secret/rsa/%s", T_CASES, file);
	f = fopen(path, "r");
	CHECK(f != NULL);
	cl_buf_adds(
		&b, "{\"app_id\": 424242, \"installation_id\": \"313131\", \"private_key\": \"");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		cl_buf_addf(&b, "%s\\n", line);
	}
	if (f)
		(void)fclose(f);
	cl_buf_addf(&b, "\"%s}", more);
	return cl_buf_detach(&b);
}

void test_app__keys(void)
{
	static const struct {
		const char *file, *refusal;
	} rows[] = {
		{"pkcs1-2048.pem", NULL},
		{"pkcs8-2048.pem", NULL},
		{"pkcs1-1024.pem", "has 1024 bits"},
		{"pkcs8-ec.pem", "no RSA private key"},
		{"public.pem", "no RSA private key"},
		{"cut.pem", "no RSA private key"},
		{"encrypted.pem", "no RSA private key"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;
		cleanup_free char *json = app_json(rows[i].file, "");
		struct cl_err e;
		int rc = sec_github_app_read(json, strlen(json), &app, &e);

		CHECK_INT(rc, rows[i].refusal ? -1 : 0);
		if (rc && rows[i].refusal) {
			CHECK_HAS(e.msg, rows[i].refusal);
			CHECK(!strstr(e.msg, "MII") && !strstr(e.fix, "MII"));
		}
		if (rc)
			continue;
		CHECK_INT(app.app_id, 424242);
		CHECK_INT(app.installation_id, 313131);
		CHECK_STR(app.base_url, "https://api.github.com");
		CHECK_STR(app.host, "github.com");
		CHECK(cl_starts(app.private_key, "-----BEGIN"));
	}
}

void test_app__base_url(void)
{
	static const struct {
		const char *url, *base, *host;
	} rows[] = {
		{"https://ghe.example.com/api/v3", "https://ghe.example.com/api/v3",
			"ghe.example.com"},
		{"https://GHE.Example.com:443/api/v3///?x=1#y", "https://ghe.example.com/api/v3",
			"ghe.example.com"},
		{"https://ghe.example.com:8443", "https://ghe.example.com:8443",
			"ghe.example.com:8443"},
		{"https://api.acme.ghe.com/", "https://api.acme.ghe.com", "acme.ghe.com"},
		{"https://api.github.com", "https://api.github.com", "github.com"},
		{"http://ghe.example.com", NULL, NULL},
		{"https://user:pw@ghe.example.com", NULL, NULL},
		{"https://", NULL, NULL},
		{"https:///x", NULL, NULL},
		{"ghe.example.com", NULL, NULL},
		{"https://a b", NULL, NULL},
		{"https://ghe.example.com/a b", NULL, NULL},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;
		cleanup_free char *more = cl_asprintf(", \"base_url\": \"%s\"", rows[i].url);
		cleanup_free char *json = app_json("pkcs8-2048.pem", more);
		struct cl_err e;
		int rc = sec_github_app_read(json, strlen(json), &app, &e);

		if (rc != (rows[i].base ? 0 : -1))
			UNIT_FAIL("%s", rows[i].url);
		else if (rc)
			CHECK_HAS(e.msg, "base_url");
		else {
			CHECK_STR(app.base_url, rows[i].base);
			CHECK_STR(app.host, rows[i].host);
		}
	}
}

void test_pat__host_and_token(void)
{
	cleanup_github_pat struct sec_github_pat p = SEC_GITHUB_PAT_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_SECRET;
	struct cl_err e;

	CHECK_INT(sec_github_pat_join(" to\"ke\\n\n", 9, "GHES.Example.com.:443", &b, &e), 0);
	CHECK_STR(b.p, "{\"host\":\"ghes.example.com\",\"token\":\"to\\\"ke\\\\n\"}");
	CHECK_INT(sec_github_pat_read(b.p, b.len, &p, &e), 0);
	CHECK_STR(p.token, "to\"ke\\n");
	CHECK_STR(p.host, "ghes.example.com");
	sec_github_pat_release(&p);
	CHECK_INT(sec_github_pat_read("ghp_x\n", 6, &p, &e), 0);
	CHECK_STR(p.host, "github.com");
	CHECK_INT(sec_github_pat_join("{\"token\":\"x\"}", 13, "a.test", &b, &e), -1);
	CHECK_HAS(e.msg, "names its host already");
	CHECK(!strstr(e.msg, "\"x\""));
}

void test_kind__names(void)
{
	enum sec_kind k;
	struct cl_err e;

	CHECK_INT(sec_kind_parse(" GitHub_PAT\n", &k, &e), 0);
	CHECK_INT(k, SEC_GITHUB_PAT);
	CHECK_INT(sec_kind_parse("gihub_pat", &k, &e), -1);
	CHECK_HAS(e.msg, "'gihub_pat'");
	CHECK_HAS(e.fix, "did you mean github_pat?");
	for (int i = 0; i < SEC_NKINDS; i++)
		CHECK_HAS(e.fix, sec_kinds[i].name);
	CHECK_STR(cl_err_slug(&e), "unknown_kind");
	CHECK_INT(sec_kind_parse("ghp_0123456789abcdefghij0123456789abcdef", &k, &e), -1);
	CHECK(!strstr(e.msg, "abcdef"));
}

void test_name__rule(void)
{
	char big[130];
	struct cl_err e;

	memset(big, 'a', 129);
	big[129] = '\0';
	CHECK_INT(sec_name_check(big, &e), -1);
	big[128] = '\0';
	CHECK_INT(sec_name_check(big, &e), 0);
	CHECK_INT(sec_name_check("deploy-pat_2.x", &e), 0);
	CHECK_INT(sec_name_check("", &e), -1);
	CHECK_INT(sec_name_check("a/b", &e), -1);
	CHECK_HAS(e.msg, "'/' in it (character 2)");
	CHECK_INT(sec_name_check("é", &e), -1);
	CHECK_HAS(e.msg, "'é'");
	CHECK_INT(sec_name_check("a\xff", &e), -1);
	CHECK_STR(cl_err_slug(&e), "invalid_name");
}

void test_fingerprint__of_the_sealed_record(void)
{
	char out[SEC_FINGERPRINT];

	sec_fingerprint("abc", 3, out);
	CHECK_STR(out, "sha256:ba7816bf8f01cfea");
}

void test_ttl__defaults_and_ceilings(void)
{
	static const struct {
		enum sec_ttl row;
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{SEC_TTL_GRANT, NULL, "24h0m0s"},
		{SEC_TTL_GRANT, "720h", "720h0m0s"},
		{SEC_TTL_GRANT, "7d", "168h0m0s"},
		{SEC_TTL_GRANT, "0s", NULL},
		{SEC_TTL_GRANT, "-1h", NULL},
		{SEC_TTL_GRANT, "soon", NULL},
		{SEC_TTL_GRANT_PANEL, "90d", "2160h0m0s"},
		{SEC_TTL_GRANT_PANEL, "91d", NULL},
		{SEC_TTL_LEASE, "", "15m0s"},
		{SEC_TTL_LEASE, "16m", NULL},
		{SEC_TTL_EGRESS_GRANT, "", "24h0m0s"},
		{SEC_TTL_EGRESS_SESSION, "", "15m0s"},
		{SEC_TTL_EGRESS_SESSION, "4h", "4h0m0s"},
		{SEC_TTL_EGRESS_SESSION, "4h1s", NULL},
		{SEC_TTL_ENROLLMENT, "24h", "24h0m0s"},
		{SEC_TTL_ENROLLMENT, "25h", NULL},
		{SEC_TTL_REQUEST, "", "72h0m0s"},
		{SEC_TTL_REQUEST, "31d", NULL},
		{SEC_TTL_APPROVAL, "", "168h0m0s"},
		{SEC_TTL_APPROVAL, "90d", "2160h0m0s"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		struct cl_err e;
		char got[40];
		int64_t ms;
		int rc = sec_ttl_parse(rows[i].row, rows[i].text, &ms, &e);

		if (rc != (rows[i].want ? 0 : -1))
			UNIT_FAIL("row %zu", i);
		if (rc)
			continue;
		cl_format_duration(ms, got);
		CHECK_STR(got, rows[i].want);
	}
}
