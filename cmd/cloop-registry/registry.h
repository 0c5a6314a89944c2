/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of cloop that speaks to image registries (DECISIONS D15), run by lib/work/registry.c.
 * Standard input is one JSON object, standard output another. It reads what a registry says about an
 * image: never a layer, and nothing is written there.
 */
#ifndef CLOOP_REGISTRY_H
#define CLOOP_REGISTRY_H

#include "base/doc.h"
#include "cli/cli.h"
#include "policy/image/oci.h"
#include "wire/http.h"

int cmd_registry_resolve(struct cl_ctx *c, struct cl_err *e);
int cmd_registry_verify(struct cl_ctx *c, struct cl_err *e);

/* One server, and how it is reached: certs.d(5) has its certificates. */
struct server {
	char *origin; /* "https://host:port" */
	struct http_to to;
	struct cl_buf ca;
	char *cert, *key;
	struct http *http;
};
#define SERVER_INIT ((struct server){.ca = CL_BUF_INIT})
void server_release(struct server *s);
#define cleanup_server __attribute__((cleanup(server_release)))

/* One invocation. */
struct client {
	struct cl_doc d; /* the request; most texts are borrowed from it */
	struct ir_ref ref;
	const char *auth_file, *certs_dir, *proxy, *cosign;
	struct cl_strv plain; /* registries without TLS */
	const char *arch, *variant;
	char machine[72];
	int64_t deadline; /* sys_mono_ms */
	struct server registry;
	bool login_read;
	struct oci_login login;
	struct cl_buf token; /* secret; "": none yet */
	bool basic;          /* the registry wants the login itself */
};
#define CLIENT_INIT                        \
	((struct client){.d = CL_DOC_INIT, \
		.registry = SERVER_INIT,   \
		.login = OCI_LOGIN_INIT,   \
		.token = CL_BUF_SECRET})
void client_release(struct client *c);
#define cleanup_client __attribute__((cleanup(client_release)))

/* Reads the request; keys beyond those of every request are `more`[0..n). */
int client_read(struct client *c, const char *const *more, size_t n, struct cl_err *e);
/* Milliseconds that are left, 1 to `most`; 0: none. */
int64_t client_left(const struct client *c, int64_t most);

/* certs.c: the server for an origin. CL_ECONFIG where certificates of it cannot be read. */
int server_open(const struct client *c, const char *origin, struct server *out, struct cl_err *e);
/* login.c: what the files of logins have for the registry, read once. */
int client_login(struct client *c, struct cl_err *e);

/*
 * ask.c: GETs `path` of the registry: logs in where it asks for that, follows redirects without a
 * login to other hosts. `what` is for messages. Any status but 200 is an error (oci_status).
 */
int client_get(struct client *c, const char *path, const char *accept, size_t max, const char *what,
	struct http_answer *out, struct cl_err *e);

/* fetch.c: a manifest by tag or digest, its bytes held to their digest. */
struct fetched {
	char digest[OCI_DIGEST];
	size_t size;
	struct oci_manifest m;
};
#define FETCHED_INIT ((struct fetched){.m = OCI_MANIFEST_INIT})
int fetch_manifest(struct client *c, const char *which, struct fetched *out, struct cl_err *e);
/* A blob of exactly that digest and size. */
int fetch_blob(
	struct client *c, const struct oci_descriptor *d, struct cl_buf *out, struct cl_err *e);

#endif
