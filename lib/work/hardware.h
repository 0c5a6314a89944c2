/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hardware of this host that grants name: whether it is there, and may be given to a sandbox. An
 * inventory is written without the hardware, which may be another host's, so this is asked when it
 * is about to be lent, and by who looks whether an executor is fit for work. The guides "Critical
 * hosts", Inventory the host's hardware, and "Granting secrets and egress", Host devices; C2.
 */
#ifndef WORK_HARDWARE_H
#define WORK_HARDWARE_H

#include "sys/device.h"

#include <jansson.h>

/*
 * The node at `source` into *node, which is SYS_DEVICE_INIT; `secret` and `name` are for the
 * remedies. CL_ENOTFOUND: there is nothing. CL_EREFUSED: it is none that a sandbox may be given, or
 * it cannot be at `target` in one.
 */
int hardware_device(const char *secret, const char *name, const char *source, const char *target,
	struct sys_device *node, struct cl_err *e);

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
