/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the store as the policy understands them, and what a payload opens on this host. */
#include "secret.h"
#include "base/mem.h"
#include "policy/secret_inventory.h"
#include "sys/repos.h"

#include <stdlib.h>
#include <string.h>

void grant_view_release(struct grant_view *v)
{
	sec_subject_release(&v->subject);
	sec_constraints_release(&v->constraints);
}

int grant_view(const struct store_grant *g, struct grant_view *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (sec_kind_parse(g->kind, &out->kind, e) ||
		sec_subject_parse(g->subject, &out->subject, e) ||
		cl_doc_parse(
			&d, CL_DOC_JSON, g->id, g->constraints, strlen(g->constraints), NULL, e) ||
		sec_constraints_read(&d, d.root, &out->constraints, e) ||
		sec_constraints_check(out->kind, &out->constraints, NULL, e))
		return cl_wrap(e, "the grant %s", g->id);
	return 0;
}

char *grant_summary(const struct store_grant *g)
{
	cleanup_view struct grant_view v = GRANT_VIEW_INIT;
	struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	if (grant_view(g, &v, &e))
		return cl_strdup("(altered)");
	sec_constraints_summary(&v.constraints, &b);
	return cl_buf_detach(&b);
}

json_t *grant_audit(const struct store_grant *g)
{
	cleanup_free char *summary = grant_summary(g);

	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:I}", "subject",
		cl_json_string(g->subject), "secret_id", g->secret_id, "secret_name",
		g->secret_name, "kind", g->kind, "grant_id", g->id, "constraints", summary,
		"expires_at", (json_int_t)g->expires_at);
}

int secret_labels(
	const struct keyed *k, const char *executor, struct sec_labels *out, struct cl_err *e)
{
	const char *key;
	json_t *value;

	for (size_t i = 0; i < k->cfg.nexecutors; i++) {
		if (strcmp(k->cfg.executors[i].id, executor) != 0)
			continue;
		json_object_foreach (k->cfg.executors[i].labels, key, value)
			if (sec_label_set(out, key, json_string_value(value), e))
				return cl_wrap(e, "executor %s", executor);
	}
	return 0;
}

int secret_open(
	struct keyed *k, const struct store_secret *r, struct seal_buf *out, struct cl_err *e)
{
	const struct store_sealed sealed = {r->id, r->key_id, r->wrapped, r->sealed};
	cleanup_free char *what = cl_asprintf("the secret '%s'", r->name);

	return seal_ring_unseal(k->ring, STORE_SECRETS, &sealed, what, out, e);
}

static int match_repos(const struct store_secret *r, const struct seal_buf *payload,
	const struct sec_constraints *c, struct cl_err *e)
{
	cleanup_buf struct cl_buf root = CL_BUF_INIT;
	cleanup_strv struct cl_strv names = CL_STRV_INIT, paths = CL_STRV_INIT,
				    chosen = CL_STRV_INIT;

	if (sec_local_root((const char *)payload->p, payload->len, &root, e))
		return -1;
	/* On another host it may well be there. */
	if (sys_repos(root.p, &names, &paths, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	return sec_local_select(&c->list[SEC_REPOS], &names, r->name, &chosen, e);
}

int secret_matches(struct keyed *k, const struct store_secret *r, enum sec_kind kind,
	const struct sec_constraints *c, struct cl_err *e)
{
	cleanup_seal struct seal_buf payload = SEAL_BUF_INIT;
	cleanup_devices struct sec_devices devices = SEC_DEVICES_INIT, some = SEC_DEVICES_INIT;
	cleanup_interfaces struct sec_interfaces all = SEC_INTERFACES_INIT,
						 few = SEC_INTERFACES_INIT;
	const char *text;

	if (kind != SEC_LOCAL_REPO && kind != SEC_HOST_DEVICE && kind != SEC_HOST_INTERFACE)
		return 0;
	if (secret_open(k, r, &payload, e))
		return -1;
	text = (const char *)payload.p;
	if (kind == SEC_LOCAL_REPO)
		return match_repos(r, &payload, c, e);
	if (kind == SEC_HOST_DEVICE)
		return sec_devices_parse(text, payload.len, &devices, e) ||
				       sec_devices_select(&devices, &c->list[SEC_DEVICES],
					       c->writable, r->name, &some, e)
			       ? -1
			       : 0;
	return sec_interfaces_parse(text, payload.len, &all,
		       e) || sec_interfaces_select(&all, &c->list[SEC_INTERFACES], r->name, &few, e)
		       ? -1
		       : 0;
}
