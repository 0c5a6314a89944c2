/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rendered NetworkPolicy against the policy, by an evaluator that shares no code with it. */
#include "unit.h"
#include "egress-random.h"
#include "netpol-eval.h"
#include "tsv.h"

#include "base/doc.h"
#include "base/mem.h"
#include "base/yaml_write.h"
#include "policy/egress/egress_stack.h"
#include "policy/egress/netpol.h"

static const struct np_pair one_pod = {NP_HANDLE_LABEL, "c-0123456789ab"};
static const struct np_options plain_options = {
	.name = "p", .namespace = "cloop", .selector = &one_pod, .nselector = 1};

static const struct {
	enum eg_proto proto;
	int ip;
} protocols[] = {
	{EG_PROTO_TCP, IPPROTO_TCP}, {EG_PROTO_UDP, IPPROTO_UDP}, {EG_PROTO_ANY, IPPROTO_SCTP}};

/* What is asked in every way. */
struct trial {
	const char *name;
	const struct eg_policy *policy;
	struct npe_policy np;
	unsigned long asked, allowed, raw;
};

/* ::fffe:0:0/96, which the exception around the IPv4-mapped range closes too. */
static bool beside_mapped(const struct pol_addr *a)
{
	static const uint8_t head[12] = {[10] = 0xff, [11] = 0xfe};

	return a->family == 6 && !memcmp(a->b, head, sizeof(head));
}

/* A packet whose IPv6 header has a mapped address: the kernel's rules drop it, whatever is inside. */
static void ask_raw(struct trial *t, const struct pol_addr *addr, int port, size_t proto)
{
	struct npe_packet k = {.proto = protocols[proto].ip, .port = port, .addr.bits = 128};
	struct pol_addr inside = *addr;
	char text[POL_ADDR_TEXT];

	if (!pol_addr_unmap(&inside))
		return;
	memcpy(k.addr.b, addr->b, sizeof(addr->b));
	pol_addr_text(addr, text);
	if (npe_allows(&t->np, 1, NPE_EGRESS, &k) && unit_failures < 5)
		UNIT_FAIL("%s: a packet to %s itself is let through", t->name, text);
	t->raw++;
}

static void ask(struct trial *t, const struct pol_addr *addr, int port, size_t proto)
{
	struct npe_packet k = {.proto = protocols[proto].ip, .port = port};
	struct pol_addr to = *addr;
	char text[POL_ADDR_TEXT];
	bool want, got;

	/* A socket that connects to a mapped address sends IPv4. */
	(void)pol_addr_unmap(&to);
	k.addr.bits = pol_bits(to.family);
	memcpy(k.addr.b, to.b, sizeof(to.b));
	want = eg_evaluate(t->policy, &to, (uint16_t)port, protocols[proto].proto, true).verdict ==
	       EG_ALLOW;
	got = npe_allows(&t->np, 1, NPE_EGRESS, &k);
	/* Never more, and less only there. */
	if (beside_mapped(&to) && !got)
		want = false;
	t->asked++;
	t->allowed += got;
	pol_addr_text(&to, text);
	if (got != want && unit_failures < 5)
		UNIT_FAIL("%s: %s port %d %s: %s, the policy says %s", t->name, text, port,
			eg_proto_name(protocols[proto].proto), got ? "allowed" : "denied",
			want ? "allow" : "drop");
	CHECK(!npe_allows(&t->np, 1, NPE_INGRESS, &k));
	ask_raw(t, addr, port, proto);
}

/* Every port where an answer can change. */
static void ask_ports(struct trial *t, const struct pol_addr *addr)
{
	static const int around[] = {1, 2, 52, 53, 54, 65534, 65535};

	for (size_t i = 0; i < CL_ARRAY_LEN(protocols); i++) {
		for (size_t k = 0; k < CL_ARRAY_LEN(around); k++)
			ask(t, addr, around[k], i);
		for (size_t k = 0; k < t->policy->nrules; k++) {
			const struct eg_rule *r = &t->policy->rules[k];

			if (k && r->ports == r[-1].ports)
				continue;
			for (size_t n = 0; n < r->nports; n++)
				for (int p = r->ports[n] - 1; p <= r->ports[n] + 1; p++)
					if (p >= 1 && p <= 65535)
						ask(t, addr, p, i);
		}
	}
}

/* addr + delta; false beyond the ends of the family. */
static bool step(struct pol_addr *a, int delta)
{
	for (int i = pol_bits(a->family) / 8 - 1; i >= 0; i--) {
		int v = a->b[i] + delta;

		a->b[i] = (uint8_t)v;
		if (v >= 0 && v <= 255)
			return true;
	}
	return false;
}

/* First, last, and one beside each. */
static void ask_edges(struct trial *t, const struct pol_prefix *p)
{
	struct pol_addr first = p->addr, last = p->addr, beside;

	for (unsigned i = p->len; i < pol_bits(p->addr.family); i++)
		last.b[i / 8] |= (uint8_t)(0x80u >> i % 8);
	ask_ports(t, &first);
	ask_ports(t, &last);
	beside = first;
	if (step(&beside, -1))
		ask_ports(t, &beside);
	beside = last;
	if (step(&beside, 1))
		ask_ports(t, &beside);
}

static void ask_random(struct trial *t, const struct eg_auth *a)
{
	for (int i = 0; i < 200; i++) {
		struct pol_addr to = er_prefix(a).addr;

		for (unsigned n = er_pick(4) * er_pick(20); n; n--) {
			unsigned bit = er_pick(pol_bits(to.family));

			to.b[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
		}
		ask(t, &to, (int)(1 + er_pick(65535)), er_pick(3));
		ask(t, &to, er_pick(2) ? 443 : 53, er_pick(3));
	}
}

/* The edges of every range that either side speaks of. */
static void ask_all_edges(struct trial *t)
{
	static const struct pol_prefix mapped = {{6, {[10] = 0xff, [11] = 0xff}}, 96};

	for (size_t i = 0; i < t->policy->nrules; i++)
		ask_edges(t, &t->policy->rules[i].prefix);
	for (size_t i = 0; i < eg_nblocks; i++)
		ask_edges(t, &eg_blocks[i].prefix);
	ask_edges(t, &mapped);
}

static void judge_policy(struct trial *t, const struct eg_auth *a, bool edges)
{
	json_t *object = NULL;
	struct cl_err e;

	if (np_render(t->policy, &plain_options, &object, &e)) {
		UNIT_FAIL("%s: %s", t->name, e.msg);
		return;
	}
	npe_read(object, &t->np);
	if (t->np.wrong)
		UNIT_FAIL("%s: the object cannot be read: %s", t->name, t->np.wrong);
	ask_random(t, a);
	if (edges)
		ask_all_edges(t);
	CHECK(!edges || t->raw);
	if (unit_failures) {
		cleanup_free char *text = cl_json_text(object);
		json_t *auth = eg_auth_json(a);
		cleanup_free char *from = cl_json_text(auth);

		printf("# from %s\n# got %s\n", from, text);
		json_decref(auth);
	}
	npe_release(&t->np);
	json_decref(object);
}

static void judge(const char *name, const struct eg_auth *a, bool edges, unsigned long *asked,
	unsigned long *allowed)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct trial t = {.name = name, .policy = &p};
	struct cl_err e;

	if (eg_compile(a, &p, &e)) {
		CHECK_HAS(e.msg, "every address there is");
		return;
	}
	judge_policy(&t, a, edges);
	*asked += t.asked;
	*allowed += t.allowed;
}

#ifdef CL_SANITIZED
#define POLICIES 300
#else
#define POLICIES 3000
#endif

void test_random_policies__object_means_the_same(void)
{
	unsigned long asked = 0, allowed = 0;

	for (int n = 0; n < POLICIES && !unit_failures; n++) {
		cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
		char name[32];

		(void)snprintf(name, sizeof(name), "policy %d", n);
		er_auth(&a);
		judge(name, &a, n % 30 == 0, &asked, &allowed);
	}
	/* Both answers were asked for, often. */
	CHECK(asked > 400ul * POLICIES);
	CHECK(allowed > asked / 50 && allowed < asked / 2);
}

/* Levels: blocks without exceptions, and nothing beside the IPv4-mapped range is lost. */
void test_random_levels__object_means_the_same(void)
{
	unsigned long asked = 0;

	for (int n = 0; n < POLICIES / 10 && !unit_failures; n++) {
		cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		struct trial t = {.name = "levels", .policy = &p};
		struct cl_err e;

		er_auth(eg_stack_add(&s, "one", 0));
		er_auth(eg_stack_add(&s, "two", 0));
		if (eg_stack_compile(&s, &p, &e)) {
			CHECK_HAS(e.msg, "every address there is");
			continue;
		}
		judge_policy(&t, &s.v[n % 2].auth, n % 30 == 0);
		asked += t.asked;
	}
	CHECK(asked > 40ul * POLICIES / 10);
}

static unsigned long case_asked, case_allowed;

static void known_policy(const struct tsv_row *r)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "case", r->field[2], r->len[2], NULL, &e) ||
		eg_auth_read(&d, d.root, &a, &e))
		TSV_FAIL(r, "%s", e.msg);
	judge(r->field[0], &a, true, &case_asked, &case_allowed);
}

void test_known_policies__every_edge(void)
{
	tsv_each("egress/policies.tsv", known_policy);
	CHECK(case_asked > 100000);
	CHECK(case_allowed > 1000);
}

/* Every range that holds the mapped one, and the ones right around it. */
void test_netpol__mapped_addresses_stay_closed(void)
{
	static const char *const wide[] = {"::/1", "::/16", "::/64", "::/80", "::8000:0:0/81",
		"::fff0:0:0/92", "::fffc:0:0/94", "::fffe:0:0/95", "::fffe:0:0/96", "::ffff:0:0/96",
		"::ffff:10.0.0.0/104"};
	static const char *const denies[] = {NULL, "::fffe:0:0/96", "::fffe:0:0/95", "::/16"};
	unsigned long asked = 0, allowed = 0;
	struct pol_prefix p;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(wide); i++) {
		for (size_t k = 0; k < CL_ARRAY_LEN(denies) * 2; k++) {
			cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;

			if (pol_prefix_parse(wide[i], false, "x", &p, &e))
				UNIT_FAIL("%s", e.msg);
			eg_auth_add_allow(&a, &p);
			eg_auth_add_port(&a, 443);
			a.internet = k % 2;
			if (denies[k / 2] && !pol_prefix_parse(denies[k / 2], false, "x", &p, &e))
				eg_auth_add_deny(&a, &p);
			judge(wide[i], &a, true, &asked, &allowed);
		}
	}
	CHECK(asked > 10000);
}
