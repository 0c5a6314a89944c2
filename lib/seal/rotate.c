/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rotation: a new key, and every data key wrapped under it. */
#include "base/mem.h"
#include "base/text.h"
#include "seal/ring_internal.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

/* One pass over one set. */
struct pass {
	struct seal_ring *ring;
	struct ring_key *target;
	enum store_set set;
	struct store_rotation *rotation;
	char after[64];
	int64_t seen;
};

static void failed_row(struct store_rotation *rot, const struct cl_err *why)
{
	rot->failed++;
	if (!rot->error)
		rot->error = cl_strdup(why->msg);
}

/* A row that does not open stays where it is and is counted: the others go on. */
static int move_row(const struct store_sealed *row, void *arg, struct cl_err *e)
{
	struct pass *p = arg;
	struct seal_place at = {store_set_name(p->set), row->id};
	cleanup_free char *what = cl_asprintf("the row %s", row->id);
	cleanup_seal struct seal_buf dek = SEAL_BUF_INIT;
	unsigned char wrapped[SEAL_WRAPPED];
	char text[2 * SEAL_WRAPPED + 1];
	struct seal_kek from, to = ring_kek(p->target);
	struct ring_key *old;
	struct cl_err why;
	bool won;

	(void)snprintf(p->after, sizeof(p->after), "%s", row->id);
	p->seen++;
	if (ring_usable(p->ring, row->key_id, what, &old, &why)) {
		failed_row(p->rotation, &why);
		return 0;
	}
	from = ring_kek(old);
	if (seal_buf_make(&dek, SEAL_KEY, e))
		return -1;
	if (!cl_unhex(row->wrapped, wrapped, sizeof(wrapped)) ||
		seal_unwrap(&from, &at, wrapped, dek.p, &why)) {
		(void)cl_fail(&why, CL_EDATA, "%s does not open: it was altered", what);
		failed_row(p->rotation, &why);
		return 0;
	}
	if (seal_wrap(&to, &at, NULL, dek.p, wrapped, e))
		return -1;
	cl_hex(wrapped, sizeof(wrapped), text);
	if (store_sealed_swap(p->ring->store, p->set, row, p->target->row.id, text, &won, e))
		return -1;
	p->rotation->rewrapped += won;
	p->rotation->skipped += !won;
	return 0;
}

/* Rows and counters move together, so that a killed rotation has counted what it did. */
static int move_batch(struct pass *p, int64_t batch, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	p->seen = 0;
	if (store_begin(p->ring->store, &t, e) ||
		store_sealed_each(p->ring->store, p->set, p->target->row.id, p->after, batch,
			move_row, p, e) ||
		store_rotation_set(p->ring->store, p->rotation, e))
		return -1;
	return store_commit(&t, e);
}

/* False in *ours when another rotation has made a primary since. */
static int still_ours(const struct pass *p, bool *ours, struct cl_err *e)
{
	cleanup_free char *now = NULL;

	if (store_key_primary(p->ring->store, &now, e))
		return -1;
	*ours = now && !strcmp(now, p->target->row.id);
	return 0;
}

#define PASSES 5

/* Rows that others put under old keys meanwhile are found by another pass. */
static int move_all(struct pass *p, const struct seal_rotate *how, bool *whole, struct cl_err *e)
{
	for (int n = 0; n < PASSES; n++) {
		int64_t before = p->rotation->rewrapped;

		p->rotation->failed = 0;
		for (int set = 0; set < STORE_NSETS; set++) {
			p->set = (enum store_set)set;
			p->after[0] = '\0';
			do {
				if (still_ours(p, whole, e))
					return -1;
				*whole = *whole && !(how->stop && how->stop(how->arg));
				if (!*whole)
					return 0;
				if (move_batch(p, how->batch, e))
					return -1;
			} while (p->seen == how->batch);
		}
		if (p->rotation->rewrapped == before)
			return 0;
	}
	return 0;
}

static int begin(struct seal_ring *r, const struct seal_rotate *how, const struct seal_who *who,
	struct store_rotation *rot, struct cl_err *e)
{
	cleanup_free char *was = NULL;
	char id[32];
	bool won = true;

	if (store_key_primary(r->store, &was, e) ||
		(!how->resume && ring_mint(r, was ? was : "", who, &won, e)))
		return -1;
	if (!won) {
		(void)cl_fail(e, CL_EBUSY, "another process rotates at this moment");
		return cl_fix(e, "see how far it is: cloop hub key status");
	}
	if (sys_new_id("rot_", 24, id, sizeof(id), e) ||
		store_rotation_supersede(r->store, who->now, e))
		return -1;
	*rot = (struct store_rotation){.id = cl_strdup(id),
		.state = cl_strdup("running"),
		.started_at = who->now,
		.actor = cl_strdup(who->actor)};
	return store_key_primary(r->store, &rot->target, e) ||
			       store_rotation_insert(r->store, rot, e)
		       ? -1
		       : 0;
}

static void state(struct store_rotation *rot, const char *name)
{
	free(rot->state);
	rot->state = cl_strdup(name);
}

int seal_ring_rotate(struct seal_ring *r, const struct seal_rotate *how, const struct seal_who *who,
	struct store_rotation *out, struct cl_err *e)
{
	struct pass p = {.ring = r, .rotation = out};
	bool whole = false;

	store_rotation_release(out);
	if (begin(r, how, who, out, e) ||
		ring_usable(r, out->target, "the new primary", &p.target, e) ||
		move_all(&p, how, &whole, e))
		return -1;
	state(out, !whole ? "interrupted" : out->failed ? "failed" : "completed");
	out->ended_at = who->now;
	return store_rotation_set(r->store, out, e);
}
