/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which interfaces of a host may be moved away, asked of the kernel at the moment of the move. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/addr.h"
#include "sys/net/net_lend_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of the host while it is judged. */
struct scene {
	const struct net_dirs *d;
	const char *handle;
	struct net_link link; /* the one in question */
	const struct net_lend *want;
	struct net_links all, inside;
	struct net_routes routes4, routes6;
};

static void scene_release(struct scene *s)
{
	net_links_release(&s->all);
	net_links_release(&s->inside);
	net_routes_release(&s->routes4);
	net_routes_release(&s->routes6);
}
#define cleanup_scene __attribute__((cleanup(scene_release)))

static int refuse(const struct net_lend *w, enum cl_code code, struct cl_err *e, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static int refuse(const struct net_lend *w, enum cl_code code, struct cl_err *e, const char *fix,
	const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, code, "interface '%s' (%s) cannot be given to this run: %s", w->name,
		w->source, why);
	(void)cl_constraint(e, "interfaces");
	return cl_fix(e, "%s", fix);
}

#define PICK_ANOTHER                                                                   \
	"name a port, or one end of a veth pair, that only the workload needs in the " \
	"inventory"

static const struct net_link *by_index(const struct net_links *l, unsigned index)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].index == index)
			return &l->v[i];
	return NULL;
}

static int is_there(const struct scene *s, struct cl_err *e)
{
	cleanup_free char *holder = NULL;

	if (s->link.index && !strcmp(s->link.name, s->want->source))
		return 0;
	if (s->link.index)
		return refuse(s->want, CL_EREFUSED, e,
			"write the name that 'ip link' shows first in the inventory",
			"that is another name of '%s'", s->link.name);
	holder = lents_holder(s->d, s->handle, s->want->source);
	if (holder)
		return refuse(s->want, CL_EBUSY, e,
			"run it again when that one has ended: 'cloop runs list --live'",
			"workload %s has it", holder);
	return refuse(s->want, CL_EREFUSED, e,
		"'ip link' lists what there is; make it, or correct the secret's inventory",
		"this host has no interface of that name");
}

static int is_no_loopback(const struct scene *s, struct cl_err *e)
{
	if (!(s->link.flags & IFF_LOOPBACK))
		return 0;
	return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER, "it is the host's loopback");
}

static bool is_ours(const struct net_link *l)
{
	return cl_starts(l->name, "csbx-") || (cl_starts(l->name, "cs") && strlen(l->name) == 14 &&
						      cl_all_in(l->name + 2, CL_DIGITS "abcdef"));
}

static int is_nobodys(const struct scene *s, struct cl_err *e)
{
	static const char *const engines[] = {"docker0", "podman0", "cni-podman0", "virbr0"};
	bool is = cl_starts(s->link.name, "br-");

	for (size_t i = 0; i < CL_ARRAY_LEN(engines); i++)
		is = is || !strcmp(s->link.name, engines[i]);
	if (is)
		return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER,
			"it is a bridge that the host's containers or machines stand on");
	return is_ours(&s->link) ? refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER,
					   "it belongs to the networks of cloop's own sandboxes")
				 : 0;
}

/* As a port it is somebody else's; as a master it takes its ports along, or the kernel refuses. */
static int is_alone(const struct scene *s, struct cl_err *e)
{
	const struct net_link *other = by_index(&s->all, s->link.master);

	if (s->link.master)
		return refuse(s->want, CL_EREFUSED, e,
			"take it out of there first (ip link set IFNAME nomaster), or name another "
			"one",
			"it is a port of '%s'", other ? other->name : "another interface");
	if (!strcmp(s->link.kind, "bridge"))
		return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER, "it is a bridge");
	for (size_t i = 0; i < s->all.n; i++) {
		other = &s->all.v[i];
		if (other->master == s->link.index)
			return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER, "'%s' is a port of it",
				other->name);
		/* The other end of a veth pair names it too, and stays. */
		if (other->lower == s->link.index && strcmp(other->kind, "veth") != 0)
			return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER,
				"'%s' stands on it, and would go with it", other->name);
	}
	return 0;
}

/* Halves of everything are how a tunnel takes a default route over. */
static bool carries_all(const struct net_routes *r, unsigned index)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].index == index && r->v[i].dst.len <= 1)
			return true;
	return false;
}

static int is_no_way_out(const struct scene *s, struct cl_err *e)
{
	bool four = carries_all(&s->routes4, s->link.index);

	if (!four && !carries_all(&s->routes6, s->link.index))
		return 0;
	return refuse(s->want, CL_EREFUSED, e, PICK_ANOTHER,
		"it carries this host's %s default route, and without it nobody could reach the "
		"host",
		four ? "IPv4" : "IPv6");
}

static int is_free_inside(const struct scene *s, struct cl_err *e)
{
	for (size_t i = 0; i < s->inside.n; i++)
		if (!strcmp(s->inside.v[i].name, s->want->target))
			return refuse(s->want, CL_EREFUSED, e,
				"give it another target= in the secret's inventory, such as eth1",
				"the sandbox has a '%s' of its own", s->want->target);
	return 0;
}

static int (*const rules[])(const struct scene *s, struct cl_err *e) = {
	is_there, is_no_loopback, is_nobodys, is_alone, is_no_way_out, is_free_inside};

/* ---- two that get in each other's way ---- */

static bool same_family(const char *a, const char *b)
{
	return !strchr(a, ':') == !strchr(b, ':');
}

static int check_pair(const struct net_lend *a, const struct net_lend *b, struct cl_err *e)
{
	if (!strcmp(a->source, b->source))
		return refuse(b, CL_EREFUSED, e, "grant it once", "'%s' moves it already", a->name);
	if (!strcmp(a->target, b->target))
		return refuse(b, CL_EREFUSED, e,
			"grant one of them, or give them different targets in the inventory",
			"'%s' would be '%s' inside as well", a->name, a->target);
	if (a->gateway && b->gateway && same_family(a->gateway, b->gateway))
		return refuse(b, CL_EREFUSED, e,
			"leave gateway= to one of them, or select one in .cloop/sandbox.yaml",
			"'%s' sets the default route already, and there is one", a->name);
	return 0;
}

static int check_pairs(const struct net_lend *v, size_t n, struct cl_err *e)
{
	if (n > NET_LENT_MAX)
		return refuse(&v[n - 1], CL_EREFUSED, e,
			"select fewer in .cloop/sandbox.yaml: capabilities.interfaces",
			"%zu are more than the %d that a run can have", n, NET_LENT_MAX);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (check_pair(&v[k], &v[i], e))
				return -1;
	return 0;
}

/* ---- one after the other ---- */

static void note(const struct net_lend *w, const struct net_link *l, struct lent *out)
{
	out->name = cl_strdup(w->name);
	(void)snprintf(out->source, sizeof(out->source), "%s", l->name);
	(void)snprintf(out->target, sizeof(out->target), "%s", w->target);
	out->index = l->index;
	out->mtu = l->mtu;
	out->up = l->flags & IFF_UP;
	out->nmac = l->nmac;
	memcpy(out->mac, l->mac, l->nmac);
}

static int judge_one(struct scene *s, struct sys_nl *host, const struct net_lend *w,
	struct lents *out, struct cl_err *e)
{
	struct lent *l = lents_add(out);

	l->name = cl_strdup("");
	if (strlen(w->source) >= IFNAMSIZ || strlen(w->target) >= IFNAMSIZ)
		return refuse(w, CL_EREFUSED, e, "correct the secret's inventory",
			"its names have more than %d bytes", IFNAMSIZ - 1);
	if (net_link_look(host, w->source, 0, &s->link, &l->altnames, e))
		return -1;
	s->want = w;
	for (size_t i = 0; i < CL_ARRAY_LEN(rules); i++)
		if (rules[i](s, e))
			return -1;
	free(l->name);
	note(w, &s->link, l);
	return lent_keep(host, l, e);
}

int lent_judge(const struct net_dirs *d, const char *handle, struct sys_nl *host,
	struct sys_nl *inside, const struct net_lend *v, size_t n, struct lents *out,
	struct cl_err *e)
{
	cleanup_scene struct scene s = {.d = d, .handle = handle};

	if (check_pairs(v, n, e) || lents_here(out, e) || net_links(host, &s.all, e) ||
		(inside && net_links(inside, &s.inside, e)) || net_routes(host, 4, &s.routes4, e) ||
		net_routes(host, 6, &s.routes6, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (judge_one(&s, host, &v[i], out, e))
			return -1;
	return 0;
}

int lent_same(struct sys_nl *nl, const struct lent *l, struct cl_err *e)
{
	const struct net_lend w = {.name = l->name, .source = l->source};
	struct net_link now = {0};

	if (net_link_look(nl, NULL, l->index, &now, NULL, e))
		return -1;
	if (now.index == l->index && !strcmp(now.name, l->source) && now.nmac == l->nmac &&
		!memcmp(now.mac, l->mac, l->nmac) && !now.master)
		return 0;
	return refuse(&w, CL_EREFUSED, e,
		"see what renames or takes interfaces here, then run again",
		"it was changed while it was looked at%s%s",
		now.index && strcmp(now.name, l->source) != 0 ? ": its name is now " : "",
		now.index && strcmp(now.name, l->source) != 0 ? now.name : "");
}
