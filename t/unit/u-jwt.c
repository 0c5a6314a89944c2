/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures against those that the openssl command makes (t/cases/github/jwt.tsv). */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "seal/jwt.h"
#include "tsv.h"

static char *pem_of(const char *file)
{
	char path[512];
	struct cl_buf b = CL_BUF_INIT;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/secret/rsa/%s", T_CASES, file);
	f = fopen(path, "re");
	if (!f)
		return cl_strdup("");
	n = fread(cl_buf_reserve(&b, 8192), 1, 8191, f);
	(void)fclose(f);
	b.len = n;
	b.p[n] = '\0';
	return cl_buf_detach(&b);
}

static void signature(const struct tsv_row *r)
{
	cleanup_free char *pem = pem_of(r->field[0]);
	cleanup_seal struct seal_buf sig = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	if (seal_rs256(pem, r->field[1], r->len[1], &sig, &e)) {
		TSV_FAIL(r, "%s", e.msg);
		return;
	}
	cl_b64_encode(CL_B64_URL, sig.p, sig.len, &text);
	if (strcmp(text.p, r->field[2]) != 0)
		TSV_FAIL(r, "gives %s", text.p);
}

void test_rs256__as_openssl_signs(void)
{
	tsv_each("github/jwt.tsv", signature);
}

void test_jwt__claims(void)
{
	cleanup_free char *pem = pem_of("pkcs1-2048.pem");
	cleanup_seal struct seal_buf jwt = SEAL_BUF_INIT, sig = SEAL_BUF_INIT;
	cleanup_strv struct cl_strv part = CL_STRV_INIT;
	cleanup_buf struct cl_buf head = CL_BUF_INIT, claims = CL_BUF_INIT, again = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(seal_app_jwt(pem, UINT64_MAX, 1700000000, &jwt, &e), 0);
	cl_split((const char *)jwt.p, '.', &part);
	CHECK_INT(part.n, 3);
	CHECK(cl_b64_decode(CL_B64_URL, part.v[0], strlen(part.v[0]), false, &head));
	CHECK(cl_b64_decode(CL_B64_URL, part.v[1], strlen(part.v[1]), false, &claims));
	CHECK_STR(head.p, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
	CHECK_STR(claims.p,
		"{\"exp\":1700000480,\"iat\":1699999940,\"iss\":\"18446744073709551615\"}");
	CHECK_INT(seal_rs256(pem, jwt.p, strlen(part.v[0]) + 1 + strlen(part.v[1]), &sig, &e), 0);
	cl_b64_encode(CL_B64_URL, sig.p, sig.len, &again);
	CHECK_STR(again.p, part.v[2]);
}

void test_rs256__what_is_no_key(void)
{
	static const char *const files[] = {
		"cut.pem", "encrypted.pem", "pkcs8-ec.pem", "public.pem", "nowhere.pem"};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(files); i++) {
		cleanup_free char *pem = pem_of(files[i]);
		cleanup_seal struct seal_buf sig = SEAL_BUF_INIT;

		if (!seal_rs256(pem, "x", 1, &sig, &e))
			UNIT_FAIL("%s signs", files[i]);
		else
			CHECK_STR(cl_err_slug(&e), "invalid_payload");
		CHECK(!strstr(e.msg, "BEGIN"));
	}
}
