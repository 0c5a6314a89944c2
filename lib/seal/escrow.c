/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/escrow.h"

#include "base/b64.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 1
/* What an import takes: our own cost and stronger ones, up to a gibibyte of memory. */
#define N_MIN SEAL_SCRYPT_N
#define N_MAX ((uint64_t)1 << 20)
#define ABOUT                                                                                 \
	"the root key of a cloop hub, sealed to a passphrase; it comes back with: cloop hub " \
	"key escrow import FILE"

void seal_escrow_release(struct seal_escrow *x)
{
	free(x->hub);
	free(x->bound);
	cl_strv_release(&x->keys);
	cl_buf_release(&x->sealed);
	*x = SEAL_ESCROW_INIT;
}

static json_t *document(const struct seal_escrow *x)
{
	char when[32], salt[2 * SEAL_SALT + 1];
	json_t *keys = json_array();

	for (size_t i = 0; i < x->keys.n; i++)
		(void)json_array_append_new(keys, cl_json_string(x->keys.v[i]));
	cl_format_time(x->created_at, when);
	cl_hex(x->salt, SEAL_SALT, salt);
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:I, s:i, s:i, s:s}", "cloop_escrow",
		VERSION, "about", ABOUT, "hub", x->hub, "created_at", when, "keys", keys, "kdf",
		"scrypt", "n", (json_int_t)x->n, "r", SEAL_SCRYPT_R, "p", SEAL_SCRYPT_P, "salt",
		salt);
}

static int derive(const struct seal_escrow *x, const struct seal_buf *pass, struct seal_buf *key,
	struct cl_err *e)
{
	if (seal_buf_make(key, SEAL_KEY, e))
		return -1;
	return seal_scrypt(pass->p, pass->len, x->salt, SEAL_SALT, x->n, SEAL_SCRYPT_R,
		SEAL_SCRYPT_P, key->p, e);
}

int seal_escrow_make(struct seal_escrow *x, const struct seal_root *root,
	const struct seal_buf *pass, struct cl_buf *out, struct cl_err *e)
{
	cleanup_seal struct seal_buf key = SEAL_BUF_INIT, text = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf sealed = CL_BUF_INIT;
	cleanup_free char *dump = NULL;
	unsigned char nonce[SEAL_NONCE], *to;
	json_t *doc;

	if (pass->len < SEAL_ESCROW_PASS_MIN) {
		(void)cl_fail(e, CL_EDATA, "the passphrase has %zu bytes", pass->len);
		return cl_fix(e, "take %d or more: who has the file can guess for years",
			SEAL_ESCROW_PASS_MIN);
	}
	x->n = SEAL_SCRYPT_N;
	if (seal_random(x->salt, sizeof(x->salt), e) || seal_random(nonce, sizeof(nonce), e) ||
		derive(x, pass, &key, e) || seal_root_text(root, &text, e))
		return -1;
	doc = document(x);
	free(x->bound);
	x->bound = cl_json_text(doc);
	cl_buf_reset(&x->sealed);
	to = (unsigned char *)cl_buf_reserve(&x->sealed, text.len + SEAL_EXTRA);
	seal_gcm(key.p, nonce, x->bound, strlen(x->bound), text.p, text.len, to);
	x->sealed.len = text.len + SEAL_EXTRA;
	cl_b64_encode(CL_B64, x->sealed.p, x->sealed.len, &sealed);
	(void)json_object_set_new(doc, "sealed", json_string(sealed.p));
	dump = json_dumps(doc, JSON_INDENT(2));
	json_decref(doc);
	cl_buf_addf(out, "%s\n", dump);
	return 0;
}

static int read_fields(struct cl_doc *d, struct seal_escrow *x, struct cl_err *e)
{
	static const char *const known[] = {"cloop_escrow", "about", "hub", "created_at", "keys",
		"kdf", "n", "r", "p", "salt", "sealed"};
	const char *hub = NULL, *kdf = NULL, *salt = NULL, *sealed = NULL, *when = NULL;
	int64_t version = 0, n = 0, r = 0, p = 0;

	if (!json_is_object(d->root) || !cl_doc_has(d->root, "cloop_escrow"))
		return cl_fail(e, CL_EDATA, "'%s' is no escrow of a root key", d->name);
	if (cl_doc_int(d, d->root, "cloop_escrow", VERSION, VERSION, &version, e) ||
		cl_doc_closed(d, d->root, "", known, CL_ARRAY_LEN(known), e) ||
		cl_doc_str(d, d->root, "hub", &hub, e) || cl_doc_str(d, d->root, "kdf", &kdf, e) ||
		cl_doc_int(d, d->root, "n", (int64_t)N_MIN, (int64_t)N_MAX, &n, e) ||
		cl_doc_int(d, d->root, "r", SEAL_SCRYPT_R, SEAL_SCRYPT_R, &r, e) ||
		cl_doc_int(d, d->root, "p", SEAL_SCRYPT_P, SEAL_SCRYPT_P, &p, e) ||
		cl_doc_str(d, d->root, "salt", &salt, e) ||
		cl_doc_str(d, d->root, "sealed", &sealed, e) ||
		cl_doc_str(d, d->root, "created_at", &when, e) ||
		cl_doc_strv(d, d->root, "keys", 1000, &x->keys, e))
		return -1;
	if (!hub || !kdf || strcmp(kdf, "scrypt") != 0 || !n || !r || !p || !salt || !when ||
		!cl_unhex(salt, x->salt, SEAL_SALT) || (n & (n - 1)) || !sealed ||
		!cl_b64_decode(CL_B64, sealed, strlen(sealed), false, &x->sealed) ||
		x->sealed.len <= SEAL_EXTRA || x->sealed.len > SEAL_ROOT_MAX + SEAL_EXTRA)
		return cl_fail(e, CL_EDATA, "'%s' is no whole escrow of a root key", d->name);
	x->n = (uint64_t)n;
	x->hub = cl_strdup(hub);
	return cl_parse_time(when, "created_at", &x->created_at, e);
}

int seal_escrow_parse(
	const char *name, const char *text, size_t len, struct seal_escrow *out, struct cl_err *e)
{
	const struct cl_doc_limits limits = {.max_bytes = SEAL_ESCROW_MAX, .depth = 3};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (cl_doc_parse(&d, CL_DOC_JSON, name, text, len, &limits, e) || read_fields(&d, out, e))
		return -1;
	(void)json_object_del(d.root, "sealed");
	out->bound = cl_json_text(d.root);
	return 0;
}

int seal_escrow_open(const struct seal_escrow *x, const struct seal_buf *pass, const char *name,
	struct seal_root *out, struct cl_err *e)
{
	cleanup_seal struct seal_buf key = SEAL_BUF_INIT, text = SEAL_BUF_INIT;
	size_t len = x->sealed.len - SEAL_EXTRA;

	if (derive(x, pass, &key, e) || seal_buf_make(&text, len, e))
		return -1;
	if (seal_ungcm(key.p, x->bound, strlen(x->bound), x->sealed.p, x->sealed.len, text.p, e)) {
		if (e->code != CL_EDATA)
			return -1;
		(void)cl_fail(e, CL_EDENIED,
			"%s does not open: it is another passphrase, or the file was altered",
			name);
		(void)cl_slug(e, "escrow_closed");
		return cl_fix(e, "try again; blanks and case count, a line end does not");
	}
	return seal_root_parse(text.p, len, name, out, e);
}
