/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job.h"
#include "base/mem.h"
#include "policy/place/runtime_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *job_meta(const struct job *j, int64_t started_mono)
{
	json_t *o = json_pack("{s:s, s:i, s:i, s:b}", "engine", ct_engine_name(j->engine.kind),
		"net_kind", (int)j->net_kind, "uid", (int)j->uid, "memory",
		j->spec->limits.v[SB_MEMORY] > 0);
	char *text;

	(void)json_object_set_new(
		o, "plain", json_boolean(rn_userspace_kernel(j->spec->executor->oci_runtime)));
	(void)json_object_set_new(o, "min_free_mb", json_integer(j->spec->min_free_mb));
	(void)json_object_set_new(o, "started_mono", json_integer(started_mono));
	if (j->spec->key_file)
		(void)json_object_set_new(o, "key_file", json_string(j->spec->key_file));
	if (j->spec->key_passed)
		(void)json_object_set_new(o, "key_passed", json_true());
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

static int unreadable(const struct store_handle *row, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "the row of %s cannot be read", row->id);
	return cl_fix(e, "use the cloop that started it, or remove the container by hand");
}

int job_from_row(struct job *j, const struct store_handle *row, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	int64_t kind = 0, uid = 0;
	const char *engine = NULL;

	if (!row->meta ||
		cl_doc_parse(&d, CL_DOC_JSON, "meta", row->meta, strlen(row->meta), NULL, e))
		return unreadable(row, e);
	if (cl_doc_int(&d, d.root, "net_kind", 0, JOB_NET_ENGINE, &kind, e) ||
		cl_doc_int(&d, d.root, "uid", 0, UINT32_MAX, &uid, e) ||
		cl_doc_str(&d, d.root, "engine", &engine, e) ||
		engine_find(engine, environ, &j->engine, e))
		return -1;
	(void)snprintf(j->handle, sizeof(j->handle), "%s", row->id);
	j->net_kind = (enum job_network)kind;
	j->plain = json_is_true(json_object_get(d.root, "plain"));
	j->uid = (uid_t)uid;
	j->name = cl_strdup_null(row->container);
	j->project = cl_strdup_null(row->project);
	j->image = cl_strdup_null(row->image);
	j->network = cl_strdup_null(row->network);
	j->table = cl_strdup_null(row->nft_table);
	return 0;
}
