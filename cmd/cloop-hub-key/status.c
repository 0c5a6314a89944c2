/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

#define PAST 5 /* rotations that are shown */

struct status {
	struct cl_ctx *ctx;
	struct keyed *k;
	struct cl_table t;
	json_t *keys, *sets, *rotations;
	char *primary;
	int64_t nkeys, waiting;
	bool known; /* the root key is */
};

/* "yes", "NO", "shredded", or "-" when there is no key to try. */
static int opens(struct status *s, const struct store_key *row, const char **word, struct cl_err *e)
{
	bool yes;

	*word = "shredded";
	if (!strcmp(row->state, "retired"))
		return 0;
	*word = "-";
	if (!s->known)
		return 0;
	if (seal_ring_opens(s->k->ring, row->id, &yes, e))
		return -1;
	*word = yes ? "yes" : "NO";
	return 0;
}

static json_t *openable(const char *word)
{
	return *word == '-' ? json_null() : json_boolean(*word == 'y');
}

static int one_key(const struct store_key *row, void *arg, struct cl_err *e)
{
	struct status *s = arg;
	cleanup_free char *uses = NULL;
	const char *word;
	char when[32], gone[32] = "";
	int64_t n;

	if (opens(s, row, &word, e) || store_key_uses(s->k->store, row->id, &n, e))
		return -1;
	s->nkeys++;
	cl_format_time(row->created_at / 1000, when);
	if (row->retired_at)
		cl_format_time(row->retired_at / 1000, gone);
	(void)json_array_append_new(
		s->keys, json_pack("{s:s, s:s, s:b, s:s, s:o, s:I, s:s, s:s, s:s?}", "id", row->id,
				 "state", row->state, "primary", !strcmp(row->state, "primary"),
				 "method", row->method, "openable", openable(word), "rows",
				 (json_int_t)n, "created_at", when, "created_by", row->created_by,
				 "retired_at", *gone ? gone : NULL));
	uses = cl_asprintf("%lld", (long long)n);
	cl_table_add(&s->t, row->id);
	cl_table_add(&s->t, row->state);
	cl_table_add(&s->t, word);
	cl_table_add(&s->t, uses);
	cl_table_add(&s->t, when);
	cl_table_add(&s->t, row->created_by);
	return 0;
}

static int the_sets(struct status *s, struct cl_err *e)
{
	for (int i = 0; i < STORE_NSETS; i++) {
		int64_t all, other;

		if (store_sealed_count(s->k->store, (enum store_set)i, s->primary ? s->primary : "",
			    &all, &other, e))
			return -1;
		s->waiting += other;
		(void)json_array_append_new(s->sets,
			json_pack("{s:s, s:I, s:I}", "set", store_set_name((enum store_set)i),
				"rows", (json_int_t)all, "awaiting_rotation", (json_int_t)other));
	}
	return 0;
}

static int one_rotation(const struct store_rotation *r, void *arg, struct cl_err *e)
{
	struct status *s = arg;
	char when[32];

	(void)e;
	cl_format_time(r->started_at / 1000, when);
	if (!s->ctx->json && !json_array_size(s->rotations))
		(void)printf("\nRotations, the newest first:\n");
	if (!s->ctx->json)
		(void)printf("  %s  %s  to %s  %s: %lld moved, %lld skipped, %lld failed%s%s\n",
			when, r->id, r->target, r->state, (long long)r->rewrapped,
			(long long)r->skipped, (long long)r->failed, r->error ? ": " : "",
			r->error ? r->error : "");
	(void)json_array_append_new(s->rotations, store_rotation_json(r));
	return 0;
}

static void as_text(struct status *s, const struct cl_err *why)
{
	if (s->known)
		(void)printf(
			"root key   %s (%s)\n", s->k->root.source, seal_root_method(&s->k->root));
	else
		(void)printf("root key   none: %s\n", why->msg);
	(void)printf("primary    %s\n", s->primary ? s->primary : "none yet");
	(void)printf("keys       %lld\n", (long long)s->nkeys);
	if (s->waiting)
		(void)printf("waiting    %lld rows are under other keys: cloop hub key rotate "
			     "--continue\n",
			(long long)s->waiting);
	if (!s->nkeys)
		return;
	(void)printf("\n");
	cl_table_print(&s->t, stdout);
}

static int show(struct status *s, const struct cl_err *why, struct cl_err *e)
{
	static const char *const heads[] = {"KEY", "STATE", "OPENS", "ROWS", "CREATED", "BY"};

	for (size_t i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&s->t, heads[i]);
	if (store_key_primary(s->k->store, &s->primary, e) ||
		store_key_each(s->k->store, one_key, s, e) || the_sets(s, e))
		return -1;
	if (!s->ctx->json)
		as_text(s, why);
	if (store_rotation_each(s->k->store, PAST, one_rotation, s, e))
		return -1;
	if (s->ctx->json)
		cl_take_json(json_pack("{s:{s:s?, s:s?, s:s?}, s:s?, s:O, s:O, s:O}", "root",
			"source", s->known ? s->k->root.source : NULL, "method",
			s->known ? seal_root_method(&s->k->root) : NULL, "error",
			s->known ? NULL : why->msg, "primary", s->primary, "keys", s->keys, "sets",
			s->sets, "rotations", s->rotations));
	return 0;
}

/* Looks without making anything, and without the key as far as it goes. */
int key_status(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	struct status s = {.ctx = c,
		.k = &k,
		.keys = json_array(),
		.sets = json_array(),
		.rotations = json_array()};
	struct cl_err why;
	int rc = keyed_without(c, STORE_RO, &k, e);

	cl_table_init(&s.t, 6);
	if (!rc) {
		s.known = !keyed_root(&k, &why);
		if (s.known)
			seal_ring_peek(k.store, &k.root, &k.ring);
		rc = show(&s, &why, e);
	}
	cl_table_release(&s.t);
	json_decref(s.keys);
	json_decref(s.sets);
	json_decref(s.rotations);
	free(s.primary);
	return rc;
}
