/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A command that holds the key (DECISIONS K5): the hub, its store, the root key and the ring in
 * one. The environment gives the key up: it is wiped there once it was read.
 */
#ifndef WORK_KEYED_H
#define WORK_KEYED_H

#include "cli/cli.h"
#include "seal/grant.h"
#include "seal/ring.h"
#include "store/store.h"
#include "sys/hub.h"

struct keyed {
	struct hub hub;
	struct store *store;
	struct seal_root root;
	struct seal_ring *ring; /* NULL where no key was asked for */
	struct cfg cfg;         /* the configuration in force */
	char *env_file;         /* CLOOP_SECRET_KEY_FILE, or NULL */
	char actor[80];         /* "cli:root" */
	int64_t now;            /* Unix milliseconds */
	struct seal_memo memo;  /* of the grants that were judged */
	struct known *known;    /* work/known.h: the grants that were read last, or NULL */
	bool public_known;      /* keyed_public has found it */
	unsigned char public_key[SEAL_KEY];
};
#define KEYED_INIT ((struct keyed){0})
void keyed_release(struct keyed *k);
#define cleanup_keyed __attribute__((cleanup(keyed_release)))

/* Hub and store (STORE_RO or STORE_RW) without a key: what works when there is none (K9). */
int keyed_without(
	const struct cl_ctx *c, enum store_mode mode, struct keyed *out, struct cl_err *e);
/* Then the root key, by the rules of seal_root_find. */
int keyed_root(struct keyed *k, struct cl_err *e);
/* All of it: store for writing, root key, ring. */
int keyed_open(const struct cl_ctx *c, struct keyed *out, struct cl_err *e);
/*
 * The public half of the key that signs grants, from .cloop/grants.pub, which only its owner
 * may write; *known false when there is none yet. Read until it is there, and then kept: *k is for
 * one operation. Needs no key.
 */
int keyed_public(struct keyed *k, unsigned char out[SEAL_KEY], bool *known, struct cl_err *e);
/* Both halves, made at the first use; grants.pub is written where it is missing. */
int keyed_signer(struct keyed *k, struct seal_signer *out, struct cl_err *e);
struct seal_who keyed_who(const struct keyed *k);

/*
 * An audit row in the caller's transaction, where there is one. detail is consumed and may be
 * NULL; "decision": "allow" is added where it has none.
 */
int keyed_audit(struct keyed *k, const char *action, const char *entity, const char *id,
	json_t *take_detail, struct cl_err *e);
/* The same of a detail that is written already, its "decision" too: canonical JSON. */
int keyed_audit_text(struct keyed *k, const char *action, const char *entity, const char *id,
	const char *detail, struct cl_err *e);

#endif
