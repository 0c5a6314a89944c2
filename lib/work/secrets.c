/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/secrets.h"

#include "base/credpat.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/undone.h"
#include "work/fleet.h"

#include <string.h>

static int not_there(struct keyed *k, const char *ref, struct cl_err *e)
{
	cleanup_tombstone struct store_tombstone t = {0};
	char when[32], echo[CP_ECHO];
	bool found;

	if (store_tombstone_find(k->store, ref, &t, &found, e))
		return -1;
	if (!found) {
		cp_echo(ref, echo);
		(void)cl_fail(e, CL_ENOTFOUND, "there is no secret '%s'", echo);
		return cl_fix(e, "cloop secret list");
	}
	cl_format_time(t.deleted_at / 1000, when);
	(void)cl_fail(e, CL_ENOTFOUND, "the secret '%s' (%s) was deleted on %s by %s%s%s", t.name,
		t.kind, when, t.deleted_by, *t.reason ? ": " : "", t.reason);
	return cl_fix(e, "store it anew: cloop secret mint %s --kind %s", t.name, t.kind);
}

int secret_find(struct keyed *k, const char *ref, struct store_secret *out, struct cl_err *e)
{
	bool found;

	if (store_secret_find(k->store, ref, out, &found, e))
		return -1;
	return found ? 0 : not_there(k, ref, e);
}

int secret_labels(struct keyed *k, const char *executor, struct sec_labels *out, struct cl_err *e)
{
	unsigned char pub[SEAL_KEY];
	const char *key;
	json_t *value;
	bool forged, known;

	for (size_t i = 0; i < k->cfg.nexecutors; i++) {
		if (strcmp(k->cfg.executors[i].id, executor) != 0)
			continue;
		json_object_foreach (k->cfg.executors[i].labels, key, value)
			if (sec_label_set(out, key, json_string_value(value), e))
				return cl_wrap(e, "executor %s", executor);
	}
	/* What was not signed by this hub is nobody's label, and matches no grant. */
	return keyed_public(k, pub, &known, e) || work_labels_by(k->store, known ? pub : NULL,
							  executor, out, &forged, e)
		       ? -1
		       : 0;
}

int secret_open(
	struct keyed *k, const struct store_secret *r, struct seal_buf *out, struct cl_err *e)
{
	const struct store_sealed sealed = {r->id, r->key_id, r->wrapped, r->sealed};
	cleanup_free char *what = cl_asprintf("the secret '%s'", r->name);

	return seal_ring_unseal(k->ring, STORE_SECRETS, &sealed, what, out, e);
}

int grant_prove(
	struct keyed *k, const struct store_grant *g, enum grant_proof *out, struct cl_err *e)
{
	unsigned char pub[SEAL_KEY];
	bool known, end, word;

	if (keyed_public(k, pub, &known, e))
		return -1;
	if (!known || !seal_grant_verify_again(&k->memo, pub, g)) {
		*out = GRANT_UNSIGNED;
		return 0;
	}
	if (store_grant_undone(k->store, g->id, &end, &word, e))
		return -1;
	*out = end ? GRANT_PUT_BACK : GRANT_GENUINE;
	return 0;
}

int grant_admit(const struct store_grant *g, enum grant_proof proof, struct cl_err *e)
{
	if (proof == GRANT_GENUINE)
		return 0;
	if (proof == GRANT_PUT_BACK)
		(void)cl_fail(e, CL_EREFUSED,
			"the grant %.80s was revoked, as the audit trail has it, and its row does "
			"not say so: it was put back by a process without the key; find out who "
			"writes to state.db",
			g->id);
	else
		(void)cl_fail(e, CL_EREFUSED,
			"the grant %.80s is not signed by this hub: it was altered, or put into "
			"state.db by a process without the key; find out who writes to that file",
			g->id);
	(void)cl_slug(e, "forged_grant");
	return cl_fix(e, "cloop secret revoke %s", g->id);
}

int grant_check(struct keyed *k, const struct store_grant *g, struct cl_err *e)
{
	enum grant_proof proof;

	return grant_prove(k, g, &proof, e) || grant_admit(g, proof, e) ? -1 : 0;
}

bool secret_word_stands(
	struct keyed *k, const unsigned char public_key[SEAL_KEY], const struct store_grant *g)
{
	struct cl_err ignored;
	bool end, word;

	return seal_unguarded_verify(public_key, g) &&
	       !store_grant_undone(k->store, g->id, &end, &word, &ignored) && !word;
}

int secret_deny(
	struct keyed *k, const char *action, const char *id, json_t *take_detail, struct cl_err *e)
{
	json_t *detail = take_detail ? take_detail : json_object();
	struct cl_err ignored;

	(void)json_object_set_new(detail, "decision", json_string("deny"));
	(void)json_object_set_new(detail, "reason", cl_json_string(e->msg));
	/* Best effort: the refusal stands, whatever becomes of the row. */
	(void)keyed_audit(k, action, "secret", id, detail, &ignored);
	return -1;
}
