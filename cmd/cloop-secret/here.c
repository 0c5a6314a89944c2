/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "here.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/specfile.h"
#include "work/fleet.h"
#include "work/hardware.h"
#include "work/paths.h"

#include <string.h>

struct here {
	const struct dry *d;
	const struct work_node *node;
	const struct work_fleet *fleet;
	struct cl_doc spec_doc;
	struct sb_spec spec; /* what the project selects */
	json_t *out;
};

static void here_release(struct here *h)
{
	sb_spec_release(&h->spec);
	cl_doc_release(&h->spec_doc);
}
#define cleanup_here __attribute__((cleanup(here_release)))

static void say(struct here *h, const struct sec_material *m, const struct cl_err *e)
{
	(void)json_array_append_new(
		h->out, json_pack("{s:s, s:s, s:o, s:o}", "grant_id", m->grant_id, "code",
				cl_err_slug(e), "reason", cl_json_string(e->msg), "remediation",
				*e->fix ? cl_json_string(e->fix) : json_null()));
}

/* ---- what the executor can hand over ---- */

/* One of this hub that can be lent to; NULL: there is none. */
static const char *other(const struct here *h)
{
	for (size_t i = 0; i < h->fleet->n; i++)
		if (!strcmp(h->fleet->v[i].x->kind, "container") &&
			work_node_serves(&h->fleet->v[i]))
			return h->fleet->v[i].x->id;
	return NULL;
}

/* DECISIONS C14. */
static void lends_nothing(struct here *h, const struct sec_material *m)
{
	cleanup_free char *project = cl_shell_word(h->d->project);
	const char *to = other(h);
	struct cl_err e;

	(void)cl_fail(&e, CL_EREFUSED, "executor '%s' cannot be lent anything", h->node->x->id);
	(void)cl_constraint(&e, "secret_files");
	if (to)
		(void)cl_fix(&e, "cloop executor bind -p %s %s", project, to);
	else
		(void)cl_fix(&e, "enable a container executor in the hub's configuration");
	say(h, m, &e);
}

/* ---- devices ---- */

static bool selected(bool selects, const struct cl_strv *names, const char *name)
{
	return !selects || cl_strv_has(names, name);
}

static void look_at_devices(struct here *h, const struct sec_material *m)
{
	const struct cfg_executor *x = h->node->x;
	bool can = h->node->caps.bits & CAP_BIT(CAP_DEVICES);
	struct cl_err e;

	for (size_t i = 0; i < m->devices.n; i++) {
		const struct sec_device *d = &m->devices.v[i];

		if (!selected(h->spec.has_devices, &h->spec.devices, d->name))
			continue;
		if (!can) {
			(void)hardware_cannot(x->id, hardware_no_devices(x->oci_runtime, true),
				d->name, m->secret_name, m->grant_id, &e);
			say(h, m, &e);
			return;
		}
		if (hardware_ask_device(m->secret_name, d, h->d->project, x->allow_root_user, &e)) {
			(void)cl_wrap(&e, "device '%s'", d->name);
			say(h, m, &e);
		}
	}
}

/* ---- interfaces ---- */

static int may_have_interfaces(const struct cfg_executor *x, struct cl_err *e)
{
	if (hardware_sees_interfaces(x->id, x->oci_runtime, e))
		return cl_fix(e, "bind the project to a container executor under runc or crun");
	if (strcmp(x->network, "none") != 0)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"runs on executor '%s' have no network, and an interface is moved into one", x->id);
	return cl_fix(e, "set %s.network: bridge in the hub's configuration", x->key);
}

static int look_at_interface(const struct sec_interface *n, const char *run_dir, struct cl_err *e)
{
	json_t *one = json_pack("[{s:s, s:s, s:s, s:s?, s:s?}]", "name", n->name, "source",
		n->source, "target", n->target, "address", n->address, "gateway", n->gateway);
	int rc = hardware_interfaces(one, run_dir, e);

	json_decref(one);
	return rc;
}

static void look_at_interfaces(struct here *h, const struct sec_material *m)
{
	cleanup_free char *run_dir = work_run_base();
	struct cl_err e;

	for (size_t i = 0; i < m->interfaces.n; i++) {
		const struct sec_interface *n = &m->interfaces.v[i];

		if (!selected(h->spec.has_interfaces, &h->spec.interfaces, n->name))
			continue;
		if (may_have_interfaces(h->node->x, &e)) {
			say(h, m, &e);
			return;
		}
		if (look_at_interface(n, run_dir, &e))
			say(h, m, &e);
	}
}

/* ---- all of it ---- */

static void look(struct here *h)
{
	const struct sec_lease *l = &h->d->c.lease;
	bool lends = !strcmp(h->node->x->kind, "container"), found;
	struct cl_err ignored;

	/* A file that is wrong is refused by the run, in words of its own. */
	(void)sys_spec_load(h->d->project, &h->spec_doc, &h->spec, &found, &ignored);
	for (size_t i = 0; i < l->nmaterials; i++) {
		const struct sec_material *m = &l->materials[i];

		if (!lends) {
			lends_nothing(h, m);
			continue;
		}
		look_at_devices(h, m);
		look_at_interfaces(h, m);
	}
}

json_t *here_look(const struct dry *d)
{
	cleanup_fleet struct work_fleet fleet = WORK_FLEET_INIT;
	cleanup_here struct here h = {.d = d,
		.fleet = &fleet,
		.spec_doc = CL_DOC_INIT,
		.spec = SB_SPEC_INIT,
		.out = json_array()};
	struct work_node *node;
	struct cl_err ignored;

	if (!*d->executor || !d->c.lease.nmaterials ||
		work_fleet_look(d->k.store, &d->k.cfg, d->k.now, &fleet, &ignored) ||
		work_fleet_find(&fleet, d->executor, &node, &ignored))
		return h.out;
	h.node = node;
	look(&h);
	return h.out;
}
