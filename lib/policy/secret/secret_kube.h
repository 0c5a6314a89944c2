/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kubeconfigs: read, cut down to what a grant allows, several merged into one, written again.
 * facts/secrets.md 7. What is cut is gone: a workload that was granted one context holds no
 * address and no credential of another. A namespace is only kubectl's default, and verbs
 * cannot be written into the document at all: sec_kube_unenforced says so. Pure.
 */
#ifndef CL_POLICY_SECRET_KUBE_H
#define CL_POLICY_SECRET_KUBE_H

#include "policy/secret/secret_constraint.h"

/* A document cut down to one grant. Its strings are secret and wiped on release. */
struct sec_kube {
	json_t *doc; /* apiVersion, kind, current-context, clusters, contexts, users */
};
#define SEC_KUBE_INIT ((struct sec_kube){0})
void sec_kube_release(struct sec_kube *k);
#define cleanup_kube __attribute__((cleanup(sec_kube_release)))

/*
 * Reads a document as it is: YAML, at least one context, at most 1000 entries of a sort, no
 * name twice, every entry a mapping with a name. CL_EDATA, slug "invalid_payload".
 */
int sec_kube_read(const char *text, size_t len, struct sec_kube *out, struct cl_err *e);

/*
 * Keeps the contexts that both lists allow, each pinned to an allowed namespace where
 * namespaces are listed, with the clusters and users they refer to. CL_EREFUSED when none is
 * left (the message names both lists), when a user that is left signs in through a plugin
 * (user, context and plugin are named), and when what is left names a file of the machine it
 * came from. `secret` names it in messages.
 */
int sec_kube_minimise(
	struct sec_kube *k, const struct sec_constraints *c, const char *secret, struct cl_err *e);

/*
 * Tells of what would be refused whatever is granted: users of plugins and of files. For
 * mint, which takes such a document.
 */
void sec_kube_notes(const struct sec_kube *k, struct cl_strv *notes);

/* "prod/default,staging/staging-ns": contexts with their namespaces, document order. */
void sec_kube_summary(const struct sec_kube *k, struct cl_buf *out);
/* The YAML text. Give a secret buffer. */
void sec_kube_write(const struct sec_kube *k, struct cl_buf *out);
/*
 * Every text that signs somebody in: tokens, passwords, those in URLs of clusters too, and keys (as
 * they stand and decoded).
 */
void sec_kube_secrets(const struct sec_kube *k, struct cl_strv *out);

/*
 * What of the grant nothing enforces without the access monitor, as the guide words it:
 * "namespaces team-a and read-only access (get, list, watch)"; "" when nothing. Unless an
 * administrator has acknowledged it, a grant with such a claim is not delivered.
 */
void sec_kube_unenforced(const struct sec_constraints *c, struct cl_buf *out);

/* One of the grants that share a document. */
struct sec_kube_part {
	const struct sec_kube *kube;
	const struct sec_constraints *constraints;
	const char *secret;
	struct cl_strv contexts; /* out: its names in the merged document */
};
/*
 * Merges n >= 1 parts; v is put into the order of the merged document, the narrowest first,
 * and current-context is its first part's. One part keeps its names; with several each
 * cluster, user and context is named after its secret. *out is SEC_KUBE_INIT.
 */
void sec_kube_merge(struct sec_kube_part *v, size_t n, struct sec_kube *out);
/* The value of CLOOP_K8S_GRANTS: one object a part, no credential; owned. */
char *sec_kube_grants_json(const struct sec_kube_part *v, size_t n);
/* The first namespace of the list that is no pattern, or NULL. */
const char *sec_kube_namespace(const struct sec_constraints *c);

#endif
