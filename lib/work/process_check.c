/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plain process cannot be held to (cloop-exec(7), rule 1). */
#include "work/process_internal.h"
#include "base/mem.h"
#include "sys/cgroup.h"

#include <unistd.h>

bool process_cgroup(struct cg *cg)
{
	struct cl_err e;

	if (geteuid() || cg_open(cg, NULL, &e) || !cg->n)
		return false;
	for (size_t i = 0; i < cg->n; i++)
		if (access(cg->h[i].dir, W_OK))
			return false;
	return true;
}

bool process_limits(void)
{
	cleanup_cg struct cg cg = CG_INIT;

	return process_cgroup(&cg) && cg_limits(&cg);
}

static bool has_image(const struct work_spec *s)
{
	return s->image && *s->image;
}

static bool has_setup(const struct work_spec *s)
{
	return s->setup.n > 0;
}

static bool has_mounts(const struct work_spec *s)
{
	return s->nmounts > 0;
}

static bool has_scope(const struct work_spec *s)
{
	return s->scope != SB_EGRESS_UNSET;
}

static bool is_filtered(const struct work_spec *s)
{
	return s->has_egress;
}

static bool is_disabled(const struct work_spec *s)
{
	return s->network_disabled;
}

static const struct {
	const char *constraint;
	bool (*asks)(const struct work_spec *s);
	const char *what, *fix;
} rows[] = {
	{"image_override", has_image, "it runs no image, and this one names one",
		"run it on a container executor, or drop image:"},
	{"sandbox_build", has_setup, "it builds no image out of setup:",
		"run it on a container executor, or drop setup:"},
	{"sandbox_mounts", has_mounts, "it cannot show parts of the workspace elsewhere (mounts:)",
		"run it on a container executor, or drop mounts:"},
	{"egress_scope", has_scope, "it cannot confine the network of one workload",
		"run it on a container executor, or drop capabilities.egress"},
	{"egress_policy", is_filtered, "it cannot filter what a workload reaches",
		"run it on a container executor, or take the egress rules away"},
	{"network", is_disabled,
		"it cannot keep a workload off the host's network, which a sandbox file that asks "
		"for no network wants",
		"run it on a container executor, or take .cloop/sandbox.yaml out"},
};

int process_check_limits(const struct work_spec *s, struct cl_err *e)
{
	static const char *const names[] = {
		[SB_CPU] = "processors", [SB_MEMORY] = "memory", [SB_PIDS] = "processes"};

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		if (!names[i] || s->limits.v[i] <= 0 || process_limits())
			continue;
		(void)cl_fail(e, CL_EREFUSED,
			"executor '%s' cannot limit the %s of a process: that takes root and "
			"control groups",
			s->executor->id, names[i]);
		(void)cl_constraint(e, "resource_limits");
		return cl_fix(e, "run it on a container executor, or without such a limit");
	}
	return 0;
}

int process_check(const struct work_spec *s, struct cl_err *e)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		if (!rows[i].asks(s))
			continue;
		(void)cl_fail(e, CL_EREFUSED, "executor '%s' runs plain processes: %s",
			s->executor->id, rows[i].what);
		(void)cl_constraint(e, rows[i].constraint);
		return cl_fix(e, "%s", rows[i].fix);
	}
	return process_check_limits(s, e);
}
