/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/lease_wire.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/lease.h"

#include <stdlib.h>
#include <string.h>

/* Records by their letter: which may follow which is how far `stage` may go. */
enum { R_LEASE, R_VAR, R_ITEM, R_FILE, R_MOUNT, R_DEVICE, R_NET, R_REDACT, R_REFUSED, R_END, R_N };
static const struct {
	char letter;
	unsigned fields;
} records[R_N] = {
	[R_LEASE] = {'L', 2},
	[R_VAR] = {'V', 3},
	[R_ITEM] = {'I', 6},
	[R_FILE] = {'F', 3},
	[R_MOUNT] = {'M', 5},
	[R_DEVICE] = {'D', 4},
	[R_NET] = {'N', 7},
	[R_REDACT] = {'R', 1},
	[R_REFUSED] = {'X', 7},
	[R_END] = {'E', 0},
};
#define MOST_FIELDS 7

struct in {
	const unsigned char *p, *end;
	int what;
	struct lease_text f[MOST_FIELDS];
};

static int bad(struct cl_err *e, const char *what)
{
	(void)cl_fail(e, CL_EDATA, "what came as a lease is none: %s", what);
	return cl_slug(e, "bad_lease");
}

static bool read_field(struct in *in, struct lease_text *out)
{
	size_t len;

	if (in->end - in->p < 5)
		return false;
	len = (size_t)in->p[0] << 24 | (size_t)in->p[1] << 16 | (size_t)in->p[2] << 8 | in->p[3];
	in->p += 4;
	if (len >= (size_t)(in->end - in->p) || in->p[len])
		return false;
	*out = (struct lease_text){(const char *)in->p, len};
	in->p += len + 1;
	return true;
}

static int next(struct in *in, struct cl_err *e)
{
	if (in->p == in->end)
		return bad(e, "it ends early");
	for (in->what = 0; in->what < R_N; in->what++)
		if (records[in->what].letter == (char)*in->p)
			break;
	if (in->what == R_N)
		return bad(e, "a record of an unknown kind");
	in->p++;
	for (unsigned i = 0; i < records[in->what].fields; i++)
		if (!read_field(in, &in->f[i]))
			return bad(e, "a field that is longer than all of it");
	return 0;
}

/* Everything that is counted first, then filled. */
struct fill {
	struct lease *l;
	size_t n[R_N];
	struct lease_env *env;
	struct lease_item *items, *item;
	struct lease_file *files;
	struct lease_mount *mounts;
	struct lease_device *devices;
	struct lease_interface *nets;
	struct lease_text *redact;
	struct lease_refusal *refused;
};

/* A field that is a text: nothing in it ends it early. */
static bool plain(const struct lease_text *t)
{
	return strlen(t->p) == t->len;
}

static bool flag(const struct lease_text *t, const char *on, bool *out)
{
	*out = !strcmp(t->p, on);
	return *out || !t->len;
}

static bool name_ok(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool variable_ok(const char *name)
{
	return *name && !(*name >= '0' && *name <= '9') &&
	       cl_all_in(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
}

static int head(struct fill *f, const struct in *in, struct cl_err *e)
{
	const char *id = in->f[0].p;
	int64_t expires;

	if (*id && (!cl_starts(id, "lease_") || strlen(id) != STORE_LEASE_ID - 1 ||
			   !cl_all_in(id + 6, "0123456789abcdef")))
		return bad(e, "its id");
	if (cl_parse_i64(in->f[1].p, 0, INT64_MAX, "the end", &expires, e))
		return bad(e, "its end");
	f->l->id = id;
	f->l->expires_at = expires;
	return 0;
}

static int add_var(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_env *v = &f->env[f->n[R_VAR]++];

	*v = (struct lease_env){.name = in->f[0].p, .value = in->f[2]};
	if (!variable_ok(v->name) || !plain(&in->f[2]) || !flag(&in->f[1], "s", &v->sensitive))
		return bad(e, "a variable");
	if (f->item)
		f->item->nenv++;
	else
		f->l->nenv++;
	if (!strcmp(v->name, "CLOOP_LEASE_DIR"))
		f->l->dir = v->value.p;
	return 0;
}

static int add_item(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_item *i = &f->items[f->n[R_ITEM]++];

	*i = (struct lease_item){.name = in->f[1].p,
		.secret_id = in->f[2].p,
		.grant_id = in->f[3].p,
		.constraints = in->f[4].p,
		.delivers = in->f[5].p,
		.env = f->env + f->n[R_VAR],
		.files = f->files + f->n[R_FILE],
		.mounts = f->mounts + f->n[R_MOUNT],
		.devices = f->devices + f->n[R_DEVICE],
		.interfaces = f->nets + f->n[R_NET]};
	f->item = i;
	return sec_kind_parse(in->f[0].p, &i->kind, e) ? bad(e, "a kind") : 0;
}

static int add_file(struct fill *f, const struct in *in, struct cl_err *e)
{
	bool executable;

	if (!f->item || !name_ok(in->f[0].p) || !flag(&in->f[1], "x", &executable))
		return bad(e, "a file");
	f->files[f->n[R_FILE]++] =
		(struct lease_file){in->f[0].p, executable ? 0700 : 0600, in->f[2]};
	f->item->nfiles++;
	return 0;
}

static int add_mount(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_mount *m = &f->mounts[f->n[R_MOUNT]++];

	*m = (struct lease_mount){in->f[0].p, in->f[1].p, in->f[2].p, in->f[4].p, false};
	if (!f->item || !name_ok(m->name) || *m->source != '/' || *m->target != '/' ||
		!flag(&in->f[3], "w", &m->writable))
		return bad(e, "a mount");
	f->item->nmounts++;
	return 0;
}

static int add_device(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_device *d = &f->devices[f->n[R_DEVICE]++];

	*d = (struct lease_device){in->f[0].p, in->f[1].p, in->f[2].p, SEC_R};
	if (!f->item || !name_ok(d->name) || *d->source != '/' || *d->target != '/' ||
		!sec_access_parse(in->f[3].p, &d->access))
		return bad(e, "a device");
	f->item->ndevices++;
	return 0;
}

static const char *or_null(const struct lease_text *t)
{
	return t->len ? t->p : NULL;
}

static int add_net(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_interface *n = &f->nets[f->n[R_NET]++];
	int64_t mtu;

	*n = (struct lease_interface){.name = in->f[0].p,
		.source = in->f[1].p,
		.target = in->f[2].p,
		.address = or_null(&in->f[3]),
		.gateway = or_null(&in->f[4])};
	if (!f->item || !name_ok(n->name) || !name_ok(n->source) || !name_ok(n->target) ||
		cl_parse_i64(in->f[5].p, 0, 65536, "mtu", &mtu, e) ||
		!flag(&in->f[6], "r", &n->raw))
		return bad(e, "an interface");
	n->mtu = (unsigned)mtu;
	f->item->ninterfaces++;
	return 0;
}

static int add_refusal(struct fill *f, const struct in *in, struct cl_err *e)
{
	struct lease_refusal *r = &f->refused[f->n[R_REFUSED]++];

	*r = (struct lease_refusal){.name = in->f[1].p,
		.secret_id = in->f[2].p,
		.grant_id = in->f[3].p,
		.code = in->f[4].p,
		.reason = in->f[5].p,
		.fix = in->f[6].p};
	return sec_kind_parse(in->f[0].p, &r->kind, e) ? bad(e, "a kind") : 0;
}

static int add(struct fill *f, const struct in *in, struct cl_err *e)
{
	static int (*const adders[R_N])(struct fill * f, const struct in *in, struct cl_err *e) = {
		[R_LEASE] = head,
		[R_VAR] = add_var,
		[R_ITEM] = add_item,
		[R_FILE] = add_file,
		[R_MOUNT] = add_mount,
		[R_DEVICE] = add_device,
		[R_NET] = add_net,
		[R_REFUSED] = add_refusal,
	};
	/* Bytes are what a file and a value to scrub may be; everything else is text. */
	for (unsigned i = 0; i < records[in->what].fields; i++)
		if (in->what != R_REDACT && !(in->what == R_FILE && i == 2) && !plain(&in->f[i]))
			return bad(e, "a text with a NUL in it");
	if (in->what == R_REDACT) {
		f->redact[f->n[R_REDACT]++] = in->f[0];
		return 0;
	}
	return adders[in->what] ? adders[in->what](f, in, e) : 0;
}

static const char magic[] = "cloop-lease 1\n";

/* Walks the records; f NULL: only counts. */
static int walk(const struct seal_buf *b, struct fill *f, size_t count[R_N], struct cl_err *e)
{
	struct in in = {.p = b->p + sizeof(magic) - 1, .end = b->p + b->len};
	bool first = true;

	do {
		if (next(&in, e))
			return -1;
		if (first != (in.what == R_LEASE))
			return bad(e, "it does not begin with a lease");
		first = false;
		count[in.what]++;
		if (f && add(f, &in, e))
			return -1;
	} while (in.what != R_END);
	return in.p == in.end ? 0 : bad(e, "something comes after its end");
}

static void *carve(char **at, size_t n, size_t size)
{
	void *p = *at;

	*at += n * size;
	return p;
}

static void make_tables(struct fill *f, const size_t n[R_N])
{
	size_t size = n[R_VAR] * sizeof(*f->env) + n[R_ITEM] * sizeof(*f->items) +
		      n[R_FILE] * sizeof(*f->files) + n[R_MOUNT] * sizeof(*f->mounts) +
		      n[R_DEVICE] * sizeof(*f->devices) + n[R_NET] * sizeof(*f->nets) +
		      n[R_REDACT] * sizeof(*f->redact) + n[R_REFUSED] * sizeof(*f->refused);
	char *at = f->l->tables = cl_calloc(1, size + 1);

	f->env = carve(&at, n[R_VAR], sizeof(*f->env));
	f->items = carve(&at, n[R_ITEM], sizeof(*f->items));
	f->files = carve(&at, n[R_FILE], sizeof(*f->files));
	f->mounts = carve(&at, n[R_MOUNT], sizeof(*f->mounts));
	f->nets = carve(&at, n[R_NET], sizeof(*f->nets));
	f->redact = carve(&at, n[R_REDACT], sizeof(*f->redact));
	f->refused = carve(&at, n[R_REFUSED], sizeof(*f->refused));
	f->devices = carve(&at, n[R_DEVICE], sizeof(*f->devices));
	*f->l = (struct lease){.id = "",
		.dir = "",
		.items = f->items,
		.nitems = n[R_ITEM],
		.env = f->env,
		.redact = f->redact,
		.nredact = n[R_REDACT],
		.refused = f->refused,
		.nrefused = n[R_REFUSED],
		.mem = f->l->mem,
		.tables = f->l->tables};
}

int lease_parse(struct seal_buf *take_bytes, struct lease **out, struct cl_err *e)
{
	cleanup_held struct lease *l = cl_calloc(1, sizeof(*l));
	struct fill f = {.l = l};
	size_t count[R_N] = {0}, again[R_N] = {0};

	*out = NULL;
	l->mem = *take_bytes;
	*take_bytes = SEAL_BUF_INIT;
	if (l->mem.len < sizeof(magic) - 1 || memcmp(l->mem.p, magic, sizeof(magic) - 1) != 0)
		return bad(e, "it does not begin like one");
	if (walk(&l->mem, NULL, count, e))
		return -1;
	make_tables(&f, count);
	if (walk(&l->mem, &f, again, e))
		return -1;
	if (*l->id && strncmp(l->dir, LEASE_DIR_PREFIX, sizeof(LEASE_DIR_PREFIX) - 1) != 0)
		return bad(e, "it has no directory");
	*out = cl_steal(&l);
	return 0;
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	seal_buf_release(&l->mem);
	free(l->tables);
	free(l);
}

void lease_cleanup(struct lease **l)
{
	lease_free(*l);
	*l = NULL;
}
