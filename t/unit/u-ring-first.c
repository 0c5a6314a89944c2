/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first use of a key ring, by two at once. */
#include "store-fixture.h"
#include "seal/ring.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

static const char root_text[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
static const struct seal_who who = {"uid:0", 1000};

struct other {
	const struct seal_root *root;
	unsigned char public_key[SEAL_KEY];
	bool done;
};

/* Who was faster, by a connection of its own: makes the first key, and seals by it. */
static void be_faster(struct other *o)
{
	cleanup_store struct store *s = NULL;
	cleanup_ring struct seal_ring *r = NULL;
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	struct cl_err e;
	bool made;

	o->done = true;
	if (store_open(path, STORE_RW, &s, &e) || seal_ring_open(s, o->root, &who, &r, &e) ||
		seal_ring_signer(r, NULL, &who, &signer, &made, &e))
		UNIT_FAIL("%s", e.msg);
	memcpy(o->public_key, signer.public_key, SEAL_KEY);
}

/* Between having seen that there is no key and looking for rows that say that there was one. */
static int before(unsigned type, void *arg, void *st, void *text)
{
	struct other *o = arg;

	(void)type;
	(void)st;
	if (!o->done && strstr(text, "wrapped"))
		be_faster(o);
	return 0;
}

void test_ring_first__who_was_faster_made_no_orphan(void)
{
	struct seal_root root = SEAL_ROOT_INIT;
	struct other o = {.root = &root};
	struct store *s = NULL;
	struct seal_ring *r = NULL;
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	struct cl_err e;
	int64_t n;
	bool made;

	fresh();
	CHECK_INT(
		seal_root_parse(root_text, sizeof(root_text) - 1, "'the key file'", &root, &e), 0);
	CHECK_INT(store_open(path, STORE_CREATE, &s, &e), 0);
	(void)sqlite3_trace_v2(s->db, SQLITE_TRACE_STMT, before, &o);
	if (seal_ring_open(s, &root, &who, &r, &e) ||
		seal_ring_signer(r, NULL, &who, &signer, &made, &e))
		UNIT_FAIL("%s", e.msg);
	CHECK(o.done);
	CHECK(!memcmp(signer.public_key, o.public_key, SEAL_KEY));
	CHECK_INT(db_number(s, "SELECT count(*) FROM sealing_key", &n, &e), 0);
	CHECK_INT(n, 1);
	seal_ring_free(r);
	store_close(s);
	seal_root_release(&root);
	gone();
}
