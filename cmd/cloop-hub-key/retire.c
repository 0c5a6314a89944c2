/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"
#include "base/mem.h"

#include <string.h>

/* Why it cannot go, as far as can be told beforehand; the store asks again when it goes. */
static int may_go(struct keyed *k, const struct store_key *row, struct cl_err *e)
{
	int64_t n;

	if (!strcmp(row->state, "primary")) {
		(void)cl_fail(e, CL_EREFUSED, "%s is the primary: everything is sealed under it",
			row->id);
		return cl_fix(e, "retire it after: cloop hub key rotate");
	}
	if (!strcmp(row->state, "retired"))
		return cl_fail(e, CL_EREFUSED, "%s is retired already", row->id);
	if (store_key_uses(k->store, row->id, &n, e))
		return -1;
	if (!n)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "%lld row%s sealed under %s", (long long)n,
		n == 1 ? " is" : "s are", row->id);
	return cl_fix(e, "retire it after: cloop hub key rotate --continue");
}

static int go(struct keyed *k, const struct store_key *row, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	bool won;

	if (store_begin(k->store, &t, e) || store_key_retire(k->store, row->id, k->now, &won, e))
		return -1;
	if (!won) {
		(void)cl_fail(e, CL_EBUSY, "%s is in use again", row->id);
		return cl_fix(e, "cloop hub key status");
	}
	return keyed_audit(k, "sealing_key.retire", "sealing_key", row->id, NULL, e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}

int key_retire(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_key_row struct store_key row = STORE_KEY_INIT;
	cleanup_free char *id = NULL;
	bool found, yes = cl_flag(c, "yes");

	if (keyed_without(c, yes ? STORE_RW : STORE_RO, &k, e) ||
		store_id(k.store, "sealing_key", "key", "kek_", cl_operand(c, 0), &id, e) ||
		store_key_get(k.store, id, &row, &found, e))
		return -1;
	if (!found)
		return cl_fail(e, CL_ENOTFOUND, "there is no key '%s'", id);
	if (may_go(&k, &row, e) || (yes && go(&k, &row, e)))
		return -1;
	if (c->json)
		cl_take_json(json_pack("{s:s, s:b}", "id", row.id, "retired", yes));
	else if (yes)
		(void)printf("✓ retired %s: it cannot be derived again\n", row.id);
	else
		(void)printf("nothing is sealed under %s; a backup of state.db from before the "
			     "rotation would not open any more\n  retire it with: cloop hub key "
			     "retire %s --yes\n",
			row.id, row.id);
	return 0;
}
