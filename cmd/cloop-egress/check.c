/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One answer a question: does this packet leave the sandbox? */
#include "egress.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct question {
	struct pol_endpoint to;
	enum eg_proto proto;
};

static int proto_of(const char *name, const char *whole, enum eg_proto *out, struct cl_err *e)
{
	for (enum eg_proto p = EG_PROTO_ANY; p <= EG_PROTO_UDP; p++) {
		if (!strcmp(name, eg_proto_name(p))) {
			*out = p;
			return 0;
		}
	}
	(void)cl_fail(e, CL_EDATA, "--check: '%.80s' has an unknown protocol", whole);
	return cl_fix(e, "end it in /tcp, /udp or /any (ICMP and the rest), or in nothing for tcp");
}

static int parse(const char *text, struct question *q, struct cl_err *e)
{
	cleanup_free char *endpoint = cl_strdup(text);
	char *slash = strrchr(endpoint, '/');

	q->proto = EG_PROTO_TCP;
	if (slash) {
		*slash++ = '\0';
		cl_lower(slash);
		if (proto_of(slash, text, &q->proto, e))
			return -1;
	}
	if (pol_endpoint_parse(endpoint, 0, "--check", &q->to, e))
		return -1;
	if (q->to.port || q->proto == EG_PROTO_ANY)
		return 0;
	(void)cl_fail(e, CL_EDATA, "--check: '%.80s' has port 0, which is not a destination", text);
	return cl_fix(e, "write a port from 1 to 65535, or '/any' for what has no port");
}

static void answer_json(
	const struct question *q, const char *addr, const char *query, const struct eg_answer *a)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "query", json_string(query));
	(void)json_object_set_new(obj, "address", json_string(addr));
	(void)json_object_set_new(obj, "port", json_integer(q->to.port));
	(void)json_object_set_new(obj, "proto", json_string(eg_proto_name(q->proto)));
	(void)json_object_set_new(
		obj, "verdict", json_string(a->verdict == EG_ALLOW ? "allow" : "drop"));
	(void)json_object_set_new(obj, "reason", json_string(a->reason));
	(void)json_object_set_new(
		obj, "rule", a->rule < 0 ? json_null() : json_integer(a->rule + 1));
	cl_take_json(obj);
}

static bool answer(struct cl_ctx *c, const struct eg_policy *p, const struct question *q)
{
	struct eg_answer a = eg_evaluate(p, &q->to.addr, q->to.port, q->proto, true);
	char addr[POL_ADDR_TEXT], endpoint[POL_ENDPOINT_TEXT], query[POL_ENDPOINT_TEXT + 8];

	pol_addr_text(&q->to.addr, addr);
	pol_endpoint_text(&q->to, endpoint);
	(void)snprintf(query, sizeof(query), "%s/%s", endpoint, eg_proto_name(q->proto));
	if (c->json)
		answer_json(q, addr, query, &a);
	else
		(void)printf("%-5s %s %s \u2014 %s\n", a.verdict == EG_ALLOW ? "ALLOW" : "DROP",
			addr, query, a.reason);
	return a.verdict == EG_ALLOW;
}

int egress_check(struct cl_ctx *c, const struct eg_policy *p, struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	cleanup_free struct question *q = NULL;
	bool all = true;

	cl_list(c, "check", &texts);
	q = cl_calloc(texts.n, sizeof(*q));
	for (size_t i = 0; i < texts.n; i++)
		if (parse(texts.v[i], &q[i], e))
			return -1;
	for (size_t i = 0; i < texts.n; i++)
		all &= answer(c, p, &q[i]);
	return all ? 0 : 1;
}
