/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apart from what opens secrets: who only revokes is linked without a key's code. */
#include "work/secrets.h"

#include "base/doc.h"
#include "base/mem.h"

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
