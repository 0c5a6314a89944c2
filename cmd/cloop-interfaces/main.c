/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A part of `cloop executor test` and `cloop secret why`: whether interfaces and devices of this host
 * could be lent to a sandbox now. An executable of its own, since what asks the kernel links libmnl,
 * which every `cloop executor ls` would load, and since no process with the key looks at devices or
 * the network.
 */
#include "base/doc.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/net/net_lend.h"
#include "work/hardware.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)1 << 20)

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static int read_request(struct cl_doc *d, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	return cl_read_fd(STDIN_FILENO, "standard input", REQUEST_MAX, &text,
		       e) || cl_doc_parse(d, CL_DOC_JSON, "the request", text.p, text.len, NULL, e)
		       ? -1
		       : 0;
}

/* {run_dir, interfaces: [{name, source, target, address, gateway}]} on stdin; {} where they could. */
static int look(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free struct net_lend *v = NULL;
	const json_t *all, *o;
	size_t i;

	(void)c;
	if (read_request(&d, e))
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

/* Whether the user of the project's sandboxes could open it. */
static int opens(const json_t *o, const struct sys_device *node, struct cl_err *e)
{
	cleanup_free gid_t *groups = NULL;
	struct sec_user who;
	struct sec_inside in;
	enum sec_access access;
	struct stat st;
	bool own;

	if (!sec_access_parse(text_of(o, "access"), &access))
		return cl_fail(e, CL_EDATA, "the request names no access");
	/* What every sandbox has is there as it is. */
	if (!sec_target_taken(text_of(o, "target"), &node->node, &own) && own)
		return 0;
	if (stat(text_of(o, "project"), &st) ||
		(!st.st_uid && !json_is_true(json_object_get(o, "root_too"))))
		return 0;
	hardware_user(st.st_uid, st.st_gid, &who, &groups);
	return hardware_inside(node, text_of(o, "source"), access, &who, &in, e);
}

/* {secret, name, source, target, access, project, root_too} on stdin; {} where it could be given. */
static int device(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const keys[] = {
		"secret", "name", "source", "target", "access", "project"};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_device struct sys_device node = SYS_DEVICE_INIT;

	(void)c;
	if (read_request(&d, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++)
		if (!text_of(d.root, keys[i]))
			return cl_fail(e, CL_EDATA, "the request names no %s", keys[i]);
	if (hardware_device(text_of(d.root, "secret"), text_of(d.root, "name"),
		    text_of(d.root, "source"), text_of(d.root, "target"), &node, e) ||
		opens(d.root, &node, e))
		return -1;
	cl_take_json(json_object());
	return 0;
}

static const struct cl_verb verbs[] = {
	{.name = "look", .summary = "say whether interfaces could be lent now", .run = look},
	{.name = "device", .summary = "say whether a device could be lent now", .run = device},
	{0},
};

static const struct cl_spec spec = {
	.name = "cloop-interfaces",
	.summary = "look at hardware of this host for cloop-executor and cloop-secret",
	.verbs = verbs,
};

int main(int argc, char **argv)
{
	return cl_main(&spec, argc, argv);
}
