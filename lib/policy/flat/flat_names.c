/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/flat/flat_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void flat_names_release(struct flat_names *t)
{
	cl_buf_release(&t->bytes);
	free(t->v);
	free(t->slots);
	*t = FLAT_NAMES_INIT;
}

/* FNV-1a. What is named are a policy's port lists: there are few, and they are our own. */
static uint32_t hash_of(const uint8_t *p, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 16777619u;
	return h ^ h >> 15;
}

static void widen(struct flat_names *t)
{
	size_t want = t->nslots ? t->nslots * 2 : 64;
	uint32_t *slots = cl_calloc(want, sizeof(*slots));

	for (size_t i = 0; i < t->n; i++) {
		size_t at = t->v[i].hash & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->nslots = want;
}

uint32_t flat_name(struct flat_names *t, const void *bytes, size_t len)
{
	uint32_t hash = hash_of(bytes, len);
	size_t at;

	if (t->n * 2 >= t->nslots)
		widen(t);
	for (at = hash & (t->nslots - 1); t->slots[at]; at = (at + 1) & (t->nslots - 1)) {
		const struct flat_name *n = &t->v[t->slots[at] - 1];

		if (n->hash == hash && n->len == len && !memcmp(t->bytes.p + n->at, bytes, len))
			return t->slots[at] - 1;
	}
	t->v = cl_grow(t->v, &t->cap, t->n + 1, sizeof(*t->v));
	t->v[t->n] = (struct flat_name){t->bytes.len, (uint32_t)len, hash};
	cl_buf_add(&t->bytes, bytes, len);
	t->slots[at] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}
