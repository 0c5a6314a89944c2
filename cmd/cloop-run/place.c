/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step 4: where the run goes. The same matcher as cloop-place(1), asked in this process. */
#include "run.h"
#include "evidence.h"
#include "base/mem.h"
#include "policy/place/place.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "work/access.h"
#include "work/driver.h"
#include "work/fleet.h"
#include "work/project.h"

#include <stdlib.h>
#include <string.h>

/* The configured executors as candidates, and what this run asks of them. */
struct fleet {
	struct work_fleet all;
	const struct work_node **nodes; /* of each candidate */
	struct pl_candidate *v;
	struct pl_label (*labels)[PL_MAX_LIST];
	char **fixes;                  /* that candidates point to */
	struct run_evidence *evidence; /* the same */
	size_t n;
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
	for (size_t i = 0; i < f->n; i++) {
		free(f->fixes[i]);
		run_evidence_release(&f->evidence[i]);
	}
	free(f->evidence);
	free(f->fixes);
	free(f->nodes);
	free(f->v);
	free(f->labels);
	cl_strv_release(&f->reasons);
	work_fleet_release(&f->all);
}
#define cleanup_run_fleet __attribute__((cleanup(fleet_release)))

/*
 * Who is a candidate: whoever was named; containers, whose capabilities need no asking; and with
 * --place the drivers too. What only a name leads to is never found by looking (DECISIONS D8).
 */
static bool stands(const struct run_plan *p, const struct cfg_executor *x, bool place, bool allowed)
{
	if (!x->enabled && !x->disabled_reason)
		return false;
	if (p->lost.id && !strcmp(p->lost.executor_id, x->id))
		return false;
	/* It is as if there were none that the caller may not use. */
	if (place && !allowed)
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

	if (x->disabled_reason || !work_capabilities(x, &p->cfg_doc, p->hub.dir,
					  f->all.machine.machine, &out->caps, &e))
		return;
	if (x == p->executor)
		f->named = e;
	cl_strv_add(&f->reasons, e.msg);
	cl_strv_add(&f->reasons, e.fix);
	out->health = PL_UNREACHABLE;
	out->health_reason = f->reasons.v[f->reasons.n - 2];
	out->health_fix = f->reasons.v[f->reasons.n - 1];
}

/* What was kept off the hub's host stays off it. */
static uint32_t isolated(uint32_t accepted)
{
	uint32_t all = (UINT32_C(1) << CAP_NISOLATIONS) - 1;

	return (accepted ? accepted : all) & ~(UINT32_C(1) << CAP_ISOLATION_NONE);
}

static int fleet_read(struct fleet *f, const struct run_plan *p, struct cl_err *e)
{
	size_t n = p->cfg.nexecutors;

	*f = (struct fleet){.all = WORK_FLEET_INIT,
		.nodes = cl_calloc(n + 1, sizeof(*f->nodes)),
		.v = cl_calloc(n + 1, sizeof(*f->v)),
		.labels = cl_calloc(n + 1, sizeof(*f->labels)),
		.fixes = cl_calloc(n + 1, sizeof(*f->fixes)),
		.evidence = cl_calloc(n + 1, sizeof(*f->evidence)),
		.result = PL_RESULT_INIT,
		.reasons = CL_STRV_INIT};
	pl_of_spec(&p->spec, &f->words, &f->asks);
	pl_of_config(&p->cfg, &f->policy);
	if (p->lost.id && (p->lost.isolated || !p->cfg.allow_host_process))
		f->asks.isolations = isolated(f->asks.isolations);
	pl_query_init(&f->query, &f->asks, &f->policy);
	return work_fleet_read(p->store, p->hub.dir, &p->cfg, sys_now_ms(), &f->all, e);
}

/* Executors that are off are none; those that are out of service have their reason. */
static int fleet_fill(struct fleet *f, const struct run_plan *p, bool place, struct cl_err *e)
{
	for (size_t i = 0; i < f->all.n; i++) {
		const struct work_node *node = &f->all.v[i];
		bool allowed, listed;

		if (work_access(p->store, node->x->id, &allowed, &listed, e))
			return -1;
		/* What replaces another run is started on nobody's behalf. */
		if (!stands(p, node->x, place, allowed && !(p->lost.id && listed)))
			continue;
		f->nodes[f->n] = node;
		work_node_candidate(&f->all, node, f->labels[f->n], &f->fixes[f->n], &f->v[f->n]);
		if (strcmp(node->x->kind, "container") != 0)
			ask_driver(f, p, node->x, &f->v[f->n]);
		f->n++;
	}
	return 0;
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

/* The one that is given; what is out of service or off was refused before. */
static size_t which(const struct fleet *f, const struct cfg_executor *x)
{
	size_t i = 0;

	while (f->nodes[i]->x != x)
		i++;
	return i;
}

/* Labels that somebody wrote, or took away, around the key: that they did is on record. */
static void note_forged(struct cl_ctx *c, const struct run_plan *p, const struct fleet *f)
{
	for (size_t i = 0; i < f->all.n; i++) {
		const struct work_node *n = &f->all.v[i];
		const struct store_audit_row row = {.actor = "run",
			.action = "executor.forged_labels",
			.entity = "executor",
			.entity_id = n->x->id,
			.project = p->project};
		struct cl_err e;

		if (!n->forged)
			continue;
		cl_warn(c, WORK_FORGED_LABELS, n->x->id);
		(void)store_audit_add(p->store, sys_now_ms(), &row, &e);
	}
}

/* -e, else what the project is bound to, else the default (DECISIONS D8). */
static int given(const char *id, struct run_plan *p, const struct fleet *f, struct cl_err *e)
{
	cleanup_free char *project = work_project_of(p->project);
	struct work_node *node;
	enum reg_how how;

	/* What the configuration has to say about a name comes first. */
	if (((id || !p->cfg.nexecutors) && cfg_executor_find(&p->cfg, id, &p->executor, e)) ||
		work_resolve(p->store, &f->all, id, project, &node, &how, e) ||
		cfg_executor(&p->cfg, node->x->id, &p->executor, e) ||
		work_access_check(p->store, node->x->id, e))
		return -1;
	return work_node_admits(node, e);
}

/* A claim that nobody tested is let through, and is on record with the project. */
static void warn(struct cl_ctx *c, struct run_plan *p, const struct fleet *f)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (pl_unverified(&f->query, f->result.chosen, &text))
		run_warn(c, p, "isolation_evidence", text.p);
}

/*
 * Of all with --place, else (only >= 0) it is taken of the one that is given; of the others what
 * is stored counts, since a refusal names the ones that would take the run. --trace-steps (c NULL
 * too) starts nothing.
 */
static int evidence(
	struct cl_ctx *c, const struct run_plan *p, struct fleet *f, ssize_t only, struct cl_err *e)
{
	bool trace = !c || cl_flag(c, "trace-steps");

	for (size_t i = 0; i < f->n; i++) {
		bool take = !trace && (only < 0 || (size_t)only == i) &&
			    f->v[i].health != PL_UNREACHABLE;

		if (run_evidence(
			    c, p, &f->query, f->nodes[i]->x, take, &f->evidence[i], &f->v[i], e))
			return -1;
	}
	return 0;
}

int run_place(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	const char *id = cl_str(c, "executor");
	cleanup_run_fleet struct fleet f = {0};
	bool place = cl_flag(c, "place") || p->lost.id;

	if (place && id)
		return cl_usage(c, e, "--place chooses the executor: give it or -e %s", id);
	if (fleet_read(&f, p, e) || (!place && given(id, p, &f, e)) || fleet_fill(&f, p, place, e))
		return -1;
	note_forged(c, p, &f);
	if (place) {
		if (evidence(c, p, &f, -1, e))
			return -1;
		pl_select(&f.query, f.v, f.n, 0, &f.result);
	} else if (f.named.code != CL_OK) {
		*e = f.named;
		return -1;
	} else {
		if (evidence(c, p, &f, (ssize_t)which(&f, p->executor), e))
			return -1;
		pl_check(&f.query, f.v, f.n, which(&f, p->executor), &f.result);
	}
	if (!f.result.chosen)
		return refused(c, p, &f, e);
	p->executor = f.nodes[f.result.chosen - f.v]->x;
	p->isolated = f.result.chosen->caps.isolation != CAP_ISOLATION_NONE;
	warn(c, p, &f);
	return 0;
}

char *run_place_text(const struct run_plan *p)
{
	cleanup_run_fleet struct fleet f;
	struct cl_err ignored;
	bool whole = !fleet_read(&f, p, &ignored) && !fleet_fill(&f, p, false, &ignored) &&
		     !evidence(NULL, p, &f, -1, &ignored);

	/* What cannot be read again is left out of what is shown. */
	return pl_request_text(f.v, whole ? f.n : 0, &f.asks, &f.policy);
}
