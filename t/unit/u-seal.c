/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The primitives, the envelope and the root key, against answers that others published. */
#include "unit.h"
#include "tsv.h"
#include "base/mem.h"
#include "base/text.h"
#include "seal/envelope.h"
#include "seal/grant.h"
#include "seal/token.h"
#include "seal/root.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct bytes {
	unsigned char p[256];
	size_t len;
};

static struct bytes hex(const struct tsv_row *r, int field)
{
	struct bytes b = {.len = r->len[field] / 2};

	if (b.len > sizeof(b.p) || !cl_unhex(r->field[field], b.p, b.len))
		TSV_FAIL(r, "field %d is no hex", field);
	return b;
}

static void answer(const struct tsv_row *r, int field, const void *got, size_t len)
{
	char text[2 * 256 + 1];

	cl_hex(got, len, text);
	if (strcmp(text, r->field[field]) != 0)
		TSV_FAIL(r, "%s gives %s, not %s", r->field[0], text, r->field[field]);
}

static void vector(const struct tsv_row *r)
{
	struct bytes a = hex(r, 1), b, c, d;
	unsigned char out[512], back[512];
	const char *const *f = (const char *const *)r->field;
	struct cl_err e;
	int rc = 0;

	if (!strcmp(f[0], "hkdf")) {
		b = hex(r, 2);
		c = hex(r, 3);
		seal_hkdf(a.p, a.len, b.p, b.len, c.p, c.len, out);
		answer(r, 4, out, SEAL_KEY);
	} else if (!strcmp(f[0], "scrypt")) {
		b = hex(r, 2);
		rc = seal_scrypt(a.p, a.len, b.p, b.len, strtoull(f[3], NULL, 10),
			(uint32_t)strtoul(f[4], NULL, 10), (uint32_t)strtoul(f[5], NULL, 10), out,
			&e);
		answer(r, 6, out, SEAL_KEY);
	} else if (!strcmp(f[0], "gcm")) {
		b = hex(r, 2);
		c = hex(r, 3);
		d = hex(r, 4);
		seal_gcm(a.p, b.p, c.p, c.len, d.p, d.len, out);
		answer(r, 5, out + SEAL_NONCE, d.len + SEAL_TAG);
		CHECK_INT(seal_ungcm(a.p, c.p, c.len, out, d.len + SEAL_EXTRA, back, &e), 0);
		CHECK(!memcmp(back, d.p, d.len));
		for (size_t i = 0; i < d.len + SEAL_EXTRA; i++) {
			out[i] ^= 1;
			CHECK_INT(
				seal_ungcm(a.p, c.p, c.len, out, d.len + SEAL_EXTRA, back, &e), -1);
			out[i] ^= 1;
		}
	} else if (!strcmp(f[0], "ed25519")) {
		b = hex(r, 3);
		c = hex(r, 4);
		seal_public(a.p, out);
		seal_sign(a.p, b.p, b.len, back);
		answer(r, 2, out, SEAL_KEY);
		answer(r, 4, back, SEAL_SIG);
		CHECK(seal_verify(out, b.p, b.len, back));
	} else if (!strcmp(f[0], "proof")) {
		struct seal_kek k = {f[2], a.p};

		b = hex(r, 3);
		rc = seal_prove(&k, b.p, out, &e);
		answer(r, 4, out, SEAL_PROOF);
		CHECK_INT(seal_check(&k, out, &e), 0);
	} else if (!strcmp(f[0], "wrap")) {
		struct seal_kek k = {f[2], a.p};
		struct seal_place at = {f[3], f[4]};

		b = hex(r, 5);
		c = hex(r, 6);
		rc = seal_wrap(&k, &at, b.p, c.p, out, &e);
		answer(r, 7, out, SEAL_WRAPPED);
		CHECK_INT(seal_unwrap(&k, &at, out, back, &e), 0);
		CHECK(!memcmp(back, c.p, SEAL_KEY));
	} else {
		struct seal_place at = {f[2], f[3]};
		cleanup_seal struct seal_buf text = SEAL_BUF_INIT;

		CHECK_STR(f[0], "payload");
		b = hex(r, 4);
		rc = seal_payload(a.p, &at, b.p, f[5], r->len[5], out, &e);
		answer(r, 6, out, r->len[5] + SEAL_EXTRA);
		CHECK_INT(seal_unpayload(a.p, &at, out, r->len[5] + SEAL_EXTRA, &text, &e), 0);
		CHECK_STR((const char *)text.p, f[5]);
	}
	CHECK_INT(rc, 0);
}

void test_seal__vectors(void)
{
	tsv_each("seal/vectors.tsv", vector);
}

/* Every bit of what was sealed counts, and so does everything that it is bound to. */
void test_seal__altered(void)
{
	unsigned char key[SEAL_KEY] = {7}, other[SEAL_KEY] = {8}, blob[64], wrapped[SEAL_WRAPPED],
		      out[64];
	static const char text[] = "a payload";
	size_t len = sizeof(text) - 1 + SEAL_EXTRA;
	struct seal_place at = {"secrets", "sec_1"};
	const struct seal_place elsewhere[] = {
		{"secrets", "sec_2"}, {"signing", "sec_1"}, {"secret", "ssec_1"}, {"", ""}};
	struct seal_kek k = {"kek_1", key}, kids[] = {{"kek_2", key}, {"kek_1", other}};
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(seal_payload(key, &at, NULL, text, strlen(text), blob, &e), 0);
	CHECK_INT(seal_wrap(&k, &at, NULL, other, wrapped, &e), 0);
	for (size_t bit = 0; bit < len * 8; bit++) {
		blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
		CHECK_INT(seal_unpayload(key, &at, blob, len, &b, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
		CHECK_STR(cl_err_slug(&e), "sealed_altered");
		CHECK(!b.p);
		blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (size_t n = 0; n < len; n++)
		CHECK_INT(seal_unpayload(key, &at, blob, n, &b, &e), -1);
	for (size_t i = 0; i < CL_ARRAY_LEN(elsewhere); i++) {
		CHECK_INT(seal_unpayload(key, &elsewhere[i], blob, len, &b, &e), -1);
		CHECK_INT(seal_unwrap(&k, &elsewhere[i], wrapped, out, &e), -1);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(kids); i++) {
		CHECK_INT(seal_unwrap(&kids[i], &at, wrapped, out, &e), -1);
		/* Nothing of the plain text is left behind by a tag that does not hold. */
		for (size_t n = 0; n < SEAL_KEY; n++)
			CHECK_INT(out[n], 0);
	}
	CHECK_INT(seal_unpayload(key, &at, blob, len, &b, &e), 0);
	CHECK_STR((const char *)b.p, text);
}

void test_seal__nonces_are_fresh(void)
{
	unsigned char key[SEAL_KEY] = {1}, a[40], b[40];
	struct seal_place at = {"secrets", "sec_1"};
	struct cl_err e;

	CHECK_INT(seal_payload(key, &at, NULL, "x", 1, a, &e), 0);
	CHECK_INT(seal_payload(key, &at, NULL, "x", 1, b, &e), 0);
	CHECK(memcmp(a, b, SEAL_NONCE) != 0);
	CHECK(memcmp(a + SEAL_NONCE, b + SEAL_NONCE, 1 + SEAL_TAG) != 0);
}

void test_seal__forged_signatures(void)
{
	unsigned char priv[SEAL_KEY] = {3}, pub[SEAL_KEY], sig[SEAL_SIG];

	seal_public(priv, pub);
	seal_sign(priv, "grant", 5, sig);
	CHECK(seal_verify(pub, "grant", 5, sig));
	CHECK(!seal_verify(pub, "Grant", 5, sig));
	CHECK(!seal_verify(pub, "grant", 4, sig));
	for (size_t i = 0; i < SEAL_SIG; i++) {
		sig[i] ^= 1;
		CHECK(!seal_verify(pub, "grant", 5, sig));
		sig[i] ^= 1;
	}
	memset(sig, 0, sizeof(sig));
	CHECK(!seal_verify(pub, "grant", 5, sig));
	memset(pub, 0, sizeof(pub));
	CHECK(!seal_verify(pub, "grant", 5, sig));
}

/* What was verified once is known by all that was signed, and by nothing less. */
void test_seal__a_grant_verified_again(void)
{
	cleanup_signer struct seal_signer k = SEAL_SIGNER_INIT;
	char text[9][8] = {"id", "sec", "name", "env", "", "any", "{}", "cli", ""};
	struct store_grant g = {.id = text[0],
		.secret_id = text[1],
		.secret_name = text[2],
		.kind = text[3],
		.scope = text[4],
		.subject = text[5],
		.constraints = text[6],
		.created_by = text[7],
		.owner = text[8],
		.expires_at = 5,
		.created_at = 6};
	struct seal_memo m = SEAL_MEMO_INIT;
	struct cl_err e;

	CHECK_INT(seal_buf_make(&k.private_key, SEAL_KEY, &e), 0);
	memset(k.private_key.p, 7, SEAL_KEY);
	seal_public(k.private_key.p, k.public_key);
	CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
	CHECK_INT(seal_grant_sign(&k, &g, &e), 0);
	for (int round = 0; round < 2; round++) {
		CHECK(seal_grant_verify_again(&m, k.public_key, &g));
		for (size_t i = 0; i < 9; i++) {
			char was = text[i][0];

			text[i][0] ^= 1;
			CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
			text[i][0] = was;
		}
		g.expires_at++;
		CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
		g.expires_at--;
		g.created_at++;
		CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
		g.created_at--;
		k.public_key[0] ^= 1;
		CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
		k.public_key[0] ^= 1;
		g.signature[0] = g.signature[0] == '0' ? '1' : '0';
		CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
		CHECK(!seal_grant_verify_again(&m, k.public_key, &g));
		CHECK_INT(seal_grant_sign(&k, &g, &e), 0);
	}
	free(g.signature);
}

/* An address is of one token, and of no other. */
void test_seal__the_address_of_a_token(void)
{
	cleanup_signer struct seal_signer k = SEAL_SIGNER_INIT;
	char url[] = "https://api.github.com", other[] = "http", sum[] = "0a", no_text[] = "\xff";
	struct store_token t = {.base_url = url, .sum = sum};
	struct cl_err e;

	CHECK_INT(seal_buf_make(&k.private_key, SEAL_KEY, &e), 0);
	memset(k.private_key.p, 7, SEAL_KEY);
	seal_public(k.private_key.p, k.public_key);
	CHECK(!seal_token_verify(k.public_key, &t));
	CHECK_INT(seal_token_sign(&k, &t, &e), 0);
	CHECK(seal_token_verify(k.public_key, &t));
	url[8] ^= 1;
	CHECK(!seal_token_verify(k.public_key, &t));
	url[8] ^= 1;
	sum[1] ^= 1;
	CHECK(!seal_token_verify(k.public_key, &t));
	sum[1] ^= 1;
	k.public_key[0] ^= 1;
	CHECK(!seal_token_verify(k.public_key, &t));
	k.public_key[0] ^= 1;
	CHECK(seal_token_verify(k.public_key, &t));
	t.base_url = NULL;
	CHECK(!seal_token_verify(k.public_key, &t));
	t.base_url = no_text;
	CHECK(!seal_token_verify(k.public_key, &t));
	free(t.signature);
	t.signature = other;
	t.base_url = url;
	CHECK(!seal_token_verify(k.public_key, &t));
	t.signature = NULL;
	t.base_url = no_text;
	CHECK_INT(seal_token_sign(&k, &t, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
}

/* ---- the root key ---- */

static char dir[64], file[128];

static void put(const char *text, size_t len, mode_t mode)
{
	int fd;

	(void)unlink(file);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || fchmod(fd, mode) || close(fd))
		UNIT_FAIL("cannot write %s", file);
}

static void setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/u-seal-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	(void)snprintf(file, sizeof(file), "%s/key", dir);
}

static void teardown(void)
{
	(void)unlink(file);
	(void)rmdir(dir);
}

#define RAW "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

void test_seal__root_forms(void)
{
	static const struct {
		const char *text;
		bool raw;
	} rows[] = {{RAW, true}, {RAW "=", false},
		{"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9", false},
		{"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh ", false}, {" ", false},
		{"correct horse battery staple", false}, {"\xff\x01", false}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_root struct seal_root r = SEAL_ROOT_INIT;
		cleanup_seal struct seal_buf text = SEAL_BUF_INIT;
		struct cl_err e;

		CHECK_INT(seal_root_parse(rows[i].text, strlen(rows[i].text), "x", &r, &e), 0);
		CHECK_INT(r.raw, rows[i].raw);
		CHECK_STR(seal_root_method(&r), r.raw ? "hkdf" : "scrypt");
		CHECK_INT(seal_root_text(&r, &text, &e), 0);
		CHECK_STR((const char *)text.p, rows[i].text);
		if (r.raw)
			CHECK_INT(r.key.p[31], 31);
	}
}

static void refused(const struct seal_ask *ask, const char *slug, const char *piece)
{
	cleanup_root struct seal_root r = SEAL_ROOT_INIT;
	struct cl_err e;

	cl_err_init(&e);
	CHECK_INT(seal_root_find(ask, &r, &e), -1);
	CHECK_STR(cl_err_slug(&e), slug);
	CHECK_HAS(e.msg, piece);
	CHECK(!strstr(e.msg, RAW) && !strstr(e.fix, RAW));
}

void test_seal__root_places(void)
{
	cleanup_root struct seal_root r = SEAL_ROOT_INIT, p = SEAL_ROOT_INIT;
	struct seal_ask ask = {.uid = geteuid()};
	struct cl_err e;

	setup();
	refused(&ask, "key_missing", "CLOOP_SECRET_KEY is not set");
	ask.env_file = "";
	refused(&ask, "key_missing", "CLOOP_SECRET_KEY is not set");
	ask.env_key = "";
	refused(&ask, "key_empty", "CLOOP_SECRET_KEY is empty");
	ask.env_key = NULL;
	ask.config_file = file;
	refused(&ask, "key_missing", file);
	put(RAW "\n", 44, 0600);
	CHECK_INT(seal_root_find(&ask, &r, &e), 0);
	CHECK(r.raw && r.key.len == 32);
	ask.env_key = RAW;
	CHECK_INT(seal_root_find(&ask, &p, &e), 0);
	ask.env_key = "another " RAW;
	refused(&ask, "key_differs", "two different keys");
	/* The file that the environment names wins over the configured one. */
	ask = (struct seal_ask){
		.uid = geteuid(), .env_file = "/nonexistent/k", .config_file = file};
	refused(&ask, "key_missing", "/nonexistent/k");
	teardown();
}

void test_seal__root_file_rules(void)
{
	static const mode_t bad[] = {0644, 0640, 0660, 0604, 0606, 0700, 0200, 0000, 04600};
	struct seal_ask ask = {.uid = geteuid()};
	char below[160];

	setup();
	ask.config_file = file;
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		put(RAW, 43, bad[i]);
		if (geteuid() || bad[i] & 0400)
			refused(&ask, bad[i] & 0400 ? "key_mode" : "key_missing", file);
		else
			refused(&ask, "key_mode", file);
	}
	put("", 0, 0400);
	refused(&ask, "key_empty", file);
	put("\n", 1, 0400);
	refused(&ask, "key_empty", file);
	(void)unlink(file);
	CHECK_INT(mkdir(file, 0700), 0);
	refused(&ask, "key_missing", "no regular file");
	(void)rmdir(file);
	CHECK_INT(mkfifo(file, 0600), 0);
	refused(&ask, "key_missing", "no regular file");
	put(RAW, 43, 0600);
	if (!geteuid()) {
		CHECK_INT(chown(file, 12345, 0), 0);
		refused(&ask, "key_owner", "uid 12345");
		CHECK_INT(chown(file, 0, 0), 0);
	}
	/* A link from outside does not hide where the file is. */
	(void)snprintf(below, sizeof(below), "%s/.cloop", dir);
	CHECK_INT(mkdir(below, 0700), 0);
	(void)snprintf(below, sizeof(below), "%s/.cloop/key", dir);
	CHECK_INT(rename(file, below), 0);
	CHECK_INT(symlink(below, file), 0);
	refused(&ask, "key_inside_hub", ".cloop");
	(void)unlink(below);
	(void)snprintf(below, sizeof(below), "%s/.cloop", dir);
	(void)rmdir(below);
	teardown();
}

void test_seal__root_line_ends(void)
{
	static const struct {
		const char *text, *key;
	} rows[] = {{"pass", "pass"}, {"pass\n", "pass"}, {"pass\r\n", "pass"},
		{"pass\n\n", "pass\n"}, {" pass ", " pass "}};

	setup();
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_root struct seal_root r = SEAL_ROOT_INIT;
		struct cl_err e;

		put(rows[i].text, strlen(rows[i].text), 0400);
		CHECK_INT(seal_root_file(file, geteuid(), &r, &e), 0);
		CHECK_STR((const char *)r.key.p, rows[i].key);
	}
	teardown();
}

void test_seal__root_derives(void)
{
	cleanup_root struct seal_root raw = SEAL_ROOT_INIT, pass = SEAL_ROOT_INIT;
	unsigned char salt[SEAL_SALT] = {1}, other[SEAL_SALT] = {2}, a[SEAL_KEY], b[SEAL_KEY];
	struct cl_err e;

	CHECK_INT(seal_root_parse(RAW, 43, "x", &raw, &e), 0);
	CHECK_INT(seal_root_parse("word", 4, "x", &pass, &e), 0);
	CHECK_INT(seal_root_derive(&raw, "kek_1", salt, a, &e), 0);
	CHECK_INT(seal_root_derive(&raw, "kek_1", salt, b, &e), 0);
	CHECK(!memcmp(a, b, SEAL_KEY));
	CHECK_INT(seal_root_derive(&raw, "kek_2", salt, b, &e), 0);
	CHECK(memcmp(a, b, SEAL_KEY) != 0);
	CHECK_INT(seal_root_derive(&raw, "kek_1", other, b, &e), 0);
	CHECK(memcmp(a, b, SEAL_KEY) != 0);
	CHECK_INT(seal_root_derive(&pass, "kek_1", salt, a, &e), 0);
	CHECK_INT(seal_root_derive(&pass, "kek_1", other, b, &e), 0);
	CHECK(memcmp(a, b, SEAL_KEY) != 0);
}
