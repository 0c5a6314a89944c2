/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which file has the login: the configured one alone, else docker's and podman's of this user. */
#include "registry.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* $NAME/REST, or nothing where the variable is none of an absolute path. */
static bool add_under(struct cl_strv *out, const char *name, const char *rest)
{
	const char *v = getenv(name);

	if (!v || *v != '/')
		return false;
	cl_strv_addf(out, "%s%s", v, rest);
	return true;
}

static void places(const struct client *c, struct cl_strv *out)
{
	if (c->auth_file) {
		cl_strv_add(out, c->auth_file);
		return;
	}
	if (!add_under(out, "DOCKER_CONFIG", "/config.json"))
		(void)add_under(out, "HOME", "/.docker/config.json");
	(void)add_under(out, "REGISTRY_AUTH_FILE", "");
	if (!add_under(out, "XDG_RUNTIME_DIR", "/containers/auth.json"))
		cl_strv_addf(out, "/run/containers/%u/auth.json", (unsigned)geteuid());
	if (!add_under(out, "XDG_CONFIG_HOME", "/containers/auth.json"))
		(void)add_under(out, "HOME", "/.config/containers/auth.json");
}

static int read_login(struct client *c, const char *path, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	/* Of the places that are only usual, one that is not there is none. */
	if (!c->auth_file && access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return cl_read_file(path, OCI_LOGINS_MAX, &text, e) ||
			       oci_login_find(path, text.p, text.len, c->ref.registry,
				       c->ref.repository, &c->login, e)
		       ? -1
		       : 0;
}

int client_login(struct client *c, struct cl_err *e)
{
	cleanup_strv struct cl_strv files = CL_STRV_INIT;

	if (c->login_read)
		return 0;
	c->login_read = true;
	places(c, &files);
	for (size_t i = 0; i < files.n; i++) {
		cleanup_free char *helper = cl_steal(&c->login.helper);

		if (read_login(c, files.v[i], e))
			return -1;
		if (oci_login_has(&c->login))
			break;
		if (!c->login.helper)
			c->login.helper = cl_steal(&helper);
	}
	return 0;
}
