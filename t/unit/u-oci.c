/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What registries say: what of it is believed, and what is refused. */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/image/oci.h"
#include "case_file.h"
#include "tsv.h"

static void challenge_row(const struct tsv_row *r)
{
	cleanup_oci_challenge struct oci_challenge c = OCI_CHALLENGE_INIT;
	static const char *const names[] = {"none", "basic", "bearer"};
	struct cl_err e;
	int rc = oci_challenge_read(r->field[0], &c, &e);

	if (!strcmp(r->field[1], "bad")) {
		if (!rc || strcmp(cl_err_slug(&e), "registry_answer") != 0 || c.realm)
			TSV_FAIL(r, "taken");
		return;
	}
	if (rc || strcmp(names[c.scheme], r->field[1]) != 0)
		TSV_FAIL(r, "%s", rc ? e.msg : names[c.scheme]);
	else if (c.scheme == OCI_BEARER &&
		 (strcmp(c.realm, r->field[2]) != 0 ||
			 strcmp(c.service ? c.service : "", r->field[3]) != 0))
		TSV_FAIL(r, "realm '%s', service '%s'", c.realm, c.service ? c.service : "");
}

void test_challenges__as_they_are_written(void)
{
	tsv_each("oci/challenges.tsv", challenge_row);
}

void test_challenges__too_long(void)
{
	cleanup_oci_challenge struct oci_challenge c = OCI_CHALLENGE_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	cl_buf_adds(&b, "Bearer realm=\"https://a/t\"");
	for (int i = 0; i < 2000; i++)
		cl_buf_addf(&b, ",x%d=y", i);
	CHECK(oci_challenge_read(b.p, &c, &e));
	CHECK_HAS(e.msg, "does not parse");
}

void test_tokens__the_scope_is_ours(void)
{
	struct oci_challenge c = {
		OCI_BEARER, (char *)(uintptr_t) "https://a/t", (char *)(uintptr_t) "x&scope=y z"};
	cleanup_free char *url = oci_token_url(&c, "acme/tools");
	struct oci_challenge query = {OCI_BEARER, (char *)(uintptr_t) "https://a/t?x=y", NULL};
	cleanup_free char *more = oci_token_url(&query, "a");

	CHECK_STR(url,
		"https://a/t?service=x%26scope%3Dy%20z&scope=repository%3Aacme%2Ftools%3Apull");
	CHECK_STR(more, "https://a/t?x=y&scope=repository%3Aa%3Apull");
}

void test_tokens__what_is_one(void)
{
	static const char *const good[] = {"{\"token\":\"abc\"}", "{\"access_token\":\"abc\"}",
		"{\"token\":\"\",\"access_token\":\"abc\",\"expires_in\":300}"};
	static const char *const bad[] = {"", "{}", "[]", "\"abc\"", "{\"token\":7}",
		"{\"token\":\"a b\"}", "{\"token\":\"a\\nb\"}", "{\"token\":\"a\\u0000b\"}",
		"{\"token\":"};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(good); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_SECRET;

		CHECK(!oci_token_read(good[i], strlen(good[i]), &b, &e));
		CHECK_STR(b.p, "abc");
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_SECRET;

		CHECK(oci_token_read(bad[i], strlen(bad[i]), &b, &e));
		CHECK(!b.len && *e.fix);
	}
}

static void url_row(const struct tsv_row *r)
{
	cleanup_strv struct cl_strv plain = CL_STRV_INIT;
	cleanup_free char *origin = NULL;
	struct cl_err e;
	int rc;

	cl_strv_add(&plain, "localhost:5000");
	cl_strv_add(&plain, "ghcr.io");
	rc = oci_url(r->field[0], &plain, "the address", &origin, &e);
	if (strcmp(rc ? "-" : origin, r->field[1]) != 0)
		TSV_FAIL(r, "%s", rc ? e.msg : origin);
}

void test_urls__https_or_a_loopback_that_was_named(void)
{
	tsv_each("oci/urls.tsv", url_row);
}

static void redirect_row(const struct tsv_row *r)
{
	cleanup_strv struct cl_strv plain = CL_STRV_INIT;
	cleanup_free char *to = NULL;
	bool same = false;
	struct cl_err e;
	int rc;

	cl_strv_add(&plain, "localhost:5000");
	rc = oci_redirect(r->field[0], r->field[1], &plain, &to, &same, &e);
	if (strcmp(rc ? "-" : to, r->field[2]) != 0 || (!rc && same != !strcmp(r->field[3], "yes")))
		TSV_FAIL(r, "%s, same %d", rc ? e.msg : to, same);
}

void test_redirects__never_off_tls(void)
{
	tsv_each("oci/redirects.tsv", redirect_row);
}

void test_urls__a_query_is_in_no_message(void)
{
	char *origin = NULL;
	struct cl_err e;

	CHECK(oci_url("http://cdn.test/x?sig=s3cr3t", NULL, "the redirect to", &origin, &e));
	CHECK(!strstr(e.msg, "s3cr3t"));
}

void test_loopback__names_and_lookalikes(void)
{
	static const char *const yes[] = {
		"localhost", "localhost:5000", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:5000"};
	static const char *const no[] = {"127.evil.example", "localhost.evil.example", "localhostx",
		"[::1]x", "10.0.0.1", "ghcr.io", "1127.0.0.1", "notlocalhost:5000"};
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < CL_ARRAY_LEN(yes); i++)
		CHECK(oci_loopback(yes[i]));
	for (size_t i = 0; i < CL_ARRAY_LEN(no); i++)
		CHECK(!oci_loopback(no[i]));
	oci_origin("docker.io", false, &b);
	CHECK_STR(b.p, "https://registry-1.docker.io");
}

/* ---- logins ---- */

static void read_case(const char *name, struct cl_buf *out)
{
	cleanup_free char *path = cl_asprintf("oci/%s", name);

	case_file(path, out);
}

static char *login_says(const struct oci_login *l)
{
	cleanup_buf struct cl_buf plain = CL_BUF_INIT;

	if (l->token.len)
		return cl_asprintf("token %s", l->token.p);
	if (l->identity.len)
		return cl_asprintf("identity %s", l->identity.p);
	if (l->helper)
		return cl_asprintf("helper %s", l->helper);
	if (!l->basic.len || !cl_b64_decode(CL_B64, l->basic.p, l->basic.len, false, &plain))
		return cl_strdup("-");
	return cl_buf_detach(&plain);
}

static void login_row(const struct tsv_row *r)
{
	cleanup_oci_login struct oci_login l = OCI_LOGIN_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_free char *says = NULL;
	struct cl_err e;
	int rc;

	if (cl_starts(r->field[0], "login-"))
		read_case(r->field[0], &text);
	else
		cl_buf_adds(&text, r->field[0]);
	rc = oci_login_find("/f", text.p, text.len, r->field[1], r->field[2], &l, &e);
	says = login_says(&l);
	if (r->field[3][0] == '!') {
		if (!rc || !strstr(e.msg, r->field[3] + 2) || !*e.fix || strstr(e.msg, "s3cr3t"))
			TSV_FAIL(r, "%s", rc ? e.msg : says);
	} else if (rc || strcmp(says, r->field[3]) != 0) {
		TSV_FAIL(r, "%s", rc ? e.msg : says);
	}
}

void test_logins__the_nearest_entry(void)
{
	tsv_each("oci/logins.tsv", login_row);
}

void test_tokens__a_form_with_a_refresh_token(void)
{
	cleanup_oci_challenge struct oci_challenge c = OCI_CHALLENGE_INIT;
	cleanup_buf struct cl_buf form = CL_BUF_SECRET;
	struct cl_err e;

	CHECK_INT(oci_challenge_read("Bearer realm=\"https://a/t\",service=\"s & t\"", &c, &e), 0);
	oci_token_form(&c, "acme/tools", "r3f+/=&scope=x", &form);
	CHECK_STR(form.p, "grant_type=refresh_token&client_id=cloop&service=s%20%26%20t&"
			  "scope=repository%3Aacme%2Ftools%3Apull&"
			  "refresh_token=r3f%2B%2F%3D%26scope%3Dx");
}

/* ---- manifests ---- */

static void manifest_row(const struct tsv_row *r)
{
	cleanup_oci_manifest struct oci_manifest m = OCI_MANIFEST_INIT;
	cleanup_free char *is = NULL;
	struct cl_err e;
	int rc = oci_manifest_read(r->field[0], r->len[0], r->field[1], &m, &e);

	is = cl_asprintf("%s %zu", m.index ? "index" : "manifest", m.n);
	if (rc ? !strstr(e.msg, r->field[2]) || strcmp(cl_err_slug(&e), "registry_answer") != 0
	       : strcmp(is, r->field[2]) != 0)
		TSV_FAIL(r, "%s", rc ? e.msg : is);
}

void test_manifests__what_is_one(void)
{
	tsv_each("oci/manifests.tsv", manifest_row);
}

void test_manifests__of_others(void)
{
	static const struct {
		const char *name;
		bool index;
		size_t n;
	} rows[] = {{"01-index-every-field", true, 1}, {"02-layout-index-names-and-types", true, 4},
		{"03-docker-v2s2-cosigned-image", false, 1},
		{"04-cosign-two-signatures-one-payload", false, 2}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_oci_manifest struct oci_manifest m = OCI_MANIFEST_INIT;
		cleanup_free char *name = cl_asprintf("manifest-%s.json", rows[i].name);
		cleanup_buf struct cl_buf text = CL_BUF_INIT;
		struct cl_err e;

		read_case(name, &text);
		CHECK(!oci_manifest_read(text.p, text.len, "", &m, &e));
		CHECK_INT(m.index, rows[i].index);
		CHECK_INT(m.n, rows[i].n);
		if (rows[i].index)
			CHECK(!oci_platform(&m, "amd64", "", &e) &&
				!strcmp(cl_err_slug(&e), "registry_platform"));
		CHECK_INT(!oci_signatures_check(&m, &e), i == 3);
	}
}

static void platform_row(const struct tsv_row *r)
{
	cleanup_oci_manifest struct oci_manifest m = OCI_MANIFEST_INIT;
	cleanup_strv struct cl_strv rows = CL_STRV_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	const struct oci_descriptor *d;
	cleanup_free char *is = NULL;
	struct cl_err e;

	cl_split(r->field[0], ' ', &rows);
	cl_buf_adds(&text, "{\"schemaVersion\":2,\"manifests\":[");
	for (size_t i = 0; *r->field[0] && i < rows.n; i++) {
		cleanup_strv struct cl_strv p = CL_STRV_INIT;

		cl_split(rows.v[i], '/', &p);
		cl_buf_addf(&text,
			"%s{\"mediaType\":\"" OCI_IMAGE_TYPE
			"\",\"size\":1,\"digest\":\"sha256:%064zu\","
			"\"platform\":{\"os\":\"%s\",\"architecture\":\"%s\",\"variant\":\"%s\"}}",
			i ? "," : "", i, p.v[0], p.v[1], p.v[2]);
	}
	cl_buf_adds(&text, "]}");
	CHECK(!oci_manifest_read(text.p, text.len, OCI_INDEX_TYPE, &m, &e));
	d = oci_platform(&m, r->field[1], r->field[2], &e);
	is = d ? cl_asprintf("%ld", strtol(d->digest + 7, NULL, 10)) : cl_strdup("-");
	if (strcmp(is, r->field[3]) != 0)
		TSV_FAIL(r, "%s", is);
}

void test_platforms__the_one_that_runs(void)
{
	const char *arch, *variant;

	tsv_each("oci/platforms.tsv", platform_row);
	oci_machine("x86_64", &arch, &variant);
	CHECK_STR(arch, "amd64");
	oci_machine("armv7l", &arch, &variant);
	CHECK_STR(variant, "v7");
	oci_machine("riscv64", &arch, &variant);
	CHECK_STR(arch, "riscv64");
}

void test_digests__over_the_bytes(void)
{
	static const char empty[] =
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	char got[OCI_DIGEST];
	struct cl_err e;

	CHECK(!oci_digest_check("", 0, "", "", "x", got, &e));
	CHECK_STR(got, empty);
	CHECK(!oci_digest_check("", 0, empty, empty, "x", got, &e));
	/* Another algorithm in the header is another registry's affair. */
	CHECK(!oci_digest_check("", 0, "", "sha512:00", "x", got, &e));
	CHECK(oci_digest_check("a", 1, empty, "", "x", got, &e));
	CHECK(oci_digest_check("a", 1, "", empty, "x", got, &e));
	CHECK_STR(cl_err_slug(&e), "registry_lies");
}

void test_statuses__each_has_its_meaning(void)
{
	static const struct {
		int status;
		const char *slug;
	} rows[] = {{401, "registry_denied"}, {403, "registry_denied"}, {404, "registry_no_image"},
		{429, "registry_busy"}, {302, "registry_redirect"}, {500, "registry_unavailable"},
		{503, "registry_unavailable"}, {204, "registry_answer"}, {418, "registry_answer"},
		{0, "registry_answer"}};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		CHECK(oci_status(rows[i].status, "ghcr.io", "the manifest", &e));
		CHECK_STR(cl_err_slug(&e), rows[i].slug);
		CHECK(*e.fix && strstr(e.msg, "'ghcr.io'"));
	}
}

/* ---- signatures ---- */

#define DIGEST "sha256:69704ef328d05a9f806b6b8502915e6a0a4faa4d72018dc42343f511490daf8a"

static int payload(const char *text, size_t len, const char *image, struct cl_err *e)
{
	struct ir_ref r;

	CHECK(!ir_parse(image, &r, e));
	return oci_payload_check(text, len, &r, e);
}

void test_payloads__this_image_and_no_other(void)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;
	char *at;

	read_case("manifest-05-cosign-simple-signing-payload.json", &text);
	CHECK(!payload(text.p, text.len, "registry-testing.svc.lan/alpine@" DIGEST, &e));
	CHECK(payload(text.p, text.len, "registry-testing.svc.lan/debian@" DIGEST, &e));
	CHECK_HAS(e.msg, "not for registry-testing.svc.lan/debian");
	CHECK(payload(text.p, text.len, "evil.test/alpine@" DIGEST, &e));
	CHECK(payload(text.p, text.len, "registry-testing.svc.lan/alpine", &e));
	CHECK_HAS(e.msg, "over another image");
	at = strstr(text.p, "daf8a\"");
	*at = 'e';
	CHECK(payload(text.p, text.len, "registry-testing.svc.lan/alpine@" DIGEST, &e));
	*at = 'd';
	at = strstr(text.p, "container image");
	*at = 'C';
	CHECK(payload(text.p, text.len, "registry-testing.svc.lan/alpine@" DIGEST, &e));
	CHECK_HAS(e.msg, "not a 'cosign container image signature'");
	CHECK(payload(text.p, text.len - 1, "registry-testing.svc.lan/alpine@" DIGEST, &e));
	CHECK(payload("[]", 2, "registry-testing.svc.lan/alpine@" DIGEST, &e));
	CHECK_STR(cl_err_slug(&e), "image_signature");
}

void test_payloads__docker_hub_has_several_names(void)
{
	static const char text[] = "{\"critical\":{\"identity\":{\"docker-reference\":"
				   "\"index.docker.io/library/alpine\"},\"image\":{"
				   "\"docker-manifest-digest\":\"" DIGEST "\"},"
				   "\"type\":\"cosign container image signature\"}}";
	struct cl_err e;

	CHECK(!payload(text, strlen(text), "docker.io/alpine@" DIGEST, &e));
	CHECK(payload(text, strlen(text), "docker.io/acme/alpine@" DIGEST, &e));
}

static void signatures(size_t n, const char *layer, const char *says)
{
	cleanup_oci_manifest struct oci_manifest m = OCI_MANIFEST_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	cl_buf_adds(&text, "{\"schemaVersion\":2,\"layers\":[");
	for (size_t i = 0; i < n; i++)
		cl_buf_addf(&text, "%s{\"digest\":\"" DIGEST "\",%s}", i ? "," : "", layer);
	cl_buf_adds(&text, "]}");
	CHECK(!oci_manifest_read(text.p, text.len, "", &m, &e));
	if (!says) {
		CHECK(!oci_signatures_check(&m, &e));
		return;
	}
	CHECK(oci_signatures_check(&m, &e));
	CHECK_HAS(e.msg, says);
	CHECK_STR(cl_err_slug(&e), "image_signature");
}

#define SIGNED                                                                 \
	"\"mediaType\":\"" OCI_COSIGN_TYPE "\",\"size\":200,\"annotations\":{" \
	"\"dev.cosignproject.cosign/signature\":\"AAAA\"}"

void test_signatures__as_many_as_are_looked_at(void)
{
	cleanup_free char *tag = oci_signature_tag(DIGEST);

	signatures(1, SIGNED, NULL);
	signatures(64, SIGNED, NULL);
	signatures(65, SIGNED, "65 signatures");
	signatures(1000, SIGNED, "1000 signatures");
	signatures(0, SIGNED, "0 signatures");
	signatures(1, "\"mediaType\":\"x\",\"size\":1", "type 'x'");
	signatures(1, "\"mediaType\":\"" OCI_COSIGN_TYPE "\",\"size\":1", "no signature in it");
	signatures(1,
		"\"mediaType\":\"" OCI_COSIGN_TYPE "\",\"size\":99999999,\"annotations\":{"
		"\"dev.cosignproject.cosign/signature\":\"AAAA\"}",
		"99999999 bytes");
	CHECK_STR(
		tag, "sha256-69704ef328d05a9f806b6b8502915e6a0a4faa4d72018dc42343f511490daf8a.sig");
}
