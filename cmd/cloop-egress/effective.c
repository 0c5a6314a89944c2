/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `effective`: what a run would reach, all its levels together. */
#include "rules.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/sandbox.h"
#include "sys/path.h"
#include "sys/specfile.h"

#include <stdlib.h>
#include <string.h>

/* What the project's own file makes of the network. */
static int network_of(const char *project, enum sb_net *net, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct sb_spec spec = SB_SPEC_INIT;
	bool found;
	int rc = sys_spec_load(project, &d, &spec, &found, e);

	*net = rc || !found ? SB_NET_UNTOUCHED : sb_network(&spec);
	sb_spec_release(&spec);
	return rc;
}

static int scope_open(
	struct cl_ctx *c, struct rules_scope *r, const struct cfg_executor **x, struct cl_err *e)
{
	cleanup_fd int fd = -1;
	const char *project = cl_str(c, "project"), *id = cl_str(c, "executor");

	if (hub_store_from_ctx(c, STORE_RO, &r->hub, &r->store, e) ||
		hub_config_for_run(c, &r->hub, &r->doc, &r->cfg, e))
		return -1;
	if (project) {
		fd = sys_resolve_dir(project, &r->project, e);
		if (fd < 0)
			return -1;
	}
	return rules_executor(r, id, x, e);
}

/* No filter: everything, or nothing at all. */
static int unfiltered(
	struct cl_ctx *c, const struct cfg_executor *x, enum sb_net net, struct cl_err *e)
{
	if (net == SB_NET_OFF || !strcmp(x->network, "none")) {
		(void)cl_fail(e, CL_ECONFIG, "such a run has no network at all");
		return cl_fix(e, net == SB_NET_OFF
					 ? "the project's .cloop/sandbox.yaml asks for none: "
					   "capabilities.network or egress: public asks for one"
					 : "set network: bridge on the executor");
	}
	(void)c;
	(void)cl_fail(e, CL_ECONFIG,
		"no filter stands before runs on executor '%s': they reach what its network "
		"reaches",
		x->id);
	return cl_fix(e, "set %s.egress_filter.enabled: true", x->key);
}

static char *source_of(const struct cfg_executor *x, const char *project)
{
	char *text = project ? cl_asprintf("executor %s for project %s", x->id, project)
			     : cl_asprintf("executor %s", x->id);

	cl_mask(text, "");
	return text;
}

int egress_effective(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_rules_scope struct rules_scope r = RULES_SCOPE_INIT;
	cleanup_levels struct work_levels l = WORK_LEVELS_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_free char *source = NULL;
	enum sb_net net = SB_NET_UNTOUCHED;
	const struct cfg_executor *x;

	if (cl_given(c, "check") && cl_given(c, "check-file"))
		return cl_usage(c, e, "--check and --check-file cannot go together");
	if (scope_open(c, &r, &x, e) || (r.project && network_of(r.project, &net, e)) ||
		work_levels_read(&r.hub, r.store, x, r.project, net, WORK_RULES_ALL, &l, e) ||
		(!l.filtered && unfiltered(c, x, net, e)) || eg_stack_compile(&l.stack, &p, e)) {
		/* Not status 1, which would say that --check was answered by DROP. */
		if (e->code == CL_EREFUSED || e->code == CL_ENO)
			e->code = CL_ECONFIG;
		return -1;
	}
	source = source_of(x, r.project);
	if (cl_given(c, "check"))
		return egress_check(c, &p, source, e);
	if (cl_given(c, "check-file"))
		return egress_check_file(c, &p, source, e);
	if (cl_flag(c, "policy")) {
		cl_take_json(eg_stack_json(&l.stack));
		return 0;
	}
	if (c->json) {
		cl_take_json(eg_policy_json(&p));
		return 0;
	}
	eg_render_rules(&p, source, cl_colour(), &out);
	(void)fwrite(out.p, 1, out.len, stdout);
	return 0;
}
