/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTPS requests that carry credentials, by libcurl. What is never done: plain HTTP (but to a server
 * for which the caller says so), a redirect, a certificate that does not check out or is another
 * host's, a proxy or a .netrc of somebody's environment, cookies, compression, an answer without an
 * end. What libcurl gives back of its memory is wiped.
 */
#ifndef CL_WIRE_HTTP_H
#define CL_WIRE_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* How a server is reached. All borrowed. */
struct http_to {
	/* Certificates that are trusted besides the system's: a PEM file, or NULL. */
	const char *ca_file;
	/* The same as PEM text, instead of ca_file; NULL: none. */
	const char *ca_pem;
	/* The client's own certificate and its key, PEM files; both or neither. */
	const char *cert_file, *key_file;
	bool plain;         /* it may be spoken to without TLS */
	const char *proxy;  /* "http://host:port", or NULL: none, whatever the environment says */
	int64_t timeout_ms; /* of a whole request */
	size_t max_bytes;   /* of an answer */
};

/* A client; it keeps its connection from one request to the next. */
struct http;
/* *to must outlive it. CL_EUNAVAIL when ca_file cannot be read. */
int http_open(const struct http_to *to, struct http **out, struct cl_err *e);
void http_close(struct http *h);
void http_cleanup(struct http **h);
#define cleanup_http __attribute__((cleanup(http_cleanup)))

struct http_request {
	const char *method; /* "GET", "POST", "DELETE" */
	const char *url;
	const char *const *headers; /* "Accept: x", NULL-terminated; no secrets */
	const char *bearer;         /* "Authorization: Bearer" with it; or NULL */
	const char *basic;          /* "Authorization: Basic" with it, base64; or NULL */
	const char *body;           /* JSON, or NULL; may be secret */
	bool form;                  /* it is application/x-www-form-urlencoded instead */
	int64_t timeout_ms;         /* 0: that of http_to */
};

struct http_answer {
	int status;
	char *content_type, *location; /* "" where there is none; owned */
	char *challenge; /* WWW-Authenticate, several joined by commas; "" where there is none */
	char *digest;    /* Docker-Content-Digest; the same */
	int64_t retry_after;         /* Retry-After in seconds, -1: none */
	int64_t remaining, reset_at; /* X-RateLimit-Remaining (-1), X-RateLimit-Reset (0) */
	int64_t date;                /* Date as Unix seconds, 0: none */
	struct cl_buf body;          /* secret */
};
#define HTTP_ANSWER_INIT       \
	((struct http_answer){ \
		.retry_after = -1, .remaining = -1, .body = {cl_buf_empty, 0, 0, true}})
void http_answer_release(struct http_answer *a);
#define cleanup_http_answer __attribute__((cleanup(http_answer_release)))

/*
 * 0 when a whole answer came, whatever its status. Else, with a slug: http_plain (CL_EREFUSED: the
 * URL is not https), http_tls (the certificate; CL_EUNAVAIL, as all that follow), http_unreachable,
 * http_timeout, http_broken (it ended before its end), http_too_large.
 */
int http_ask(
	struct http *h, const struct http_request *r, struct http_answer *out, struct cl_err *e);

#endif
