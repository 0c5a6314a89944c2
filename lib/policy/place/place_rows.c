/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicates and words of the constraints, in the order of the table (place_rules.c). */
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/place_internal.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

bool pl_kind_is(const struct pl_candidate *c, const char *kind)
{
	return !strcmp(c->kind, kind);
}

const char *pl_label_of(const struct pl_labels *l, const char *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].key, key))
			return l->v[i].value;
	return NULL;
}

bool pl_word_in(const struct pl_words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcasecmp(w->v[i], word))
			return true;
	return false;
}

const char *pl_arch_alias(const char *arch)
{
	static const char *const same[][2] = {
		{"amd64", "x86_64"}, {"arm64", "aarch64"}, {"386", "i686"}, {"arm", "armv7l"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		for (size_t k = 0; k < 2; k++)
			if (!strcasecmp(arch, same[i][k]))
				return same[i][1 - k];
	return arch;
}

/* "a, b, c"; a long list is cut. */
static void add_words(struct cl_buf *out, const struct pl_words *w)
{
	for (size_t i = 0; i < w->n && i < 8; i++)
		cl_buf_addf(out, "%s%s", i ? ", " : "", w->v[i]);
	if (w->n > 8)
		cl_buf_adds(out, ", ...");
}

/* ---- executor_id, health ---- */

bool plr_pinned(const struct pl_query *q)
{
	return *q->r->executor_id && !q->bound;
}

bool plr_another(const struct pl_query *q, const struct pl_candidate *c)
{
	return strcmp(q->r->executor_id, c->executor_id) != 0;
}

void plr_say_pin(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)c;
	cl_buf_addf(out, "the workload is pinned to '%s'", q->r->executor_id);
}

bool plr_unbound(const struct pl_query *q)
{
	return !q->bound;
}

bool plr_out_of_service(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return c->health != PL_READY && c->health != PL_DEGRADED;
}

void plr_say_health(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	cl_buf_addf(out, "is %s%s%s", pl_health_name(c->health), *c->health_reason ? ": " : "",
		c->health_reason);
}

void plr_cure_health(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	cleanup_free char *word = cl_shell_word(c->executor_id);

	(void)q;
	if (*c->health_fix)
		cl_buf_adds(out, c->health_fix);
	else if (c->health == PL_UNREACHABLE)
		cl_buf_adds(out, "bring it back");
	else
		cl_buf_addf(out, "uncordon it: cloop executor uncordon %s", word);
	cl_buf_adds(out, ", or run it elsewhere");
}

bool plr_forbids_degraded(const struct pl_query *q)
{
	return q->r->forbid_degraded && !q->bound;
}

bool plr_degraded(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return c->health == PL_DEGRADED;
}

void plr_say_degraded(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	plr_say_health(q, c, out);
	cl_buf_adds(out, ", and the workload forbids that");
}

/* ---- policy ---- */

bool plr_strict(const struct pl_query *q)
{
	return !q->p->allow_host_process;
}

bool plr_no_isolation(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return c->caps.isolation == CAP_ISOLATION_NONE;
}

bool plr_has_floor(const struct pl_query *q)
{
	return q->p->floor != 0;
}

/* Every other kind runs the hub's own build: there is no second one to compare. */
bool plr_below_floor(const struct pl_query *q, const struct pl_candidate *c)
{
	return pl_kind_is(c, "remote") && c->release < q->p->floor;
}

void plr_say_build(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	if (c->release)
		cl_buf_addf(out, "runs build %s, older than ", c->build);
	else if (!*c->build)
		cl_buf_adds(out, "reports no build: its agent is from before builds were "
				 "reported, and older than ");
	else if (!strcmp(c->build, "1"))
		cl_buf_adds(out, "reports the placeholder build '1' of agents that did not know "
				 "their own, older than ");
	else
		cl_buf_addf(out, "runs the unreleased build '%s', which cannot be ordered against ",
			c->build);
	cl_buf_adds(out, "executors.min_agent_build ");
	pl_release_text(q->p->floor, out);
}

void plr_cure_build(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)c;
	cl_buf_adds(out, "put a release on the device, ");
	pl_release_text(q->p->floor, out);
	cl_buf_adds(out, " or newer: cloop executor agent install --upgrade");
}

/* ---- isolation ---- */

bool plr_has_set(const struct pl_query *q)
{
	return q->r->isolations != 0;
}

bool plr_not_in_set(const struct pl_query *q, const struct pl_candidate *c)
{
	return !(q->r->isolations & UINT32_C(1) << c->caps.isolation);
}

void plr_say_set(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	const char *sep = "";

	cl_buf_addf(out, "has isolation '%s', and the workload wants one of ",
		cap_isolation_name(c->caps.isolation));
	for (unsigned i = 0; i < CAP_NISOLATIONS; i++) {
		if (!(q->r->isolations & UINT32_C(1) << i))
			continue;
		cl_buf_addf(out, "%s%s", sep, cap_isolation_name((enum cap_isolation)i));
		sep = ", ";
	}
}

/* Claims what is asked for: only then there is something to have evidence of. */
static bool claims(const struct pl_query *q, const struct pl_candidate *c)
{
	uint32_t n = q->r->needs, has = c->caps.bits;

	return ((n & PL_NEED_BIT(PL_NEED_VIRTUALIZATION)) && (has & CAP_BIT(CAP_VIRTUALIZED))) ||
	       ((n & PL_NEED_BIT(PL_NEED_KERNEL_ISOLATION)) &&
		       (has & CAP_BIT(CAP_KERNEL_ISOLATED)));
}

bool plr_asks_isolation(const struct pl_query *q)
{
	return q->r->needs &
	       (PL_NEED_BIT(PL_NEED_VIRTUALIZATION) | PL_NEED_BIT(PL_NEED_KERNEL_ISOLATION));
}

bool plr_no_evidence(const struct pl_query *q, const struct pl_candidate *c)
{
	return claims(q, c) && (c->standing == PL_CONTRADICTED ||
				       (c->standing == PL_UNVERIFIED && q->p->evidence_required));
}

static void add_evidence(const struct pl_candidate *c, struct cl_buf *out)
{
	const char *const parts[] = {c->verdict, c->evidence, c->evidence_at};
	const char *sep = " (";

	for (size_t i = 0; i < 3; i++) {
		if (!*parts[i])
			continue;
		cl_buf_addf(out, "%s%s", sep, parts[i]);
		sep = ", ";
	}
	if (*sep == ',')
		cl_buf_addc(out, ')');
}

void plr_say_evidence(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	if (c->standing == PL_CONTRADICTED) {
		cl_buf_adds(out, "is not what its runtime's name says: the isolation probe "
				 "contradicts it");
		add_evidence(c, out);
	} else {
		cl_buf_adds(out, "claims an isolation that no probe has verified");
		add_evidence(c, out);
		cl_buf_adds(out, ", and executors.isolation_evidence is required");
	}
}

void plr_cure_evidence(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	cl_buf_adds(out, c->standing == PL_CONTRADICTED
				 ? "find out what the engine runs under that name, mend it, and "
				   "probe it again"
				 : "have it probed, or set executors.isolation_evidence: warn");
}

bool pl_unverified(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	if (!plr_asks_isolation(q) || !claims(q, c) || c->standing != PL_UNVERIFIED)
		return false;
	cl_buf_addf(out,
		"the isolation of '%s' is what its runtime's name claims; no probe has "
		"verified it",
		c->executor_id);
	add_evidence(c, out);
	return true;
}

/* ---- what the machine is ---- */

bool plr_has_labels(const struct pl_query *q)
{
	return q->r->labels.n != 0;
}

static bool label_differs(const struct pl_candidate *c, const struct pl_label *want)
{
	const char *got = pl_label_of(&c->labels, want->key);

	return !got || strcmp(got, want->value) != 0;
}

bool plr_labels_differ(const struct pl_query *q, const struct pl_candidate *c)
{
	for (size_t i = 0; i < q->r->labels.n; i++)
		if (label_differs(c, &q->r->labels.v[i]))
			return true;
	return false;
}

void plr_say_labels(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	const char *sep = "";

	for (size_t i = 0; i < q->r->labels.n; i++) {
		const struct pl_label *want = &q->r->labels.v[i];
		const char *got = pl_label_of(&c->labels, want->key);

		if (!label_differs(c, want))
			continue;
		if (got)
			cl_buf_addf(out, "%shas the label %s=%s, not %s=%s", sep, want->key, got,
				want->key, want->value);
		else
			cl_buf_addf(out, "%shas no label %s (%s=%s is wanted)", sep, want->key,
				want->key, want->value);
		sep = "; ";
	}
}

void plr_cure_labels(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	cleanup_free char *id = cl_shell_word(c->executor_id);

	cl_buf_addf(out, "label it: cloop executor labels %s", id);
	for (size_t i = 0; i < q->r->labels.n; i++) {
		const struct pl_label *l = &q->r->labels.v[i];
		cleanup_free char *pair = cl_asprintf("%s=%s", l->key, l->value);
		cleanup_free char *word = cl_shell_word(pair);

		if (label_differs(c, l))
			cl_buf_addf(out, " %s", word);
	}
}

bool plr_has_platform(const struct pl_query *q)
{
	return *q->r->platform;
}

bool plr_platform_differs(const struct pl_query *q, const struct pl_candidate *c)
{
	return *c->caps.platform && strcasecmp(c->caps.platform, q->r->platform) != 0;
}

void plr_say_platform(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	cl_buf_addf(out, "runs %s, and the workload wants %s", c->caps.platform, q->r->platform);
}

bool plr_has_arch(const struct pl_query *q)
{
	return *q->r->arch;
}

bool plr_arch_differs(const struct pl_query *q, const struct pl_candidate *c)
{
	return *c->caps.arch && strcasecmp(c->caps.arch, q->r->arch) != 0 &&
	       strcasecmp(c->caps.arch, q->arch_alias) != 0;
}

void plr_say_arch(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	cl_buf_addf(out, "is a %s machine, and the workload wants %s", c->caps.arch, q->r->arch);
}

bool plr_has_harnesses(const struct pl_query *q)
{
	return q->r->harnesses.n != 0;
}

bool plr_lacks_harness(const struct pl_query *q, const struct pl_candidate *c)
{
	for (size_t i = 0; c->harnesses.n && i < q->r->harnesses.n; i++)
		if (!pl_word_in(&c->harnesses, q->r->harnesses.v[i]))
			return true;
	return false;
}

void plr_say_harness(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	const char *sep = "has no harness ";

	for (size_t i = 0; i < q->r->harnesses.n; i++) {
		if (pl_word_in(&c->harnesses, q->r->harnesses.v[i]))
			continue;
		cl_buf_addf(out, "%s%s", sep, q->r->harnesses.v[i]);
		sep = ", ";
	}
	cl_buf_adds(out, " (it has ");
	add_words(out, &c->harnesses);
	cl_buf_addc(out, ')');
}

bool plr_no_runtime(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return !c->runtimes.n;
}

/* ---- limits ---- */

bool plr_no_disk(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return c->caps.disk == CAP_DISK_NONE;
}

void plr_cure_disk(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	cl_buf_adds(out, pl_kind_is(c, "remote")
				 ? "run its agent in container mode, with a build that measures "
				   "disks (protocol 20), or drop resources.disk"
				 : "run it on a container or Kubernetes executor, or drop "
				   "resources.disk");
}

void plr_cure_scope(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	if (pl_kind_is(c, "kubernetes"))
		cl_buf_addf(out,
			"prove that its cluster enforces network policies: cloop hub "
			"doctor --probe-network-policy --executor %s",
			c->executor_id);
	else if (pl_kind_is(c, "container"))
		cl_buf_adds(out, "run cloop as root there (a rootless engine cannot be filtered), "
				 "or drop capabilities.egress");
	else
		cl_buf_adds(out, "run it on a container executor, or drop capabilities.egress and "
				 "inherit the executor's own policy");
}

bool plr_wants_memory(const struct pl_query *q)
{
	return q->r->min_memory_mb > 0;
}

bool plr_less_memory(const struct pl_query *q, const struct pl_candidate *c)
{
	return c->memory_mb && c->memory_mb < q->r->min_memory_mb;
}

void plr_say_memory(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	cl_buf_addf(out, "has %" PRId64 " MB of memory, and the workload wants %" PRId64 " MB",
		c->memory_mb, q->r->min_memory_mb);
}

bool plr_counts_capacity(const struct pl_query *q)
{
	return !q->r->ignore_capacity && !q->bound;
}

bool plr_full(const struct pl_query *q, const struct pl_candidate *c)
{
	(void)q;
	return c->caps.max_concurrent > 0 && c->in_flight_known &&
	       c->in_flight >= c->caps.max_concurrent;
}

void plr_say_full(const struct pl_query *q, const struct pl_candidate *c, struct cl_buf *out)
{
	(void)q;
	cl_buf_addf(out, "is full: %" PRId64 " of %" PRId64 " workloads", c->in_flight,
		c->caps.max_concurrent);
}
