/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an executor can do, in the names that drivers answer with (cloop-exec(7),
 * facts/executors.md 3). One table; placement reads it, drivers print it. Pure.
 */
#ifndef POLICY_CAPABILITY_H
#define POLICY_CAPABILITY_H

#include "base/json_text.h"
#include "policy/config/config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cap {
	CAP_VIRTUALIZED,
	CAP_KERNEL_ISOLATED,
	CAP_STREAM,
	CAP_SIGNAL,
	CAP_RESOURCE_LIMITS,
	CAP_HOST_FILESYSTEM, /* "shares_host_filesystem" */
	CAP_NETWORK_EGRESS,
	CAP_FILTERED_EGRESS,
	CAP_EGRESS_SCOPE,
	CAP_IMAGE_OVERRIDE,
	CAP_SANDBOX_BUILD,
	CAP_SANDBOX_MOUNTS,
	CAP_HOST_MOUNTS,
	CAP_SECRET_FILES,
	CAP_REVOCATION,
	CAP_DEVICES,
	CAP_INTERFACES,
	CAP_FILES_FROM_HOST_PATH,
	CAP_WORKSPACE_PROVISIONING,
	CAP_BRANCH_BUNDLE,
	CAP_WRITE_BACK,
	CAP_PROJECT_SEED,
	CAP_PROJECT_STATE, /* "returns_project_state" */
	CAP_N
};
#define CAP_BIT(c) (UINT32_C(1) << (c))
/* "supports_stream"; static. */
const char *cap_name(enum cap c);

/* What stands between a workload and the machine. Unset is none: an allow-list isolates. */
enum cap_isolation {
	CAP_ISOLATION_NONE,
	CAP_ISOLATION_CONTAINER,
	CAP_ISOLATION_VM,
	CAP_ISOLATION_REMOTE,
	CAP_NISOLATIONS
};
const char *cap_isolation_name(enum cap_isolation i); /* "none", "container", "vm", "remote" */
bool cap_isolation_find(const char *name, enum cap_isolation *out);

/* How a disk limit holds. */
enum cap_disk { CAP_DISK_NONE, CAP_DISK_SAMPLED, CAP_DISK_EVICTION, CAP_NDISKS };

struct cap_set {
	enum cap_isolation isolation;
	enum cap_disk disk;
	uint32_t bits;               /* CAP_BIT of each that is true */
	int64_t max_concurrent;      /* 0: no bound of the driver's */
	const char *platform, *arch; /* borrowed; "": unknown */
};
#define CAP_SET_INIT ((struct cap_set){.platform = "", .arch = ""})

/*
 * Those of the container driver for one executor. `root`: cloop is root on that machine; an
 * egress filter under rootless podman would not filter (DECISIONS C4). `arch` as uname(2).
 */
void cap_of_container(
	const struct cfg_executor *x, bool root, const char *arch, struct cap_set *out);

/*
 * Those of plain processes of this host. `limits`: there are control groups that we may make
 * and that hold memory, processors and processes. Nothing isolates, and there is no network
 * of its own that could be taken away or filtered.
 */
void cap_of_process(bool limits, const char *arch, struct cap_set *out);

/* A driver's whole answer, false ones included; owned. */
json_t *cap_json(const struct cap_set *c, const char *driver, const char *executor_id);
/*
 * Reads such an answer from a text, where it stands next. Closed; what is left out is false.
 * CL_EDATA. Strings are borrowed from the reader.
 */
int cap_read(struct cl_scan *s, struct cap_set *out, struct cl_err *e);

#endif
