/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/lease_wire.h"

#include "base/num.h"

#include <string.h>

/* Counts at first, with p NULL, then writes. */
struct out {
	unsigned char *p;
	size_t len;
};

static void raw(struct out *o, const void *p, size_t len)
{
	if (o->p && len)
		memcpy(o->p + o->len, p, len);
	o->len += len;
}

static void field(struct out *o, const char *p, size_t len)
{
	const unsigned char size[4] = {(unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len};

	raw(o, size, sizeof(size));
	raw(o, p, len);
	raw(o, "", 1);
}

static void record(struct out *o, char letter, const char *const *texts, size_t n)
{
	raw(o, &letter, 1);
	for (size_t i = 0; i < n; i++)
		field(o, texts[i], strlen(texts[i]));
}

/* A record whose fields, or the first of them, are texts. */
#define RECORD(o, letter, ...)                                    \
	record((o), (letter), (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char *some(const char *s)
{
	return s ? s : "";
}

static void vars(struct out *o, const struct sec_lease *l, size_t material)
{
	for (size_t i = 0; i < l->nvars; i++) {
		const struct sec_var *v = &l->vars[i];

		if (v->material != material)
			continue;
		RECORD(o, 'V', v->name, v->sensitive ? "s" : "");
		field(o, v->value.p, v->value.len);
	}
}

static void hardware(struct out *o, const struct sec_material *m)
{
	char mtu[24];

	for (size_t i = 0; i < m->devices.n; i++) {
		const struct sec_device *d = &m->devices.v[i];

		RECORD(o, 'D', d->name, d->source, d->target, sec_access_name(d->access));
	}
	for (size_t i = 0; i < m->interfaces.n; i++) {
		const struct sec_interface *f = &m->interfaces.v[i];

		(void)snprintf(mtu, sizeof(mtu), "%u", f->mtu);
		RECORD(o, 'N', f->name, f->source, f->target, some(f->address), some(f->gateway),
			mtu, f->raw ? "r" : "");
	}
}

static void material(struct out *o, const struct sec_lease *l, size_t n)
{
	const struct sec_material *m = &l->materials[n];

	RECORD(o, 'I', sec_kinds[m->kind].name, m->secret_name, m->secret_id, m->grant_id,
		m->constraints.p, m->delivers.p);
	vars(o, l, n);
	for (size_t i = 0; i < m->nfiles; i++) {
		RECORD(o, 'F', m->files[i].name, m->files[i].executable ? "x" : "");
		field(o, m->files[i].data.p, m->files[i].data.len);
	}
	for (size_t i = 0; i < m->nmounts; i++)
		RECORD(o, 'M', m->mounts[i].name, m->mounts[i].source, m->mounts[i].target,
			m->mounts[i].writable ? "w" : "", m->mounts[i].id);
	hardware(o, m);
}

static void write_all(struct out *o, const struct sec_lease *l, const char *id)
{
	char expires[24];

	(void)snprintf(expires, sizeof(expires), "%lld", (long long)l->expires_at * 1000);
	raw(o, "cloop-lease 1\n", 14);
	RECORD(o, 'L', id, expires);
	vars(o, l, SIZE_MAX);
	for (size_t i = 0; i < l->nmaterials; i++)
		material(o, l, i);
	for (size_t i = 0; i < l->nsecrets; i++) {
		raw(o, "R", 1);
		field(o, l->secrets[i].p, l->secrets[i].len);
	}
	for (size_t i = 0; i < l->nrefused; i++) {
		const struct sec_refused *r = &l->refused[i];

		RECORD(o, 'X', sec_kinds[r->kind].name, r->secret_name, r->secret_id, r->grant_id,
			cl_err_slug(&r->error), r->error.msg, r->error.fix);
	}
	raw(o, "E", 1);
}

int lease_pack(const struct sec_lease *l, const char *id, struct seal_buf *out, struct cl_err *e)
{
	struct out o = {0};

	write_all(&o, l, id);
	if (o.len > LEASE_WIRE_MAX)
		return cl_fail(e, CL_EDATA, "the lease holds %zu bytes, and %u is the most", o.len,
			LEASE_WIRE_MAX);
	if (seal_buf_make(out, o.len, e))
		return -1;
	o = (struct out){.p = out->p};
	write_all(&o, l, id);
	out->len = o.len;
	return 0;
}
