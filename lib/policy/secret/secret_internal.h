/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the secret kinds share; nobody else includes this. */
#ifndef CL_POLICY_SECRET_INTERNAL_H
#define CL_POLICY_SECRET_INTERNAL_H

#include "base/doc.h"

/*
 * "<kind> <fmt>" with slug invalid_payload and CL_EDATA, and as a remedy what the kind takes;
 * returns -1.
 */
int sec_payload_bad(struct cl_err *e, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Parses a payload; a failure says line and column and not a byte of the text, which the
 * reader's own messages quote.
 */
int sec_doc_parse(struct cl_doc *d, enum cl_doc_kind form, const char *kind, const char *text,
	size_t len, struct cl_err *e);
/*
 * Calls fn for each line of an inventory that is neither blank nor a comment, without CR and
 * LF, numbered from 1; stops at -1. More than SEC_INVENTORY_LINES (comments count), a NUL,
 * another control character and bytes that are not UTF-8 are refused.
 */
int sec_inventory_lines(const char *kind, const char *text, size_t len,
	int (*fn)(void *ctx, const char *line, unsigned no, struct cl_err *e), void *ctx,
	struct cl_err *e);

/* A list as an option takes it: "a,b"; owned. */
char *sec_joined(const struct cl_strv *list);
/* Adds names of a payload to an empty text as a message says them: "a, b and 3 more". */
void sec_names_said(const struct cl_strv *names, struct cl_buf *out);
/*
 * The last word on a selection of n things of `all` that there are: none and more than max are
 * CL_EREFUSED.
 */
int sec_selected(size_t n, size_t max, const char *what, const char *flag,
	const struct cl_strv *patterns, const struct cl_strv *all, const char *secret,
	struct cl_err *e);

/* Letters, digits and '_', the first no digit. */
bool sec_variable_ok(const char *name);

/* A proxy's URL: something, and no blank or control character in it. */
int sec_proxy_check(const char *p, size_t n, struct cl_err *e);

/*
 * Adds the password of scheme://user:password@host to *out, as it stands and, where that differs,
 * with its percent-encoding (RFC 3986 2.1) taken off. Its strings are secret: wipe them.
 */
void sec_url_password(const char *p, size_t n, struct cl_strv *out);

/* Logins to registries: user:password, or a docker config.json with a login under "auths". */
int sec_registry_check(const char *p, size_t n, struct cl_strv *notes, struct cl_err *e);

/* The bits of the RSA private key in this PEM text, 0 when there is none. */
unsigned sec_rsa_bits(const char *pem);

struct sec_lease;
struct sec_offer;
/* Minimisers: each takes the offers of its kinds and leaves the others alone. */
void sec_build_github(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_kube(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_registry(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_env(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_proxy(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_local(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_devices(struct sec_lease *l, const struct sec_offer *o, size_t n);
void sec_build_interfaces(struct sec_lease *l, const struct sec_offer *o, size_t n);

/* Why a device is for no sandbox, whatever tells that it is one of these. */
#define SEC_NODE_MEMORY "is the machine's memory, ports or registers: no isolation would hold"
#define SEC_NODE_KERNEL "opens the kernel's own state"
#define SEC_NODE_DISK   "is a whole disk, and with it every file system on it"
#define SEC_NODE_DISKS  "stands for a whole disk or makes one"

/* s[0..len) without the blanks (and line ends) at both ends. */
void sec_trim(const char **s, size_t *len);

#endif
