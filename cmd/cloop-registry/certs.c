/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers and their certificates: HOST[:PORT]/{*.crt,*.cert,*.key} as containers-certs.d(5) has it. */
#include "registry.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CERTS_MAX ((size_t)1 << 20)

void server_release(struct server *s)
{
	http_close(s->http);
	cl_buf_release(&s->ca);
	free(s->cert);
	free(s->key);
	free(s->origin);
	*s = SERVER_INIT;
}

/* Where certs.d may be; the first that has a folder of the host counts. */
static void places(const struct client *c, struct cl_strv *out)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (c->certs_dir)
		cl_strv_add(out, c->certs_dir);
	if (config && *config == '/')
		cl_strv_addf(out, "%s/containers/certs.d", config);
	else if (home && *home == '/')
		cl_strv_addf(out, "%s/.config/containers/certs.d", home);
	cl_strv_add(out, "/etc/containers/certs.d");
	cl_strv_add(out, "/etc/docker/certs.d");
}

static int unreadable(const char *path, const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "%s: %s", path, why);
	return cl_fix(e, "put the authority into a .crt, a client's certificate into a .cert with "
			 "a .key of the same name beside it");
}

static int take_client(struct server *s, const char *path, struct cl_err *e)
{
	if (s->cert)
		return 0;
	s->cert = cl_strdup(path);
	s->key = cl_asprintf("%.*s.key", (int)(strlen(path) - strlen(".cert")), path);
	return access(s->key, R_OK) ? unreadable(path, "has no readable .key", e) : 0;
}

static int take_ca(struct server *s, const char *path, struct cl_err *e)
{
	struct cl_err why;

	if (cl_read_file(path, CERTS_MAX - s->ca.len, &s->ca, &why))
		return unreadable(path, why.msg, e);
	cl_buf_addc(&s->ca, '\n');
	return 0;
}

static int take_folder(struct server *s, const char *dir, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	DIR *d = opendir(dir);
	const struct dirent *de;

	while (d && (de = readdir(d)))
		cl_strv_add(&names, de->d_name);
	if (d)
		(void)closedir(d);
	cl_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *path = cl_asprintf("%s/%s", dir, names.v[i]);

		if (cl_ends(path, ".crt") && take_ca(s, path, e))
			return -1;
		if (cl_ends(path, ".cert") && take_client(s, path, e))
			return -1;
	}
	return 0;
}

static int take_certs(const struct client *c, struct server *s, struct cl_err *e)
{
	const char *host = strstr(s->origin, "://") + 3;
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

	places(c, &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *dir = cl_asprintf("%s/%s", dirs.v[i], host);

		if (!access(dir, X_OK))
			return take_folder(s, dir, e);
	}
	return 0;
}

int server_open(const struct client *c, const char *origin, struct server *out, struct cl_err *e)
{
	bool local;

	out->origin = cl_strdup(origin);
	/* A proxy would take its own loopback for ours. */
	local = oci_loopback(strstr(origin, "://") + 3);
	if (cl_starts(origin, "https:") && take_certs(c, out, e))
		return -1;
	out->to = (struct http_to){.ca_pem = out->ca.len ? out->ca.p : NULL,
		.cert_file = out->cert,
		.key_file = out->key,
		.plain = !cl_starts(origin, "https:"),
		.proxy = local ? NULL : c->proxy,
		.timeout_ms = client_left(c, 30000),
		.max_bytes = OCI_MANIFEST_MAX};
	return http_open(&out->to, &out->http, e);
}
