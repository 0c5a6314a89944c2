/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What mint takes, kind by kind. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_kind.h"
#include "policy/secret/secret_kube.h"

#include <stdlib.h>
#include <string.h>

/* A payload without the blanks around it. */
struct payload {
	const char *p;
	size_t n;
	struct cl_strv *notes; /* may be NULL */
};

static int check_pat(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	cleanup_github_pat struct sec_github_pat pat = SEC_GITHUB_PAT_INIT;

	if (sec_github_pat_read(in->p, in->n, &pat, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

static int check_app(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;

	if (sec_github_app_read(in->p, in->n, &app, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

static int check_registry(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	if (sec_registry_check(in->p, in->n, in->notes, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

/* NAME=VALUE: what a shell and a .env file have, and this does not read. */
static void note_line(const struct payload *in)
{
	size_t eq = 0;

	while (eq < in->n && strchr(CL_ALNUM "_", in->p[eq]))
		eq++;
	/* What is base64 ends in '='. */
	if (!eq || eq + 1 >= in->n || in->p[eq] != '=' || in->p[eq + 1] == '=' ||
		strchr(CL_DIGITS, *in->p))
		return;
	cl_strv_add(in->notes,
		"the payload looks like NAME=VALUE and is no JSON object of names to values: it is "
		"one value under the secret's name");
}

static void note_env(const struct payload *in)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err quiet;
	const char *key;
	json_t *v;

	if (cl_doc_parse(&d, CL_DOC_JSON, "env", in->p, in->n, NULL, &quiet) ||
		!json_is_object(d.root)) {
		cl_strv_add(in->notes, "the payload starts with '{' and is no JSON object: it is "
				       "one value under the secret's name");
		return;
	}
	if (!json_object_size(d.root))
		cl_strv_add(in->notes, "the payload is an object without a name in it: no run is "
				       "lent anything of it");
	json_object_foreach (d.root, key, v) {
		if (json_is_string(v))
			continue;
		cl_strv_add(in->notes,
			"the payload is an object with a value that is no string: it "
			"is one value under the secret's name");
		return;
	}
	json_object_foreach (d.root, key, v)
		if (!sec_variable_ok(key))
			cl_strv_addf(in->notes,
				"'%.40s' is no name of a variable and is not delivered", key);
}

static int check_env(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	if (memchr(in->p, '\0', in->n))
		return sec_payload_bad(e, sec_kinds[SEC_ENV].name, "payload has a NUL in it");
	if (*in->p == '{' && in->notes)
		note_env(in);
	else if (in->notes)
		note_line(in);
	cl_buf_add(out, in->p, in->n);
	return 0;
}

int sec_proxy_check(const char *p, size_t n, struct cl_err *e)
{
	bool bad = n == 0;

	for (size_t i = 0; i < n; i++)
		bad = bad || (unsigned char)p[i] <= ' ' || p[i] == 0x7f;
	if (!bad)
		return 0;
	(void)sec_payload_bad(e, sec_kinds[SEC_EGRESS_PROXY].name,
		"payload has a blank, a line end or a control character in it, or nothing");
	return cl_fix(e, "give one URL, such as http://proxy.example.com:3128");
}

static int check_proxy(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	if (sec_proxy_check(in->p, in->n, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

static int check_local(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	return sec_local_root(in->p, in->n, out, e);
}

static int check_devices(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	cleanup_devices struct sec_devices d = SEC_DEVICES_INIT;

	if (sec_devices_parse(in->p, in->n, &d, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

static int check_interfaces(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	cleanup_interfaces struct sec_interfaces i = SEC_INTERFACES_INIT;

	if (sec_interfaces_parse(in->p, in->n, &i, e))
		return -1;
	cl_buf_add(out, in->p, in->n);
	return 0;
}

static int check_kubeconfig(const struct payload *in, struct cl_buf *out, struct cl_err *e)
{
	cleanup_kube struct sec_kube k = SEC_KUBE_INIT;

	if (sec_kube_read(in->p, in->n, &k, e))
		return -1;
	if (in->notes)
		sec_kube_notes(&k, in->notes);
	cl_buf_add(out, in->p, in->n);
	return 0;
}

int sec_payload_check(enum sec_kind k, const char *payload, size_t len, struct cl_buf *out,
	struct cl_strv *notes, struct cl_err *e)
{
	static int (*const check[SEC_NKINDS])(
		const struct payload *in, struct cl_buf *out, struct cl_err *e) = {
		[SEC_GITHUB_PAT] = check_pat,
		[SEC_GITHUB_APP] = check_app,
		[SEC_KUBECONFIG] = check_kubeconfig,
		[SEC_REGISTRY] = check_registry,
		[SEC_ENV] = check_env,
		[SEC_EGRESS_PROXY] = check_proxy,
		[SEC_LOCAL_REPO] = check_local,
		[SEC_HOST_DEVICE] = check_devices,
		[SEC_HOST_INTERFACE] = check_interfaces,
	};
	struct payload in = {payload, len, notes};

	if (len > SEC_PAYLOAD_MAX)
		return sec_payload_bad(e, sec_kinds[k].name, "payload is larger than 1 MiB");
	/* Line numbers are those of the file: only documents of lines need their first ones. */
	if (k != SEC_HOST_DEVICE && k != SEC_HOST_INTERFACE && k != SEC_KUBECONFIG)
		sec_trim(&in.p, &in.n);
	for (size_t i = 0, blank = 0; i <= in.n; i++) {
		if (blank == in.n)
			return sec_payload_bad(e, sec_kinds[k].name, "payload is empty");
		if (!strchr(" \t\r\n\v\f", in.p[i]))
			break;
		blank++;
	}
	return check[k](&in, out, e);
}
