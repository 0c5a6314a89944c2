/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request as the JSON that place_read.c reads. */
#include "base/doc.h"
#include "base/mem.h"
#include "policy/place/place_internal.h"

#include <string.h>

static json_t *labels_json(const struct pl_labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->n; i++)
		(void)json_object_set_new(o, l->v[i].key, cl_json_string(l->v[i].value));
	return o;
}

static json_t *words_json(const struct pl_words *w)
{
	json_t *a = json_array();

	for (size_t i = 0; i < w->n; i++)
		(void)json_array_append_new(a, cl_json_string(w->v[i]));
	return a;
}

/* Sets a string that says something. */
static void put(json_t *o, const char *key, const char *text)
{
	if (*text)
		(void)json_object_set_new(o, key, cl_json_string(text));
}

static void number(json_t *o, const char *key, int64_t n)
{
	if (n)
		(void)json_object_set_new(o, key, json_integer(n));
}

static void yes(json_t *o, const char *key, bool is)
{
	if (is)
		(void)json_object_set_new(o, key, json_true());
}

static void evidence(json_t *o, const struct pl_candidate *c)
{
	json_t *e = json_object();

	if (c->standing != PL_UNVERIFIED)
		put(e, "standing", c->standing == PL_VERIFIED ? "verified" : "contradicted");
	put(e, "verdict", c->verdict);
	put(e, "detail", c->evidence);
	put(e, "at", c->evidence_at);
	if (json_object_size(e))
		(void)json_object_set(o, "evidence", e);
	json_decref(e);
}

static json_t *candidate_json(const struct pl_candidate *c)
{
	json_t *o = json_pack("{s:s, s:s, s:s}", "executor_id", c->executor_id, "kind", c->kind,
		"health", pl_health_name(c->health));

	put(o, "health_reason", c->health_reason);
	put(o, "health_fix", c->health_fix);
	put(o, "build", c->build);
	number(o, "memory_mb", c->memory_mb);
	number(o, "in_flight", c->in_flight);
	yes(o, "in_flight_known", c->in_flight_known);
	if (c->labels.n)
		(void)json_object_set_new(o, "labels", labels_json(&c->labels));
	if (c->harnesses.n)
		(void)json_object_set_new(o, "harnesses", words_json(&c->harnesses));
	evidence(o, c);
	if (c->runtimes.n)
		(void)json_object_set_new(o, "container_runtimes", words_json(&c->runtimes));
	(void)json_object_set_new(o, "capabilities", cap_json(&c->caps, c->kind, c->executor_id));
	return o;
}

static json_t *requirements_json(const struct pl_requirements *r)
{
	json_t *o = json_object(), *accepted = json_array();

	put(o, "executor_id", r->executor_id);
	put(o, "platform", r->platform);
	put(o, "arch", r->arch);
	number(o, "min_memory_mb", r->min_memory_mb);
	yes(o, "forbid_degraded", r->forbid_degraded);
	yes(o, "ignore_capacity", r->ignore_capacity);
	for (unsigned i = 0; i < CAP_NISOLATIONS; i++)
		if (r->isolations & UINT32_C(1) << i)
			(void)json_array_append_new(
				accepted, json_string(cap_isolation_name((enum cap_isolation)i)));
	if (json_array_size(accepted))
		(void)json_object_set(o, "allowed_isolations", accepted);
	json_decref(accepted);
	if (r->labels.n)
		(void)json_object_set_new(o, "labels", labels_json(&r->labels));
	if (r->harnesses.n)
		(void)json_object_set_new(o, "harnesses", words_json(&r->harnesses));
	for (unsigned i = 0; i < PL_NNEEDS; i++)
		if (r->needs & PL_NEED_BIT(i))
			(void)json_object_set_new(o, pl_need_name((enum pl_need)i), json_true());
	return o;
}

char *pl_request_text(const struct pl_candidate *v, size_t n, const struct pl_requirements *r,
	const struct pl_policy *p)
{
	cleanup_buf struct cl_buf floor = CL_BUF_INIT;
	json_t *all = json_array(), *policy, *o;
	char *text;

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(all, candidate_json(&v[i]));
	policy = json_pack("{s:b, s:s}", "allow_host_process", p->allow_host_process,
		"isolation_evidence", p->evidence_required ? "required" : "warn");
	if (p->floor) {
		pl_release_text(p->floor, &floor);
		put(policy, "min_agent_build", floor.p);
	}
	o = json_pack("{s:o, s:o, s:o}", "candidates", all, "requirements", requirements_json(r),
		"policy", policy);
	text = cl_json_text(o);
	json_decref(o);
	return text;
}
