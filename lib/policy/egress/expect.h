/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of an egress policy: what must be allowed and what must be dropped, written down
 * beside it. Read from YAML or JSON (the format is laid down in cloop-egress(1), "Policy
 * tests", and share/json-schema/egress-test.json), answered exactly: an expectation about a
 * range holds when it holds for every address, protocol and port in it. Pure.
 */
#ifndef CL_POLICY_EXPECT_H
#define CL_POLICY_EXPECT_H

#include "base/doc.h"
#include "policy/egress/egress_stack.h"
#include "policy/flat/flat.h"

/* Addresses lo..hi, with a port and protocol of their own when they were written so. */
struct exp_target {
	uint8_t family; /* 4 or 6 */
	flat_u128 lo, hi;
	bool endpoint;
	uint16_t port;
	enum eg_proto proto;
};

struct exp_case {
	char *name; /* as given, or what is expected: "allow 93.184.216.34:443" */
	enum eg_verdict want;
	char *reason; /* every answer must have it; NULL: any */
	struct exp_target *targets;
	size_t ntargets, cap;
	unsigned protos;          /* of targets that are no endpoints: bits 1 << enum eg_proto */
	struct flat_ports *ports; /* of those; none: every port */
	size_t nports, ports_cap;
	unsigned line; /* where it stands in the file */
};

struct exp_list {
	char *name;
	struct exp_target *targets;
	size_t ntargets, cap;
};

/* One file. */
struct exp_suite {
	bool has_policy;
	struct eg_stack policy;
	struct exp_list *lists;
	size_t nlists, lists_cap;
	struct exp_case *cases;
	size_t ncases, cases_cap;
};
#define EXP_SUITE_INIT ((struct exp_suite){0})
void exp_suite_release(struct exp_suite *s);
#define cleanup_exp_suite __attribute__((cleanup(exp_suite_release)))

#define EXP_MAX_CASES   10000
#define EXP_MAX_TARGETS 200000 /* in all cases of a file, lists written out */

/* Reads a parsed file; *out is EXP_SUITE_INIT. CL_EDATA with file, line and column. */
int exp_read(struct cl_doc *d, struct exp_suite *out, struct cl_err *e);

/* The first destination that is answered otherwise, in the order of the file. */
struct exp_result {
	bool ok;
	struct pol_addr addr;
	uint16_t port; /* 0 of EG_PROTO_ANY */
	enum eg_proto proto;
	struct eg_answer answer; /* its reason is the policy's */
};
/* f is the policy on the wire. */
struct exp_result exp_run(const struct exp_case *c, const struct flat *f);

#endif
