/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a host's repositories, devices and interfaces a grant opens. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_lease.h"

#include <stdlib.h>
#include <string.h>

static bool mine(const struct sec_offer *o, enum sec_kind k)
{
	return o->grant->kind == k;
}

/* A comma list of names that several materials share, sorted, each once. */
static void set_names(struct sec_lease *l, const struct sec_material *m, const char *variable,
	struct cl_strv *names)
{
	cleanup_free char *list = NULL;

	cl_strv_sort(names);
	cl_strv_uniq(names);
	list = sec_joined(names);
	cl_buf_adds(sec_lease_set(l, m, variable, false), list);
}

/* What one material moves, by name; `all` has those of the materials before it too. */
static void say_names(struct sec_lease *l, struct sec_material *m, const char *what,
	const char *variable, const struct cl_strv *names, struct cl_strv *all)
{
	cleanup_free char *list = sec_joined(names);

	for (size_t i = 0; i < names->n; i++)
		cl_strv_add(all, names->v[i]);
	cl_buf_addf(&m->delivers, "%s: %s", what, list);
	set_names(l, m, variable, all);
}

/* ---- local_repo ---- */

static const struct sec_candidate *candidate(const struct sec_offer *o, const char *name)
{
	static const struct sec_candidate none = {"", "", ""};

	for (size_t i = 0; i < o->ncandidates; i++)
		if (!strcmp(o->candidates[i].name, name))
			return &o->candidates[i];
	return &none;
}

/* What the driver relies on, asked here once more: absolute, and nothing that splits a flag. */
static bool path_ok(const char *p)
{
	return *p == '/' && p[1] && !strpbrk(p, ":\r\n");
}

static const struct sec_mount *mounted(const struct sec_lease *l, const char *name)
{
	for (size_t i = 0; i < l->nmaterials; i++)
		for (size_t k = 0; k < l->materials[i].nmounts; k++)
			if (!strcmp(l->materials[i].mounts[k].name, name))
				return &l->materials[i].mounts[k];
	return NULL;
}

static int check_repos(const struct sec_lease *l, const struct sec_offer *o,
	const struct cl_strv *names, struct cl_err *e)
{
	for (size_t i = 0; i < names->n; i++) {
		const struct sec_mount *there = mounted(l, names->v[i]);

		if (!path_ok(candidate(o, names->v[i])->path))
			return cl_fail(e, CL_EREFUSED,
				"local_repo secret '%s': repository '%s' has a path that cannot be "
				"mounted",
				o->grant->secret_name, names->v[i]);
		if (!there)
			continue;
		(void)cl_fail(e, CL_EREFUSED,
			"local_repo secret '%s': another grant of this run delivers %s already",
			o->grant->secret_name, there->target);
		return cl_fix(
			e, "grant that repository once: cloop secret revoke %s", o->grant->id);
	}
	return 0;
}

static void mount_repos(struct sec_lease *l, const struct sec_offer *o, const struct cl_strv *names)
{
	struct sec_material *m = sec_lease_material(l, o->grant);
	bool writable = o->grant->constraints->writable;
	cleanup_free char *list = sec_joined(names);

	for (size_t i = 0; i < names->n; i++) {
		const struct sec_candidate *c = candidate(o, names->v[i]);

		m->mounts = cl_grow(m->mounts, &m->mounts_cap, m->nmounts + 1, sizeof(*m->mounts));
		m->mounts[m->nmounts++] = (struct sec_mount){cl_strdup(names->v[i]),
			cl_strdup(c->path), cl_asprintf("%s/%s", SEC_REPOS_TARGET, names->v[i]),
			cl_strdup(c->id ? c->id : ""), writable};
	}
	cl_buf_addf(
		&m->delivers, "local repos (%s): %s", writable ? "read-write" : "read-only", list);
}

void sec_build_local(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;

	for (size_t i = 0; i < n; i++) {
		cleanup_strv struct cl_strv names = CL_STRV_INIT, found = CL_STRV_INIT;
		struct cl_err e;

		if (!mine(&o[i], SEC_LOCAL_REPO))
			continue;
		for (size_t k = 0; k < o[i].ncandidates; k++)
			cl_strv_add(&found, o[i].candidates[k].name);
		if (sec_local_select(&o[i].grant->constraints->list[SEC_REPOS], &found,
			    o[i].grant->secret_name, &names, &e) ||
			check_repos(l, &o[i], &names, &e)) {
			sec_lease_refuse(l, o[i].grant, &e);
			continue;
		}
		mount_repos(l, &o[i], &names);
		for (size_t k = 0; k < names.n; k++)
			cl_strv_add(&all, names.v[k]);
		set_names(l, &l->materials[l->nmaterials - 1], "CLOOP_LOCAL_REPOS", &all);
	}
}

/* ---- host_device ---- */

static int device_twice(const struct sec_lease *l, const struct sec_devices *d,
	const struct sec_grant *g, struct cl_err *e)
{
	for (size_t i = 0; i < l->nmaterials; i++)
		for (size_t k = 0; k < l->materials[i].devices.n; k++)
			for (size_t j = 0; j < d->n; j++) {
				const struct sec_device *there = &l->materials[i].devices.v[k];

				if (strcmp(there->name, d->v[j].name) != 0 &&
					strcmp(there->target, d->v[j].target) != 0)
					continue;
				(void)cl_fail(e, CL_EREFUSED,
					"host_device secret '%s': another grant of this run "
					"delivers "
					"device '%s' at %s already",
					g->secret_name, there->name, there->target);
				return cl_fix(
					e, "grant that device once: cloop secret revoke %s", g->id);
			}
	return 0;
}

/* What the grant opens and the run takes, which may be nothing. */
static int open_devices(const struct sec_lease *l, const struct sec_offer *o,
	struct sec_devices *some, struct cl_err *e)
{
	cleanup_devices struct sec_devices inv = SEC_DEVICES_INIT;
	const struct sec_constraints *c = o->grant->constraints;

	if (sec_devices_parse(o->payload, o->len, &inv, e) ||
		sec_devices_select(
			&inv, &c->list[SEC_DEVICES], c->writable, o->grant->secret_name, some, e))
		return -1;
	if (l->pick.devices)
		sec_devices_keep(some, l->pick.devices);
	return device_twice(l, some, o->grant, e);
}

void sec_build_devices(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;

	for (size_t i = 0; i < n; i++) {
		cleanup_devices struct sec_devices some = SEC_DEVICES_INIT;
		const struct sec_grant *g = o[i].grant;
		cleanup_strv struct cl_strv names = CL_STRV_INIT;
		struct sec_material *m;
		struct cl_err e;

		if (!mine(&o[i], SEC_HOST_DEVICE))
			continue;
		if (open_devices(l, &o[i], &some, &e)) {
			sec_lease_refuse(l, g, &e);
			continue;
		}
		if (!some.n)
			continue;
		m = sec_lease_material(l, g);
		for (size_t k = 0; k < some.n; k++)
			cl_strv_add(&names, some.v[k].name);
		m->devices = some;
		some = SEC_DEVICES_INIT;
		say_names(l, m, "host devices", "CLOOP_HOST_DEVICES", &names, &all);
	}
}

/* ---- host_interface ---- */

static int interface_twice(const struct sec_lease *l, const struct sec_interfaces *d,
	const struct sec_grant *g, struct cl_err *e)
{
	for (size_t i = 0; i < l->nmaterials; i++)
		for (size_t k = 0; k < l->materials[i].interfaces.n; k++)
			for (size_t j = 0; j < d->n; j++) {
				const struct sec_interface *there =
					&l->materials[i].interfaces.v[k];

				if (strcmp(there->name, d->v[j].name) != 0 &&
					strcmp(there->source, d->v[j].source) != 0 &&
					strcmp(there->target, d->v[j].target) != 0)
					continue;
				(void)cl_fail(e, CL_EREFUSED,
					"host_interface secret '%s': another grant of this run "
					"moves "
					"'%s' (%s to %s) already",
					g->secret_name, there->name, there->source, there->target);
				return cl_fix(e,
					"grant that interface once, or give it another target in "
					"the inventory: cloop secret revoke %s",
					g->id);
			}
	return 0;
}

static int open_interfaces(const struct sec_lease *l, const struct sec_offer *o,
	struct sec_interfaces *some, struct cl_err *e)
{
	cleanup_interfaces struct sec_interfaces inv = SEC_INTERFACES_INIT;
	const struct sec_constraints *c = o->grant->constraints;

	if (sec_interfaces_parse(o->payload, o->len, &inv, e) ||
		sec_interfaces_select(
			&inv, &c->list[SEC_INTERFACES], o->grant->secret_name, some, e))
		return -1;
	if (l->pick.interfaces)
		sec_interfaces_keep(some, l->pick.interfaces);
	return interface_twice(l, some, o->grant, e);
}

void sec_build_interfaces(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;

	for (size_t i = 0; i < n; i++) {
		cleanup_interfaces struct sec_interfaces some = SEC_INTERFACES_INIT;
		const struct sec_grant *g = o[i].grant;
		cleanup_strv struct cl_strv names = CL_STRV_INIT;
		struct sec_material *m;
		struct cl_err e;

		if (!mine(&o[i], SEC_HOST_INTERFACE))
			continue;
		if (open_interfaces(l, &o[i], &some, &e)) {
			sec_lease_refuse(l, g, &e);
			continue;
		}
		if (!some.n)
			continue;
		m = sec_lease_material(l, g);
		for (size_t k = 0; k < some.n; k++)
			cl_strv_add(&names, some.v[k].name);
		m->interfaces = some;
		some = SEC_INTERFACES_INIT;
		say_names(l, m, "host interfaces", "CLOOP_HOST_INTERFACES", &names, &all);
	}
}
