/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests made of what a run has: its spec, and executors of the configuration. */
#include "base/doc.h"
#include "base/mem.h"
#include "policy/place/place_internal.h"

#include <string.h>

void pl_of_spec(const struct sb_spec *s, struct pl_spec_words *words, struct pl_requirements *out)
{
	struct sb_need need[SB_NEEDS_MAX];
	size_t n = sb_needs(s, need), harnesses = 0;

	*out = PL_REQUIREMENTS_INIT;
	for (size_t i = 0; i < n; i++) {
		if (need[i].value) {
			words->harnesses[harnesses++] = need[i].value;
			continue;
		}
		for (unsigned k = 0; k < PL_NNEEDS; k++)
			if (!strcmp(pl_need_name((enum pl_need)k), need[i].constraint))
				out->needs |= PL_NEED_BIT(k);
	}
	out->harnesses = (struct pl_words){words->harnesses, harnesses};
}

void pl_of_executor(const struct cfg_executor *x, bool root, const char *arch,
	struct pl_label *labels, struct pl_candidate *out)
{
	static const char *const podman[] = {"podman"}, *const docker[] = {"docker"};
	size_t n = 0;
	const char *key;
	json_t *v;

	*out = PL_CANDIDATE_INIT;
	out->executor_id = x->id;
	out->kind = x->kind;
	json_object_foreach (x->labels, key, v) {
		if (n < PL_MAX_LIST && json_is_string(v))
			labels[n++] = (struct pl_label){key, json_string_value(v)};
	}
	out->labels = (struct pl_labels){labels, n};
	if (!strcmp(x->kind, "container")) {
		out->runtimes =
			(struct pl_words){!strcmp(x->runtime, "docker") ? docker : podman, 1};
		cap_of_container(x, root, arch, &out->caps);
	}
	if (x->disabled_reason) {
		out->health = PL_UNREACHABLE;
		out->health_reason = x->disabled_reason;
		out->health_fix = x->disabled_fix ? x->disabled_fix : "";
	}
}

static const char *value(const struct cfg *c, const char *path)
{
	const struct cfg_value *v = cfg_value(c, path);
	const char *s = v ? json_string_value(v->value) : NULL;

	return s ? s : "";
}

void pl_of_config(const struct cfg *c, struct pl_policy *out)
{
	*out = (struct pl_policy){.allow_host_process = c->allow_host_process,
		.evidence_required = !strcmp(value(c, "executors.isolation_evidence"), "required"),
		.floor = pl_release(value(c, "executors.min_agent_build"))};
}
