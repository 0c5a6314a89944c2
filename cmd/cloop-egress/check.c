/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One answer a question: does this packet leave the sandbox? */
#include "egress.h"
#include "base/mem.h"
#include "policy/egress/question.h"
#include "base/doc.h"

#include <stdlib.h>
#include <string.h>

static void answer_json(const struct eg_question *q, const char *addr, const char *query,
	const struct eg_answer *a, const char *level)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "query", json_string(query));
	(void)json_object_set_new(obj, "address", json_string(addr));
	(void)json_object_set_new(obj, "port", json_integer(q->to.port));
	(void)json_object_set_new(obj, "protocol", json_string(eg_proto_name(q->proto)));
	(void)json_object_set_new(
		obj, "verdict", json_string(a->verdict == EG_ALLOW ? "allow" : "drop"));
	(void)json_object_set_new(obj, "reason", json_string(a->reason));
	(void)json_object_set_new(obj, "level", cl_json_string(level));
	(void)json_object_set_new(
		obj, "rule", a->rule < 0 ? json_null() : json_integer(a->rule + 1));
	cl_take_json(obj);
}

static bool answer(struct cl_ctx *c, const struct eg_policy *p, const char *source,
	const struct eg_question *q)
{
	struct eg_answer a = eg_evaluate(p, &q->to.addr, q->to.port, q->proto, true);
	char addr[POL_ADDR_TEXT], query[EG_QUESTION_TEXT];
	const char *level = eg_level_of(p, a.rule);
	size_t at, len;

	pol_addr_text(&q->to.addr, addr);
	(void)eg_question_text(q, query, &at, &len);
	if (c->json)
		answer_json(q, addr, query, &a, level ? level : source);
	else
		(void)printf("%-5s %s %s \u2014 %s%s%s%s\n",
			a.verdict == EG_ALLOW ? "ALLOW" : "DROP", addr, query, a.reason,
			level ? " [" : "", level ? level : "", level ? "]" : "");
	return a.verdict == EG_ALLOW;
}

int egress_check(struct cl_ctx *c, const struct eg_policy *p, const char *source, struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	cleanup_free struct eg_question *q = NULL;
	bool all = true;

	cl_list(c, "check", &texts);
	q = cl_calloc(texts.n, sizeof(*q));
	for (size_t i = 0; i < texts.n; i++)
		if (eg_question_parse(texts.v[i], strlen(texts.v[i]), "--check", &q[i], e))
			return -1;
	for (size_t i = 0; i < texts.n; i++)
		all &= answer(c, p, source, &q[i]);
	return all ? 0 : 1;
}
