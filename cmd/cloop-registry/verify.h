/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question whether an image is signed, and what was found on the way. */
#ifndef CLOOP_REGISTRY_VERIFY_H
#define CLOOP_REGISTRY_VERIFY_H

#include "registry.h"
#include "seal/pubkey.h"

#define VERIFY_KEYS 64

struct verify_key {
	const char *path;
	struct seal_pubkey *key; /* NULL: it cannot be used here */
	bool remote;             /* no file: cosign's affair */
};

/* What keeps a signature from counting; of several the last of these counts. */
enum verify_flaw { VERIFY_MISSING, VERIFY_UNCHECKED, VERIFY_WRONG };

struct verify {
	struct client c; /* its reference gets the digest that is looked at */
	struct cl_strv digests, key_paths;
	struct verify_key keys[VERIFY_KEYS];
	size_t nkeys;
	json_t *identities;    /* of the request: [{issuer, subject_regexp}] */
	struct cl_buf reasons; /* why not, one after the other */
	size_t nreasons;
	enum verify_flaw flaw; /* the worst of them */
	char fix[500];         /* of the first */
};

/* Adds why something did not verify. */
void verify_note(struct verify *v, enum verify_flaw flaw, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * cosign.c: the operator's cosign, for every key that is not a file, for the files where the registry
 * has no signatures in the place that we know (!found), and for every identity. True, and *who
 * (borrowed), when one verifies.
 */
bool verify_by_cosign(struct verify *v, bool found, const char **who);

#endif
