/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question is read with a shortcut, and without it the same; what is read prints and reads back. */
#include "policy/egress/question.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

/* As addr.h alone reads it. */
static int the_long_way(const char *text, struct eg_question *q)
{
	const char *slash = strrchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char endpoint[EG_QUESTION_MAX + 1], proto[4] = "tcp";
	struct cl_err e;

	if (len >= sizeof(endpoint) || (slash && strlen(slash) != 4))
		return -1;
	memcpy(endpoint, text, len);
	endpoint[len] = '\0';
	if (slash)
		memcpy(proto, slash + 1, 4);
	cl_lower(proto);
	for (q->proto = EG_PROTO_ANY; q->proto <= EG_PROTO_UDP; q->proto++)
		if (!strcmp(proto, eg_proto_name(q->proto)))
			break;
	if (q->proto > EG_PROTO_UDP || pol_endpoint_parse(endpoint, 0, "x", &q->to, &e))
		return -1;
	return q->to.port || q->proto == EG_PROTO_ANY ? 0 : -1;
}

static void equal(const struct eg_question *a, const struct eg_question *b)
{
	must(!pol_addr_cmp(&a->to.addr, &b->to.addr));
	must(a->to.port == b->to.port && a->proto == b->proto);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1), text[EG_QUESTION_TEXT], addr[POL_ADDR_TEXT];
	struct eg_question q, same;
	size_t at, len;
	struct cl_err e;
	int rc;

	must(s != NULL);
	memcpy(s, data, size);
	s[size] = '\0';
	rc = eg_question_parse(s, size, "x", &q, &e);
	if (strlen(s) == size && size <= EG_QUESTION_MAX) {
		must(rc == the_long_way(s, &same));
		if (!rc)
			equal(&q, &same);
	} else {
		must(rc == -1);
	}
	if (!rc) {
		must(eg_question_text(&q, text, &at, &len) == strlen(text));
		must(!eg_question_parse(text, strlen(text), "x", &same, &e));
		equal(&q, &same);
		pol_addr_text(&q.to.addr, addr);
		must(strlen(addr) == len && !memcmp(text + at, addr, len));
	}
	free(s);
	return 0;
}
