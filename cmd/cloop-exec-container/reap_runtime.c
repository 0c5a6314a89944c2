/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an OCI runtime keeps of a container whose engine's client was killed between the
 * runtime's create and start: the engine then removes its own records and never asks the
 * runtime to forget (opencontainers runtime-spec, operations).
 */
#include "reap_runtime.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/engine/engine.h"
#include "sys/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STATE_MAX 1048576
#define DELETE_MS 20000

const struct oci_runtime oci_runtimes[OCI_RUNTIMES] = {
	{"runc", "/run/runc", "state.json"},
	{"crun", "/run/crun", "status"},
};

/* The first path that a runtime recorded as the container's cgroup; NULL: none. */
static const char *cgroup_of(json_t *state)
{
	json_t *paths = json_object_get(state, "cgroup_paths"), *v;
	const char *key;

	json_object_foreach (paths, key, v)
		if (json_is_string(v))
			return json_string_value(v);
	return json_string_value(json_object_get(state, "cgroup-path"));
}

/* Reads one state file; false for what cannot be read or is no container of ours. */
static bool read_handle(int dirfd, const char *id, const char *name, char handle[OCI_HANDLE_SIZE])
{
	cleanup_free char *path = cl_asprintf("%s/%s", id, name);
	cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_free char *text = cl_malloc(STATE_MAX);
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	ssize_t n = fd < 0 ? -1 : read(fd, text, STATE_MAX);
	const char *at, *end;
	struct cl_err e;

	if (n <= 0 || n == STATE_MAX ||
		cl_doc_parse(&d, CL_DOC_JSON, path, text, (size_t)n, NULL, &e))
		return false;
	at = cgroup_of(d.root);
	at = at ? strstr(at, CG_PARENT "/") : NULL;
	if (!at)
		return false;
	at += strlen(CG_PARENT "/");
	end = strchr(at, '/');
	if (!end || end == at || (size_t)(end - at) >= OCI_HANDLE_SIZE || !strstr(end, id))
		return false;
	memcpy(handle, at, (size_t)(end - at));
	handle[end - at] = '\0';
	return true;
}

static bool is_id(const char *name)
{
	return strlen(name) == 64 && strspn(name, CL_DIGITS "abcdef") == 64;
}

void oci_states(const struct oci_runtime *rt, oci_state_fn *fn, void *arg)
{
	int fd = open(rt->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	char handle[OCI_HANDLE_SIZE];

	while (d && (de = readdir(d)))
		if (is_id(de->d_name) && read_handle(fd, de->d_name, rt->state, handle))
			fn(arg, rt, de->d_name, handle);
	if (d)
		(void)closedir(d);
}

int oci_forget(const struct oci_runtime *rt, const char *id, struct cl_err *e)
{
	cleanup_free char *root = cl_asprintf("--root=%s", rt->root);
	char *argv[] = {(char *)(uintptr_t)rt->program, root, (char *)"delete", (char *)"--force",
		(char *)(uintptr_t)id, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.spawn.path = rt->program;
	r.spawn.argv = argv;
	r.spawn.cwd = ENGINE_CWD;
	r.timeout_ms = DELETE_MS;
	r.keep_tail = true;
	r.max_output = 4096;
	if (sys_run(&r, e))
		return -1;
	if (r.status)
		return cl_fail(e, CL_EUNAVAIL, "'%s delete' ended with status %d: %.200s",
			rt->program, r.status, r.err.p ? r.err.p : "");
	return 0;
}
