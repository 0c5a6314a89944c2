/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a NetworkPolicy means, written from the Kubernetes documentation ("Network Policies"
 * and the API reference of networking.k8s.io/v1) and sharing nothing with the renderer:
 * its own reading of addresses, its own masks.
 *
 *  - policyTypes that are absent are Ingress, and Egress when the object has egress rules.
 *  - A direction that no policy of the Pod names is open; one that is named allows the
 *    union of the rules of all of them, and nothing else.
 *  - A rule allows what matches one of its peers and one of its ports. No peers: every
 *    peer. No ports: every protocol and port.
 *  - ipBlock: inside cidr and in none of except. Selectors: both given must both match; a
 *    podSelector alone selects in the policy's own namespace; an empty one selects all.
 *  - A port's protocol is TCP unless named; without a number it is every port of the
 *    protocol; endPort makes a range of it. A named port is a container's: no address has it.
 */
#ifndef T_UNIT_NETPOL_EVAL_H
#define T_UNIT_NETPOL_EVAL_H

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct npe_addr {
	int bits; /* 32 or 128; 0: none */
	uint8_t b[16];
};

struct npe_block {
	struct npe_addr addr;
	int len;
};

struct npe_peer {
	struct npe_block cidr; /* bits 0: selectors */
	struct npe_block *except;
	size_t nexcept;
	const json_t *pods, *namespaces; /* matchLabels, NULL: not given */
};

struct npe_port {
	int proto; /* IPPROTO_* */
	int from, to;
};

struct npe_rule {
	struct npe_peer *peers;
	struct npe_port *ports;
	size_t npeers, nports;
};

enum npe_direction { NPE_INGRESS, NPE_EGRESS };

struct npe_policy {
	const json_t *object; /* borrowed: labels are compared in it */
	bool isolates[2];
	struct npe_rule *rules[2];
	size_t nrules[2];
	const char *wrong; /* why it cannot be understood, or NULL */
};

/* The other end, and how it is spoken to. */
struct npe_packet {
	struct npe_addr addr;
	const json_t *pod, *namespace; /* labels, when the other end is a Pod; else NULL */
	bool same_namespace;
	int proto, port;
};

static inline bool npe_parse_addr(const char *s, struct npe_addr *out)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, s, out->b) == 1)
		out->bits = 32;
	else if (inet_pton(AF_INET6, s, out->b) == 1)
		out->bits = 128;
	return out->bits != 0;
}

static inline bool npe_parse_block(const json_t *j, struct npe_block *out)
{
	char text[64] = "";
	const char *s = json_string_value(j), *slash = s ? strchr(s, '/') : NULL;
	char *end;

	if (!slash || (size_t)(slash - s) >= sizeof(text))
		return false;
	memcpy(text, s, (size_t)(slash - s));
	out->len = (int)strtol(slash + 1, &end, 10);
	return end != slash + 1 && !*end && npe_parse_addr(text, &out->addr) && out->len >= 0 &&
	       out->len <= out->addr.bits;
}

static inline bool npe_inside(const struct npe_addr *a, const struct npe_block *b)
{
	if (a->bits != b->addr.bits)
		return false;
	for (int i = 0; i < b->len; i++) {
		int shift = 7 - i % 8;

		if (((a->b[i / 8] >> shift) ^ (b->addr.b[i / 8] >> shift)) & 1)
			return false;
	}
	return true;
}

/* Every key of the object is one of the listed; the object may be absent. */
static inline bool npe_only(const json_t *obj, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)obj, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return false;
	}
	return !obj || json_is_object(obj);
}

static inline bool npe_read_selector(const json_t *peer, const char *key, const json_t **out)
{
	static const char *const known[] = {"matchLabels", NULL};
	static json_t *all;
	const json_t *s = json_object_get(peer, key);

	if (!s)
		return true;
	if (!all)
		all = json_object();
	*out = json_object_get(s, "matchLabels");
	if (!*out)
		*out = all;
	return npe_only(s, known) && json_is_object(*out);
}

static inline bool npe_read_peer(const json_t *j, struct npe_peer *out)
{
	static const char *const known[] = {"ipBlock", "podSelector", "namespaceSelector", NULL};
	static const char *const in_block[] = {"cidr", "except", NULL};
	const json_t *block = json_object_get(j, "ipBlock");
	const json_t *except = json_object_get(block, "except");

	memset(out, 0, sizeof(*out));
	if (!npe_only(j, known) || !json_object_size(j))
		return false;
	if (!block)
		return npe_read_selector(j, "podSelector", &out->pods) &&
		       npe_read_selector(j, "namespaceSelector", &out->namespaces);
	if (json_object_size(j) != 1 || !npe_only(block, in_block) ||
		!npe_parse_block(json_object_get(block, "cidr"), &out->cidr))
		return false;
	out->except = calloc(json_array_size(except) + 1, sizeof(*out->except));
	for (; out->nexcept < json_array_size(except); out->nexcept++) {
		struct npe_block *e = &out->except[out->nexcept];

		/* The API server's rule: a strict subset. */
		if (!npe_parse_block(json_array_get(except, out->nexcept), e) ||
			e->len <= out->cidr.len || !npe_inside(&e->addr, &out->cidr))
			return false;
	}
	return true;
}

static inline int npe_protocol(const char *s)
{
	if (!strcmp(s, "TCP"))
		return IPPROTO_TCP;
	if (!strcmp(s, "UDP"))
		return IPPROTO_UDP;
	return strcmp(s, "SCTP") ? -1 : IPPROTO_SCTP;
}

static inline bool npe_read_port(const json_t *j, struct npe_port *out)
{
	static const char *const known[] = {"protocol", "port", "endPort", NULL};
	const json_t *proto = json_object_get(j, "protocol"), *port = json_object_get(j, "port");
	const json_t *end = json_object_get(j, "endPort");

	out->proto = proto ? npe_protocol(json_string_value(proto)) : IPPROTO_TCP;
	out->from = 0;
	out->to = 65535;
	if (!npe_only(j, known) || out->proto < 0 || (end && !json_is_integer(port)))
		return false;
	if (json_is_string(port)) {
		out->from = 1;
		out->to = 0;
	} else if (port) {
		out->from = (int)json_integer_value(port);
		out->to = end ? (int)json_integer_value(end) : out->from;
		return out->from >= 1 && out->to >= out->from && out->to <= 65535;
	}
	return true;
}

static inline bool npe_read_rule(const json_t *j, const char *peers_key, struct npe_rule *out)
{
	const char *const known[] = {peers_key, "ports", NULL};
	const json_t *peers = json_object_get(j, peers_key), *ports = json_object_get(j, "ports");

	memset(out, 0, sizeof(*out));
	if (!json_is_object(j) || !npe_only(j, known))
		return false;
	out->peers = calloc(json_array_size(peers) + 1, sizeof(*out->peers));
	out->ports = calloc(json_array_size(ports) + 1, sizeof(*out->ports));
	for (size_t i = 0; i < json_array_size(peers); i++) {
		out->npeers++; /* also one half read is released */
		if (!npe_read_peer(json_array_get(peers, i), &out->peers[i]))
			return false;
	}
	for (; out->nports < json_array_size(ports); out->nports++)
		if (!npe_read_port(json_array_get(ports, out->nports), &out->ports[out->nports]))
			return false;
	return true;
}

static inline void npe_release(struct npe_policy *p)
{
	for (int d = 0; d < 2; d++) {
		for (size_t i = 0; i < p->nrules[d]; i++) {
			for (size_t k = 0; k < p->rules[d][i].npeers; k++)
				free(p->rules[d][i].peers[k].except);
			free(p->rules[d][i].peers);
			free(p->rules[d][i].ports);
		}
		free(p->rules[d]);
	}
	memset(p, 0, sizeof(*p));
}

static inline void npe_read_types(const json_t *spec, struct npe_policy *out)
{
	const json_t *types = json_object_get(spec, "policyTypes");

	out->isolates[NPE_INGRESS] = !types;
	out->isolates[NPE_EGRESS] = !types && json_array_size(json_object_get(spec, "egress"));
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *s = json_string_value(json_array_get(types, i));

		if (s && !strcmp(s, "Ingress"))
			out->isolates[NPE_INGRESS] = true;
		else if (s && !strcmp(s, "Egress"))
			out->isolates[NPE_EGRESS] = true;
		else
			out->wrong = "policyTypes";
	}
}

/* object stays the caller's and outlives *out. `wrong` says what is not understood. */
static inline void npe_read(const json_t *object, struct npe_policy *out)
{
	static const char *const known[] = {"apiVersion", "kind", "metadata", "spec", NULL};
	static const char *const in_spec[] = {
		"podSelector", "policyTypes", "ingress", "egress", NULL};
	static const char *const names[] = {"ingress", "egress"}, *const ends[] = {"from", "to"};
	const json_t *spec = json_object_get(object, "spec");
	const char *api = json_string_value(json_object_get(object, "apiVersion"));
	const char *kind = json_string_value(json_object_get(object, "kind"));

	memset(out, 0, sizeof(*out));
	out->object = object;
	if (!api || strcmp(api, "networking.k8s.io/v1") != 0 || !kind ||
		strcmp(kind, "NetworkPolicy") != 0)
		out->wrong = "apiVersion and kind";
	if (!npe_only(object, known) || !spec || !npe_only(spec, in_spec) ||
		!json_object_get(spec, "podSelector"))
		out->wrong = "keys";
	npe_read_types(spec, out);
	for (int d = 0; d < 2; d++) {
		const json_t *rules = json_object_get(spec, names[d]);

		out->rules[d] = calloc(json_array_size(rules) + 1, sizeof(**out->rules));
		for (size_t i = 0; i < json_array_size(rules); i++) {
			out->nrules[d]++;
			if (!npe_read_rule(json_array_get(rules, i), ends[d], &out->rules[d][i]))
				out->wrong = names[d];
		}
	}
}

static inline bool npe_labels(const json_t *wanted, const json_t *has)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)wanted, key, value) {
		if (!json_equal(value, json_object_get(has, key)))
			return false;
	}
	return true;
}

static inline bool npe_peer_matches(const struct npe_peer *p, const struct npe_packet *k)
{
	if (!p->cidr.addr.bits) {
		if (!k->pod || (p->pods && !npe_labels(p->pods, k->pod)))
			return false;
		return p->namespaces ? npe_labels(p->namespaces, k->namespace) : k->same_namespace;
	}
	if (!npe_inside(&k->addr, &p->cidr))
		return false;
	for (size_t i = 0; i < p->nexcept; i++)
		if (npe_inside(&k->addr, &p->except[i]))
			return false;
	return true;
}

static inline bool npe_rule_matches(const struct npe_rule *r, const struct npe_packet *k)
{
	bool port = !r->nports, peer = !r->npeers;

	for (size_t i = 0; i < r->nports && !port; i++)
		port = r->ports[i].proto == k->proto && r->ports[i].from <= k->port &&
		       k->port <= r->ports[i].to;
	for (size_t i = 0; port && i < r->npeers && !peer; i++)
		peer = npe_peer_matches(&r->peers[i], k);
	return port && peer;
}

/* All n policies select the Pod. */
static inline bool npe_allows(
	const struct npe_policy *p, size_t n, enum npe_direction d, const struct npe_packet *k)
{
	bool isolated = false;

	for (size_t i = 0; i < n; i++) {
		if (!p[i].isolates[d])
			continue;
		isolated = true;
		for (size_t r = 0; r < p[i].nrules[d]; r++)
			if (npe_rule_matches(&p[i].rules[d][r], k))
				return true;
	}
	return !isolated;
}

#endif
