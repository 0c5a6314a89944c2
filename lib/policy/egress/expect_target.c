/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One destination of a test as it is written. */
#include "policy/egress/expect_internal.h"
#include "policy/egress/blockset.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define BIT(kind) (1u << (kind))

/* Lists that every file knows: the block set by its kinds. */
static const struct {
	const char *name;
	unsigned kinds;
} built_in[] = {
	{"metadata", BIT(EG_BLOCK_METADATA)},
	{"blocked", BIT(EG_BLOCK_METADATA) | BIT(EG_BLOCK_BASE) | BIT(EG_BLOCK_TRANSLATION)},
	{"special-use", BIT(EG_BLOCK_SPECIAL)},
};
#define EVERYTHING "everything"

bool exp_list_is_built_in(const char *name)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(built_in); i++)
		if (!strcmp(name, built_in[i].name))
			return true;
	return !strcmp(name, EVERYTHING);
}

bool exp_list_name(const char *name)
{
	return strlen(name) <= 64 && cl_all_in(name, CL_ALNUM "-_") &&
	       strchr(CL_LOWER CL_UPPER, name[0]);
}

static void put(struct exp_targets to, const struct exp_target *t)
{
	if (*to.n && *to.n >= EXP_MAX_TARGETS)
		return;
	*to.v = cl_grow(*to.v, to.cap, *to.n + 1, sizeof(*t));
	(*to.v)[(*to.n)++] = *t;
}

/* A wider IPv6 range without ::ffff:0:0/96 inside: those addresses are IPv4. */
static void put_range(struct exp_targets to, uint8_t family, flat_u128 lo, flat_u128 hi)
{
	static const struct pol_prefix mapped = {{6, {[10] = 0xff, [11] = 0xff}}, 96};
	flat_u128 from, till;

	flat_prefix_range(&mapped, &from, &till);
	if (family == 4 || hi < from || lo > till) {
		put(to, &(struct exp_target){.family = family, .lo = lo, .hi = hi});
		return;
	}
	if (lo < from)
		put(to, &(struct exp_target){.family = family, .lo = lo, .hi = from - 1});
	if (hi > till)
		put(to, &(struct exp_target){.family = family, .lo = till + 1, .hi = hi});
}

static void put_prefix(struct exp_targets to, const struct pol_prefix *prefix)
{
	struct pol_prefix p = *prefix;
	flat_u128 lo, hi;

	(void)pol_prefix_unmap(&p);
	flat_prefix_range(&p, &lo, &hi);
	put_range(to, p.addr.family, lo, hi);
}

static void put_blocks(unsigned kinds, struct exp_targets to)
{
	for (size_t i = 0; i < eg_nblocks; i++)
		if (kinds & BIT(eg_blocks[i].kind))
			put_prefix(to, &eg_blocks[i].prefix);
}

static int put_list(
	const struct exp_suite *s, const char *name, struct exp_targets to, struct cl_err *e)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(built_in); i++) {
		if (!strcmp(name, built_in[i].name)) {
			put_blocks(built_in[i].kinds, to);
			return 0;
		}
	}
	if (!strcmp(name, EVERYTHING)) {
		put_range(to, 4, 0, flat_last(4));
		put_range(to, 6, 0, flat_last(6));
		return 0;
	}
	for (size_t i = 0; i < s->nlists; i++) {
		if (strcmp(name, s->lists[i].name) != 0)
			continue;
		for (size_t k = 0; k < s->lists[i].ntargets; k++)
			put(to, &s->lists[i].targets[k]);
		return 0;
	}
	(void)cl_fail(e, CL_EDATA, "there is no list '%s'", name);
	return cl_fix(
		e, "add it under 'lists:', or use metadata, blocked, special-use or everything");
}

/* FIRST-LAST */
static int read_range(char *text, char *dash, struct exp_targets to, struct cl_err *e)
{
	struct pol_addr a, b;
	bool mapped_a, mapped_b;

	*dash = '\0';
	if (pol_addr_parse(text, "range", &a, e) || pol_addr_parse(dash + 1, "range", &b, e))
		return -1;
	mapped_a = pol_addr_unmap(&a);
	mapped_b = pol_addr_unmap(&b);
	if (a.family == b.family && mapped_a == mapped_b && flat_number(&a) <= flat_number(&b)) {
		put_range(to, a.family, flat_number(&a), flat_number(&b));
		return 0;
	}
	(void)cl_fail(e, CL_EDATA, "'%s-%s' is no range", text, dash + 1);
	return cl_fix(e, "write two addresses of one family, the lower one first");
}

static int read_endpoint(char *text, struct exp_targets to, struct cl_err *e)
{
	static const char *const names[] = {"any", "tcp", "udp"};
	struct exp_target t = {.endpoint = true, .proto = EG_PROTO_TCP};
	struct pol_endpoint at;
	char *slash = strchr(text, '/');
	size_t i = 0;

	if (slash) {
		*slash++ = '\0';
		while (i < CL_ARRAY_LEN(names) && strcmp(slash, names[i]) != 0)
			i++;
		if (i == CL_ARRAY_LEN(names)) {
			(void)cl_fail(
				e, CL_EDATA, "'%.60s/%.20s' has an unknown protocol", text, slash);
			return cl_fix(e, "end it in /tcp, /udp or /any, or in nothing for tcp");
		}
		t.proto = (enum eg_proto)i;
	}
	if (pol_endpoint_parse(text, 0, "destination", &at, e))
		return -1;
	if (!at.port && t.proto != EG_PROTO_ANY) {
		(void)cl_fail(e, CL_EDATA, "'%.80s' has port 0, which is not a destination", text);
		return cl_fix(e, "write a port from 1 to 65535");
	}
	(void)pol_addr_unmap(&at.addr);
	t.family = at.addr.family;
	t.lo = t.hi = flat_number(&at.addr);
	t.port = t.proto == EG_PROTO_ANY ? 0 : at.port;
	put(to, &t);
	return 0;
}

/* "[v6]:..." or "v4:..." */
static bool is_endpoint(const char *s)
{
	const char *colon = strchr(s, ':');

	return *s == '[' || (colon && !strchr(colon + 1, ':'));
}

int exp_target_read(const struct exp_suite *s, const char *text, bool lists, struct exp_targets to,
	struct cl_err *e)
{
	cleanup_free char *copy = cl_trim_dup(text);
	struct pol_prefix p;
	char *dash = strchr(copy, '-');

	if (exp_list_name(copy)) {
		if (lists)
			return put_list(s, copy, to, e);
		(void)cl_fail(e, CL_EDATA, "a list cannot hold the list '%s'", copy);
		return cl_fix(e, "write its addresses and ranges");
	}
	if (is_endpoint(copy) && lists)
		return read_endpoint(copy, to, e);
	if (dash)
		return read_range(copy, dash, to, e);
	if (pol_prefix_parse(copy, true, "destination", &p, e))
		return -1;
	put_prefix(to, &p);
	return 0;
}
