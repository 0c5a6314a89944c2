/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/journal.h"
#include "store/token.h"
#include "sys/clock.h"
#include "work/driver.h"
#include "work/lease/lease_ask.h"
#include "work/lease/revoke.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cloop-secret bounds itself; this is for one that does not. */
#define TOKENS_MS 90000

static const struct {
	const char *name;
	void (*run)(struct sweep *s, struct store *store);
} rows[SWEEP_NPARTS] = {
	[SWEEP_ADOPT] = {"adopt", sweep_adopt},
	[SWEEP_LEASES] = {"leases", sweep_leases},
	[SWEEP_SESSIONS] = {"sessions", sweep_sessions},
	[SWEEP_ORPHANS] = {"orphans", sweep_orphans},
	[SWEEP_STAGING] = {"staging", sweep_staging},
	[SWEEP_MOUNTS] = {"mounts", sweep_mounts},
	[SWEEP_NETWORKS] = {"networks", sweep_networks},
	[SWEEP_WORKTREES] = {"worktrees", sweep_worktrees},
	[SWEEP_EVIDENCE] = {"evidence", sweep_evidence},
	[SWEEP_IMAGES] = {"images", sweep_images},
};

const char *sweep_name(enum sweep_part p)
{
	return rows[p].name;
}

int sweep_parts(const struct cl_strv *names, unsigned *bits, struct cl_err *e)
{
	const char *all[SWEEP_NPARTS];
	cleanup_free char *list = NULL;

	*bits = names->n ? 0 : SWEEP_ALL;
	for (size_t i = 0; i < SWEEP_NPARTS; i++)
		all[i] = rows[i].name;
	list = cl_join(all, SWEEP_NPARTS, ", ");
	for (size_t i = 0; i < names->n; i++) {
		unsigned p = 0;

		while (p < SWEEP_NPARTS && strcmp(rows[p].name, names->v[i]) != 0)
			p++;
		if (p == SWEEP_NPARTS) {
			(void)cl_fail(e, CL_EUSAGE, "'%s' is no part of a sweep", names->v[i]);
			return cl_fix(e, "there are: %s", list);
		}
		*bits |= SWEEP_BIT(p);
	}
	return 0;
}

unsigned sweep_due(int64_t now, int64_t every_ms, int64_t *last)
{
	if (!every_ms || now - *last < every_ms)
		return SWEEP_URGENT;
	*last = now;
	return SWEEP_ALL;
}

void sweep_release(struct sweep *s)
{
	cl_strv_release(&s->notes);
	cl_strv_release(&s->troubles);
}

void sweep_did(struct sweep *s, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cl_strv_add(&s->notes, text);
}

void sweep_trouble(struct sweep *s, const char *what, const struct cl_err *e)
{
	cl_strv_addf(&s->troubles, "%s: %s", what, e->msg);
}

/* ---- adopt: workloads whose supervisor is gone ---- */

struct dead {
	struct cl_strv handles, drivers; /* the driver of each */
};

static int look_at_handle(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct dead *d = arg;

	(void)e;
	/* A shim that is just starting has written its row itself, so it is alive here. */
	if (h->shim_pid && sys_same_process((pid_t)h->shim_pid, (uint64_t)h->shim_start,
				   h->boot_id ? h->boot_id : ""))
		return 0;
	cl_strv_add(&d->handles, h->id);
	cl_strv_add(&d->drivers, h->driver);
	return 0;
}

/*
 * The driver takes it over in a new shim. The row is claimed there, by one conditional
 * UPDATE, so two sweeps at once do no harm.
 */
static int adopt(struct sweep *s, const char *handle, const char *driver, struct cl_err *e)
{
	json_t *in = json_pack("{s:s, s:s}", "handle", handle, "hub", s->hub_dir), *out = NULL;
	int rc = work_driver(work_supervisor(driver), "adopt", in, &out, e);

	json_decref(in);
	if (!rc && json_is_true(json_object_get(out, "adopted"))) {
		s->adopted++;
		sweep_did(s, "adopted %s", handle);
	}
	json_decref(out);
	return rc;
}

void sweep_adopt(struct sweep *s, struct store *store)
{
	struct dead d = {.handles = CL_STRV_INIT, .drivers = CL_STRV_INIT};
	struct cl_err e;

	if (store_handle_each(store, NULL, false, look_at_handle, &d, &e))
		sweep_trouble(s, "adopt", &e);
	for (size_t i = 0; i < d.handles.n; i++)
		if (adopt(s, d.handles.v[i], d.drivers.v[i], &e))
			sweep_did(s, "%s could not be adopted: %s", d.handles.v[i], e.msg);
	cl_strv_release(&d.handles);
	cl_strv_release(&d.drivers);
}

/* ---- leases: what lapsed, what its run has left, and what was taken back and is still held ---- */

/* Tokens that are to end are opened, and GitHub asked, by a process that may have the key. */
static int end_tokens(const struct sweep *s, struct cl_err *e)
{
	const struct lease_ask ask = {.hub_dir = s->hub_dir};
	cleanup_free char *path = cl_sibling("cloop-secret"), *dir = cl_strdup(s->hub_dir);
	char *argv[] = {(char *)(uintptr_t) "cloop-secret", (char *)(uintptr_t) "-C", dir,
		(char *)(uintptr_t) "sweep", (char *)(uintptr_t) "--json", NULL};
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	cleanup_free char *first = NULL;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct sys_pass key;

	lease_ask_env(&ask, &env, &key, &r.spawn);
	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.new_session = true;
	r.timeout_ms = TOKENS_MS;
	if (sys_run(&r, e))
		return -1;
	first = sys_first_line(&r.err);
	return r.status ? cl_fail(e, CL_EUNAVAIL, "cloop-secret sweep ended with status %d%s%s",
				  r.status, first ? ": " : "", first ? first : "")
			: 0;
}

/* The guardian stays while one is queued: nobody else comes by. */
static void tokens(struct sweep *s, struct store *store)
{
	const struct store_token_filter due = {.due = sys_now_ms()};
	int64_t before = 0, left = 0;
	struct cl_err e;

	if (store_token_count(store, &due, &before, &e) || (before && end_tokens(s, &e)) ||
		(before && store_token_count(store, &due, &left, &e)))
		sweep_trouble(s, "tokens", &e);
	s->waiting = (size_t)left;
	if (before > left)
		sweep_did(s, "ended %lld tokens of GitHub Apps", (long long)(before - left));
	if (left)
		sweep_did(s, "%lld tokens of GitHub Apps are queued to be destroyed",
			(long long)left);
}

void sweep_leases(struct sweep *s, struct store *store)
{
	const struct lease_actor who = {"sweep", sys_now_ms()};
	struct lease_sweep d;
	struct cl_err e;

	if (lease_sweep(store, &who, s->run_base, &d, &e)) {
		sweep_trouble(s, "leases", &e);
		return;
	}
	s->collected += (size_t)(d.expired + d.orphans);
	if (d.expired + d.orphans)
		sweep_did(s, "ended %lld leases", (long long)(d.expired + d.orphans));
	tokens(s, store);
}

static int count(const struct store_handle *h, void *arg, struct cl_err *e)
{
	(void)h;
	(void)e;
	++*(size_t *)arg;
	return 0;
}

int sweep_pass(struct sweep *s, struct cl_err *e)
{
	cleanup_store struct store *store = NULL;

	s->live = s->waiting = s->adopted = s->lost = s->collected = 0;
	if (store_open(s->state_path, STORE_RW, &store, e) ||
		store_handle_each(store, NULL, false, count, &s->live, e))
		return -1;
	for (unsigned p = 0; p < SWEEP_NPARTS; p++)
		if (s->parts & SWEEP_BIT(p))
			rows[p].run(s, store);
	return 0;
}
