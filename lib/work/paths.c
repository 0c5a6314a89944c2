/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/paths.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/proc.h"
#include "work/rundir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *work_run_base(void)
{
	const char *dir = getenv("CLOOP_RUN_DIR");   /* lint: allow */
	const char *xdg = getenv("XDG_RUNTIME_DIR"); /* lint: allow */

	if (dir && *dir == '/')
		return cl_strdup(dir);
	if (!geteuid())
		return cl_strdup(RUNDIR_ROOT_BASE);
	if (xdg && *xdg == '/')
		return cl_asprintf("%s/cloop", xdg);
	return cl_asprintf("/tmp/cloop-%u", (unsigned)geteuid());
}

char *work_base_of(const struct store_handle *h)
{
	cleanup_free char *tail = cl_asprintf("/w/%s", h->id);
	const char *dir = h->runtime_dir;

	if (!dir || *dir != '/' || !cl_ends(dir, tail))
		return work_run_base();
	return cl_asprintf("%.*s", (int)(strlen(dir) - strlen(tail)), dir);
}

void work_rundir_of(struct store *s, const char *handle, const char *else_base, struct rundir *out)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	cleanup_free char *base = NULL;
	struct cl_err e;

	if (!store_handle_get(s, handle, &h, &e) && h.runtime_dir)
		base = work_base_of(&h);
	else
		base = else_base ? cl_strdup(else_base) : work_run_base();
	rundir_init(out, base, handle);
}

char *work_log_dir(const struct hub *h)
{
	return cl_asprintf("%s/.cloop/logs", h->dir);
}

void work_engine_env(struct cl_strv *out)
{
	/* INVOCATION_ID is left out on purpose: with it podman keeps conmon in the caller's
	 * cgroup, where nobody would find it. */
	static const char *const names[] = {"HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME",
		"XDG_CONFIG_HOME", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
		"CONTAINERS_REGISTRIES_CONF", "DOCKER_HOST", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE",
		"TMPDIR", "CLOOP_RUN_DIR", "CLOOP_HUBS", "ASAN_OPTIONS", "UBSAN_OPTIONS",
		"LSAN_OPTIONS"};

	cl_strv_add(out, "PATH=" SYS_PATH);
	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		const char *v = getenv(names[i]); /* lint: allow */

		if (v && *v)
			cl_strv_addf(out, "%s=%s", names[i], v);
	}
}
