/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What OCI runtimes keep of containers, apart from the engine's own records. */
#ifndef CLOOP_EXEC_CONTAINER_REAP_RUNTIME_H
#define CLOOP_EXEC_CONTAINER_REAP_RUNTIME_H

#include "base/err.h"

#define OCI_RUNTIMES    2
#define OCI_HANDLE_SIZE 80

struct oci_runtime {
	const char *program;
	const char *root;  /* where it keeps a folder a container */
	const char *state; /* the file in it that names the cgroup */
};
/* Those that a rootful engine runs with its default root. */
extern const struct oci_runtime oci_runtimes[OCI_RUNTIMES];

typedef void oci_state_fn(
	void *arg, const struct oci_runtime *rt, const char *id, const char *handle);
/*
 * Calls fn for each container whose cgroup is below /cloop/HANDLE, whatever hub's that is; a
 * handle of a setup build is "build-KEY". What cannot be read is passed over.
 */
void oci_states(const struct oci_runtime *rt, oci_state_fn *fn, void *arg);
/* Has the runtime forget it, and end what is left of it. CL_EUNAVAIL. */
int oci_forget(const struct oci_runtime *rt, const char *id, struct cl_err *e);

#endif
