/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The egress policy as a Kubernetes NetworkPolicy (networking.k8s.io/v1): facts/egress.md 5
 * with DECISIONS E9. An ordered list with both verdicts becomes a union of allowed blocks:
 * what an earlier rule drops is an exception of the block around it. Pure.
 *
 * For TCP, UDP and SCTP at ports 1-65535 the object allows what eg_evaluate (on the wire)
 * allows, and no more. It allows less in two places: port 0 of an allow for every port,
 * and ::fffe:0:0/96 inside a wider block (np_render). A packet whose IPv6 header has an
 * IPv4-mapped address is let through by nothing. What lies outside the object is
 * outside the claim: the DNS peer; protocols other than the three, which the API leaves to
 * the network plugin; the Pod's own node, which is always allowed; whether a Service's
 * address is judged before or after its rewriting; other policies that select the Pod,
 * which add to this one; and whether the cluster enforces any of it.
 */
#ifndef CL_POLICY_NETPOL_H
#define CL_POLICY_NETPOL_H

#include "policy/egress/egress.h"

/* A label or annotation. Borrowed. */
struct np_pair {
	const char *key, *value;
};

struct np_options {
	const char *name, *namespace;
	const struct np_pair *labels, *annotations; /* may be none */
	size_t nlabels, nannotations;
	const struct np_pair *selector; /* of the one Pod it governs; never none */
	size_t nselector;
	bool dns; /* open port 53 of the namespace that dns_namespace selects */
	const struct np_pair *dns_namespace; /* none: kube-system by its name */
	size_t ndns_namespace;
};

/* The value of a selector that stands for a Pod's handle in a preview: no real label. */
#define NP_PREVIEW_HANDLE "<handle>"
#define NP_HANDLE_LABEL   "cloop.dev/handle-id"

/*
 * Refuses what the API server would: a name that is no RFC 1123 subdomain (253 bytes), a
 * namespace that is no RFC 1123 label (63), a key or value that is no label, a key given
 * twice, and (it would take it, and mean every Pod) an empty selector, naming the
 * namespace. CL_EDATA.
 */
int np_check(const struct np_options *o, struct cl_err *e);

/*
 * Renders a policy that eg_compile made; *out is owned, and NULL with every error (those
 * of np_check). Entries are grouped by protocol and ports, because peers and ports of one
 * entry are a product. A policy with levels becomes its allowed blocks, none with an exception. ::ffff:0:0/96 cannot be an exception (the API server reads it as
 * IPv4, outside of ::/0): ::fffe:0:0/95 is written, which holds it.
 */
int np_render(
	const struct eg_policy *p, const struct np_options *o, json_t **out, struct cl_err *e);

/* As kubectl prints JSON: two blanks a level, '<', '>' and '&' escaped, a newline at the end. */
void np_text(const json_t *policy, struct cl_buf *out);

/* What an API server's store takes in one request unless it was told otherwise (etcd). */
#define NP_MAX_BYTES (1536u * 1024)

#endif
