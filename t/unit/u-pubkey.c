/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures of others over an image: made by openssl(1), checked by us. */
#include "base/b64.h"
#include "base/mem.h"
#include "seal/pubkey.h"
#include "case_file.h"

static void load(const char *name, struct cl_buf *out)
{
	cleanup_free char *path = cl_asprintf("pubkey/%s", name);

	case_file(path, out);
}

static struct seal_pubkey *key_of(const char *name)
{
	cleanup_free char *file = cl_asprintf("%s.pub.pem", name);
	cleanup_buf struct cl_buf pem = CL_BUF_INIT;
	struct seal_pubkey *k = NULL;
	struct cl_err e;

	load(file, &pem);
	CHECK(!seal_pubkey_read(file, pem.p, pem.len, &k, &e));
	return k;
}

static void signature_of(const char *name, struct cl_buf *out)
{
	cleanup_free char *file = cl_asprintf("%s.sig", name);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	load(file, &text);
	CHECK(cl_b64_decode(CL_B64, text.p, text.len, false, out));
}

static const char *const kinds[] = {"ec", "p384", "p521", "rsa", "ed"};

void test_pubkey__each_kind_takes_its_own_and_no_other(void)
{
	cleanup_buf struct cl_buf msg = CL_BUF_INIT;

	load("message", &msg);
	for (size_t i = 0; i < CL_ARRAY_LEN(kinds); i++) {
		struct seal_pubkey *k = key_of(kinds[i]);

		for (size_t j = 0; k && j < CL_ARRAY_LEN(kinds); j++) {
			cleanup_buf struct cl_buf sig = CL_BUF_INIT;

			signature_of(kinds[j], &sig);
			CHECK_INT(seal_pubkey_verify(k, msg.p, msg.len, sig.p, sig.len), i == j);
		}
		seal_pubkey_free(k);
	}
}

void test_pubkey__a_bit_less_or_other_is_none(void)
{
	cleanup_buf struct cl_buf msg = CL_BUF_INIT;

	load("message", &msg);
	for (size_t i = 0; i < CL_ARRAY_LEN(kinds); i++) {
		cleanup_buf struct cl_buf sig = CL_BUF_INIT;
		struct seal_pubkey *k = key_of(kinds[i]);

		signature_of(kinds[i], &sig);
		CHECK(!seal_pubkey_verify(k, msg.p, msg.len - 1, sig.p, sig.len));
		CHECK(!seal_pubkey_verify(k, "", 0, sig.p, sig.len));
		CHECK(!seal_pubkey_verify(k, msg.p, msg.len, sig.p, 0));
		for (size_t n = 1; n < sig.len; n += 7) {
			CHECK(!seal_pubkey_verify(k, msg.p, msg.len, sig.p, sig.len - n));
			sig.p[n] ^= 1;
			CHECK(!seal_pubkey_verify(k, msg.p, msg.len, sig.p, sig.len));
			sig.p[n] ^= 1;
		}
		cl_buf_addc(&sig, 'x');
		CHECK(!seal_pubkey_verify(k, msg.p, msg.len, sig.p, sig.len));
		seal_pubkey_free(k);
	}
}

void test_pubkey__what_is_no_key(void)
{
	static const struct {
		const char *file, *says;
	} rows[] = {{"rsa1024.pub.pem", "less than 2048 bits"}, {"k256.pub.pem", "on a curve"},
		{"ed448.pub.pem", "of a kind"}, {"certificate.pem", "no public key"},
		{"message", "no public key"}, {"ec.sig", "no public key"}};
	struct seal_pubkey *k = NULL;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_buf struct cl_buf pem = CL_BUF_INIT;

		load(rows[i].file, &pem);
		CHECK(seal_pubkey_read("/keys/acme.pub", pem.p, pem.len, &k, &e));
		CHECK_HAS(e.msg, rows[i].says);
		CHECK_HAS(e.msg, "'/keys/acme.pub'");
		CHECK_STR(cl_err_slug(&e), "image_key");
	}
	CHECK(seal_pubkey_read("x", "", 0, &k, &e));
	CHECK(!k);
}
