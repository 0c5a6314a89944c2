/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Devices of the host that a run is lent. The engine is given a node of our own with the number
 * that was judged, on the root-only staging area: what stands at the host's path by then does not
 * matter (DECISIONS C7). Its mode is what a reader may do with it where the engine's device rules
 * do not hold.
 */
#include "job.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/hardware.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int changed(const struct shim_device *d, const struct sys_device *is, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "'%s' was %s %u:%u when it was lent, and is %s %u:%u now",
		d->source, d->node.node.block ? "block device" : "character device",
		d->node.node.major, d->node.node.minor,
		is->node.block ? "block device" : "character device", is->node.major,
		is->node.minor);
	return cl_fix(e, "look at what was plugged in or replaced there, then run again");
}

/* The same node as when it was lent, and still none that is for no sandbox. */
static int look_again(const struct shim_device *d, struct sys_device *is, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '/'");
	if (sys_device_find(root, d->source, is, e)) {
		e->code = CL_EREFUSED;
		return -1;
	}
	return sys_device_same(&d->node, is) && !sec_node_forbidden(&is->node) ? 0
									       : changed(d, is, e);
}

static int make_node(const char *path, const struct sys_device *is, const struct sec_inside *in,
	struct cl_err *e)
{
	mode_t type = is->node.block ? S_IFBLK : S_IFCHR;

	if (mknod(path, type | 0600, makedev(is->node.major, is->node.minor)) ||
		chown(path, in->uid, in->gid) || chmod(path, (mode_t)in->mode))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a node %u:%u at '%s'",
			is->node.major, is->node.minor, path);
	return 0;
}

static void add_group(struct job_stage *st, uint32_t gid)
{
	for (size_t i = 0; i < st->ngroups; i++)
		if (st->groups[i] == gid)
			return;
	if (gid)
		st->groups[st->ngroups++] = gid;
}

static int stage_device(const struct sec_user *who, const char *dir, const struct shim_device *d,
	struct job_stage *st, struct cl_err *e)
{
	cleanup_device struct sys_device is = SYS_DEVICE_INIT;
	cleanup_free char *path = cl_asprintf("%s/%zu", dir, st->ndevices);
	struct sec_inside in;
	bool own;

	if (look_again(d, &is, e))
		return -1;
	/* Every sandbox has it. */
	if (!sec_target_taken(d->target, &is.node, &own) && own)
		return 0;
	if (hardware_inside(&is, d->source, d->access, who, &in, e) || make_node(path, &is, &in, e))
		return -1;
	add_group(st, in.group);
	cl_strv_add(&st->paths, path);
	st->devices[st->ndevices++] = (struct ct_device){
		st->paths.v[st->paths.n - 1], d->target, sec_access_name(d->access)};
	return 0;
}

int job_stage_devices(const struct job *j, const struct rundir *rd,
	const struct shim_devices *devices, struct job_stage *st, struct cl_err *e)
{
	cleanup_free char *dir = cl_asprintf("%s/devices", rd->stage);
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_free gid_t *groups = NULL;
	struct sec_user who;

	if (!devices->n)
		return 0;
	hardware_user(j->uid, j->gid, &who, &groups);
	if (mkdir(dir, 0755))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the staging area");
	for (size_t i = 0; i < devices->n; i++) {
		const struct shim_device *d = &devices->v[i];

		cl_strv_add(&names, d->name);
		if (!stage_device(&who, dir, d, st, e))
			continue;
		(void)cl_wrap(e, "device '%s' of '%s' (%s)", d->name, d->secret, d->grant_id);
		return cl_constraint(e, "devices");
	}
	st->device_names = cl_join((const char *const *)names.v, names.n, ",");
	return 0;
}
