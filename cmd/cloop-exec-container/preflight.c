/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preflight: everything that can be known before a run, in the order of facts 6.12. */
#include "engine_verbs.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const status_names[] = {
	[FIND_OK] = "ok", [FIND_WARN] = "warn", [FIND_FAIL] = "fail"};

void find(struct findings *f, enum finding_status s, const char *check, const char *fix,
	const char *fmt, ...)
{
	char detail[1400];
	json_t *j, *text;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	text = json_string(detail);
	j = json_pack("{s:s, s:s, s:o}", "check", check, "status", status_names[s], "detail",
		text ? text : json_string("(not UTF-8)"));
	if (fix && *fix)
		(void)json_object_set_new(j, "fix", json_string(fix));
	(void)json_array_append_new(f->list, j);
	f->fatal = f->fatal || s == FIND_FAIL;
}

void find_err(struct findings *f, enum finding_status s, const char *check, const struct cl_err *e)
{
	find(f, s, check, e->fix, "%s", e->msg);
}

static void (*const checks[])(struct preflight *p) = {
	preflight_runtime,
	preflight_egress,
	preflight_devices,
	preflight_image,
	preflight_selinux,
	preflight_network,
	preflight_seccomp,
	preflight_cgroup,
	preflight_workdir,
};

int cmd_preflight(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct preflight p = {.engine = ENGINE_INIT, .info = ENGINE_INFO_INIT};
	bool fatal;

	(void)c;
	if (work_executor_in("container", &spec, e) ||
		cl_doc_str(&spec.doc, spec.doc.root, "project", &p.workdir, e))
		return -1;
	p.spec = &spec;
	p.x = spec.executor;
	p.out.list = json_array();
	if (preflight_engine(&p))
		for (size_t i = 0; i < CL_ARRAY_LEN(checks); i++)
			checks[i](&p);
	fatal = p.out.fatal;
	cl_take_json(json_pack(
		"{s:s, s:b, s:o}", "executor_id", p.x->id, "fatal", fatal, "findings", p.out.list));
	engine_info_release(&p.info);
	engine_release(&p.engine);
	return fatal ? 1 : 0;
}
