/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "registry.h"
#include "base/mem.h"
#include "seal/mem.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)1 << 20)
#define ALL_MS      60000

void client_release(struct client *c)
{
	server_release(&c->registry);
	oci_login_release(&c->login);
	cl_buf_release(&c->token);
	cl_strv_release(&c->plain);
	cl_doc_release(&c->d);
}

int64_t client_left(const struct client *c, int64_t most)
{
	int64_t left = c->deadline - sys_mono_ms();

	return left <= 0 ? 0 : left < most ? left : most;
}

/* How registries are reached: `sandbox.registry` of the configuration. */
static int read_reach(struct client *c, struct cl_err *e)
{
	static const char *const known[] = {
		"auth_file", "certs_dir", "plain_http", "proxy", "cosign"};
	struct cl_doc *d = &c->d;
	json_t *o = NULL;

	if (cl_doc_map(d, d->root, "reach", &o, e) || !o)
		return o ? -1 : 0;
	return cl_doc_closed(d, o, "reach", known, CL_ARRAY_LEN(known), e) ||
			       cl_doc_str(d, o, "auth_file", &c->auth_file, e) ||
			       cl_doc_str(d, o, "certs_dir", &c->certs_dir, e) ||
			       cl_doc_strv(d, o, "plain_http", 64, &c->plain, e) ||
			       cl_doc_str(d, o, "proxy", &c->proxy, e) ||
			       cl_doc_str(d, o, "cosign", &c->cosign, e)
		       ? -1
		       : 0;
}

static int read_reference(struct client *c, struct cl_err *e)
{
	const char *text = NULL;

	if (cl_doc_str(&c->d, c->d.root, "reference", &text, e))
		return -1;
	if (!text)
		return cl_fail(e, CL_EDATA, "the request has no reference");
	if (ir_parse(text, &c->ref, e))
		return -1;
	if (!c->ref.qualified) {
		(void)cl_fail(e, CL_EDATA, "'%s' names no registry to ask", text);
		return cl_fix(
			e, "write the registry in front, for example docker.io/library/%s", text);
	}
	if (!strncmp(c->ref.digest, "sha512:", 7)) {
		(void)cl_fail(e, CL_EREFUSED, "'%.200s' names a sha512 digest", text);
		return cl_fix(e, "registries are asked by sha256: name that digest");
	}
	return 0;
}

static void find_machine(struct client *c)
{
	struct utsname u;

	if (c->arch)
		return;
	(void)snprintf(c->machine, sizeof(c->machine), "%s", uname(&u) ? "" : u.machine);
	oci_machine(c->machine, &c->arch, &c->variant);
}

static int read_request(struct client *c, const char *const *more, size_t n, struct cl_err *e)
{
	const char *known[16] = {"reference", "reach", "timeout_ms", "arch", "variant"};
	size_t nknown = 5;
	int64_t timeout = ALL_MS;

	for (size_t i = 0; i < n && nknown < CL_ARRAY_LEN(known); i++)
		known[nknown++] = more[i];
	c->variant = "";
	if (cl_doc_closed(&c->d, c->d.root, "", known, nknown, e) || read_reference(c, e) ||
		cl_doc_int(&c->d, c->d.root, "timeout_ms", 1, 10 * ALL_MS, &timeout, e) ||
		cl_doc_str(&c->d, c->d.root, "arch", &c->arch, e) ||
		cl_doc_str(&c->d, c->d.root, "variant", &c->variant, e) || read_reach(c, e))
		return -1;
	c->deadline = sys_mono_ms() + timeout;
	find_machine(c);
	return 0;
}

int client_read(struct client *c, const char *const *more, size_t n, struct cl_err *e)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT, origin = CL_BUF_INIT;

	if (isatty(STDIN_FILENO)) {
		(void)cl_fail(e, CL_EUSAGE,
			"standard input is a terminal, and a request is JSON from another program");
		return cl_fix(e, "use cloop sandbox image check --resolve");
	}
	/* Logins come into this process. */
	if (seal_process(e) || cl_read_fd(STDIN_FILENO, "standard input", REQUEST_MAX, &in, e) ||
		cl_doc_parse(&c->d, CL_DOC_JSON, "-", in.p, in.len, NULL, e) ||
		read_request(c, more, n, e))
		return -1;
	oci_origin(c->ref.registry, oci_plain(&c->plain, c->ref.registry), &origin);
	return server_open(c, origin.p, &c->registry, e);
}
