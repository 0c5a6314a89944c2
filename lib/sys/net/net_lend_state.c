/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/net/net_lend_internal.h"
#include "sys/path.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX (16u << 20)

static void lent_release(struct lent *l)
{
	free(l->name);
	cl_strv_release(&l->altnames);
	cl_buf_release(&l->addresses);
	cl_buf_release(&l->routes);
}

void lents_release(struct lents *l)
{
	for (size_t i = 0; i < l->n; i++)
		lent_release(&l->v[i]);
	free(l->v);
	*l = (struct lents){0};
}

struct lent *lents_add(struct lents *l)
{
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	l->v[l->n] = (struct lent){
		.altnames = CL_STRV_INIT, .addresses = CL_BUF_INIT, .routes = CL_BUF_INIT};
	return &l->v[l->n++];
}

void lents_drop(struct lents *l, size_t i)
{
	lent_release(&l->v[i]);
	memmove(&l->v[i], &l->v[i + 1], (--l->n - i) * sizeof(*l->v));
}

int lents_here(struct lents *l, struct cl_err *e)
{
	struct stat st;

	if (stat("/proc/thread-self/ns/net", &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '/proc/thread-self/ns/net'");
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

/* ---- as text ---- */

static json_t *bytes_json(const void *p, size_t len)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	cl_b64_encode(CL_B64, p, len, &text);
	return json_string(text.p);
}

static json_t *lent_json(const struct lent *l)
{
	json_t *names = json_array();

	for (size_t i = 0; i < l->altnames.n; i++)
		(void)json_array_append_new(names, json_string(l->altnames.v[i]));
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "name", l->name,
		"source", l->source, "target", l->target, "index", (json_int_t)l->index, "mtu",
		(json_int_t)l->mtu, "up", l->up, "mac", bytes_json(l->mac, l->nmac), "altnames",
		names, "addresses", bytes_json(l->addresses.p, l->addresses.len), "routes",
		bytes_json(l->routes.p, l->routes.len));
}

static json_t *lents_json(const struct lents *l)
{
	json_t *links = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(links, lent_json(&l->v[i]));
	return json_pack("{s:I, s:I, s:o}", "dev", (json_int_t)l->dev, "ino", (json_int_t)l->ino,
		"links", links);
}

static bool bytes_of(const char *text, struct cl_buf *out)
{
	return cl_b64_decode(CL_B64, text, strlen(text), false, out);
}

static bool name_of(const char *text, char out[IFNAMSIZ])
{
	if (!*text || strlen(text) >= IFNAMSIZ)
		return false;
	(void)snprintf(out, IFNAMSIZ, "%s", text);
	return true;
}

static bool lent_read(json_t *j, struct lent *l)
{
	const char *name, *source, *target, *mac, *addresses, *routes;
	cleanup_buf struct cl_buf hard = CL_BUF_INIT;
	json_int_t index, mtu;
	json_t *names, *v;
	int up;
	size_t i;

	if (json_unpack(j, "{s:s, s:s, s:s, s:I, s:I, s:b, s:s, s:o, s:s, s:s}", "name", &name,
		    "source", &source, "target", &target, "index", &index, "mtu", &mtu, "up", &up,
		    "mac", &mac, "altnames", &names, "addresses", &addresses, "routes", &routes) ||
		!name_of(source, l->source) || !name_of(target, l->target) || index <= 0 ||
		index > INT32_MAX || mtu < 0 || mtu > UINT32_MAX || !bytes_of(mac, &hard) ||
		hard.len > sizeof(l->mac) || !bytes_of(addresses, &l->addresses) ||
		!bytes_of(routes, &l->routes))
		return false;
	l->name = cl_strdup(name);
	l->index = (unsigned)index;
	l->mtu = (unsigned)mtu;
	l->up = up;
	l->nmac = hard.len;
	memcpy(l->mac, hard.p, hard.len);
	json_array_foreach (names, i, v)
		if (json_is_string(v))
			cl_strv_add(&l->altnames, json_string_value(v));
	return true;
}

static bool lents_decode(const char *text, size_t len, struct lents *out)
{
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *links = NULL, *v;
	json_int_t dev = 0, ino = 0;
	bool ok = !json_unpack(j, "{s:I, s:I, s:o}", "dev", &dev, "ino", &ino, "links", &links) &&
		  json_is_array(links) && json_array_size(links) <= NET_LENT_MAX;
	size_t i;

	out->dev = (uint64_t)dev;
	out->ino = (uint64_t)ino;
	if (ok)
		json_array_foreach (links, i, v)
			ok = ok && lent_read(v, lents_add(out));
	json_decref(j);
	return ok;
}

/* ---- on disk ---- */

static void record_name(const char *handle, char out[24])
{
	(void)snprintf(out, 24, "%.16s.lent", handle);
}

int lents_read(const struct net_dirs *d, const char *handle, struct lents *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	char name[24];

	record_name(handle, name);
	if (sys_read_small(d->net, name, RECORD_MAX, &text, e))
		return e->code == CL_ENOTFOUND ? 0 : cl_wrap(e, "%s/net", d->root);
	if (lents_decode(text.p, text.len, out))
		return 0;
	lents_release(out);
	(void)cl_fail(e, CL_EDATA,
		"'%s/net/%s' cannot be read, so the interfaces of workload '%s' are not known",
		d->root, name, handle);
	return cl_fix(e,
		"'ip -n' shows what is in '%s/netns/%s': move it back by hand, then remove that "
		"file",
		d->root, handle);
}

int lents_write(
	const struct net_dirs *d, const char *handle, const struct lents *l, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	cleanup_free char *text = NULL;
	char name[24];
	json_t *j;

	record_name(handle, name);
	if (!l->n) {
		if (unlinkat(d->net, name, 0) && errno != ENOENT)
			return cl_fail_sys(
				e, CL_EOS, errno, "cannot remove '%s/net/%s'", d->root, name);
		return 0;
	}
	j = lents_json(l);
	text = j ? json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	json_decref(j);
	if (!text)
		return cl_fail(e, CL_EDATA, "an interface has a name that is not UTF-8");
	return sys_write_atomic(d->net, name, text, strlen(text), &owner, e);
}

char *lents_holder(const struct net_dirs *d, const char *handle, const char *source)
{
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	struct cl_err ignored;

	if (net_handles(d->netns, &handles, &ignored))
		return NULL;
	for (size_t i = 0; i < handles.n; i++) {
		cleanup_lents struct lents l = {0};

		if (!strcmp(handles.v[i], handle) || lents_read(d, handles.v[i], &l, &ignored))
			continue;
		for (size_t k = 0; k < l.n; k++)
			if (!strcmp(l.v[k].source, source))
				return cl_strdup(handles.v[i]);
	}
	return NULL;
}
