/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A part of `cloop executor test`: whether interfaces of this host could be lent to a sandbox now. An
 * executable of its own, since what asks the kernel links libmnl, which every `cloop executor ls`
 * would load.
 */
#include "base/doc.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/net/net_lend.h"

#include <unistd.h>

#define REQUEST_MAX ((size_t)1 << 20)

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* {run_dir, interfaces: [{name, source, target, address, gateway}]} on stdin; {} where they could. */
static int look(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free struct net_lend *v = NULL;
	const json_t *all, *o;
	size_t i;

	(void)c;
	if (cl_read_fd(STDIN_FILENO, "standard input", REQUEST_MAX, &text, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, "the request", text.p, text.len, NULL, e))
		return -1;
	all = json_object_get(d.root, "interfaces");
	if (!text_of(d.root, "run_dir") || !json_is_array(all))
		return cl_fail(e, CL_EDATA, "the request names no run_dir, or no interfaces");
	v = cl_calloc(json_array_size(all) + 1, sizeof(*v));
	json_array_foreach (all, i, o) {
		v[i] = (struct net_lend){.name = text_of(o, "name"),
			.source = text_of(o, "source"),
			.target = text_of(o, "target"),
			.address = text_of(o, "address"),
			.gateway = text_of(o, "gateway")};
		if (!v[i].name || !v[i].source || !v[i].target)
			return cl_fail(e, CL_EDATA,
				"interface %zu of the request has no name, source or target", i);
	}
	if (net_lend_look(text_of(d.root, "run_dir"), v, json_array_size(all), e))
		return -1;
	cl_take_json(json_object());
	return 0;
}

static const struct cl_verb verbs[] = {
	{.name = "look", .summary = "say whether interfaces could be lent now", .run = look},
	{0},
};

static const struct cl_spec spec = {
	.name = "cloop-interfaces",
	.summary = "look at interfaces of this host for cloop-executor",
	.verbs = verbs,
};

int main(int argc, char **argv)
{
	return cl_main(&spec, argc, argv);
}
