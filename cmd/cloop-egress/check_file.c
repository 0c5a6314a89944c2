/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions by the million: a line in, a line out. */
#include "egress.h"
#include "base/mem.h"
#include "cli/lines.h"
#include "policy/flat/flat.h"
#include "policy/egress/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AT_ONCE 64

/* How the lines that one rule decides begin and end; made when the first is. */
struct ending {
	char *begin, *text; /* begin: of a JSON line */
	size_t begin_len, len;
};

struct asker {
	const struct eg_policy *policy;
	const struct flat *flat;
	const char *source; /* the level of a policy without levels */
	const char *name;
	bool json, all;
	struct ending *endings; /* by rule + 1 */
	unsigned line;
	struct eg_question q[ASK_AT_ONCE];
	size_t nq;
	struct cl_buf out;
};

static char *json_quoted(const char *text)
{
	json_t *j = json_string(text);
	char *s = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	json_decref(j);
	return s ? s : cl_strdup("\"\"");
}

static const struct ending *ending(struct asker *k, const struct eg_answer *a)
{
	struct ending *x = &k->endings[a->rule + 1];
	const char *level = eg_level_of(k->policy, a->rule);
	cleanup_free char *reason = NULL, *quoted = NULL;
	const char *verdict = a->verdict == EG_ALLOW ? "allow" : "drop";

	if (x->text)
		return x;
	if (!k->json) {
		x->text = level ? cl_asprintf(" \u2014 %s [%s]\n", a->reason, level)
				: cl_asprintf(" \u2014 %s\n", a->reason);
	} else {
		quoted = json_quoted(level ? level : k->source);
		x->begin = cl_asprintf("{\"level\":%s,\"query\":\"", quoted);
		x->begin_len = strlen(x->begin);
		reason = json_quoted(a->reason);
		x->text =
			a->rule < 0
				? cl_asprintf(
					  "\",\"reason\":%s,\"rule\":null,\"verdict\":\"%s\"}\n",
					  reason, verdict)
				: cl_asprintf("\",\"reason\":%s,\"rule\":%d,\"verdict\":\"%s\"}\n",
					  reason, a->rule + 1, verdict);
	}
	x->len = strlen(x->text);
	return x;
}

static void say(struct asker *k, const struct eg_question *q, const struct eg_answer *a)
{
	const struct ending *end = ending(k, a);
	char query[EG_QUESTION_TEXT];
	size_t addr_at, addr_len, len = eg_question_text(q, query, &addr_at, &addr_len);

	if (k->json) {
		cl_buf_add(&k->out, end->begin, end->begin_len);
	} else {
		cl_buf_add(&k->out, a->verdict == EG_ALLOW ? "ALLOW " : "DROP  ", 6);
		cl_buf_add(&k->out, query + addr_at, addr_len);
		cl_buf_add(&k->out, " ", 1);
	}
	cl_buf_add(&k->out, query, len);
	cl_buf_add(&k->out, end->text, end->len);
	k->all &= a->verdict == EG_ALLOW;
}

/* Everything that was asked and has no answer. */
static void answer(struct asker *k)
{
	struct eg_answer a[ASK_AT_ONCE];

	flat_evaluate_all(k->flat, k->q, k->nq, a);
	for (size_t i = 0; i < k->nq; i++)
		say(k, &k->q[i], &a[i]);
	k->nq = 0;
}

static int ask(void *arg, char *line, size_t len, struct cl_err *e)
{
	struct asker *k = arg;

	k->line++;
	if (eg_question_parse(line, len, "--check-file", &k->q[k->nq], e))
		return cl_at(e, k->name, k->line, 1);
	if (++k->nq == ASK_AT_ONCE)
		answer(k);
	return 0;
}

static int put(void *arg, struct cl_err *e)
{
	struct asker *k = arg;

	answer(k);
	errno = 0;
	if (fwrite(k->out.p, 1, k->out.len, stdout) != k->out.len || fflush(stdout))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write standard output");
	cl_buf_reset(&k->out);
	return 0;
}

static void asker_release(struct asker *k, size_t nrules)
{
	for (size_t i = 0; i <= nrules; i++) {
		free(k->endings[i].begin);
		free(k->endings[i].text);
	}
	free(k->endings);
	cl_buf_release(&k->out);
}

int egress_check_file(
	struct cl_ctx *c, const struct eg_policy *p, const char *source, struct cl_err *e)
{
	cleanup_flat struct flat flat = FLAT_INIT;
	const char *path = cl_str(c, "check-file");
	struct asker k = {.policy = p,
		.flat = &flat,
		.source = source,
		.name = strcmp(path, "-") ? path : "standard input",
		.json = c->json,
		.all = true,
		.out = CL_BUF_INIT};
	cleanup_fd int fd = cl_open_lines(path, e);
	int rc;

	if (fd < 0)
		return -1;
	flat_build(p, true, &flat);
	k.endings = cl_calloc(p->nrules + 1, sizeof(*k.endings));
	rc = cl_each_line(
		fd, &(struct cl_lines){.name = k.name, .arg = &k, .line = ask, .wait = put}, e);
	/* The lines before one that is broken have their answers. */
	if (rc) {
		answer(&k);
		(void)fwrite(k.out.p, 1, k.out.len, stdout);
	}
	asker_release(&k, p->nrules);
	return rc ? rc : !k.all;
}
