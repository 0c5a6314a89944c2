/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware that a project names: a run without it could do nothing useful. */
#include "work/lease/lease_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

/* One kind of hardware: what is picked, and where a material has it. */
struct hardware {
	enum sec_kind kind;
	const char *word; /* of capabilities in sandbox.yaml, and the option of grants */
	const struct cl_strv *picked;
	bool (*lends)(const struct sec_material *m, const char *name);
	bool (*stocks)(const struct seal_buf *inventory, const char *name);
};

static bool lends_device(const struct sec_material *m, const char *name)
{
	for (size_t i = 0; i < m->devices.n; i++)
		if (!strcmp(m->devices.v[i].name, name))
			return true;
	return false;
}

static bool lends_interface(const struct sec_material *m, const char *name)
{
	for (size_t i = 0; i < m->interfaces.n; i++)
		if (!strcmp(m->interfaces.v[i].name, name))
			return true;
	return false;
}

static bool stocks_device(const struct seal_buf *inventory, const char *name)
{
	cleanup_devices struct sec_devices d = SEC_DEVICES_INIT;
	bool found = false;
	struct cl_err e;

	if (sec_devices_parse((const char *)inventory->p, inventory->len, &d, &e))
		return false;
	for (size_t i = 0; i < d.n; i++)
		found = found || !strcmp(d.v[i].name, name);
	return found;
}

static bool stocks_interface(const struct seal_buf *inventory, const char *name)
{
	cleanup_interfaces struct sec_interfaces n = SEC_INTERFACES_INIT;
	bool found = false;
	struct cl_err e;

	if (sec_interfaces_parse((const char *)inventory->p, inventory->len, &n, &e))
		return false;
	for (size_t i = 0; i < n.n; i++)
		found = found || !strcmp(n.v[i].name, name);
	return found;
}

/* The secret that another grant of it would lend it from, among those that the run has something of. */
static const char *stocked_by(
	const struct lease_case *c, const struct hardware *h, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i]->payload.p && c->v[i]->grant.kind == h->kind &&
			h->stocks(&c->v[i]->payload, name))
			return c->v[i]->row.secret_name;
	return "SECRET";
}

static bool lent(const struct sec_lease *l, const struct hardware *h, const char *name)
{
	for (size_t i = 0; i < l->nmaterials; i++)
		if (h->lends(&l->materials[i], name))
			return true;
	return false;
}

/* A grant of that kind that was for the run, and why it is not delivered; or NULL. */
static const struct sec_refused *refused(const struct sec_lease *l, enum sec_kind kind)
{
	for (size_t i = 0; i < l->nrefused; i++)
		if (l->refused[i].kind == kind)
			return &l->refused[i];
	return NULL;
}

static int refuse(
	const struct lease_case *c, const struct hardware *h, const char *name, struct cl_err *e)
{
	const struct sec_refused *r = refused(&c->lease, h->kind);
	cleanup_free char *fix = NULL;
	char slug[48];

	(void)snprintf(slug, sizeof(slug), "%.*s_not_granted", (int)strlen(h->word) - 1, h->word);
	(void)cl_fail(e, CL_EREFUSED,
		"capabilities.%s in .cloop/sandbox.yaml names '%s', and no %s grant lends it to "
		"this run%s%s%s%s",
		h->word, name, sec_kinds[h->kind].name, r ? ": " : "", r ? r->secret_name : "",
		r ? " is not delivered, " : "", r ? r->error.msg : "");
	(void)cl_slug(e, slug);
	(void)cl_constraint(e, h->word);
	if (r && r->error.fix[0])
		return cl_fix(e, "%s", r->error.fix);
	fix = sec_grant_named(
		name, h->word, stocked_by(c, h, name), c->who.project ? c->who.project : "PROJECT");
	return cl_fix(e, "%s", fix);
}

int lease_picked(const struct lease_case *c, struct cl_err *e)
{
	const struct sec_pick *p = &c->lease.pick;
	const struct hardware all[] = {
		{SEC_HOST_DEVICE, "devices", p->devices, lends_device, stocks_device},
		{SEC_HOST_INTERFACE, "interfaces", p->interfaces, lends_interface,
			stocks_interface}};

	for (size_t i = 0; i < CL_ARRAY_LEN(all); i++)
		for (size_t k = 0; all[i].picked && k < all[i].picked->n; k++)
			if (!lent(&c->lease, &all[i], all[i].picked->v[k]))
				return refuse(c, &all[i], all[i].picked->v[k], e);
	return 0;
}
