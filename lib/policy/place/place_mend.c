/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes, made to a copy of a candidate or of the request. Each has the consequences that it
 * has in the drivers: Kata gives a hypervisor and takes devices away.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/place_internal.h"
#include "policy/place/runtime_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void pl_copy_init(struct pl_copy *m, const struct pl_query *q, const struct pl_candidate *c)
{
	m->q = *q;
	m->r = *q->r;
	m->q.r = &m->r;
	m->c = *c;
	m->origin = c->executor_id;
	m->done = 0;
	m->changes = 0;
	m->out = NULL;
	for (size_t i = 0; i < c->labels.n; i++)
		m->labels[i] = c->labels.v[i];
	for (size_t i = 0; i < c->harnesses.n; i++)
		m->words[0][i] = c->harnesses.v[i];
	m->c.labels.v = m->labels;
	m->c.harnesses.v = m->words[0];
	m->c.runtimes = (struct pl_words){m->words[1], c->runtimes.n};
	for (size_t i = 0; i < c->runtimes.n; i++)
		m->words[1][i] = c->runtimes.v[i];
}

static void note(struct pl_copy *m, enum pl_row row, bool of_request, const char *before,
	const char *id, const char *after)
{
	m->changes++;
	if (!m->out)
		return;
	m->out->v = cl_grow(m->out->v, &m->out->cap, m->out->n + 1, sizeof(*m->out->v));
	m->out->v[m->out->n++] = (struct pl_change){.executor_id = of_request ? NULL : m->origin,
		.constraint = pl_rules[row].constraint,
		.text = cl_asprintf("%s%s%s", before, id, after)};
}

/* ---- what changes do ---- */

static void set_runtime(struct pl_copy *m, bool virtualized, bool isolated)
{
	uint32_t both = CAP_BIT(CAP_VIRTUALIZED) | CAP_BIT(CAP_KERNEL_ISOLATED);

	m->c.caps.bits &= ~both;
	m->c.caps.bits |= virtualized ? both : isolated ? CAP_BIT(CAP_KERNEL_ISOLATED) : 0;
	/* facts/executors.md 3: neither kind of guest sees hardware of the host. */
	if (isolated)
		m->c.caps.bits &= ~(CAP_BIT(CAP_DEVICES) | CAP_BIT(CAP_INTERFACES));
	if (pl_kind_is(&m->c, "container"))
		m->c.caps.isolation = virtualized ? CAP_ISOLATION_VM : CAP_ISOLATION_CONTAINER;
	/* What a probe found is about the runtime that was. */
	m->c.standing = PL_UNVERIFIED;
}

static void kata(struct pl_copy *m)
{
	set_runtime(m, true, true);
}

static void gvisor(struct pl_copy *m)
{
	set_runtime(m, false, true);
}

/* The capabilities of this release's container driver under a runtime of that name. */
void pl_driver_caps(const char *oci_runtime, const char *arch, struct cap_set *out)
{
	char name[RN_MAX + 1] = "", none[] = "", bridged[] = "bridge";
	struct cfg_executor x = {.runtime = none, .oci_runtime = name, .network = bridged};

	(void)snprintf(name, sizeof(name), "%s", oci_runtime);
	cap_of_container(&x, true, arch, out);
}

static void runc(struct pl_copy *m)
{
	struct cap_set caps;

	pl_driver_caps("", "", &caps);
	set_runtime(m, false, false);
	m->c.caps.bits |= caps.bits & (CAP_BIT(CAP_DEVICES) | CAP_BIT(CAP_INTERFACES));
}

static void ready(struct pl_copy *m)
{
	m->c.health = PL_READY;
}

static void verified(struct pl_copy *m)
{
	m->c.standing = PL_VERIFIED;
}

static void bridge(struct pl_copy *m)
{
	m->c.caps.bits |= CAP_BIT(CAP_NETWORK_EGRESS);
}

static void scope(struct pl_copy *m)
{
	m->c.caps.bits |= CAP_BIT(CAP_EGRESS_SCOPE);
}

static void container_mode(struct pl_copy *m)
{
	m->c.caps.bits |= CAP_BIT(CAP_RESOURCE_LIMITS) | CAP_BIT(CAP_IMAGE_OVERRIDE) |
			  CAP_BIT(CAP_SANDBOX_BUILD);
	m->c.caps.disk = CAP_DISK_SAMPLED;
}

static void remote_kata(struct pl_copy *m)
{
	container_mode(m);
	kata(m);
}

static void remote_gvisor(struct pl_copy *m)
{
	container_mode(m);
	gvisor(m);
}

static void newer_agent(struct pl_copy *m)
{
	m->c.caps.bits |= CAP_BIT(CAP_WORKSPACE_PROVISIONING) | CAP_BIT(CAP_PROJECT_SEED) |
			  CAP_BIT(CAP_BRANCH_BUNDLE) | CAP_BIT(CAP_WRITE_BACK) |
			  CAP_BIT(CAP_SECRET_FILES) | CAP_BIT(CAP_REVOCATION);
	m->c.caps.disk = m->c.caps.disk ? m->c.caps.disk : CAP_DISK_SAMPLED;
}

/* ---- when ---- */

static bool contradicted(const struct pl_copy *m)
{
	return m->c.standing == PL_CONTRADICTED;
}

static bool guest_kernel(const struct pl_copy *m)
{
	return m->c.caps.bits & CAP_BIT(CAP_KERNEL_ISOLATED);
}

static bool accepts_vm(const struct pl_copy *m)
{
	return m->r.isolations & UINT32_C(1) << CAP_ISOLATION_VM;
}

static bool accepts_container(const struct pl_copy *m)
{
	return m->r.isolations & UINT32_C(1) << CAP_ISOLATION_CONTAINER;
}

static bool has_images(const struct pl_copy *m)
{
	return m->c.caps.bits & CAP_BIT(CAP_IMAGE_OVERRIDE);
}

/* The first row of a constraint and kind whose condition holds is what is recommended. */
static const struct mend {
	enum pl_row row;
	const char *kind; /* NULL: any */
	bool (*when)(const struct pl_copy *m);
	const char *before, *after; /* of the id */
	void (*apply)(struct pl_copy *m);
} mends[] = {
	{PL_NOT_DEGRADED, NULL, NULL, "mend what degrades ", "", ready},
	{PL_ISOLATION_SET, "container", accepts_vm, "set oci_runtime: kata on ", "", kata},
	{PL_ISOLATION_SET, "container", accepts_container, "set oci_runtime: runc on ", "", runc},
	{PL_VIRTUALIZATION, "container", NULL, "set oci_runtime: kata on ", "", kata},
	{PL_VIRTUALIZATION, "kubernetes", NULL, "set runtime_class: kata on ", "", kata},
	{PL_VIRTUALIZATION, "remote", NULL, "run the agent of ",
		" in container mode with oci_runtime: kata", remote_kata},
	{PL_KERNEL_ISOLATION, "container", NULL, "set oci_runtime: runsc on ", "", gvisor},
	{PL_KERNEL_ISOLATION, "kubernetes", NULL, "set runtime_class: gvisor on ", "", gvisor},
	{PL_KERNEL_ISOLATION, "remote", NULL, "run the agent of ",
		" in container mode with oci_runtime: runsc", remote_gvisor},
	{PL_EVIDENCE, NULL, contradicted, "mend the runtime of ", ", and probe it again", verified},
	{PL_EVIDENCE, NULL, NULL, "probe ", "", verified},
	{PL_NETWORK_EGRESS, "container", NULL, "set network: bridge on ", "", bridge},
	{PL_RESOURCE_LIMITS, "remote", NULL, "run the agent of ", " in container mode",
		container_mode},
	{PL_DISK_LIMIT, "remote", has_images, "upgrade the agent of ", "", newer_agent},
	{PL_DISK_LIMIT, "remote", NULL, "run the agent of ", " in container mode", container_mode},
	{PL_IMAGE_OVERRIDE, "remote", NULL, "run the agent of ", " in container mode",
		container_mode},
	{PL_SANDBOX_BUILD, "remote", NULL, "run the agent of ", " in container mode",
		container_mode},
	{PL_DEVICES, "container", guest_kernel, "set oci_runtime: runc on ", "", runc},
	{PL_INTERFACES, "container", guest_kernel, "set oci_runtime: runc on ", "", runc},
	{PL_EGRESS_SCOPE, "container", NULL, "run cloop as root where ", " is", scope},
	{PL_EGRESS_SCOPE, "kubernetes", NULL, "prove that the cluster of ",
		" enforces network policies", scope},
	{PL_PROVISIONING, "remote", NULL, "upgrade the agent of ", "", newer_agent},
	{PL_WRITE_BACK, "remote", NULL, "upgrade the agent of ", "", newer_agent},
	{PL_BRANCH_BUNDLE, "remote", NULL, "upgrade the agent of ", "", newer_agent},
	{PL_PROJECT_SEED, "remote", NULL, "upgrade the agent of ", "", newer_agent},
	{PL_SECRET_FILES, "remote", NULL, "upgrade the agent of ", "", newer_agent},
	{PL_REVOCATION, "remote", NULL, "upgrade the agent of ", "", newer_agent},
};

/* ---- changes with a value in them ---- */

static void mend_health(struct pl_copy *m)
{
	const char *fix = m->c.health_fix;
	cleanup_free char *after = *fix ? cl_asprintf(" back (%s)", fix) : cl_strdup(" back");
	cleanup_free char *word = cl_shell_word(m->origin);
	cleanup_free char *typed =
		*fix ? cl_asprintf(" (cloop executor uncordon %s)", word) : cl_strdup("");

	if (m->c.health == PL_UNREACHABLE)
		note(m, PL_HEALTH, false, "bring ", m->origin, after);
	else
		note(m, PL_HEALTH, false, "uncordon ", m->origin, typed);
	m->c.health = PL_READY;
}

static void mend_label(struct pl_copy *m)
{
	const struct pl_label *want = m->r.labels.v;
	cleanup_free char *after = NULL;
	size_t k = 0;

	while (pl_label_of(&m->c.labels, want->key) &&
		!strcmp(pl_label_of(&m->c.labels, want->key), want->value))
		want++;
	while (k < m->c.labels.n && strcmp(m->labels[k].key, want->key) != 0)
		k++;
	m->labels[k] = *want;
	if (k == m->c.labels.n)
		m->c.labels.n++;
	after = cl_asprintf(" the label %s=%s", want->key, want->value);
	note(m, PL_LABELS, false, "give ", m->origin, after);
}

static void mend_harness(struct pl_copy *m)
{
	size_t i = 0;
	cleanup_free char *before = NULL;

	while (pl_word_in(&m->c.harnesses, m->r.harnesses.v[i]))
		i++;
	m->words[0][m->c.harnesses.n++] = m->r.harnesses.v[i];
	before = cl_asprintf("install %s on ", m->r.harnesses.v[i]);
	note(m, PL_HARNESS, false, before, m->origin, "");
}

static void mend_runtime(struct pl_copy *m)
{
	m->words[1][m->c.runtimes.n++] = "podman";
	note(m, PL_RUNTIME, false, "install podman or docker on ", m->origin, "");
}

static void mend_build(struct pl_copy *m)
{
	cleanup_buf struct cl_buf after = CL_BUF_INIT;

	cl_buf_adds(&after, " to ");
	pl_release_text(m->q.p->floor, &after);
	m->c.release = m->q.p->floor;
	note(m, PL_AGENT_BUILD, false, "upgrade the agent of ", m->origin, after.p);
}

static void mend_capacity(struct pl_copy *m)
{
	cleanup_free char *after = NULL;

	m->c.caps.max_concurrent = m->c.in_flight + 1;
	after = cl_asprintf(" to %" PRId64 ", or wait", m->c.caps.max_concurrent);
	note(m, PL_CAPACITY, false, "raise max_concurrent of ", m->origin, after);
}

bool pl_mend(struct pl_copy *m, enum pl_row row)
{
	static const struct {
		enum pl_row row;
		void (*f)(struct pl_copy *m);
	} special[] = {{PL_HEALTH, mend_health}, {PL_LABELS, mend_label},
		{PL_HARNESS, mend_harness}, {PL_RUNTIME, mend_runtime},
		{PL_AGENT_BUILD, mend_build}, {PL_CAPACITY, mend_capacity}};

	for (size_t i = 0; i < CL_ARRAY_LEN(special); i++) {
		if (special[i].row != row)
			continue;
		special[i].f(m);
		return true;
	}
	if (m->done & PL_ROW_BIT(row))
		return false;
	for (size_t i = 0; i < CL_ARRAY_LEN(mends); i++) {
		const struct mend *x = &mends[i];

		if (x->row != row || (x->kind && !pl_kind_is(&m->c, x->kind)) ||
			(x->when && !x->when(m)))
			continue;
		x->apply(m);
		m->done |= PL_ROW_BIT(row);
		note(m, row, false, x->before, m->origin, x->after);
		return true;
	}
	return false;
}

/* ---- changes of the request ---- */

/* What a machine is cannot be dropped, only asked for otherwise. */
static void relax_machine(struct pl_copy *m, enum pl_row row)
{
	cleanup_free char *text = NULL;

	if (row == PL_MEMORY) {
		text = cl_asprintf("%" PRId64, m->c.memory_mb);
		m->r.min_memory_mb = m->c.memory_mb;
		note(m, row, true, "ask for at most ", text, " MB of memory");
	} else if (row == PL_ARCH) {
		m->r.arch = m->c.caps.arch;
		note(m, row, true, "ask for arch ", m->r.arch, "");
	} else {
		m->r.platform = m->c.caps.platform;
		note(m, row, true, "ask for platform ", m->r.platform, "");
	}
	pl_query_ask(&m->q);
}

bool pl_relax(struct pl_copy *m, enum pl_row row)
{
	const struct pl_rule *x = &pl_rules[row];
	const char *before = "drop ", *what = x->key, *after = " from the request";

	/* To run on the bare host instead of in a sandbox is never recommended. */
	if (pl_is_host_denial(&m->c, row) || !x->key || !pl_asked(&m->q, row))
		return false;
	if (row == PL_ISOLATION_SET) {
		m->r.isolations |= UINT32_C(1) << m->c.caps.isolation;
		before = "accept isolation ";
		what = cap_isolation_name(m->c.caps.isolation);
		after = " too";
	} else if (row == PL_PLATFORM || row == PL_ARCH || row == PL_MEMORY) {
		if (!x->fails(&m->q, &m->c))
			return false;
		relax_machine(m, row);
		return true;
	} else if (row == PL_PIN) {
		m->r.executor_id = "";
	} else if (row == PL_NOT_DEGRADED) {
		m->r.forbid_degraded = false;
	} else if (x->need >= 0) {
		m->r.needs &= ~PL_NEED_BIT(x->need);
	} else {
		return false;
	}
	note(m, row, true, before, what, after);
	pl_query_ask(&m->q);
	return true;
}
