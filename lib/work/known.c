/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/known.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void known_drop(struct known *k)
{
	if (!k || --k->refs)
		return;
	for (size_t i = 0; i < k->n; i++) {
		store_grant_release(&k->v[i].row);
		grant_view_release(&k->v[i].view);
		store_secret_release(&k->v[i].secret);
		free(k->v[i].unreadable);
	}
	free(k->v);
	free(k->executor);
	sec_labels_release(&k->labels);
	free(k);
}

static int add(const struct store_grant *row, void *arg, struct cl_err *e)
{
	struct known *k = arg;
	struct known_grant *g;
	struct cl_err why;

	(void)e;
	k->v = cl_grow(k->v, &k->cap, k->n + 1, sizeof(*k->v));
	g = &k->v[k->n++];
	*g = (struct known_grant){.view = GRANT_VIEW_INIT};
	store_grant_copy(row, &g->row);
	if (!grant_view(&g->row, &g->view, &why))
		return 0;
	g->unreadable = cl_malloc(sizeof(why));
	*g->unreadable = why;
	return 0;
}

static int read_all(struct keyed *k, int64_t at, struct cl_err *e)
{
	const struct store_grant_filter f = {.active_at = at, .lost_too = true};
	struct known *new = cl_calloc(1, sizeof(*new));

	new->refs = 1;
	new->at = at;
	if (store_mark(k->store, &new->mark, e) || store_grant_each(k->store, &f, add, new, e)) {
		known_drop(new);
		return -1;
	}
	known_drop(k->known);
	k->known = new;
	return 0;
}

int known_grants(struct keyed *k, int64_t at, struct known **out, struct cl_err *e)
{
	struct store_mark now;

	*out = NULL;
	if (store_mark(k->store, &now, e))
		return -1;
	if ((!k->known || k->known->at > at || !store_mark_same(&k->known->mark, &now)) &&
		read_all(k, at, e))
		return -1;
	k->known->refs++;
	*out = k->known;
	return 0;
}

int known_proof(struct keyed *k, struct known_grant *g, enum grant_proof *out, struct cl_err *e)
{
	if (g->proof == GRANT_NOT_ASKED && grant_prove(k, &g->row, &g->proof, e))
		return -1;
	*out = g->proof;
	/* The key comes from a file, of which the state file's mark says nothing. */
	if (!k->public_known)
		g->proof = GRANT_NOT_ASKED;
	return 0;
}

bool known_unguarded(struct keyed *k, struct known_grant *g)
{
	if (g->unguarded == KNOWN_NOT_ASKED)
		g->unguarded =
			secret_word_stands(k, k->public_key, &g->row) ? KNOWN_HOLDS : KNOWN_FORGED;
	return g->unguarded == KNOWN_HOLDS;
}

int known_labels(struct keyed *k, struct known *snapshot, const char *executor,
	const struct sec_labels **out, struct cl_err *e)
{
	*out = &snapshot->labels;
	if (snapshot->executor && !strcmp(snapshot->executor, executor))
		return 0;
	free(snapshot->executor);
	snapshot->executor = NULL;
	sec_labels_release(&snapshot->labels);
	if (secret_labels(k, executor, &snapshot->labels, e))
		return -1;
	snapshot->executor = cl_strdup(executor);
	return 0;
}

int known_secret(
	struct keyed *k, struct known_grant *g, const struct store_secret **out, struct cl_err *e)
{
	if (!g->secret_read && secret_find(k, g->row.secret_id, &g->secret, e))
		return -1;
	g->secret_read = true;
	*out = &g->secret;
	return 0;
}
