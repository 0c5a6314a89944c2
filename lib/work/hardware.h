/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hardware of this host that grants name: whether it is there, and may be given to a sandbox. An
 * inventory is written without the hardware, which may be another host's, so this is asked when it
 * is about to be lent, and by who looks whether an executor is fit for work. The guides "Critical
 * hosts", Inventory the host's hardware, and "Granting secrets and egress", Host devices; C2.
 */
#ifndef WORK_HARDWARE_H
#define WORK_HARDWARE_H

#include "policy/config/config.h"
#include "sys/device.h"

#include <jansson.h>
#include <sys/types.h>

/*
 * The node at `source` into *node, which is SYS_DEVICE_INIT; `secret` and `name` are for the
 * remedies. CL_ENOTFOUND: there is nothing. CL_EREFUSED: it is none that a sandbox may be given, or
 * it cannot be at `target` in one.
 */
int hardware_device(const char *secret, const char *name, const char *source, const char *target,
	struct sys_device *node, struct cl_err *e);

/*
 * The user of a project's sandbox, who owns the project (DECISIONS C3: a project of group 0 makes
 * nobody a member of root's), with the groups that the account has on this host; *groups is owned.
 */
void hardware_user(uid_t uid, gid_t gid, struct sec_user *who, gid_t **groups);
/*
 * The node of `source` as it is inside, into *in. CL_EREFUSED: that user could neither read it nor
 * write to it, and what to type so that he can.
 */
int hardware_inside(const struct sys_device *node, const char *source, enum sec_access access,
	const struct sec_user *who, struct sec_inside *in, struct cl_err *e);
/*
 * Whether interfaces of this host could be lent to a sandbox now, all at once: [{name, source,
 * target, address, gateway}, ...], asked of cloop-interfaces in this network namespace. CL_EBUSY:
 * a run has one of them.
 */
int hardware_interfaces(const json_t *v, const char *run_dir, struct cl_err *e);
/*
 * hardware_device and hardware_inside in one, asked of a process that holds no key: whether a run of
 * the project could be given the device now. A project that is not here, or whose owner is root
 * (unless root_too), says nothing of who opens it.
 */
int hardware_ask_device(const char *secret, const struct sec_device *d, const char *project,
	bool root_too, struct cl_err *e);

/* Why sandboxes there have no devices of their host, or NULL. Static. */
const char *hardware_no_devices(const char *oci_runtime, bool rootless);
/* The grant and the executor do not go together: the error that says both. Always -1. */
int hardware_cannot(const char *executor, const char *why, const char *device, const char *secret,
	const char *grant_id, struct cl_err *e);
/* CL_EREFUSED where sandboxes of that runtime never see an interface that is moved in. */
int hardware_sees_interfaces(const char *executor, const char *oci_runtime, struct cl_err *e);

/* Who would be lent something. All borrowed. */
struct hardware_ask {
	const char *hub_dir, *executor;
	const struct cl_strv *projects; /* absolute paths, as grants name them */
	const char *key_file;           /* CLOOP_SECRET_KEY_FILE, or NULL */
	int key_fd;                     /* work/key_pass.h, or -1 */
};
/*
 * What the host_device and host_interface grants open that are for the executor, whatever the
 * project, and for each of the projects there: asked of cloop-secret, which holds the key (DECISIONS
 * K5). A list of {grant_id, secret, subject, kind, project, name, source, target, address, gateway};
 * project is null for what is for every run of the executor. One that is not delivered has `reason`
 * and `remediation` instead of a name. *out is owned. Fails as opening the key does.
 */
int hardware_ask(const struct hardware_ask *a, json_t **out, struct cl_err *e);

#endif
