/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The authorisation from the command line: flags, or JSON from a file. */
#include "egress.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <string.h>

/* A file holds up to EG_MAX_CIDRS_FILE ranges twice. */
static const struct cl_doc_limits file_limits = {
	.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};

static int take_cidrs(struct cl_ctx *c, const char *option,
	void (*add)(struct eg_auth *, const struct pol_prefix *), struct eg_auth *out,
	struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	char what[24];

	(void)snprintf(what, sizeof(what), "--%s", option);
	cl_list(c, option, &texts);
	for (size_t i = 0; i < texts.n; i++) {
		struct pol_prefix p;

		if (pol_prefix_parse(texts.v[i], false, what, &p, e))
			return -1;
		add(out, &p);
	}
	return 0;
}

static int take_endpoints(struct cl_ctx *c, const char *option, uint16_t port,
	void (*add)(struct eg_auth *, const struct pol_endpoint *), struct eg_auth *out,
	struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	char what[24];

	(void)snprintf(what, sizeof(what), "--%s", option);
	cl_list(c, option, &texts);
	for (size_t i = 0; i < texts.n; i++) {
		struct pol_endpoint p;

		if (pol_endpoint_parse(texts.v[i], port, what, &p, e))
			return -1;
		add(out, &p);
	}
	return 0;
}

static int take_ports(struct cl_ctx *c, struct eg_auth *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;

	cl_list(c, "ports", &texts);
	for (size_t i = 0; i < texts.n; i++) {
		const char *t = texts.v[i];
		uint64_t port = 0;
		int rc = t[0] == '0' && t[1]
				 ? cl_fail(e, CL_EDATA, "--ports '%.80s' has a leading zero", t)
				 : cl_parse_u64(t, 1, 65535, "--ports", &port, e);

		if (rc)
			return cl_fix(e, "write ports from 1 to 65535, such as 443");
		eg_auth_add_port(out, (uint16_t)port);
	}
	return 0;
}

static int from_flags(struct cl_ctx *c, struct eg_auth *out, struct cl_err *e)
{
	out->internet = cl_flag(c, "internet");
	out->all_ports = cl_flag(c, "all-ports");
	out->block_special_use = cl_flag(c, "block-special-use");
	out->silent = cl_flag(c, "silent");
	cl_list(c, "host", &out->hosts);
	for (size_t i = 0; i < out->hosts.n; i++)
		if (eg_check_host(out->hosts.v[i], "--host", e))
			return -1;
	if (take_ports(c, out, e) || take_cidrs(c, "cidrs", eg_auth_add_allow, out, e) ||
		take_cidrs(c, "deny", eg_auth_add_deny, out, e) ||
		take_endpoints(c, "resolver", 53, eg_auth_add_resolver, out, e) ||
		take_endpoints(c, "broker", 0, eg_auth_add_broker, out, e))
		return -1;
	return eg_check_metadata(out, "--cidrs", "--deny", e);
}

/* The object that holds the authorisation, inside the document. */
static int member(struct cl_doc *d, bool spec, json_t **obj, struct cl_err *e)
{
	*obj = d->root;
	if (!spec)
		return 0;
	*obj = json_is_object(d->root) ? json_object_get(d->root, "egress") : NULL;
	if (json_is_object(*obj))
		return 0;
	(void)cl_fail(e, CL_EDATA, "the Spec has no egress object: nothing filters this workload");
	(void)cl_at(e, d->name, 1, 1);
	return cl_fix(e, "give a Spec whose \"egress\" is an authorisation, or use --policy");
}

static int from_file(
	struct cl_ctx *c, const char *path, bool spec, struct eg_auth *out, struct cl_err *e)
{
	static const char *const others[] = {"internet", "cidrs", "deny", "ports", "all-ports",
		"resolver", "broker", "host", "block-special-use", "silent"};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *obj;

	for (size_t i = 0; i < CL_ARRAY_LEN(others); i++)
		if (cl_given(c, others[i]))
			return cl_usage(c, e,
				"--%s and --%s cannot go together: the file is the "
				"whole authorisation",
				spec ? "from-spec" : "policy", others[i]);
	if (cl_read_file(path, file_limits.max_bytes, &text, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, path, text.p, text.len, &file_limits, e) ||
		member(&d, spec, &obj, e))
		return -1;
	out->max_cidrs = EG_MAX_CIDRS_FILE;
	return eg_auth_read(&d, obj, out, e);
}

int egress_auth(struct cl_ctx *c, struct eg_auth *out, char **source, struct cl_err *e)
{
	const char *policy = cl_str(c, "policy"), *spec = cl_str(c, "from-spec");
	const char *path = policy ? policy : spec;

	if (policy && spec)
		return cl_usage(c, e, "--policy and --from-spec cannot go together");
	if (!path) {
		*source = cl_strdup("flags");
		return from_flags(c, out, e);
	}
	*source = cl_strdup(strcmp(path, "-") ? path : "standard input");
	return from_file(c, path, spec != NULL, out, e);
}
