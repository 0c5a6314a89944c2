/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An administrator's word that a kubeconfig may go out though nothing enforces its limits. */
#include "key.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/num.h"
#include "policy/secret/secret_kube.h"
#include "seal/grant.h"
#include "work/secrets.h"

#include <string.h>

/* What of the grant nothing enforces; CL_EREFUSED when there is no such thing. */
static int unenforced(const struct store_grant *g, struct cl_buf *what, struct cl_err *e)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	enum sec_kind kind;

	if (sec_kind_parse(g->kind, &kind, e) ||
		cl_doc_parse(
			&d, CL_DOC_JSON, g->id, g->constraints, strlen(g->constraints), NULL, e) ||
		sec_constraints_read(&d, d.root, &c, e) || sec_constraints_check(kind, &c, NULL, e))
		return -1;
	if (kind == SEC_KUBECONFIG)
		sec_kube_unenforced(&c, what);
	if (what->len)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"%s (%s) claims nothing that the Kubernetes access monitor "
		"would enforce",
		g->id, g->kind);
	return cl_fix(e, "it is delivered as it is");
}

static json_t *about(const struct store_grant *g, const char *what, const char *reason)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s*}", "grant_id", g->id, "secret_id",
		g->secret_id, "secret_name", g->secret_name, "kind", g->kind, "subject", g->subject,
		"unenforced", what, "reason", reason);
}

static int store_word(struct keyed *k, const struct store_grant *g, const char *what,
	const char *reason, struct cl_err *e)
{
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	cleanup_txn struct store_txn t = {0};
	cleanup_free char *json = NULL;
	bool won;

	if (reason) {
		if (keyed_signer(k, &signer, e))
			return -1;
		json = seal_unguarded_make(&signer, g->id, k->actor, k->now, reason, e);
		if (!json)
			return -1;
	}
	if (store_begin(k->store, &t, e) || store_grant_unguarded(k->store, g->id, json, &won, e))
		return -1;
	if (!won)
		return cl_fail(e, CL_EREFUSED, "the grant %s is revoked", g->id);
	return keyed_audit(k, "secret.unguarded_ack", "secret", g->secret_id,
		       about(g, reason ? what : "withdrawn", reason), e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}

static void answer(struct cl_ctx *c, const struct keyed *k, const struct store_grant *g,
	const char *what, const char *reason)
{
	char when[32];

	cl_format_time(k->now / 1000, when);
	if (c->json)
		cl_take_json(json_pack("{s:s, s:b, s:s, s:s, s:s, s:s?}", "grant_id", g->id,
			"acknowledged", reason != NULL, "unenforced", what, "by", k->actor, "at",
			when, "reason", reason));
	else if (reason)
		(void)printf("✓ %s may be delivered without the Kubernetes access monitor\n"
			     "  unenforced  %s\n  recorded    by %s at %s\n  reason      %s\n",
			g->id, what, k->actor, when, reason);
	else
		(void)printf("✓ %s is no longer delivered without the Kubernetes access monitor\n",
			g->id);
}

int key_unguarded(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	cleanup_buf struct cl_buf what = CL_BUF_INIT;
	cleanup_free char *reason = cl_given(c, "reason") ? cp_redact(cl_str(c, "reason")) : NULL;
	bool withdraw = cl_flag(c, "withdraw");

	if (withdraw == (reason != NULL))
		return cl_usage(c, e,
			withdraw ? "--withdraw takes no --reason"
				 : "--reason TEXT is missing: why it may go out");
	if (reason && (!*reason || strlen(reason) > 4096))
		return cl_usage(c, e, "--reason has to say something, in 4096 bytes at most");
	if ((withdraw ? keyed_without(c, STORE_RW, &k, e) : keyed_open(c, &k, e)) ||
		store_grant_get(k.store, cl_operand(c, 0), &g, e))
		return -1;
	/* Taking it away needs neither the key nor a genuine grant. */
	if ((!withdraw && (grant_check(&k, &g, e) || unenforced(&g, &what, e))) ||
		store_word(&k, &g, what.p, reason, e))
		/* Not as an acknowledgement, of which the last row is the last word. */
		return secret_deny(&k, "secret.unguarded", g.secret_id,
			json_pack("{s:s}", "grant_id", g.id), e);
	answer(c, &k, &g, what.p, reason);
	return 0;
}
