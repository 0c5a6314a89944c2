/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses, prefixes and endpoints: values, compared and printed without a machine. */
#ifndef CL_POLICY_ADDR_H
#define CL_POLICY_ADDR_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* An IPv4 (bytes 0-3) or IPv6 address in network order. family 0: none. */
struct pol_addr {
	uint8_t family; /* 4 or 6 */
	uint8_t b[16];
};

/* addr has no bit set beyond len. */
struct pol_prefix {
	struct pol_addr addr;
	uint8_t len; /* 0-32 or 0-128 */
};

struct pol_endpoint {
	struct pol_addr addr;
	uint16_t port;
};

#define POL_ADDR_TEXT     46
#define POL_PREFIX_TEXT   50
#define POL_ENDPOINT_TEXT 56

/* Strict: dotted quad without leading zeros, or RFC 4291 text without a zone. CL_EDATA. */
int pol_addr_parse(const char *s, const char *what, struct pol_addr *out, struct cl_err *e);
/*
 * ADDR/LEN; bits beyond LEN are cleared. `bare_host`: an address alone is a host prefix.
 * An IPv4-mapped range of at least 96 bits stays as written (pol_prefix_unmap); a shorter
 * one means neither family and is refused. CL_EDATA.
 */
int pol_prefix_parse(
	const char *s, bool bare_host, const char *what, struct pol_prefix *out, struct cl_err *e);
/*
 * What there is to say of s, which was read as *p: -1 with a message and a fix (to be shown as
 * a warning) when its address is not the range's first, so that bits were cleared; else 0.
 */
int pol_prefix_masked(const char *s, const struct pol_prefix *p, struct cl_err *e);
/*
 * ADDR:PORT or [ADDR6]:PORT; an address alone takes default_port unless that is 0. Port
 * 0 can be written (a question about ICMP has it); whoever needs a destination refuses
 * it. An IPv6 address without brackets is an address alone. CL_EDATA.
 */
int pol_endpoint_parse(const char *s, uint16_t default_port, const char *what,
	struct pol_endpoint *out, struct cl_err *e);

/* True for a family of 4 or 6, a length within it, and not mapped and shorter than 96. */
bool pol_prefix_valid(const struct pol_prefix *p);
/* Clears the bits beyond len. */
void pol_prefix_mask(struct pol_prefix *p);

/* Canonical text (RFC 5952 for IPv6, as inet_ntop prints it). */
void pol_addr_text(const struct pol_addr *a, char out[POL_ADDR_TEXT]);
void pol_prefix_text(const struct pol_prefix *p, char out[POL_PREFIX_TEXT]);
void pol_endpoint_text(const struct pol_endpoint *p, char out[POL_ENDPOINT_TEXT]); /* [v6]:port */

/* ::ffff:a.b.c.d (RFC 4291 2.5.5.2) becomes a.b.c.d; true when it did. */
bool pol_addr_unmap(struct pol_addr *a);
/* The same for a prefix of length >= 96. */
bool pol_prefix_unmap(struct pol_prefix *p);

/* Order: v4 before v6, then address, then the shorter length. */
int pol_addr_cmp(const struct pol_addr *a, const struct pol_addr *b);
int pol_prefix_cmp(const struct pol_prefix *a, const struct pol_prefix *b);

struct pol_prefix pol_host(const struct pol_addr *a); /* /32 or /128 */
uint8_t pol_bits(uint8_t family);                     /* 32 or 128 */
/* a holds all of b (equal counts). Families must agree. */
bool pol_prefix_holds(const struct pol_prefix *a, const struct pol_prefix *b);
bool pol_prefix_has(const struct pol_prefix *p, const struct pol_addr *a);
bool pol_prefix_overlaps(const struct pol_prefix *a, const struct pol_prefix *b);

#endif
