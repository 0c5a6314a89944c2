/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The egress policy: an authorisation compiled to ordered first-match rules, and every
 * question asked of them. facts/egress.md 1-4 with DECISIONS E1-E10. Pure.
 */
#ifndef CL_POLICY_EGRESS_H
#define CL_POLICY_EGRESS_H

#include "base/buf.h"
#include "base/doc.h"
#include "policy/addr.h"

enum eg_verdict { EG_DROP, EG_ALLOW };
enum eg_proto { EG_PROTO_ANY, EG_PROTO_TCP, EG_PROTO_UDP };
enum eg_mode { EG_ISOLATED, EG_BROKERED, EG_FILTERED };

/* What somebody wrote: flags, configuration, a stored rule set or --policy JSON. */
struct eg_auth {
	bool internet; /* allow_public_internet */
	bool all_ports;
	bool block_special_use; /* E2 */
	bool silent;            /* E3: drop instead of reject */
	struct pol_prefix *allow, *deny;
	size_t nallow, ndeny, allow_cap, deny_cap;
	uint16_t *ports;
	size_t nports, ports_cap;
	struct pol_endpoint *resolvers, *brokers;
	size_t nresolvers, nbrokers, resolvers_cap, brokers_cap;
	struct cl_strv hosts; /* host_patterns: named in a warning, not enforceable here */
	size_t max_cidrs;     /* of allow and of deny each; 0: EG_MAX_CIDRS */
	struct cl_strv notes; /* what there is to say of texts that were taken all the same */
};
/* What the guides bound; a policy in a file of its own may have EG_MAX_CIDRS_FILE. */
#define EG_MAX_CIDRS      256
#define EG_MAX_CIDRS_FILE 100000
#define EG_MAX_PORTS      64
#define EG_MAX_ENDPOINTS  256
#define EG_MAX_HOST       256 /* bytes of one host pattern, and patterns */
#define EG_AUTH_INIT      ((struct eg_auth){0})
void eg_auth_release(struct eg_auth *a);
void eg_auth_add_allow(struct eg_auth *a, const struct pol_prefix *p);
void eg_auth_add_deny(struct eg_auth *a, const struct pol_prefix *p);
void eg_auth_add_port(struct eg_auth *a, uint16_t port);
void eg_auth_add_resolver(struct eg_auth *a, const struct pol_endpoint *p);
void eg_auth_add_broker(struct eg_auth *a, const struct pol_endpoint *p);
/* All but the notes; to is EG_AUTH_INIT. */
void eg_auth_copy(const struct eg_auth *from, struct eg_auth *to);

/* The lists of an authorisation, as texts. */
enum eg_list { EG_LIST_ALLOW, EG_LIST_DENY, EG_LIST_RESOLVERS, EG_LIST_BROKERS, EG_LIST_HOSTS };
/*
 * Adds one entry: an address alone is a host range, a resolver's default port is 53. A range
 * whose address has bits beyond its length is masked, and a note says so. `what` is for
 * messages and notes. CL_EDATA.
 */
int eg_auth_take(
	struct eg_auth *a, enum eg_list list, const char *text, const char *what, struct cl_err *e);

/* Checks a host pattern: letters, digits, "-_.:/", wildcards * and ?, no "..". CL_EDATA. */
int eg_check_host(const char *pattern, const char *what, struct cl_err *e);

/*
 * Reads the JSON form (keys allow_public_internet, allow_cidrs, deny_cidrs, allow_ports,
 * all_ports, resolvers, brokers, host_patterns, block_special_use, silent; closed).
 * An address alone is a host range, a resolver's default port is 53, blanks around an
 * entry are ignored. Errors name file, line, column, key and index. eg_auth_json writes the
 * same form without what is false or empty; owned.
 */
int eg_auth_read(struct cl_doc *d, json_t *obj, struct eg_auth *out, struct cl_err *e);
json_t *eg_auth_json(const struct eg_auth *a);

struct eg_rule {
	enum eg_verdict verdict;
	struct pol_prefix prefix;
	enum eg_proto proto;
	const uint16_t *ports; /* sorted, the policy's; none: every port */
	size_t nports;
	const char *reason; /* the policy's, or static */
	bool local;         /* the sandbox's own loopback: not on the wire */
	bool denied;        /* operator deny list */
	bool carve;         /* never waived: translation prefixes and unnamed metadata services */
	bool internet;      /* the public Internet: no address of the host's (flat_build_named) */
	const char *level;  /* whose rule it is (egress_stack.h), the policy's; NULL: no levels */
};

struct eg_policy {
	enum eg_mode mode;
	bool silent;
	struct eg_rule *rules;
	size_t nrules, rules_cap;
	struct cl_strv warnings;
	uint16_t *ports;        /* what the rules' ports point into */
	struct cl_strv reasons; /* those that are not static */
	struct cl_strv levels;  /* of a stack, the outermost first; none: one policy alone */
};
#define EG_POLICY_INIT ((struct eg_policy){0})
void eg_policy_release(struct eg_policy *p);
#define cleanup_eg_auth   __attribute__((cleanup(eg_auth_release)))
#define cleanup_eg_policy __attribute__((cleanup(eg_policy_release)))

/* Compiles; *out is EG_POLICY_INIT. CL_EDATA with the first check that refuses. */
int eg_compile(const struct eg_auth *a, struct eg_policy *out, struct cl_err *e);

/*
 * DECISIONS E10: refuses an allowed range that contains a metadata service without
 * naming it. `allow_name` and `deny_name` are how the caller's surface calls the lists.
 */
int eg_check_metadata(
	const struct eg_auth *a, const char *allow_name, const char *deny_name, struct cl_err *e);

struct eg_answer {
	enum eg_verdict verdict;
	const char *reason; /* borrowed from the policy, or static */
	int rule;           /* index in rules, -1: default deny or invalid address */
};
/* First match. `wire`: without the namespace-local rules. Mapped addresses are unmapped. */
struct eg_answer eg_evaluate(const struct eg_policy *p, const struct pol_addr *a, uint16_t port,
	enum eg_proto proto, bool wire);

/* The level of what decided, by eg_answer.rule; NULL: the policy has no levels. */
const char *eg_level_of(const struct eg_policy *p, int rule);

/* "filtered", "brokered", "isolated"; "any", "tcp", "udp". */
const char *eg_mode_name(enum eg_mode m);
const char *eg_proto_name(enum eg_proto p);

/* The text of `--format rules`; `source` is "flags" or "grant <id>". Coloured on request. */
void eg_render_rules(
	const struct eg_policy *p, const char *source, bool colour, struct cl_buf *out);
/*
 * A script for nft(8) in one transaction. bridge NULL: the form for a namespace of the
 * sandbox's own; else the form for that bridge (facts 4, E3, E6, E7). The ruleset is
 * laid down, expression by expression, at the top of egress_nft.c.
 */
int eg_render_nft(const struct eg_policy *p, const char *table, const char *bridge,
	struct cl_buf *out, struct cl_err *e);

/* The same with what only the machine knows. */
struct eg_nft {
	const char *table;
	const char *bridge; /* NULL: the namespace form, which takes none of the rest */
	/* The only addresses the sandbox may send from; both of family 0: not checked here. */
	struct pol_addr source4, source6;
	bool masquerade; /* out of every other interface, for the sources that are given */
};
int eg_render_nft_form(
	const struct eg_policy *p, const struct eg_nft *f, struct cl_buf *out, struct cl_err *e);

/*
 * Bounds of a set that counts denied destinations: elements, and seconds each is kept. A run
 * that ends takes its own out, so that they live as long as most runs may.
 */
#define EG_BLOCKED_SIZE    4096
#define EG_BLOCKED_SECONDS 86400
/* Comments of the ruleset that are not a rule's reason. */
#define EG_SAY_DEFAULT   "default deny"
#define EG_SAY_FOREIGN   "not this sandbox"
#define EG_SAY_NEIGHBOUR "IPv6 neighbour discovery on this link"
#define EG_SAY_LISTENER  "multicast listener report"
#define EG_SAY_SOURCE    "not the sandbox's own address"
#define EG_SAY_LINK      "link talk between sandboxes"
#define EG_SAY_PEER      "another sandbox on this bridge"
#define EG_SAY_INTO      "nobody connects into the sandbox"
#define EG_SAY_FULL      "not recorded: too many destinations"
#define EG_SAY_MAPPED    "IPv4-mapped address"
#define EG_SAY_HOST      "no address of the host that is named"
/* {mode, rules:[{verdict, prefix, proto, ports, reason, ...}], warnings, silent}; owned. */
json_t *eg_policy_json(const struct eg_policy *p);

/* A comment that nft(8) takes: facts 4 "comment sanitising". At most 120 bytes. */
void eg_comment(const char *reason, char out[121]);
/* Checks a table name (1-64 of [A-Za-z0-9_-], no leading '-') or interface name (1-15). */
int eg_check_table(const char *name, struct cl_err *e);
int eg_check_interface(const char *name, struct cl_err *e);
/*
 * Names of facts 4: "cloop-sbx-<id>[-key]" (each part at most 32 bytes, an empty id is
 * "default") and "cloop_sbx_<id>[_key]" (at most 64 in all). A part that is longer keeps
 * its head and ends in 8 hex of its SHA-256. Owned. key may be NULL.
 */
char *eg_network_name(const char *id, const char *key);
char *eg_table_name(const char *id, const char *key);

/*
 * The policy of one run (DECISIONS E5, facts 6.7): what stands on the executor, narrowed
 * by `egress: public`. public on an internal-only filter or on one without the public
 * Internet is refused, and so is public without a resolver; ports and denies stay.
 */
int eg_narrow_public(const struct eg_auth *executor, bool filter_enabled, bool internal,
	struct eg_auth *out, struct cl_err *e);

#endif
