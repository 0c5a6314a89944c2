/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a lease in the hands of a run's supervisor: asked for before anything starts, taken up
 * again by who adopts, over with the run. See shim_lent.h.
 */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/lease/delivery.h"
#include "work/key_pass.h"
#include "work/lease/lease_ask.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 5000  /* the first look whether something was taken back */
#define ENV_MS  60000 /* as in shim_deliver.c, for what an earlier supervisor delivered */
#define SOON_MS 2000  /* a lease that ends then is let go: its first grant ends it */

/* ---- when what is due ---- */

void shim_lent_plan(struct shim *s, int64_t expires_at)
{
	int64_t left = expires_at - sys_now_ms();

	s->lent.expires_at = expires_at;
	s->lent.until = sys_mono_ms() + left;
	/* One that a grant ends soon is asked for a few times more, and not ever faster. */
	s->due.renew = left < SOON_MS ? 0 : sys_mono_ms() + left * 2 / 3;
	s->due.look = sys_mono_ms() + LOOK_MS;
}

void shim_lent_due(struct shim *s, int64_t now)
{
	if (s->due.env && now >= s->due.env)
		shim_env_read(s);
	if (s->due.look && now >= s->due.look)
		shim_lent_look(s);
	if (s->due.renew && now >= s->due.renew)
		shim_lent_renew(s);
}

/* ---- taking ---- */

struct lease_ask shim_asking(const struct shim *s)
{
	return (struct lease_ask){
		.hub_dir = s->job.hub, .key_file = s->job.key_file, .key_fd = s->job.key_fd};
}

int shim_lent_take(struct shim *s, struct cl_err *e)
{
	const struct store_handle *row = &s->job.row;
	const struct lease_request r = {.run_id = row->run_id,
		.sandbox = row->id,
		.project = row->project,
		.executor = row->executor_id,
		.pick = s->job.pick};
	const struct lease_ask ask = shim_asking(s);
	cleanup_held struct lease *l = NULL;
	struct shim_parts p;
	int rc;

	if (!s->job.lend)
		return 0;
	if (s->job.key_fd && key_pass_pin(s->job.key_fd, e))
		return -1;
	/* From here on there is something in our memory that nobody else may have. */
	if (seal_process(e) || lease_ask_take(&ask, &r, &l, e))
		return cl_wrap(e, "what this run is granted cannot be lent to it");
	s->lent.said = shim_lent_said(l);
	if (!l->nitems)
		return 0;
	s->lent.id = cl_strdup(l->id);
	rc = shim_hardware_take(s, l, e) || shim_interfaces_take(s, l, e) ||
			     shim_repos_take(&s->lent.repos, l, e)
		     ? -1
		     : 0;
	if (!rc) {
		shim_parts_make(l, &s->lent.repos, &p);
		rc = delivery_make(&s->rd, &p.d, s->job.uid, s->job.gid, e);
		shim_parts_release(&p);
	}
	if (rc) {
		cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;

		shim_tokens_take(s, l, &tokens);
		shim_tokens_end(s, &tokens, "it was not delivered");
		return -1;
	}
	s->lent.dir = cl_strdup(l->dir);
	shim_env_watch(s);
	shim_lent_plan(s, l->expires_at);
	return 0;
}

const char *shim_lease_dir(const struct shim *s)
{
	return s->lent.dir;
}

/* ---- taking over, and the end ---- */

static void ignore(void *arg, const char *p, size_t len)
{
	(void)arg, (void)p, (void)len;
}

static int keep_id(const struct store_lease *l, void *arg, struct cl_err *e)
{
	char **id = arg;

	(void)e;
	if (!*id)
		*id = cl_strdup(l->id);
	return 0;
}

/* The lease that it holds, as it was noted; where that was torn, as the store has it. */
static int find_lease(struct shim *s, struct cl_err *e)
{
	const struct store_lease_filter of = {.sandbox = s->job.row.id, .limit = 1};

	if (!delivery_recall(&s->rd, &s->lent.id, ignore, NULL, e))
		return 0;
	shim_note(s, "lease", "what was noted of it cannot be read: %s", e->msg);
	if (store_lease_each(s->store, &of, keep_id, &s->lent.id, e))
		return -1;
	return s->lent.id ? 0 : cl_fail(e, CL_ENOTFOUND, "no live lease of %s", s->job.row.id);
}

void shim_lent_adopt(struct shim *s)
{
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;
	struct cl_err e;

	if (!delivery_there(&s->rd))
		return;
	if (seal_process(&e) || find_lease(s, &e) || store_lease_get(s->store, s->lent.id, &l, &e))
		shim_note(s, "lease", "what it was lent cannot be looked after: %s", e.msg);
	s->due.env = sys_mono_ms() + ENV_MS;
	shim_lent_plan(s, l.expires_at);
	/* Now, so that who can put the key into a file hears of it while that is of use. */
	if (s->job.key_lost)
		shim_lent_renew(s);
}

void shim_lent_end(struct shim *s)
{
	cleanup_free char *who = cl_asprintf("run:%s", s->job.row.run_id ? s->job.row.run_id : "");
	const struct lease_actor actor = {who, sys_now_ms()};
	cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;
	cleanup_held struct lease *late = NULL;
	struct cl_err e;

	if (s->lent.env_watch >= 0)
		(void)close(cl_steal_fd(&s->lent.env_watch));
	s->due.env = s->due.look = s->due.renew = 0;
	/* A renewal that is on its way may bring a token that then must end too. */
	if (s->lent.asking) {
		(void)pthread_join(s->lent.thread, NULL);
		late = cl_steal(&s->lent.got);
		s->lent.asking = false;
	}
	shim_tokens_take(s, late, &tokens);
	delivery_drop(&s->rd);
	shim_tokens_ended(s, true);
	shim_tokens_end(s, &tokens, "the run is over");
	if (s->lent.id && s->store)
		shim_lent_settle_ended(s);
	if (s->lent.id && s->store &&
		lease_release(s->store, &actor, s->lent.id, "the run is over", &e))
		shim_note(s, "lease", "its end could not be recorded: %s", e.msg);
	shim_repos_release(&s->lent.repos);
	shim_devices_release(&s->lent.devices);
	shim_interfaces_release(&s->lent.interfaces);
	free(s->lent.stuck);
	s->lent.stuck = NULL;
	free(s->lent.id);
	free(s->lent.dir);
	s->lent.id = s->lent.dir = NULL;
}
