/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Port classes: what is allowed at one address, whatever the address. */
#include "policy/flat/flat_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void flat_classes_release(struct flat_classes *c)
{
	flat_names_release(&c->names);
	free(c->v);
	free(c->spans);
	*c = FLAT_CLASSES_INIT;
}

uint32_t flat_class_of(
	struct flat_classes *c, const struct flat_ports *spans, const uint32_t n[FLAT_PROTOS])
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	size_t all = 0;
	uint32_t id;

	for (int i = 0; i < FLAT_PROTOS; i++)
		all += n[i];
	cl_buf_add(&name, n, sizeof(*n) * FLAT_PROTOS);
	cl_buf_add(&name, spans, all * sizeof(*spans));
	id = flat_name(&c->names, name.p, name.len);
	if (id < c->n)
		return id;
	c->v = cl_grow(c->v, &c->cap, c->n + 1, sizeof(*c->v));
	c->spans = cl_grow(c->spans, &c->spans_cap, c->nspans + all + 1, sizeof(*c->spans));
	memcpy(c->spans + c->nspans, spans, all * sizeof(*spans));
	for (int i = 0; i < FLAT_PROTOS; i++) {
		c->v[c->n].at[i] = (uint32_t)c->nspans;
		c->v[c->n].n[i] = n[i];
		c->nspans += n[i];
	}
	return (uint32_t)c->n++;
}

void flat_classes_begin(struct flat_classes *c)
{
	static const struct flat_ports every[FLAT_PROTOS] = {
		{0, FLAT_MAX_PORT}, {0, FLAT_MAX_PORT}, {0, FLAT_MAX_PORT}};

	(void)flat_class_of(c, every, (uint32_t[FLAT_PROTOS]){0});
	(void)flat_class_of(c, every, (uint32_t[FLAT_PROTOS]){1, 1, 1});
}

void flat_take_classes(struct flat *f, struct flat_classes *take)
{
	f->classes = cl_steal(&take->v);
	f->spans = cl_steal(&take->spans);
	f->nclasses = take->n;
	f->nspans = take->nspans;
}

static const struct flat_ports every_port = {0, FLAT_MAX_PORT};

/* What first match makes of one protocol's ports. */
struct deciding {
	struct cl_buf decided, allowed; /* port sets */
	uint32_t ndecided, nallowed;
};

static const struct flat_ports *ports_in(const struct cl_buf *b)
{
	return (const struct flat_ports *)(const void *)b->p;
}

static bool decided(const struct deciding *d)
{
	const struct flat_ports *p = ports_in(&d->decided);

	return d->ndecided == 1 && !p->lo && p->hi == FLAT_MAX_PORT;
}

static void join(struct cl_buf *set, uint32_t *n, const struct flat_ports *more, size_t nmore)
{
	struct cl_buf sum = CL_BUF_INIT;

	*n = flat_ports_either(ports_in(set), *n, more, nmore, &sum);
	cl_buf_release(set);
	*set = sum;
}

static void decide(struct deciding *d, const struct flat *f, const struct flat_decider *r)
{
	const struct flat_ports *ports = r->n ? f->ports + r->at : &every_port;
	uint32_t nports = r->n ? r->n : 1, nfresh;

	if (r->verdict == EG_ALLOW) {
		cleanup_buf struct cl_buf fresh = CL_BUF_INIT;

		nfresh =
			flat_ports_minus(ports, nports, ports_in(&d->decided), d->ndecided, &fresh);
		join(&d->allowed, &d->nallowed, ports_in(&fresh), nfresh);
	}
	join(&d->decided, &d->ndecided, ports, nports);
}

uint32_t flat_class_decided(
	struct flat_classes *c, const struct flat *f, const uint32_t *rule, size_t n)
{
	cleanup_buf struct cl_buf spans = CL_BUF_INIT;
	uint32_t count[FLAT_PROTOS];

	for (unsigned k = 0; k < FLAT_PROTOS; k++) {
		struct deciding d = {.decided = CL_BUF_INIT, .allowed = CL_BUF_INIT};

		for (size_t i = 0; i < n && !decided(&d); i++)
			if (f->rules[rule[i]].protos & 1u << k)
				decide(&d, f, &f->rules[rule[i]]);
		cl_buf_add(&spans, d.allowed.p, d.allowed.len);
		count[k] = d.nallowed;
		cl_buf_release(&d.decided);
		cl_buf_release(&d.allowed);
	}
	return flat_class_of(c, ports_in(&spans), count);
}

bool flat_class_full(const struct flat *f, const struct flat_class *c, enum eg_proto proto)
{
	const struct flat_ports *p = &f->spans[c->at[proto]];

	return c->n[proto] == 1 && !p->lo && p->hi == FLAT_MAX_PORT;
}

static bool in_ports(const struct flat_ports *p, size_t n, uint16_t port)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (port < p[mid].lo)
			hi = mid;
		else if (port > p[mid].hi)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

bool flat_class_allows(
	const struct flat *f, const struct flat_class *c, uint16_t port, enum eg_proto proto)
{
	return in_ports(f->spans + c->at[proto], c->n[proto], port);
}
