/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "work/paths.h"
#include "work/lease/revoke.h"

struct taking {
	struct keyed *k;
	int64_t leases;
};

/* Whatever grant it was lent under, also one that lapsed since. */
static int take_back(const struct store_grant *g, void *arg, struct cl_err *e)
{
	struct taking *t = arg;
	const struct store_lease_end end = {.state = "revoked",
		.at = t->k->now,
		.by = t->k->actor,
		.reason = "its secret was deleted",
		.action = "scrub"};
	int64_t n;

	if (revoke_take(t->k->store, g->id, &end, &n, e))
		return -1;
	t->leases += n;
	return 0;
}

static int delete_row(struct keyed *k, const struct store_secret *r, const char *reason,
	int64_t *grants, int64_t *leases, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	char cause[] = "deleted";
	const struct store_tombstone stone = {.secret_id = r->id,
		.name = r->name,
		.kind = r->kind,
		.owner = r->owner,
		.deleted_at = k->now,
		.deleted_by = k->actor,
		.cause = cause,
		.reason = (char *)(uintptr_t)reason};
	const struct store_end end = {.at = k->now, .by = k->actor, .cause = "secret_deleted"};
	const struct store_grant_filter its = {.secret_id = r->id};
	struct taking taking = {.k = k};
	bool won;

	if (store_secret_wipe(k->store, e) || store_begin(k->store, &t, e) ||
		store_secret_delete(k->store, &stone, &won, e))
		return -1;
	if (!won)
		return cl_fail(e, CL_ENOTFOUND, "the secret '%s' is gone already", r->name);
	if (store_grant_revoke_secret(k->store, r->id, &end, grants, e) ||
		store_grant_each(k->store, &its, take_back, &taking, e))
		return -1;
	*leases = taking.leases;
	return keyed_audit(k, "secret.delete", "secret", r->id,
		       json_pack("{s:s, s:s, s:s, s:I, s:I}", "secret_id", r->id, "secret_name",
			       r->name, "kind", r->kind, "grants_revoked", (json_int_t)*grants,
			       "leases", (json_int_t)*leases),
		       e) || store_commit(&t, e)
		       ? -1
		       : 0;
}

/* Works without the key (DECISIONS K9). */
int cmd_secret_delete(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_secret_row struct store_secret r = STORE_SECRET_INIT;
	cleanup_free char *base = work_run_base();
	cleanup_free char *reason = cp_redact(cl_str_or(c, "reason", ""));
	int64_t grants = 0, leases = 0;

	if (keyed_without(c, STORE_RW, &k, e) || secret_find(&k, cl_operand(c, 0), &r, e) ||
		delete_row(&k, &r, reason, &grants, &leases, e))
		return -1;
	if (leases)
		revoke_tell(k.store, base);
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:s, s:b, s:I, s:I}", "id", r.id, "name", r.name,
			"kind", r.kind, "deleted", 1, "grants_revoked", (json_int_t)grants,
			"leases", (json_int_t)leases));
	else
		(void)printf("✓ deleted %s (%s), revoking %lld grant(s)\n", r.name, r.kind,
			(long long)grants);
	if (!c->json && leases)
		(void)printf("  asked back from %lld lease(s)\n", (long long)leases);
	return 0;
}
