/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hub in a folder of its own whose key is held: secrets, signed grants and leases. */
#ifndef T_UNIT_LEASE_H
#define T_UNIT_LEASE_H

#include "store-fixture.h"
#include "store/audit.h"
#include "sys/id.h"
#include "work/lease/lease.h"
#include "work/lease/lease_wire.h"

#define NOW  INT64_C(1800000000000)
#define HOUR INT64_C(3600000)

/* In place: the ring borrows the root key. */
static void hub_open(struct keyed *k, enum store_mode mode)
{
	static const char key[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
	static const struct seal_who who = {"uid:0", NOW};
	struct cl_err e;

	*k = KEYED_INIT;
	k->now = NOW;
	(void)snprintf(k->actor, sizeof(k->actor), "uid:0");
	k->hub.dir = cl_strdup(dir);
	if (store_open(path, mode, &k->store, &e) ||
		seal_root_parse(key, sizeof(key) - 1, "'the key file'", &k->root, &e) ||
		seal_ring_open(k->store, &k->root, &who, &k->ring, &e))
		UNIT_FAIL("%s", e.msg);
}

static void hub_make(struct keyed *k)
{
	char inner[96];

	fresh();
	(void)snprintf(inner, sizeof(inner), "%s/.cloop", dir);
	if (mkdir(inner, 0700))
		abort();
	hub_open(k, STORE_CREATE);
}

static void hub_gone(struct keyed *k)
{
	char p[120];

	keyed_release(k);
	(void)snprintf(p, sizeof(p), "%s/.cloop/grants.pub", dir);
	(void)unlink(p);
	(void)snprintf(p, sizeof(p), "%s/.cloop", dir);
	(void)rmdir(p);
	gone();
}

static void hub_mint(struct keyed *k, const char *name, const char *kind, const char *payload)
{
	cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;
	cleanup_sealed_row struct store_sealed sealed = {0};
	enum store_put how;
	struct cl_err e;
	char id[32];

	if (sys_new_id("sec_", 24, id, sizeof(id), &e) ||
		seal_ring_seal(k->ring, STORE_SECRETS, id, payload, strlen(payload), &sealed, &e))
		UNIT_FAIL("%s", e.msg);
	row.id = cl_steal(&sealed.id);
	row.kind = cl_strdup(kind);
	row.name = cl_strdup(name);
	row.key_id = cl_steal(&sealed.key_id);
	row.wrapped = cl_steal(&sealed.wrapped);
	row.sealed = cl_steal(&sealed.sealed);
	row.metadata = cl_strdup("{}");
	row.owner = cl_strdup("");
	row.created_at = NOW;
	row.created_by = cl_strdup("uid:0");
	CHECK_INT(store_secret_insert(k->store, &row, &how, &e), 0);
	CHECK_INT(how, STORE_PUT);
}

/* A signed grant; its id is written to out, which holds 40 bytes. */
static void hub_grant(struct keyed *k, const char *name, const char *subject,
	const char *constraints, int64_t expires_at, char *out)
{
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	struct cl_err e;
	bool won = false;

	if (secret_find(k, name, &secret, &e) || keyed_signer(k, &signer, &e) ||
		sys_new_id("grant_", 24, out, 40, &e)) {
		UNIT_FAIL("%s", e.msg);
		return;
	}
	g.id = cl_strdup(out);
	g.secret_id = cl_strdup(secret.id);
	g.secret_name = cl_strdup(secret.name);
	g.kind = cl_strdup(secret.kind);
	g.scope = cl_strdup("");
	g.subject = cl_strdup(subject);
	g.constraints = cl_strdup(constraints);
	g.expires_at = expires_at;
	g.created_at = NOW;
	g.created_by = cl_strdup("uid:0");
	g.owner = cl_strdup("");
	if (seal_grant_sign(&signer, &g, &e) || store_grant_insert(k->store, &g, &won, &e) || !won)
		UNIT_FAIL("the grant of %s was not made", name);
}

static void hub_revoke(struct keyed *k, const char *grant, const char *cause, const char *successor)
{
	const struct store_end end = {
		.at = NOW, .by = "uid:0", .cause = cause, .successor = successor};
	struct cl_err e;
	bool won = false;

	CHECK_INT(store_grant_revoke(k->store, grant, &end, &won, &e), 0);
	CHECK(won);
}

static struct lease *hub_take(struct keyed *k, const char *project)
{
	const struct lease_request r = {.run_id = "run_0123456789abcdef01234567",
		.project = project,
		.executor = "container",
		.now = NOW};
	struct lease *l = NULL;
	struct cl_err e;

	if (lease_take(k, &r, &l, &e))
		UNIT_FAIL("%s", e.msg);
	return l;
}

#endif
