/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the egress policy share among themselves. */
#ifndef CL_POLICY_EGRESS_INTERNAL_H
#define CL_POLICY_EGRESS_INTERNAL_H

#include "policy/egress/egress.h"
#include "policy/egress/blockset.h"

/* An authorisation in normal form: unmapped, masked, sorted, each once; invalid ones left out. */
struct eg_plan {
	struct pol_prefix *allow, *deny;
	struct pol_prefix *wide; /* the denies that no other deny holds, in order */
	size_t nallow, ndeny, nwide;
	uint16_t *ports;
	size_t nports;
	struct pol_endpoint *brokers, *resolvers;
	size_t nbrokers, nresolvers;
};
void eg_plan_make(const struct eg_auth *a, struct eg_plan *out);
void eg_plan_release(struct eg_plan *p);
#define cleanup_eg_plan __attribute__((cleanup(eg_plan_release)))

/* The denied range that holds all of p, or NULL. */
const struct pol_prefix *eg_plan_denying(const struct eg_plan *plan, const struct pol_prefix *p);
/* The metadata service is neither allowed by its own host prefix nor inside a denied range. */
bool eg_plan_unnamed(const struct eg_plan *plan, const struct eg_block *service);

/* Adds the warnings of facts/egress.md 2, in its order, to out->warnings. */
void eg_warn(const struct eg_auth *a, const struct eg_plan *plan, struct eg_policy *out);

/*
 * What p allows on the wire, as allows alone: prefixes that do not overlap, so that their order
 * says nothing. *out is EG_POLICY_INIT; its reasons and levels are none.
 */
void eg_plain(const struct eg_policy *p, struct eg_policy *out);

/*
 * The text with control characters and the bytes of `syntax` turned into blanks, runs of
 * blanks made one, none at the ends. Text that is not UTF-8 loses its bytes above 0x7f
 * to '?'.
 */
void eg_clean(const char *text, const char *syntax, struct cl_buf *out);

/*
 * `text` in lines of at most `width` bytes, broken at blanks (a longer word stands
 * alone): the first starts with `first`, the others with `next`; both count.
 */
void eg_wrap(
	const char *text, const char *first, const char *next, size_t width, struct cl_buf *out);

/* "80,443" with sep ","; "any" for none. */
void eg_ports_text(const uint16_t *ports, size_t n, const char *sep, struct cl_buf *out);

/* What to write for a range of length 0. */
#define EG_FIX_EVERYTHING                                                                         \
	"allow the public Internet (--internet, allow_public_internet), or name the ranges that " \
	"are needed"

#endif
