/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware of the host that a run is lent: what it is at this moment, for the driver to pass in. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "work/hardware.h"

#include <stdlib.h>
#include <string.h>

void shim_devices_release(struct shim_devices *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].name);
		free(d->v[i].source);
		free(d->v[i].target);
		free(d->v[i].secret);
		free(d->v[i].grant_id);
		sys_device_release(&d->v[i].node);
	}
	free(d->v);
	*d = SHIM_DEVICES_INIT;
}

const struct shim_devices *shim_lent_devices(const struct shim *s)
{
	return &s->lent.devices;
}

/* A node of tun devices is of use with one in the sandbox's network alone. */
static int look_tun(struct shim *s, const struct lease_item *it, struct cl_err *e)
{
	if (s->driver->makes_tun)
		return s->driver->makes_tun(s->arg, e);
	(void)cl_fail(e, CL_EREFUSED, "executor '%s' makes no tun device", s->job.row.executor_id);
	return cl_fix(e, "revoke the grant: cloop secret revoke %s", it->grant_id);
}

static int add(
	struct shim *s, const struct lease_item *it, const struct lease_device *d, struct cl_err *e)
{
	struct shim_devices *all = &s->lent.devices;
	cleanup_device struct sys_device node = SYS_DEVICE_INIT;

	if (all->n == SHIM_DEVICES) {
		(void)cl_fail(e, CL_EREFUSED, "more than %d devices are granted to this run",
			SHIM_DEVICES);
		(void)cl_fix(e, "name the ones that it needs in capabilities.devices");
		return cl_constraint(e, "devices");
	}
	if (hardware_device(it->name, d->name, d->source, d->target, &node, e) ||
		(sec_node_is_tun(&node.node) && look_tun(s, it, e))) {
		(void)cl_wrap(e, "device '%s' of '%s' (%s)", d->name, it->name, it->grant_id);
		e->code = e->code == CL_ENOTFOUND ? CL_EREFUSED : e->code;
		return cl_constraint(e, "devices");
	}
	all->v = cl_grow(all->v, &all->cap, all->n + 1, sizeof(*all->v));
	all->v[all->n++] = (struct shim_device){.name = cl_strdup(d->name),
		.source = cl_strdup(d->source),
		.target = cl_strdup(d->target),
		.secret = cl_strdup(it->name),
		.grant_id = cl_strdup(it->grant_id),
		.access = d->access,
		.node = node};
	node = SYS_DEVICE_INIT;
	return 0;
}

int shim_hardware_take(struct shim *s, const struct lease *l, struct cl_err *e)
{
	for (size_t i = 0; i < l->nitems; i++) {
		const struct lease_item *it = &l->items[i];

		if (it->ndevices && s->job.no_devices)
			return hardware_cannot(s->job.row.executor_id, s->job.no_devices,
				it->devices[0].name, it->name, it->grant_id, e);
		for (size_t k = 0; k < it->ndevices; k++)
			if (add(s, it, &it->devices[k], e))
				return -1;
	}
	return 0;
}
