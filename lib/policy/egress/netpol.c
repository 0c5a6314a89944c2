/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/netpol.h"
#include "policy/egress/egress_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Allows of one protocol and one list of ports: one egress entry. */
struct group {
	char *key;
	json_t *peers;
	const struct eg_rule *like;
};

struct writer {
	const struct eg_policy *p;
	struct pol_prefix *deny; /* denied ranges in order: a range before all that it holds */
	struct pol_prefix *wide; /* those of them that no other holds */
	size_t ndeny, nwide;
	size_t *carves, ncarves; /* indices of rules */
	struct group *groups;
	size_t ngroups, groups_cap, last; /* last: of the rule before */
};

static void writer_release(struct writer *w)
{
	for (size_t i = 0; i < w->ngroups; i++) {
		free(w->groups[i].key);
		json_decref(w->groups[i].peers);
	}
	free(w->groups);
	free(w->deny);
	free(w->wide);
	free(w->carves);
}
#define cleanup_writer __attribute__((cleanup(writer_release)))

static int by_prefix(const void *a, const void *b)
{
	return pol_prefix_cmp(a, b);
}

static void take_drops(struct writer *w)
{
	w->carves = cl_calloc(w->p->nrules + 1, sizeof(*w->carves));
	w->deny = cl_calloc(w->p->nrules + 1, sizeof(*w->deny));
	w->wide = cl_calloc(w->p->nrules + 1, sizeof(*w->wide));
	for (size_t i = 0; i < w->p->nrules; i++) {
		if (w->p->rules[i].denied)
			w->deny[w->ndeny++] = w->p->rules[i].prefix;
		else if (w->p->rules[i].carve)
			w->carves[w->ncarves++] = i;
	}
	qsort(w->deny, w->ndeny, sizeof(*w->deny), by_prefix);
	for (size_t i = 0; i < w->ndeny; i++)
		if (!w->nwide || !pol_prefix_holds(&w->wide[w->nwide - 1], &w->deny[i]))
			w->wide[w->nwide++] = w->deny[i];
}

/* How many of v[0..n) sort before p or, with `equal`, are equal to it. */
static size_t before(const struct pol_prefix *v, size_t n, const struct pol_prefix *p, bool equal)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = pol_prefix_cmp(&v[mid], p);

		if (c < 0 || (equal && !c))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool denied(const struct writer *w, const struct pol_prefix *p)
{
	size_t n = before(w->wide, w->nwide, p, true);

	return n && pol_prefix_holds(&w->wide[n - 1], p);
}

/* A carve that stands before rule `at` holds all of p. */
static bool carved(const struct writer *w, size_t at, const struct pol_prefix *p)
{
	for (size_t i = 0; i < w->ncarves && w->carves[i] < at; i++)
		if (pol_prefix_holds(&w->p->rules[w->carves[i]].prefix, p))
			return true;
	return false;
}

static bool covers(const struct eg_rule *r, const struct eg_rule *of)
{
	size_t k = 0;

	if (r->proto != EG_PROTO_ANY && r->proto != of->proto)
		return false;
	if (!r->nports)
		return true;
	for (size_t i = 0; i < r->nports && k < of->nports; i++)
		k += r->ports[i] == of->ports[k];
	return of->nports && k == of->nports;
}

/* The range is allowed by its own name, for everything that the wide rule opens. */
static bool granted(const struct writer *w, const struct pol_prefix *p, const struct eg_rule *wide)
{
	for (size_t i = 0; i < w->p->nrules; i++) {
		const struct eg_rule *r = &w->p->rules[i];

		if (r->verdict == EG_ALLOW && !r->local && !pol_prefix_cmp(&r->prefix, p) &&
			covers(r, wide))
			return true;
	}
	return false;
}

struct holes {
	struct pol_prefix *v;
	size_t n, cap;
};

static void hole_add(struct holes *h, const struct pol_prefix *p)
{
	h->v = cl_grow(h->v, &h->cap, h->n + 1, sizeof(*p));
	h->v[h->n++] = *p;
}

static bool hole_has(const struct holes *h, size_t n, const struct pol_prefix *p)
{
	for (size_t i = 0; i < n; i++)
		if (pol_prefix_holds(&h->v[i], p))
			return true;
	return false;
}

static bool strictly_inside(const struct pol_prefix *p, const struct pol_prefix *outer)
{
	return outer->len < p->len && pol_prefix_holds(outer, p);
}

/* A whole family: the block set, less what is allowed by its own name. */
static void add_blocked(const struct writer *w, size_t at, struct holes *h)
{
	const struct eg_rule *wide = &w->p->rules[at];

	for (size_t i = 0; i < at; i++) {
		const struct eg_rule *r = &w->p->rules[i];
		bool twice = false;

		if (r->verdict != EG_DROP || r->denied ||
			!strictly_inside(&r->prefix, &wide->prefix))
			continue;
		/* A carve and the block set may both have it. */
		for (size_t k = 0; k < h->n && !twice; k++)
			twice = !pol_prefix_cmp(&h->v[k], &r->prefix);
		if (!twice && !granted(w, &r->prefix, wide))
			hole_add(h, &r->prefix);
	}
}

static void add_denied(const struct writer *w, const struct pol_prefix *peer, struct holes *h)
{
	const struct pol_prefix *kept = NULL;
	size_t blocked = h->n;

	for (size_t i = before(w->deny, w->ndeny, peer, true); i < w->ndeny; i++) {
		const struct pol_prefix *p = &w->deny[i];

		if (!pol_prefix_holds(peer, p))
			break;
		if ((kept && pol_prefix_holds(kept, p)) || hole_has(h, blocked, p))
			continue;
		hole_add(h, p);
		kept = p;
	}
}

static void add_carved(const struct writer *w, size_t at, size_t blocked, struct holes *h)
{
	for (size_t i = 0; i < w->ncarves && w->carves[i] < at; i++) {
		const struct pol_prefix *p = &w->p->rules[w->carves[i]].prefix;

		if (strictly_inside(p, &w->p->rules[at].prefix) && !hole_has(h, blocked, p) &&
			!denied(w, p))
			hole_add(h, p);
	}
}

/* ::ffff:0:0/96, RFC 4291 2.5.5.2 */
static const struct pol_prefix mapped = {{6, {[10] = 0xff, [11] = 0xff}}, 96};

/* Of the range right around it, only the other half: it could not be all exception. */
static struct pol_prefix sayable(const struct pol_prefix *p)
{
	struct pol_prefix out = *p;

	if (p->len == mapped.len - 1 && pol_prefix_holds(p, &mapped))
		out.len++;
	return out;
}

/*
 * An address in there is judged as the IPv4 address inside, which a block of IPv6 addresses
 * cannot say: a packet that carries it is none of ours, and the kernel's rules drop it too.
 */
static void add_mapped(const struct pol_prefix *peer, struct holes *h)
{
	if (strictly_inside(&mapped, peer) && !hole_has(h, h->n, &mapped))
		hole_add(h, &mapped);
}

/*
 * An API server asks Go's IPNet.Contains whether an exception lies inside the block, and
 * that reads ::ffff:0:0/96 as IPv4 and says no to ::/0. The range around it, which no
 * registry has given away, says the same and more.
 */
static struct pol_prefix expressible(const struct pol_prefix *p)
{
	struct pol_prefix out = *p;

	if (!pol_prefix_cmp(p, &mapped)) {
		out.len--;
		pol_prefix_mask(&out);
	}
	return out;
}

static json_t *exceptions(const struct holes *h)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	json_t *list = json_array();

	for (size_t i = 0; i < h->n; i++) {
		struct pol_prefix p = expressible(&h->v[i]);
		char text[POL_PREFIX_TEXT];

		pol_prefix_text(&p, text);
		cl_strv_add(&texts, text);
	}
	cl_strv_sort(&texts);
	for (size_t i = 0; i < texts.n; i++)
		(void)json_array_append_new(list, json_string(texts.v[i]));
	return list;
}

static json_t *wrap(const char *key, json_t *value)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, key, value);
	return obj;
}

static json_t *peer(const struct writer *w, size_t at)
{
	const struct pol_prefix block_of = sayable(&w->p->rules[at].prefix), *p = &block_of;
	struct holes h = {0};
	json_t *block = json_object();
	char text[POL_PREFIX_TEXT];
	size_t blocked;

	pol_prefix_text(p, text);
	(void)json_object_set_new(block, "cidr", json_string(text));
	if (!p->len)
		add_blocked(w, at, &h);
	blocked = h.n;
	add_denied(w, p, &h);
	add_carved(w, at, blocked, &h);
	add_mapped(p, &h);
	if (h.n)
		(void)json_object_set_new(block, "except", exceptions(&h));
	free(h.v);
	return wrap("ipBlock", block);
}

/* --- groups --- */

static struct group *group_of(struct writer *w, const struct eg_rule *r)
{
	cleanup_buf struct cl_buf key = CL_BUF_INIT;
	struct group *g;

	if (w->ngroups) {
		const struct eg_rule *l = w->groups[w->last].like;

		if (l->proto == r->proto && l->ports == r->ports && l->nports == r->nports)
			return &w->groups[w->last];
	}
	cl_buf_addf(&key, "%s/", eg_proto_name(r->proto));
	eg_ports_text(r->ports, r->nports, ", ", &key);
	for (w->last = 0; w->last < w->ngroups; w->last++)
		if (!strcmp(w->groups[w->last].key, key.p))
			return &w->groups[w->last];
	w->groups = cl_grow(w->groups, &w->groups_cap, w->ngroups + 1, sizeof(*w->groups));
	g = &w->groups[w->ngroups++];
	*g = (struct group){cl_buf_detach(&key), json_array(), r};
	return g;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct group *)a)->key, ((const struct group *)b)->key);
}

static json_t *port(const char *proto, int number, int end)
{
	json_t *obj = wrap("protocol", json_string(proto));

	(void)json_object_set_new(obj, "port", json_integer(number));
	if (end)
		(void)json_object_set_new(obj, "endPort", json_integer(end));
	return obj;
}

/* DECISIONS E9: an entry without ports would open every protocol. */
static void add_ports(const struct eg_rule *r, const char *proto, json_t *list)
{
	if (!r->nports)
		(void)json_array_append_new(list, port(proto, 1, 65535));
	for (size_t i = 0; i < r->nports; i++)
		(void)json_array_append_new(list, port(proto, r->ports[i], 0));
}

static json_t *entry(const struct group *g)
{
	json_t *obj = json_object(), *ports = json_array();

	(void)json_object_set(obj, "to", g->peers);
	if (g->like->proto != EG_PROTO_UDP)
		add_ports(g->like, "TCP", ports);
	if (g->like->proto != EG_PROTO_TCP)
		add_ports(g->like, "UDP", ports);
	if (g->like->proto == EG_PROTO_ANY)
		add_ports(g->like, "SCTP", ports);
	(void)json_object_set_new(obj, "ports", ports);
	return obj;
}

/* --- the object --- */

static int by_pair(const void *a, const void *b)
{
	return strcmp(((const struct np_pair *)a)->key, ((const struct np_pair *)b)->key);
}

/* Sorted by key, as maps are printed there. */
static json_t *pairs(const struct np_pair *v, size_t n)
{
	cleanup_free struct np_pair *sorted = cl_calloc(n + 1, sizeof(*sorted));
	json_t *obj = json_object();

	if (n)
		memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), by_pair);
	for (size_t i = 0; i < n; i++)
		(void)json_object_set_new(obj, sorted[i].key, cl_json_string(sorted[i].value));
	return obj;
}

static json_t *metadata(const struct np_options *o)
{
	json_t *obj = wrap("name", json_string(o->name));

	(void)json_object_set_new(obj, "namespace", json_string(o->namespace));
	if (o->nlabels)
		(void)json_object_set_new(obj, "labels", pairs(o->labels, o->nlabels));
	if (o->nannotations)
		(void)json_object_set_new(
			obj, "annotations", pairs(o->annotations, o->nannotations));
	return obj;
}

/* By namespace and not by address: what a Service's address is, a policy need not see. */
static json_t *dns_entry(const struct np_options *o)
{
	static const struct np_pair system = {"kubernetes.io/metadata.name", "kube-system"};
	json_t *labels =
		o->ndns_namespace ? pairs(o->dns_namespace, o->ndns_namespace) : pairs(&system, 1);
	json_t *obj = json_object(), *to = json_array(), *ports = json_array();

	(void)json_array_append_new(to, wrap("namespaceSelector", wrap("matchLabels", labels)));
	(void)json_array_append_new(ports, port("UDP", 53, 0));
	(void)json_array_append_new(ports, port("TCP", 53, 0));
	(void)json_object_set_new(obj, "to", to);
	(void)json_object_set_new(obj, "ports", ports);
	return obj;
}

static json_t *egress(const struct eg_policy *p, const struct np_options *o)
{
	cleanup_writer struct writer w = {.p = p};
	json_t *list = json_array();

	take_drops(&w);
	for (size_t i = 0; i < p->nrules; i++) {
		const struct eg_rule *r = &p->rules[i];
		struct pol_prefix block = sayable(&r->prefix);

		if (r->verdict == EG_ALLOW && !r->local && !denied(&w, &block) &&
			!carved(&w, i, &block))
			(void)json_array_append_new(group_of(&w, r)->peers, peer(&w, i));
	}
	if (o->dns)
		(void)json_array_append_new(list, dns_entry(o));
	if (w.ngroups)
		qsort(w.groups, w.ngroups, sizeof(*w.groups), by_key);
	for (size_t i = 0; i < w.ngroups; i++)
		(void)json_array_append_new(list, entry(&w.groups[i]));
	return list;
}

int np_render(const struct eg_policy *p, const struct np_options *o, json_t **out, struct cl_err *e)
{
	cleanup_eg_policy struct eg_policy plain = EG_POLICY_INIT;
	json_t *obj, *spec, *list;

	*out = NULL;
	if (np_check(o, e))
		return -1;
	/* What the levels deny one inside the other is no exception of one block. */
	if (p->levels.n) {
		eg_plain(p, &plain);
		p = &plain;
	}
	obj = wrap("apiVersion", json_string("networking.k8s.io/v1"));
	(void)json_object_set_new(obj, "kind", json_string("NetworkPolicy"));
	(void)json_object_set_new(obj, "metadata", metadata(o));
	spec = wrap("podSelector", wrap("matchLabels", pairs(o->selector, o->nselector)));
	(void)json_object_set_new(spec, "policyTypes", json_pack("[ss]", "Egress", "Ingress"));
	list = egress(p, o);
	if (json_array_size(list))
		(void)json_object_set(spec, "egress", list);
	json_decref(list);
	(void)json_object_set_new(obj, "spec", spec);
	*out = obj;
	return 0;
}

void np_text(const json_t *policy, struct cl_buf *out)
{
	cleanup_free char *text = json_dumps(policy, JSON_INDENT(2));

	if (!text)
		abort();
	/* In JSON these three stand only inside strings. */
	for (const char *s = text; *s; s++) {
		if (*s == '<' || *s == '>' || *s == '&')
			cl_buf_addf(out, "\\u%04x", (unsigned char)*s);
		else
			cl_buf_addc(out, *s);
	}
	cl_buf_addc(out, '\n');
}
