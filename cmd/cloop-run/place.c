/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step 4: where the run goes. The same matcher as cloop-place(1), asked in this process. */
#include "run.h"
#include "base/mem.h"
#include "policy/place.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "work/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The configured executors as candidates, and what this run asks of them. */
struct fleet {
	const struct cfg_executor **x; /* of each candidate */
	struct pl_candidate *v;
	struct pl_label (*labels)[PL_MAX_LIST];
	size_t n;
	struct utsname machine;
	struct pl_spec_words words;
	struct pl_requirements asks;
	struct pl_policy policy;
	struct pl_query query;
	struct pl_result result;
	struct cl_strv reasons; /* of drivers that do not answer */
	struct cl_err named;    /* of the one that was named; CL_OK: it did */
};

static void fleet_release(struct fleet *f)
{
	pl_result_release(&f->result);
	free(f->x);
	free(f->v);
	free(f->labels);
	cl_strv_release(&f->reasons);
}
#define cleanup_fleet __attribute__((cleanup(fleet_release)))

/*
 * Who is a candidate: whoever was named; containers, whose capabilities need no asking; and with
 * --place the drivers too. What only a name leads to is never found by looking (DECISIONS D8).
 */
static bool stands(const struct run_plan *p, const struct cfg_executor *x, bool place)
{
	if (!x->enabled && !x->disabled_reason)
		return false;
	if (x == p->executor || !strcmp(x->kind, "container"))
		return true;
	return place && !x->row->named_only;
}

/* A driver that does not say what it can do gets nothing. */
static void ask_driver(struct fleet *f, const struct run_plan *p, const struct cfg_executor *x,
	struct pl_candidate *out)
{
	struct cl_err e;

	if (x->disabled_reason ||
		!work_capabilities(x, &p->cfg_doc, p->hub.dir, f->machine.machine, &out->caps, &e))
		return;
	if (x == p->executor)
		f->named = e;
	cl_strv_add(&f->reasons, e.msg);
	cl_strv_add(&f->reasons, e.fix);
	out->health = PL_UNREACHABLE;
	out->health_reason = f->reasons.v[f->reasons.n - 2];
	out->health_fix = f->reasons.v[f->reasons.n - 1];
}

/* Executors that are off are none; those that are out of service have their reason. */
static void fleet_init(struct fleet *f, const struct run_plan *p, bool place)
{
	size_t n = p->cfg.nexecutors;

	*f = (struct fleet){.x = cl_calloc(n + 1, sizeof(*f->x)),
		.v = cl_calloc(n + 1, sizeof(*f->v)),
		.labels = cl_calloc(n + 1, sizeof(*f->labels)),
		.result = PL_RESULT_INIT,
		.reasons = CL_STRV_INIT};
	if (uname(&f->machine))
		f->machine.machine[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct cfg_executor *x = &p->cfg.executors[i];

		if (!stands(p, x, place))
			continue;
		f->x[f->n] = x;
		pl_of_executor(x, geteuid() == 0, f->machine.machine, f->labels[f->n], &f->v[f->n]);
		if (strcmp(x->kind, "container") != 0)
			ask_driver(f, p, x, &f->v[f->n]);
		f->n++;
	}
	pl_of_spec(&p->spec, &f->words, &f->asks);
	pl_of_config(&p->cfg, &f->policy);
	pl_query_init(&f->query, &f->asks, &f->policy);
}

/* As JSON it is the whole answer of cloop-place(1), with the reasons one by one. */
static int refused(
	const struct cl_ctx *c, struct run_plan *p, const struct fleet *f, struct cl_err *e)
{
	cleanup_pl_fixes struct pl_fixes fixes = PL_FIXES_INIT;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	pl_fix(&f->query, f->v, f->n, &f->result, &fixes);
	if (c->json) {
		pl_refusal_json(&f->query, f->v, f->n, &f->result, &fixes, &out);
		(void)fprintf(stderr, "%s\n", out.p);
		p->told = true;
	}
	return pl_refusal_err(&f->query, f->v, f->n, &f->result, &fixes, e);
}

/* The one that is given: what is out of service was refused before. */
static size_t which(const struct fleet *f, const struct cfg_executor *x)
{
	size_t i = 0;

	while (f->x[i] != x)
		i++;
	return i;
}

/* A claim that nobody tested is let through, and is on record with the project. */
static void warn(struct cl_ctx *c, const struct run_plan *p, const struct fleet *f)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	if (!pl_unverified(&f->query, f->result.chosen, &text))
		return;
	cl_warn(c, "%s", text.p);
	(void)store_journal_add(
		p->store, sys_now_ms(), p->project, NULL, "isolation_evidence", text.p, NULL, &e);
}

int run_place(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	const char *id = cl_str(c, "executor");
	cleanup_fleet struct fleet f = {0};
	bool place = cl_flag(c, "place");

	if (place && id)
		return cl_usage(c, e, "--place chooses the executor: give it or -e %s", id);
	if (!place && cfg_executor(&p->cfg, id, &p->executor, e))
		return -1;
	fleet_init(&f, p, place);
	if (place) {
		pl_select(&f.query, f.v, f.n, 0, &f.result);
	} else if (f.named.code != CL_OK) {
		*e = f.named;
		return -1;
	} else {
		pl_check(&f.query, f.v, f.n, which(&f, p->executor), &f.result);
	}
	if (!f.result.chosen)
		return refused(c, p, &f, e);
	p->executor = f.x[f.result.chosen - f.v];
	warn(c, p, &f);
	return 0;
}

char *run_place_text(const struct run_plan *p)
{
	cleanup_fleet struct fleet f;

	fleet_init(&f, p, false);
	return pl_request_text(f.v, f.n, &f.asks, &f.policy);
}
