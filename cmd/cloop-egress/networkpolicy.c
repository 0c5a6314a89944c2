/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "egress.h"
#include "base/mem.h"
#include "base/yaml_write.h"
#include "policy/egress/netpol.h"

#include <stdlib.h>
#include <string.h>

/* What goes with this format alone. */
static const char *const own[] = {"namespace", "selector", "name", "no-dns", "yaml"};

int egress_networkpolicy_options(struct cl_ctx *c, bool chosen, struct cl_err *e)
{
	for (size_t i = 0; !chosen && i < CL_ARRAY_LEN(own); i++)
		if (cl_given(c, own[i]))
			return cl_usage(c, e, "--%s goes with --format networkpolicy", own[i]);
	if (chosen && c->json && cl_flag(c, "yaml"))
		return cl_usage(c, e, "--json and --yaml cannot go together");
	if (chosen && cl_given(c, "name") && cl_given(c, "table"))
		return cl_usage(c, e, "--name and --table both name the NetworkPolicy");
	return 0;
}

/* KEY=VALUE, cut in place. */
static int take_selector(char *text, struct np_pair *out, struct cl_err *e)
{
	char *eq = strchr(text, '=');

	if (!eq) {
		(void)cl_fail(e, CL_EDATA, "--selector '%.100s' has no '='", text);
		return cl_fix(e, "write KEY=VALUE, such as %s=c-0123456789ab", NP_HANDLE_LABEL);
	}
	*eq = '\0';
	*out = (struct np_pair){text, eq + 1};
	return 0;
}

/* The nft table's name, as Kubernetes takes names. */
static char *name_of(struct cl_ctx *c)
{
	char *name = cl_strdup(cl_str_or(c, "name", cl_str_or(c, "table", EGRESS_TABLE)));

	for (char *p = name; !cl_given(c, "name") && *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

static int print(struct cl_ctx *c, json_t *policy)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	if (c->json) {
		cl_take_json(policy);
		return 0;
	}
	if (cl_flag(c, "yaml"))
		cl_yaml_write(policy, &out);
	else
		np_text(policy, &out);
	json_decref(policy);
	(void)fwrite(out.p, 1, out.len, stdout);
	if (out.len > NP_MAX_BYTES)
		cl_warn(c,
			"the NetworkPolicy has %zu bytes; a cluster's store takes %u in one "
			"request unless it was told otherwise",
			out.len, NP_MAX_BYTES);
	return 0;
}

int egress_networkpolicy(struct cl_ctx *c, const struct eg_policy *p, struct cl_err *e)
{
	static const struct np_pair preview = {NP_HANDLE_LABEL, NP_PREVIEW_HANDLE};
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	cleanup_free struct np_pair *selector = NULL;
	cleanup_free char *name = name_of(c);
	struct np_options o = {.name = name,
		.namespace = cl_str_or(c, "namespace", "cloop"),
		.selector = &preview,
		.nselector = 1,
		.dns = !cl_flag(c, "no-dns")};
	json_t *policy;

	cl_list(c, "selector", &texts);
	selector = cl_calloc(texts.n + 1, sizeof(*selector));
	for (size_t i = 0; i < texts.n; i++)
		if (take_selector(texts.v[i], &selector[i], e))
			return -1;
	if (texts.n) {
		o.selector = selector;
		o.nselector = texts.n;
	}
	if (np_render(p, &o, &policy, e))
		return -1;
	return print(c, policy);
}
