/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/registry.h"
#include "base/buf.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

const char *reg_how_name(enum reg_how h)
{
	static const char *const names[] = {[REG_ASKED] = "asked",
		[REG_BOUND] = "bound",
		[REG_SET] = "default",
		[REG_FIRST] = "first"};

	return names[h];
}

bool reg_tighten(bool strict, bool allow_host_process)
{
	return strict || !allow_host_process;
}

/* One that strict mode has put out of the registry. */
static bool evicted(const struct reg_ask *a, size_t i)
{
	return a->strict && !a->v[i].isolates;
}

static int refuse(struct cl_err *e)
{
	e->code = CL_EREFUSED;
	return cl_constraint(e, "executor");
}

static int not_there(const struct reg_ask *a, const char *id, enum reg_how how, struct cl_err *e)
{
	cleanup_free const char **ids = cl_calloc(a->n + 1, sizeof(*ids));
	char echo[CP_ECHO];
	const char *near;

	for (size_t i = 0; i < a->n; i++)
		ids[i] = a->v[i].id;
	near = cl_nearest(id, ids, a->n);
	if (how == REG_BOUND) {
		cleanup_free char *word = cl_shell_word(a->project ? a->project : "");

		(void)cl_fail(e, CL_EREFUSED,
			"project '%s' is bound to executor '%s', which is not configured",
			a->project ? a->project : "", id);
		(void)refuse(e);
		return cl_fix(e,
			"configure it, or bind the project elsewhere: cloop executor bind -p %s ID",
			word);
	}
	if (how == REG_SET) {
		(void)cl_fail(e, CL_EREFUSED,
			"the default executor is set to '%s', which is not configured", id);
		(void)refuse(e);
		return cl_fix(e, "configure it, or set another: cloop executor bind --default ID");
	}
	cp_echo(id, echo);
	(void)cl_fail(e, CL_EREFUSED, "there is no executor '%s'", echo);
	(void)refuse(e);
	return near ? cl_fix(e, "did you mean '%s'?", near)
		    : cl_fix(e, "'cloop executor list' shows those that are configured");
}

static int not_on_host(const struct reg_ask *a, size_t which, struct cl_err *e)
{
	cleanup_buf struct cl_buf others = CL_BUF_INIT;

	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].isolates)
			cl_buf_addf(&others, "%s%s", others.len ? ", " : "", a->v[i].id);
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' runs workloads on the hub's own host, which "
		"executors.allow_host_process: false forbids",
		a->v[which].id);
	(void)cl_constraint(e, "host_execution_policy");
	(void)cl_slug(e, "host_execution");
	if (others.len)
		return cl_fix(e, "run it on one that isolates: %s", others.p);
	return cl_fix(e, "enable executors.container in the hub's configuration");
}

int reg_resolve(const struct reg_ask *a, size_t *which, enum reg_how *how, struct cl_err *e)
{
	const char *id = a->asked ? a->asked : a->bound ? a->bound : a->set;

	*how = a->asked ? REG_ASKED : a->bound ? REG_BOUND : a->set ? REG_SET : REG_FIRST;
	for (*which = 0; *which < a->n; ++*which) {
		/* The default that nobody set is one of those that are left. */
		if (!id && !evicted(a, *which) && !a->v[*which].named_only)
			return 0;
		if (!id || strcmp(a->v[*which].id, id) != 0)
			continue;
		return evicted(a, *which) ? not_on_host(a, *which, e) : 0;
	}
	if (id)
		return not_there(a, id, *how, e);
	if (a->n && a->strict)
		return not_on_host(a, 0, e);
	if (a->n) {
		(void)cl_fail(e, CL_EREFUSED,
			"no executor does work that does not name it ('%s' is one of those)",
			a->v[0].id);
		(void)refuse(e);
		return cl_fix(
			e, "name it (-e %s), or set executors.container.enabled: true", a->v[0].id);
	}
	(void)cl_fail(e, CL_EREFUSED, "no executor is configured");
	(void)refuse(e);
	return cl_fix(e, "set executors.container.enabled: true in the hub's configuration");
}
