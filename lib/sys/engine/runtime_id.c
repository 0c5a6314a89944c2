/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/engine/runtime_id.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "sys/clock.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

_Static_assert(RUNTIME_ID_SIZE == CL_SHA256_HEX, "the hash is SHA-256");

/* A line about the file of that name, the one that links lead to; one that is absent too. */
static void add_file(struct cl_buf *b, const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		cl_buf_addf(b, "%s absent\n", path);
		return;
	}
	cl_buf_addf(b, "%s %llu %llu %lld %lld.%09ld %lld.%09ld\n", path,
		(unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		st.st_ctim.tv_nsec);
}

/* The configuration files in it, in order. */
static void add_dir(struct cl_buf *b, const char *path)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	const struct dirent *de;
	DIR *d = opendir(path);

	while (d && (de = readdir(d)))
		if (cl_ends(de->d_name, ".conf"))
			cl_strv_addf(&names, "%s/%s", path, de->d_name);
	if (d)
		(void)closedir(d);
	cl_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		add_file(b, names.v[i]);
}

/* containers.conf(5): where podman looks up a runtime's name. */
static void add_podman(struct cl_buf *b, const struct engine *en)
{
	const char *own = engine_env(en, "CONTAINERS_CONF"), *home = engine_env(en, "HOME");
	const char *xdg = engine_env(en, "XDG_CONFIG_HOME");
	cleanup_free char *user = xdg ? cl_asprintf("%s/containers", xdg)
				      : cl_asprintf("%s/.config/containers", home ? home : "");
	const char *const dirs[] = {"/usr/share/containers", "/etc/containers", user};

	if (own)
		add_file(b, own);
	for (size_t i = 0; i < CL_ARRAY_LEN(dirs); i++) {
		cleanup_free char *file = cl_asprintf("%s/containers.conf", dirs[i]);
		cleanup_free char *more = cl_asprintf("%s.d", file);

		add_file(b, file);
		add_dir(b, more);
	}
}

void runtime_id(const struct engine *en, const char *oci_runtime, const char *runtime_path,
	char out[RUNTIME_ID_SIZE])
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char boot[SYS_BOOT_ID_SIZE] = "";
	cleanup_free char *program = NULL;
	struct utsname u;
	struct cl_err e;

	cl_buf_addf(&b, "%s %s\n", ct_engine_name(en->kind), oci_runtime ? oci_runtime : "");
	add_file(&b, en->path);
	/* docker names a runtime as it would be typed. */
	program = *runtime_path && *runtime_path != '/' ? sys_find_program(runtime_path) : NULL;
	if (*runtime_path)
		add_file(&b, program ? program : runtime_path);
	if (en->kind == CT_PODMAN)
		add_podman(&b, en);
	else
		add_file(&b, "/etc/docker/daemon.json");
	if (!uname(&u))
		cl_buf_addf(&b, "%s %s\n", u.release, u.version);
	if (!sys_boot_id(boot, &e))
		cl_buf_adds(&b, boot);
	cl_sha256_hex(b.p, b.len, out);
}
