/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Granted hardware, as far as it is for runs of one executor: whether it is on this host, and could
 * be lent to a sandbox. What a grant names is sealed, so who holds the key says that; what is there
 * is looked at here.
 */
#include "smoke.h"
#include "base/mem.h"
#include "store/grant.h"
#include "sys/specfile.h"
#include "work/driver.h"
#include "work/hardware.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>

struct reach {
	struct fleet_cmd *f;
	const struct cfg_executor *x;
	const struct hardware_who *who;
	const struct sec_labels *labels;
	struct cl_doc spec_doc;
	struct sb_spec spec;     /* of the project that was named: what it selects */
	struct cl_strv projects; /* whose grants may be for a run here */
	size_t grants, kinds[2]; /* devices, interfaces */
	json_t *findings;
	bool fatal;
};

static const struct {
	const char *kind, *check, *things;
	enum cap cap;
} sorts[] = {
	{"host_device", "device", "devices", CAP_DEVICES},
	{"host_interface", "interface", "interfaces", CAP_INTERFACES},
};

static void reach_release(struct reach *r)
{
	cl_strv_release(&r->projects);
	sb_spec_release(&r->spec);
	cl_doc_release(&r->spec_doc);
}
#define cleanup_reach __attribute__((cleanup(reach_release)))

static void find(struct reach *r, const char *status, const char *check, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void find(struct reach *r, const char *status, const char *check, const char *fix,
	const char *fmt, ...)
{
	char text[1200];
	va_list ap;
	json_t *o;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o = json_pack("{s:s, s:s, s:o}", "check", check, "status", status, "detail",
		cl_json_string(text));
	if (fix && *fix)
		(void)json_object_set_new(o, "fix", cl_json_string(fix));
	(void)json_array_append_new(r->findings, o);
	r->fatal = r->fatal || !strcmp(status, "fail");
}

/* ---- which grants ---- */

/* Without a project that was named: those whose work is done here. */
static bool works_here(const struct reach *r, const char *project)
{
	struct work_node *n;
	enum reg_how how;
	struct cl_err e;

	return !work_resolve(r->f->store, &r->f->fleet, NULL, project, &n, &how, &e) &&
	       n->x == r->x;
}

static bool is_for(struct reach *r, const struct sec_subject *s)
{
	const struct sec_requester who = {r->who->project, r->x->id, r->labels};

	if (s->kind != SEC_PROJECT || r->who->project)
		return sec_subject_matches(s, &who);
	/* Every project's: no project is at "/", so it stands for any. */
	if (sec_subject_everybody(s))
		cl_strv_add(&r->projects, "/");
	else if (works_here(r, s->value))
		cl_strv_add(&r->projects, s->value);
	else
		return false;
	return true;
}

static int count(const struct store_grant *g, void *arg, struct cl_err *e)
{
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	struct reach *r = arg;

	for (size_t i = 0; i < CL_ARRAY_LEN(sorts); i++) {
		if (strcmp(g->kind, sorts[i].kind) != 0)
			continue;
		/* One whose subject is none is the key holder's to judge. */
		if (sec_subject_parse(g->subject, &subject, e) || is_for(r, &subject)) {
			r->grants++;
			r->kinds[i]++;
		}
	}
	return 0;
}

static int count_all(struct reach *r, struct cl_err *e)
{
	const struct store_grant_filter active = {.active_at = r->f->now};
	struct work_node *n;
	bool found;

	if (r->who->project) {
		cl_strv_add(&r->projects, r->who->project);
		if (sys_spec_load(r->who->project, &r->spec_doc, &r->spec, &found, e))
			return -1;
	}
	if (work_fleet_sign(r->f->store, r->f->hub.dir, &r->f->fleet, e) ||
		work_fleet_find(&r->f->fleet, r->x->id, &n, e))
		return -1;
	r->labels = &n->labels;
	if (store_grant_each(r->f->store, &active, count, r, e))
		return -1;
	cl_strv_uniq(&r->projects);
	return 0;
}

/* ---- what they name ---- */

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* Whether the project's own file leaves it out. */
static bool left_out(const struct reach *r, size_t sort, const char *name)
{
	bool selects = sort ? r->spec.has_interfaces : r->spec.has_devices;
	const struct cl_strv *names = sort ? &r->spec.interfaces : &r->spec.devices;

	return selects && !cl_strv_has(names, name);
}

/* A run that is refused for it for certain, or one of a project that may never come. */
static const char *bad_status(const struct reach *r, const json_t *o, size_t sort)
{
	cleanup_subject struct sec_subject s = SEC_SUBJECT_INIT;
	struct cl_err e;

	if (left_out(r, sort, text_of(o, "name")))
		return "warn";
	if (r->who->project || sec_subject_parse(text_of(o, "subject"), &s, &e))
		return "fail";
	return s.kind != SEC_PROJECT || sec_subject_everybody(&s) ? "fail" : "warn";
}

/* "serial0 of bench-hw (grant_..., project:/srv/fw)" */
static char *whose(const json_t *o)
{
	const char *name = text_of(o, "name");

	return cl_asprintf("%s%s%s (%s, %s)", name ? name : "", name ? " of " : "",
		text_of(o, "secret"), text_of(o, "grant_id"), text_of(o, "subject"));
}

static void say_bad(struct reach *r, const json_t *o, size_t sort, const struct cl_err *why)
{
	cleanup_free char *of = whose(o);
	bool out = left_out(r, sort, text_of(o, "name"));
	const char *status = why->code == CL_EBUSY ? "warn" : bad_status(r, o, sort);

	find(r, status, sorts[sort].check, why->fix, "%s: %s%s", of, why->msg,
		out ? "; .cloop/sandbox.yaml does not select it" : "");
}

static void look_at_device(struct reach *r, const json_t *o)
{
	cleanup_device struct sys_device d = SYS_DEVICE_INIT;
	cleanup_free char *of = whose(o);
	const char *source = text_of(o, "source");
	struct cl_err e;

	if (hardware_device(text_of(o, "secret"), text_of(o, "name"), source, text_of(o, "target"),
		    &d, &e)) {
		say_bad(r, o, 0, &e);
		return;
	}
	find(r, "ok", sorts[0].check, NULL, "%s: %s is %s %u:%u, mode %04o, %u:%u", of, source,
		d.node.block ? "block device" : "character device", d.node.major, d.node.minor,
		d.host.mode, d.host.uid, d.host.gid);
}

static bool look_at_interface(struct reach *r, json_t *o, const char *run_dir)
{
	json_t *one = json_pack("[O]", o);
	cleanup_free char *of = whose(o);
	struct cl_err e;
	int rc = hardware_interfaces(one, run_dir, &e);

	json_decref(one);
	if (rc) {
		say_bad(r, o, 1, &e);
		return false;
	}
	find(r, "ok", sorts[1].check, NULL, "%s: %s is here, and nothing of this host needs it", of,
		text_of(o, "source"));
	return true;
}

/* Those that one run would get all at once. */
static void look_at_all(struct reach *r, const json_t *v, const char *run_dir)
{
	size_t n = json_array_size(v);
	struct cl_err e;

	if (r->who->project && n > 1 && hardware_interfaces(v, run_dir, &e))
		find(r, "fail", sorts[1].check, e.fix, "%zu of them in one run: %s", n, e.msg);
}

static void look(struct reach *r, const json_t *hardware)
{
	cleanup_free char *run_dir = work_run_base();
	json_t *v = json_array(), *o;
	size_t i;

	json_array_foreach (hardware, i, o) {
		bool interface = !strcmp(text_of(o, "kind"), sorts[1].kind);
		cleanup_free char *of = NULL;

		if (!text_of(o, "name")) {
			of = whose(o);
			find(r, "warn", sorts[interface].check, text_of(o, "remediation"),
				"%s is not delivered: %s", of, text_of(o, "reason"));
		} else if (!interface) {
			look_at_device(r, o);
		} else if (look_at_interface(r, o, run_dir) &&
			   !left_out(r, 1, text_of(o, "name"))) {
			(void)json_array_append(v, o);
		}
	}
	look_at_all(r, v, run_dir);
	json_decref(v);
}

/* ---- all of it ---- */

/* True when sandboxes there can be given something of this. */
static bool may_be_given(struct reach *r)
{
	struct cap_set caps = CAP_SET_INIT;
	const char *machine = r->f->fleet.machine.machine;
	bool any = false;
	struct cl_err e;

	if (work_capabilities(r->x, &r->f->doc, r->f->hub.dir, machine, &caps, &e)) {
		find(r, "warn", "hardware", e.fix, "%s", e.msg);
		return false;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(sorts); i++) {
		bool can = caps.bits & CAP_BIT(sorts[i].cap);

		any = any || (can && r->kinds[i]);
		if (!can && r->kinds[i])
			find(r, "warn", sorts[i].check,
				"bind the project to a container executor under runc or crun on "
				"the host that has them, or revoke the grant",
				"'%s' gives a sandbox none of its host's %s: runs there that are "
				"granted some (%zu grant%s) are refused",
				r->x->id, sorts[i].things, r->kinds[i],
				r->kinds[i] == 1 ? "" : "s");
	}
	return any;
}

static void unknown(struct reach *r, const struct cl_err *e)
{
	cleanup_free char *fix = cl_asprintf("%s%sthen test again: cloop executor test %s", e->fix,
		*e->fix ? ", " : "", r->x->id);

	find(r, "warn", "hardware", fix,
		"whether the devices and interfaces of %zu grant%s are here cannot be known, since "
		"what a grant names is sealed: %s",
		r->grants, r->grants == 1 ? "" : "s", e->msg);
}

bool test_hardware(struct fleet_cmd *f, const struct cfg_executor *x,
	const struct hardware_who *who, json_t *findings)
{
	cleanup_reach struct reach r = {.f = f,
		.x = x,
		.who = who,
		.spec_doc = CL_DOC_INIT,
		.spec = SB_SPEC_INIT,
		.projects = CL_STRV_INIT,
		.findings = findings};
	struct hardware_ask ask = {.hub_dir = f->hub.dir,
		.executor = x->id,
		.projects = &r.projects,
		.key_file = who->key_file,
		.key_fd = who->key_fd};
	json_t *hardware = NULL;
	struct cl_err e;

	if (count_all(&r, &e))
		find(&r, "warn", "hardware", e.fix, "%s", e.msg);
	else if (r.grants && may_be_given(&r) && hardware_ask(&ask, &hardware, &e))
		unknown(&r, &e);
	look(&r, hardware);
	json_decref(hardware);
	return r.fatal;
}
