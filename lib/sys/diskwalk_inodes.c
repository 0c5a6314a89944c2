/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/diskwalk_internal.h"

#include <stdlib.h>

/* The finaliser of MurmurHash3: inode numbers are neighbours, slots must not be. */
static uint64_t mix(uint64_t dev, uint64_t ino)
{
	uint64_t x = ino ^ dev * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static struct inode_key *slot(const struct inodes *s, uint64_t dev, uint64_t ino)
{
	size_t i = mix(dev, ino) & (s->cap - 1);

	while (s->slots[i].ino && (s->slots[i].ino != ino || s->slots[i].dev != dev))
		i = (i + 1) & (s->cap - 1);
	return &s->slots[i];
}

static void widen(struct inodes *s)
{
	struct inodes wider = {.n = s->n, .cap = s->cap ? s->cap * 2 : 1024};

	wider.slots = cl_calloc(wider.cap, sizeof(*wider.slots));
	for (size_t i = 0; i < s->cap; i++)
		if (s->slots[i].ino)
			*slot(&wider, s->slots[i].dev, s->slots[i].ino) = s->slots[i];
	free(s->slots);
	*s = wider;
}

bool inodes_add(struct inodes *s, uint64_t dev, uint64_t ino)
{
	struct inode_key *at;

	if (!ino)
		return true;
	if (s->n * 4 >= s->cap * 3)
		widen(s);
	at = slot(s, dev, ino);
	if (at->ino)
		return false;
	*at = (struct inode_key){dev, ino};
	s->n++;
	return true;
}

void inodes_release(struct inodes *s)
{
	free(s->slots);
	*s = (struct inodes){0};
}
