/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Image references, parsed as facts/executors.md 2.1 has it: registry, repository, tag
 * and digest are told apart once, and everything that judges an image compares these
 * parts, never the text. Pure.
 */
#ifndef CL_POLICY_IMAGEREF_H
#define CL_POLICY_IMAGEREF_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define IR_MAX 512 /* bytes of a reference */

/* A value without pointers: nothing to release. */
struct ir_ref {
	char original[IR_MAX + 1];   /* as written; a longer text is cut */
	char registry[IR_MAX + 1];   /* lower case, Docker Hub's aliases folded; "": none named */
	char repository[IR_MAX + 9]; /* "library/" added where Docker Hub means it */
	char tag[IR_MAX + 1];        /* "" when there is none */
	char digest[8 + 128 + 1];    /* "sha256:...", "sha512:..." or "" */
	bool qualified;              /* a registry was named */
};

/*
 * Parses one reference. CL_EDATA with the rule "reference-syntax"; *out then holds what
 * was recognised before the failure (always `original`).
 */
int ir_parse(const char *text, struct ir_ref *out, struct cl_err *e);

/* Gives a reference without a registry this one, which ir_registry has accepted. */
void ir_qualify(struct ir_ref *r, const char *registry);

/*
 * Checks and normalises a registry host: host[:port] or [IPv6][:port], lower case,
 * index.docker.io and registry-1.docker.io become docker.io. False: not a registry.
 */
bool ir_registry(const char *text, char out[IR_MAX + 1]);

/* True for path components of [a-z0-9._-] joined by '/', alphanumeric at both ends. */
bool ir_repository(const char *text);

/* True when the first component of "a/b" names a registry (facts 2.1, step 5). */
bool ir_names_registry(const char *first, size_t len);

/* "registry/repository@digest"; empty without a digest. */
void ir_canonical(const struct ir_ref *r, struct cl_buf *out);
/*
 * The whole reference again, as far as it is known; it parses to the same parts. A host
 * that only capitals tell from a path ("Foo/bar") is written in capitals.
 */
void ir_text(const struct ir_ref *r, struct cl_buf *out);

#define IR_DOCKER "docker.io"

#endif
