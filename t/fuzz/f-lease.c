/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a lease from somebody who is no cloop-secret: what parses stays inside its
 * memory, has no file that leaves the lease's folder, and no text with a NUL in it.
 */
#include "base/mem.h"
#include "work/lease/lease_wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(const struct lease *l, const char *p, size_t len)
{
	const char *from = (const char *)l->mem.p;

	if (p < from || p + len >= from + l->mem.len || p[len])
		abort();
}

static void variables(const struct lease *l, const struct lease_env *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		inside(l, v[i].value.p, v[i].value.len);
		if (strlen(v[i].value.p) != v[i].value.len || strchr(v[i].name, '='))
			abort();
	}
}

static void item(const struct lease *l, const struct lease_item *i)
{
	variables(l, i->env, i->nenv);
	for (size_t n = 0; n < i->nfiles; n++) {
		inside(l, i->files[n].data.p, i->files[n].data.len);
		if (strchr(i->files[n].name, '/') || !strcmp(i->files[n].name, ".."))
			abort();
	}
	for (size_t n = 0; n < i->nmounts; n++) {
		inside(l, i->mounts[n].source, strlen(i->mounts[n].source));
		inside(l, i->mounts[n].id, strlen(i->mounts[n].id));
	}
	for (size_t n = 0; n < i->ndevices; n++)
		if (i->devices[n].access > SEC_RWM)
			abort();
	for (size_t n = 0; n < i->ninterfaces; n++)
		inside(l, i->interfaces[n].target, strlen(i->interfaces[n].target));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_held struct lease *l = NULL;
	struct seal_buf bytes = SEAL_BUF_INIT;
	struct cl_err e;

	if (size > LEASE_WIRE_MAX || seal_buf_copy(&bytes, data, size, &e))
		return 0;
	if (lease_parse(&bytes, &l, &e))
		return 0;
	variables(l, l->env, l->nenv);
	for (size_t i = 0; i < l->nitems; i++)
		item(l, &l->items[i]);
	for (size_t i = 0; i < l->nredact; i++)
		inside(l, l->redact[i].p, l->redact[i].len);
	for (size_t i = 0; i < l->nrefused; i++)
		inside(l, l->refused[i].fix, strlen(l->refused[i].fix));
	return 0;
}
