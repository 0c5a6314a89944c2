/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an installed ruleset means: the chains, rules and sets of one inet table, as data
 * (lib/sys/nft/nft_dump.c reads them from a kernel), are interpreted, and the meaning is held
 * against what the policy says (the top of egress_nft.c). Never text against text: another
 * ruleset with the same meaning is as good.
 *
 * A packet is a hook, interfaces, a state of its connection, a family, a source, a protocol,
 * the first two bytes behind the IP header (a source port, an ICMP type and code), a hop
 * limit, a destination and the two bytes behind (the destination port). Destination and port
 * are kept as sets (intervals with sets of ports); each of the others is cut into the cells
 * that the ruleset can tell apart, and a cell is chosen when a rule asks for it. So the
 * answer is exact: all packets are looked at.
 *
 * A condition on anything else (a mark, a rate, a time) may hold or not: such a rule is
 * followed and passed over, and what differs then is marked as possible. An expression
 * that is not known ends in "cannot be judged".
 */
#ifndef CL_POLICY_VERIFY_H
#define CL_POLICY_VERIFY_H

#include "policy/flat/flat.h"

/* --- the ruleset as data --- */

/* What a register can hold that we know of. */
enum vf_field {
	VF_OPAQUE, /* something else */
	VF_DATA,   /* a constant */
	VF_IIF,    /* names of interfaces, 16 bytes */
	VF_OIF,
	VF_FAMILY,    /* meta nfproto, 1 byte */
	VF_ETHERTYPE, /* meta protocol, 2 bytes */
	VF_PROTO,     /* meta l4proto, 1 byte */
	VF_STATE,     /* ct state, 4 bytes of this machine's order */
	VF_NETWORK,   /* bytes of the IP header */
	VF_TRANSPORT, /* bytes behind it */
};

enum vf_kind {
	VF_LOAD,    /* field, offset, len -> to */
	VF_BITWISE, /* from, len, a: mask, b: xor -> to */
	VF_CMP,     /* from, what: enum vf_cmp, len, a */
	VF_RANGE,   /* from, len, a..b; invert */
	VF_LOOKUP,  /* from, name: of the set; invert; verdict: the set is a map to verdicts */
	VF_VERDICT, /* what: enum vf_verdict, name: of a chain */
	VF_NOTHING, /* counts, logs */
	VF_MAYBE,   /* lets some packets through to the next expression */
	VF_UNKNOWN, /* name: what it is called */
};
enum vf_cmp { VF_EQ, VF_NE, VF_LT, VF_LE, VF_GT, VF_GE };
enum vf_verdict {
	VF_ACCEPT,
	VF_DROP,
	VF_RESET, /* TCP alone; other packets are dropped */
	VF_PROHIBITED,
	VF_REFUSED, /* otherwise: another ICMP message */
	VF_MASQUERADE,
	VF_OUTCOMES, /* those above end a packet's way */
	VF_JUMP = VF_OUTCOMES,
	VF_GOTO,
	VF_RETURN,
	VF_CONTINUE,
};

#define VF_REGS 20 /* of 4 bytes */
struct vf_op {
	enum vf_kind kind;
	enum vf_field field;
	uint32_t offset, len;
	uint32_t what;
	uint8_t from, to; /* registers, 0 to VF_REGS - 1 */
	bool invert, verdict;
	uint8_t a[16], b[16];
	char *name;
};

struct vf_rule {
	struct vf_op *v;
	size_t n, cap;
};

enum vf_hook {
	VF_FORWARD,
	VF_INPUT,
	VF_OUTPUT,
	VF_POSTROUTING,
	VF_HOOKS,
	VF_OTHER_HOOK = VF_HOOKS
};
struct vf_chain {
	char *name;
	bool base;
	enum vf_hook hook; /* of a base chain */
	char *type;        /* "filter", "nat", "route" */
	int32_t priority;
	bool policy_drop;
	struct vf_rule *v;
	size_t n, cap;
};

/* Keys are numbers, most significant byte first. */
struct vf_element {
	flat_u128 lo, hi;
	bool end;      /* of an interval, at lo; none is left after vf_settle */
	uint32_t what; /* enum vf_verdict */
	char *chain;
};
struct vf_set {
	char *name;
	uint32_t key_len; /* bytes */
	bool map;         /* to verdicts */
	bool interval;
	char *unknown;        /* why it cannot be judged, or NULL */
	struct vf_element *v; /* sorted and disjoint after vf_settle */
	size_t n, cap;
	bool catchall;
	struct vf_element rest; /* for every other key, with catchall */
};

struct vf_ruleset {
	bool there, dormant;
	struct vf_chain *chains;
	size_t nchains, chains_cap;
	struct vf_set *sets;
	size_t nsets, sets_cap;
};
#define VF_RULESET_INIT ((struct vf_ruleset){.there = false})
void vf_ruleset_release(struct vf_ruleset *r);
#define cleanup_ruleset __attribute__((cleanup(vf_ruleset_release)))

/* Adding; names are copied. */
struct vf_chain *vf_add_chain(struct vf_ruleset *r, const char *name);
struct vf_rule *vf_add_rule(struct vf_chain *c);
struct vf_op *vf_add_op(struct vf_rule *r, enum vf_kind kind);
struct vf_set *vf_add_set(struct vf_ruleset *r, const char *name);
struct vf_element *vf_add_element(struct vf_set *s);
/* Sorts what was added, and makes intervals of where they begin and end. */
void vf_settle(struct vf_set *s);
struct vf_chain *vf_chain(const struct vf_ruleset *r, const char *name);
struct vf_set *vf_set(const struct vf_ruleset *r, const char *name);
/* The value of up to 16 bytes. */
flat_u128 vf_number(const uint8_t *b, size_t len);

/* --- what should stand --- */

struct vf_want {
	const char *bridge;
	struct pol_addr source4, source6; /* as nft_filter has them */
	bool masquerade;
	const struct eg_policy *policy; /* NULL: everything leaves, and nobody connects in */
	uint64_t limit;                 /* of the work; 0: some seconds */
};

/* --- what differs --- */

/* Dimensions of a packet that are cut into cells. */
enum vf_dim {
	VF_D_PROTO,
	VF_D_STATE,
	VF_D_IIF,
	VF_D_OIF,
	VF_D_SOURCE,
	VF_D_HEAD,
	VF_D_HOPS,
	VF_DIMS
};
#define VF_CELLS 64 /* at most, of one dimension */

/* One cell: numbers lo..hi, or the name of an interface. */
struct vf_cell {
	flat_u128 lo, hi;
	char name[16]; /* of VF_D_IIF and VF_D_OIF; "": none, "*": any other than the others */
};

/* Packets that are treated otherwise: the product of cells and destinations. */
struct vf_difference {
	enum vf_hook hook;
	uint8_t family;
	bool possible; /* under a condition that we cannot judge */
	enum vf_verdict want, got;
	uint64_t cells[VF_DIMS]; /* bits of vf_report.cells; all: makes no difference */
	struct flat_view to;     /* destinations: classes of vf_report.ports */
	/* One packet of it. */
	struct vf_example {
		char iif[16], oif[16];
		uint32_t state;
		struct pol_addr source, to;
		uint8_t proto;
		uint16_t head, port;
	} example;
};

/* What is said of the ruleset as such. */
enum vf_note_kind {
	VF_NO_TABLE,
	VF_DORMANT,
	VF_NO_HOOK,     /* name: of the hook */
	VF_WRONG_HOOK,  /* name: of the chain; text: how it stands */
	VF_OTHER_CHAIN, /* a base chain that is none of ours and does something */
	VF_UNJUDGED,    /* name: of the chain, rule: its number, text: what it uses */
	VF_TOO_MUCH,    /* text: of what */
};
struct vf_note {
	enum vf_note_kind kind;
	char *name, *text;
	unsigned rule; /* from 1 */
};

struct vf_report {
	struct vf_note *notes;
	size_t nnotes, notes_cap;
	struct vf_difference *v;
	size_t n, cap;
	struct vf_cell *cells[FLAT_FAMILIES][VF_DIMS];
	size_t ncells[FLAT_FAMILIES][VF_DIMS];
	uint32_t vague[FLAT_FAMILIES]; /* dimensions with too many cells: bits */
	struct flat_class *classes;    /* ports as those of TCP, whatever the protocol */
	struct flat_ports *spans;
	size_t nclasses, nspans;
};
#define VF_REPORT_INIT ((struct vf_report){.notes = NULL})
void vf_report_release(struct vf_report *r);
#define cleanup_report __attribute__((cleanup(vf_report_release)))

/*
 * Compares; *out is VF_REPORT_INIT. True: the ruleset means what is wanted, and nothing was
 * left unjudged.
 */
bool vf_verify(const struct vf_ruleset *r, const struct vf_want *w, struct vf_report *out);

/* "drop", "reset", ... and "forward", ... */
const char *vf_verdict_name(enum vf_verdict v);
const char *vf_hook_name(enum vf_hook h);
/* A note as a sentence. */
void vf_note_text(const struct vf_note *n, struct cl_buf *out);
/* A difference as lines, each starting with a tab but the first: packets, what is, an example. */
void vf_difference_text(const struct vf_report *r, size_t i, struct cl_buf *out);
/* {identical, notes: [...], differences: [...]}; owned. */
json_t *vf_report_json(const struct vf_report *r);

#endif
