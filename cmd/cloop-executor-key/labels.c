/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `labels ID KEY=VALUE...`: what is stored of an executor's labels, changed and signed anew. */
#include "key.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/place.h"
#include "policy/secret/secret_subject.h"
#include "store/audit.h"
#include "work/fleet.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 100 /* of writing against others who write */

struct edit {
	struct cl_ctx *c;
	struct keyed k;
	const struct cfg_executor *x;
	struct seal_signer signer;
	struct store_labels old;
	bool found, genuine; /* old, as work_labels_get has them */
	json_t *labels;      /* as they will be stored */
	bool changed;
};

static int bad(const char *text, const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "the label '%.160s' %s", text, why);
	(void)cl_slug(e, "invalid_label");
	return cl_fix(e, "write KEY=VALUE, such as region=eu, or KEY- to take one away");
}

/* What a selector could name, in the sizes that placement takes. */
static int check(const char *text, const char *key, const char *value, struct cl_err *e)
{
	cleanup_labels struct sec_labels one = SEC_LABELS_INIT;

	if (!cl_utf8_valid(text, strlen(text)))
		return bad(text, "is no UTF-8", e);
	if (strlen(key) > PL_MAX_WORD || (value && strlen(value) > PL_MAX_WORD))
		return bad(text, "is longer than 256 bytes in its key or its value", e);
	return sec_label_set(&one, key, value ? value : "", e);
}

/* One operand: KEY=VALUE sets, KEY- takes away. */
static int apply_one(struct edit *x, const char *text, struct cl_err *e)
{
	const char *eq = strchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : strlen(text);
	cleanup_free char *key = NULL;

	if (!eq && (len < 2 || text[len - 1] != '-'))
		return bad(text, "has no value", e);
	key = cl_strndup(text, eq ? len : len - 1);
	if (check(text, key, eq ? eq + 1 : NULL, e))
		return -1;
	if (eq)
		(void)json_object_set_new(x->labels, key, json_string(eq + 1));
	else
		(void)json_object_del(x->labels, key);
	return 0;
}

/* What stands there, if it is ours: what somebody else wrote is not carried over. */
static int start_from_old(struct edit *x, struct cl_err *e)
{
	json_decref(x->labels);
	x->labels = NULL;
	store_labels_release(&x->old);
	if (work_labels_get(
		    x->k.store, x->signer.public_key, x->x->id, &x->old, &x->found, &x->genuine, e))
		return -1;
	if (x->found && x->genuine)
		x->labels = json_loads(x->old.labels, JSON_REJECT_DUPLICATES, NULL);
	else if (!x->genuine)
		cl_warn(x->c,
			"what was stored of the labels of '%s' is not as this hub signed it, and "
			"is dropped",
			x->x->id);
	if (!json_is_object(x->labels)) {
		json_decref(x->labels);
		x->labels = json_object();
	}
	return 0;
}

static int compute(struct edit *x, struct cl_err *e)
{
	if (start_from_old(x, e))
		return -1;
	for (size_t i = 1; i < x->c->noperands; i++)
		if (apply_one(x, cl_operand(x->c, i), e))
			return -1;
	if (json_object_size(x->labels) <= PL_MAX_LIST)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "executor '%s' would have %zu labels, and %d are the most",
		x->x->id, json_object_size(x->labels), PL_MAX_LIST);
	return cl_fix(e, "take some away: KEY-");
}

static int audit(struct edit *x, struct cl_err *e)
{
	json_t *before = x->found ? json_loads(x->old.labels, 0, NULL) : NULL;
	json_t *detail = json_pack("{s:o, s:O, s:s}", "before", before ? before : json_null(),
		"after", x->labels, "decision", "allow");
	const struct store_audit_row row = {
		x->k.actor, "executor.labels", "executor", x->x->id, NULL, detail};
	int rc = store_audit_add(x->k.store, x->k.now, &row, e);

	json_decref(detail);
	return rc;
}

/* *won false: somebody changed them meanwhile. */
static int write_once(struct edit *x, bool *won, struct cl_err *e)
{
	cleanup_label_row struct store_labels row = {.executor_id = cl_strdup(x->x->id),
		.labels = cl_json_text(x->labels),
		.created_at = x->k.now,
		.created_by = cl_strdup(x->k.actor)};
	cleanup_txn struct store_txn t = {0};

	*won = true;
	x->changed = !x->found || !x->genuine || strcmp(row.labels, x->old.labels) != 0;
	if (!x->changed)
		return 0;
	if (seal_labels_sign(&x->signer, &row, e) || store_begin(x->k.store, &t, e) ||
		store_labels_put(x->k.store, &row, x->found ? x->old.signature : NULL, won, e))
		return -1;
	if (!*won)
		return 0;
	return audit(x, e) || store_commit(&t, e) ? -1 : 0;
}

static int run(struct edit *x, struct cl_err *e)
{
	bool won;

	if (keyed_open(x->c, &x->k, e) || key_executor(&x->k, cl_operand(x->c, 0), &x->x, e) ||
		keyed_signer(&x->k, &x->signer, e))
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		if (compute(x, e) || write_once(x, &won, e))
			return -1;
		if (won)
			return 0;
	}
	return cl_fail(e, CL_EBUSY, "the labels of '%s' change too fast; try again", x->x->id);
}

static void tell(const struct edit *x)
{
	const char *key;
	json_t *value;

	if (x->c->json) {
		cl_take_json(json_pack("{s:o, s:O, s:b}", "executor_id", cl_json_string(x->x->id),
			"stored", x->labels, "changed", x->changed));
		return;
	}
	json_object_foreach (x->labels, key, value)
		(void)printf("%s=%s\n", key, json_string_value(value));
	if (!json_object_size(x->labels))
		(void)printf("%s: no stored labels\n", x->x->id);
}

int key_labels(struct cl_ctx *c, struct cl_err *e)
{
	struct edit x = {
		.c = c, .k = KEYED_INIT, .signer = SEAL_SIGNER_INIT, .old = STORE_LABELS_INIT};
	int rc = run(&x, e);

	if (!rc)
		tell(&x);
	json_decref(x.labels);
	store_labels_release(&x.old);
	seal_signer_release(&x.signer);
	keyed_release(&x.k);
	return rc;
}
