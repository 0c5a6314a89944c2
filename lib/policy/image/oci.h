/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an image registry says and what of it is believed: challenges, tokens, redirects,
 * manifests and indexes, logins, cosign's signature manifests. OCI distribution-spec 1.1 and
 * image-spec 1.1, the token protocol of the distribution project, RFC 9110, cosign's
 * SIGNATURE_SPEC. Pure: bytes come in, a meaning or a refusal goes out.
 *
 * Slugs: registry_answer (CL_EUNAVAIL: it is none), registry_lies (CL_EREFUSED: what it sent is not
 * what its digest says), registry_denied (CL_EDENIED), registry_no_image (CL_ENOTFOUND),
 * registry_busy (CL_EBUSY), registry_unavailable (CL_EUNAVAIL), registry_redirect and
 * registry_platform (CL_EREFUSED).
 */
#ifndef CL_POLICY_OCI_H
#define CL_POLICY_OCI_H

#include "base/doc.h"
#include "policy/image/imageref.h"

#define OCI_MANIFEST_MAX ((size_t)4 << 20) /* distribution-spec: what a registry must take */
#define OCI_TOKEN_MAX    ((size_t)64 << 10)
#define OCI_PAYLOAD_MAX  ((size_t)64 << 10)
#define OCI_LOGINS_MAX   ((size_t)1 << 20)
#define OCI_DIGEST       72 /* "sha256:", 64 hex and a NUL */

#define OCI_INDEX_TYPE  "application/vnd.oci.image.index.v1+json"
#define OCI_IMAGE_TYPE  "application/vnd.oci.image.manifest.v1+json"
#define OCI_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define OCI_DOCKER_TYPE "application/vnd.docker.distribution.manifest.v2+json"
#define OCI_ACCEPT      OCI_INDEX_TYPE ", " OCI_IMAGE_TYPE ", " OCI_DOCKER_LIST ", " OCI_DOCKER_TYPE

/* ---- addresses ---- */

/* "https://HOST" of a registry; Docker Hub's API is at registry-1.docker.io. Adds to *out. */
void oci_origin(const char *registry, bool plain, struct cl_buf *out);
/* True for localhost, 127.0.0.0/8 and [::1], with or without a port: where plain HTTP may be. */
bool oci_loopback(const char *registry);
/* True when the registry is one of `plain` and loopback. */
bool oci_plain(const struct cl_strv *plain, const char *registry);
/*
 * "scheme://host[:port]/..." taken apart: https, or http to a host of `plain`. Neither user nor
 * fragment, no byte that is no URL's. *origin, owned, is "scheme://host[:port]" in lower case
 * without the scheme's own port. CL_EREFUSED, slug registry_redirect. `what` names it.
 */
int oci_url(const char *url, const struct cl_strv *plain, const char *what, char **origin,
	struct cl_err *e);
/*
 * Where a redirect of `from` leads (RFC 9110 10.2.2: an absolute URL, //host/path, or /path); *to is
 * owned. *same: to the same origin, so that a credential may go along. Fails as oci_url().
 */
int oci_redirect(const char *from, const char *location, const struct cl_strv *plain, char **to,
	bool *same, struct cl_err *e);

/* ---- who asks ---- */

enum oci_scheme { OCI_NO_SCHEME, OCI_BASIC, OCI_BEARER };
struct oci_challenge {
	enum oci_scheme scheme;
	char *realm, *service; /* of Bearer; service may be NULL */
};
#define OCI_CHALLENGE_INIT ((struct oci_challenge){0})
void oci_challenge_release(struct oci_challenge *c);
#define cleanup_oci_challenge __attribute__((cleanup(oci_challenge_release)))
/*
 * WWW-Authenticate (RFC 9110 11.6.1), of several challenges Bearer before Basic; other schemes are
 * passed over, and OCI_NO_SCHEME is what is left. CL_EUNAVAIL, registry_answer, for what does not
 * parse: it is never guessed at.
 */
int oci_challenge_read(const char *header, struct oci_challenge *out, struct cl_err *e);
/*
 * The URL that gives a token to pull from the repository, and nothing else, whatever the challenge
 * asked for; owned.
 */
char *oci_token_url(const struct oci_challenge *c, const char *repository);
/*
 * What is posted to the realm for the same token where the login is a refresh token, by the token
 * protocol's OAuth2 form (grant_type=refresh_token); added to *out, which is secret.
 */
void oci_token_form(const struct oci_challenge *c, const char *repository, const char *identity,
	struct cl_buf *out);
/* The token of the answer; *out is secret. CL_EUNAVAIL. */
int oci_token_read(const char *text, size_t len, struct cl_buf *out, struct cl_err *e);

/* A login out of a file of docker's or podman's (containers-auth.json(5)). */
struct oci_login {
	struct cl_buf basic; /* base64 of user:password; secret; empty: none */
	struct cl_buf token; /* registrytoken; secret; empty: none */
	/* identitytoken: an OAuth2 refresh token, good at a token service alone; secret; empty: none */
	struct cl_buf identity;
	char *key;    /* the entry that it is from; NULL: none */
	char *helper; /* a credential helper that the file names for the registry, or NULL */
};
#define OCI_LOGIN_INIT       \
	((struct oci_login){ \
		.basic = CL_BUF_SECRET, .token = CL_BUF_SECRET, .identity = CL_BUF_SECRET})
void oci_login_release(struct oci_login *l);
#define cleanup_oci_login __attribute__((cleanup(oci_login_release)))
/* Something was found to log in with. */
bool oci_login_has(const struct oci_login *l);
/*
 * The entry for the repository: the longest namespace of it, then the host; "localhost" is never
 * "localhost:5000". Helpers are named, never run. Of what an entry has, a
 * registrytoken counts before an identitytoken, and that before a password. One that cannot be used (a broken auth) is CL_ECONFIG with file and key, and so is a file that is none; no entry is no error,
 * and leaves *out as an earlier file has made it.
 */
int oci_login_find(const char *file, const char *text, size_t len, const char *registry,
	const char *repository, struct oci_login *out, struct cl_err *e);

/* ---- answers ---- */

/*
 * What a status other than 200 means for `what` ("the manifest of ghcr.io/acme/tools:1") of the
 * registry. Always -1.
 */
int oci_status(int status, const char *registry, const char *what, struct cl_err *e);

/* The digest of bytes, "sha256:...". */
void oci_digest(const void *p, size_t len, char out[OCI_DIGEST]);
/*
 * Compares the bytes' own digest with what was asked for and with what the registry's header said;
 * either may be "". registry_lies.
 */
int oci_digest_check(const void *p, size_t len, const char *asked, const char *said,
	const char *what, char out[OCI_DIGEST], struct cl_err *e);

struct oci_descriptor {
	char digest[OCI_DIGEST];
	int64_t size;
	char *media_type;
	char *os, *arch, *variant; /* of an index; "" where it does not say */
	char *signature;           /* base64 by cosign's annotation; NULL: none */
};
struct oci_manifest {
	bool index;
	char *media_type;
	char config
		[OCI_DIGEST]; /* of a manifest: an engine's id of the image; "" where there is none */
	struct oci_descriptor *v; /* an index's manifests, or a manifest's layers */
	size_t n, cap;
};
#define OCI_MANIFEST_INIT ((struct oci_manifest){0})
void oci_manifest_release(struct oci_manifest *m);
#define cleanup_oci_manifest __attribute__((cleanup(oci_manifest_release)))
/*
 * A manifest or index of schema 2. What could be read as either is refused (GHSA-77vh-xpmg-72qh):
 * manifests beside layers, a mediaType that is not the Content-Type ("" where there is none).
 * registry_answer.
 */
int oci_manifest_read(const char *text, size_t len, const char *content_type,
	struct oci_manifest *out, struct cl_err *e);
/*
 * The image of an index for a machine (GOARCH: "amd64", "arm" with "v7"); the first of several, and
 * for arm the nearest variant that is not newer. NULL with *e filled: registry_platform.
 */
const struct oci_descriptor *oci_platform(
	const struct oci_manifest *m, const char *arch, const char *variant, struct cl_err *e);
/* uname(2)'s machine as GOARCH and variant; an unknown one is itself. */
void oci_machine(const char *machine, const char **arch, const char **variant);

/* ---- signatures ---- */

/*
 * Constraint of an error whose slug is image_signature: of all that was looked at, a signature that is
 * somebody else's or over something else, else what could not be checked, else there is none.
 */
#define OCI_SIGNATURE_WRONG     "signature_wrong"
#define OCI_SIGNATURE_UNCHECKED "signature_unchecked"
#define OCI_SIGNATURE_MISSING   "signature_missing"

#define OCI_SIGNATURES_MAX 64
#define OCI_COSIGN_TYPE    "application/vnd.dev.cosign.simplesigning.v1+json"

/* The tag of an image's signatures: "sha256-<hex>.sig". digest is "sha256:<hex>"; owned. */
char *oci_signature_tag(const char *digest);
/*
 * Holds a manifest to what a signature manifest is: 1 to OCI_SIGNATURES_MAX layers of
 * OCI_COSIGN_TYPE, each with a signature and a payload of at most OCI_PAYLOAD_MAX bytes.
 * CL_EREFUSED, slug image_signature.
 */
int oci_signatures_check(const struct oci_manifest *m, struct cl_err *e);
/*
 * Holds a payload to the image: its digest, and the repository that it was signed for; the fixed
 * type. CL_EREFUSED, slug image_signature.
 */
int oci_payload_check(const char *text, size_t len, const struct ir_ref *image, struct cl_err *e);

#endif
