/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The image trust policy (`sandbox.image_policy` of config.yaml): which images a project
 * may name. facts/executors.md 2.2 with DECISIONS S4. Pure: pinning a tag to a digest and
 * verifying signatures are done by who asks, and told as refusals with ip_refuse().
 */
#ifndef CL_POLICY_IMAGEPOLICY_H
#define CL_POLICY_IMAGEPOLICY_H

#include "base/doc.h"
#include "policy/image/imageref.h"

#define IP_RULE_SYNTAX      "reference-syntax"
#define IP_RULE_UNQUALIFIED "unqualified-reference"
#define IP_RULE_REGISTRY    "registry-allowlist"
#define IP_RULE_REPOSITORY  "repository-allowlist"
#define IP_RULE_DIGEST      "digest-required"
#define IP_RULE_RESOLUTION  "digest-resolution"
#define IP_RULE_SIGNATURE   "signature-required"
#define IP_RULE_CONFIG      "policy-configuration"

/* A keyless signer: cosign's --certificate-oidc-issuer and --certificate-identity-regexp. */
struct ip_identity {
	char *issuer, *subject_regexp;
};

/* Zero is the policy that restricts nothing. */
struct ip_policy {
	struct cl_strv registries; /* "ghcr.io", "*.example.com", "*"; normalised */
	struct cl_strv repos;      /* "ghcr.io/acme/tools", "ghcr.io/acme/..." with a final star */
	bool require_digest, require_signature;
	bool govern_operator_images; /* the operator's own images too; for who starts them */
	struct cl_strv keys;         /* paths of cosign public keys */
	struct ip_identity *identities;
	size_t nidentities, identities_cap;
	char *default_registry; /* NULL: none */
	char *unusable;         /* not NULL: why; every image is refused (policy-configuration) */
};
#define IP_POLICY_INIT ((struct ip_policy){0})
void ip_policy_release(struct ip_policy *p);
#define cleanup_ip_policy __attribute__((cleanup(ip_policy_release)))

/*
 * Reads the mapping `sandbox.image_policy` (obj NULL: no policy) into *out, which is
 * IP_POLICY_INIT. When only the tree is left, d is an empty document and places are unknown. Closed: an unknown key here would be a rule that is silently not in
 * force. Keys: allowed_registries, allowed_repos, require_digest, require_signature,
 * cosign_public_keys, cosign_identities[{issuer, subject_regexp}], default_registry,
 * govern_operator_images. CL_ECONFIG with rule policy-configuration and the place; *out
 * then refuses every image, so a caller that goes on is safe.
 */
int ip_policy_read(struct cl_doc *d, json_t *obj, struct ip_policy *out, struct cl_err *e);
/* Makes the policy refuse everything, with this reason. */
void ip_policy_break(struct ip_policy *p, const char *why);
/*
 * The same mapping, normalised; owned. Of a policy that could not be read it is {unusable: why,
 * govern_operator_images}, which is read back as one that refuses everything.
 */
json_t *ip_policy_json(const struct ip_policy *p);
/* True when a rule is set that can refuse (keys or default_registry alone are none). */
bool ip_policy_active(const struct ip_policy *p);
/* 16 hex of a hash of the normalised policy: the key of whatever is cached under it. */
void ip_policy_fingerprint(const struct ip_policy *p, char out[17]);

struct ip_decision {
	struct ir_ref ref; /* with default_registry filled in */
	bool allowed;
	const char *rule; /* static; NULL when allowed */
	char reason[700], remediation[500];
	bool needs_pin;       /* allowed, but names no digest */
	bool needs_signature; /* allowed, if a signature over the digest verifies */
	bool policy_active;
};

/* Judges a reference as somebody wrote it. */
void ip_decide(const struct ip_policy *p, const char *reference, struct ip_decision *out);
/* Turns a decision into a refusal by a later rule (digest-resolution, signature-required). */
void ip_refuse(struct ip_decision *d, const char *rule, const char *remediation, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
/*
 * A refusal as an error: reference-syntax is CL_EDATA, policy-configuration CL_ECONFIG,
 * the rest CL_EREFUSED with slug "sandbox_image_denied". Returns -1; 0 when allowed.
 */
int ip_decision_err(const struct ip_decision *d, struct cl_err *e);
/*
 * {reference, allowed, rule, reason, remediation, registry, repository, tag, digest, needs_pin,
 * needs_signature} as one line of JSON without its end, keys sorted; rule, reason and
 * remediation are null when it is allowed, parts that there are not are "". Added to out.
 */
void ip_decision_json(const struct ip_decision *d, struct cl_buf *out);

#endif
