/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps 1 to 4 and 6 of a run: everything that is decided before anything is touched. */
#include "run.h"
#include "base/mem.h"
#include "policy/secret/secret_lease.h"
#include "store/audit.h"
#include "store/fleet.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "sys/specfile.h"
#include "work/levels.h"
#include "work/project.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int load_config(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	if (hub_store_from_ctx(c, STORE_RW, &p->hub, &p->store, e))
		return -1;
	return hub_config_for_run(c, &p->hub, &p->cfg_doc, &p->cfg, e);
}

/* May this directory be a project at all? (facts/executors.md 8) */
static int confine(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
	struct stat st;

	if (work_confine(
		    p->store, &p->hub, &p->cfg, cl_str_or(c, "project", "."), CONFINE_RUN, &d, e))
		return -1;
	if (fstat(d.fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", d.path);
	p->project = cl_steal(&d.path);
	p->project_fd = cl_steal_fd(&d.fd);
	p->owner_uid = st.st_uid;
	p->owner_gid = st.st_gid;
	return 0;
}

void run_warn(struct cl_ctx *c, struct run_plan *p, const char *kind, const char *text)
{
	cl_warn(c, "%s", text);
	if (!p->warnings)
		p->warnings = json_array();
	(void)json_array_append_new(
		p->warnings, json_pack("{s:s, s:o}", "kind", kind, "text", cl_json_string(text)));
}

int run_note_warnings(const struct run_plan *p, const char *run_id, struct cl_err *e)
{
	json_t *data = json_pack("{s:b}", "warning", 1), *w;
	int rc = 0;
	size_t i;

	json_array_foreach (p->warnings, i, w)
		if (!rc)
			rc = store_journal_add(p->store, sys_now_ms(), p->project, run_id,
				json_string_value(json_object_get(w, "kind")),
				json_string_value(json_object_get(w, "text")), data, e);
	json_decref(data);
	return rc;
}

static int load_spec(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	bool found;

	if (sys_spec_load(p->project, &p->spec_doc, &p->spec, &found, e)) {
		const char *image = json_string_value(json_object_get(p->spec_doc.root, "image"));

		if (image && !strcmp(e->rule, IP_RULE_SYNTAX))
			run_note_image(p, image, e);
		return -1;
	}
	if (!found)
		return 0;
	if (sys_spec_mounts(p->project, &p->spec, p->spec_doc.name, e))
		return -1;
	sb_sense(&p->spec_doc, &p->spec);
	for (size_t i = 0; i < p->spec.nnotes; i++)
		run_warn(c, p, "sandbox_spec", p->spec.notes[i].text);
	sb_hash(&p->spec, p->spec_hash);
	sb_setup_hash(&p->spec, p->setup_hash);
	return 0;
}

static int refuse(struct cl_err *e, const char *constraint, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int refuse(struct cl_err *e, const char *constraint, const char *fix, const char *fmt, ...)
{
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, CL_EREFUSED, "%s", text);
	(void)cl_constraint(e, constraint);
	return cl_fix(e, "%s", fix);
}

/* Hardware that the project names, when nothing at all is granted to it: the lease tells the rest. */
static int not_granted(const struct run_plan *p, const char *key, const char *kind,
	const char *name, struct cl_err *e)
{
	cleanup_free char *fix = sec_grant_named(name, key, "SECRET", p->project);

	(void)refuse(e, key, fix,
		"capabilities.%s in .cloop/sandbox.yaml names '%s', and the project holds no %s "
		"grant",
		key, name, kind);
	return cl_slug(e, !strcmp(key, "devices") ? "device_not_granted" : "interface_not_granted");
}

static int check_hardware(const struct run_plan *p, struct cl_err *e)
{
	const struct sb_spec *s = &p->spec;
	bool may;

	if (!s->devices.n && !s->interfaces.n)
		return 0;
	if (run_may_lend(p, &may, e))
		return -1;
	if (may)
		return 0;
	return s->devices.n ? not_granted(p, "devices", "host_device", s->devices.v[0], e)
			    : not_granted(p, "interfaces", "host_interface", s->interfaces.v[0], e);
}

/*
 * What the project selects from what it was granted. Egress grants do not exist in this release,
 * so each is refused by name.
 */
static int check_grants(const struct run_plan *p, struct cl_err *e)
{
	const struct sb_spec *s = &p->spec;
	char fix[600];

	if (s->network) {
		(void)snprintf(fix, sizeof(fix),
			"take 'network' out of .cloop/sandbox.yaml, and let the operator allow the "
			"destination in the hub's configuration: %s.egress_filter.allow_cidrs and "
			"allow_ports",
			p->executor->key);
		return refuse(e, "network_egress", fix,
			"capabilities.network names the egress grant '%s', and this release has no "
			"egress grants",
			s->network);
	}
	return check_hardware(p, e);
}

/* The three levels; what names a disk ceiling of each. */
static const char *const disk_sources[SB_NSOURCES] = {[SB_FLEET] = "executors.limits.max_disk",
	[SB_EXECUTOR] = "the executor's ceiling (cloop executor limits)",
	[SB_PROJECT] = "the project's ceiling (cloop executor limits --project)"};

static int read_ceilings(const struct run_plan *p, struct sb_ceilings *out, struct cl_err *e)
{
	cleanup_free char *project = work_project_of(p->project);
	bool found;

	out->of[SB_FLEET] = p->cfg.limits;
	return store_ceiling_get(
		       p->store, SB_EXECUTOR, p->executor->id, &out->of[SB_EXECUTOR], &found, e) ||
			       store_ceiling_get(p->store, SB_PROJECT, project,
				       &out->of[SB_PROJECT], &found, e)
		       ? -1
		       : 0;
}

/* Requests, defaults and ceilings become what the driver enforces; clamps are told. */
static int limits(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	struct sb_ceilings ceilings = {0};
	struct sb_limits stated = {{0}}, defaults = p->executor->defaults;
	struct sb_clamp clamps[SB_NRESOURCES];
	enum sb_source source = SB_FLEET;
	size_t n;

	if (read_ceilings(p, &ceilings, e))
		return -1;
	sb_limits_of(&p->spec, &stated);
	(void)sb_cap(&ceilings, SB_DISK, &source);
	p->disk_source =
		stated.v[SB_DISK] ? "resources.disk in .cloop/sandbox.yaml" : disk_sources[source];
	n = sb_clamp(&ceilings, &stated, clamps);
	p->clamps = json_array();
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct cl_buf text = CL_BUF_INIT;

		sb_clamp_text(&clamps[i], &text);
		run_warn(c, p, "resource_ceiling", text.p);
		(void)json_array_append_new(p->clamps, sb_clamp_json(&clamps[i]));
		if (clamps[i].resource == SB_DISK)
			p->disk_source = disk_sources[clamps[i].source];
	}
	sb_effective_limits(&defaults, &stated, &ceilings, &p->limits);
	p->limits.v[SB_DISK] = sb_effective(0, stated.v[SB_DISK], sb_cap(&ceilings, SB_DISK, NULL));
	return 0;
}

/* Somebody has written to the state file past the commands: that is on record. */
static void note_rules(const struct run_plan *p, const struct cl_err *why)
{
	json_t *detail = json_pack("{s:s, s:s, s:s}", "decision", "deny", "executor",
		p->executor->id, "reason", why->msg);
	struct store_audit_row a = {
		"run", "egress.rules_altered", "project", p->project, p->project, detail};
	struct cl_err e;

	(void)store_audit_add(p->store, sys_now_ms(), &a, &e);
	(void)store_journal_add(
		p->store, sys_now_ms(), p->project, NULL, cl_err_slug(why), why->msg, NULL, &e);
	json_decref(detail);
}

int run_egress(struct run_plan *p, struct cl_err *e)
{
	enum sb_net net = sb_network(&p->spec);
	cleanup_levels struct work_levels l = WORK_LEVELS_INIT;

	p->scope = sb_egress_name(p->spec.egress);
	p->network_off = net == SB_NET_OFF;
	if (work_levels_read(
		    &p->hub, p->store, p->executor, p->project, net, WORK_RULES_ALL, &l, e)) {
		if (!strcmp(cl_err_slug(e), "rules_altered"))
			note_rules(p, e);
		return -1;
	}
	json_decref(p->egress);
	json_decref(p->rules);
	p->egress = p->rules = NULL;
	if (!l.filtered)
		return 0;
	p->egress = eg_stack_json(&l.stack);
	p->rules = work_levels_versions(&l.stack);
	return 0;
}

static void image(struct run_plan *p)
{
	p->image_from_project = p->spec.image != NULL;
	p->image = p->spec.image ? p->spec.image : p->executor->image;
}

/* stdin is passed on where it is not a terminal and there is somebody to pass it. */
static bool has_stdin(const struct cl_ctx *c)
{
	struct stat st, null;

	if (cl_flag(c, "detach") || isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &st))
		return false;
	return !(S_ISCHR(st.st_mode) && !stat("/dev/null", &null) && st.st_rdev == null.st_rdev);
}

int run_plan_make(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	if (load_config(c, p, e) || confine(c, p, e) || run_replaces(c, p, e) ||
		run_check_suspect(c, p, e) || load_spec(c, p, e) || run_place(c, p, e) ||
		check_grants(p, e) || limits(c, p, e))
		return -1;
	image(p);
	p->timeout_ms = cl_int(c, "timeout", 0);
	p->wants_stdin = has_stdin(c);
	return run_egress(p, e) || store_new_run_id(p->id, e) ? -1 : 0;
}
