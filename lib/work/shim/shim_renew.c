/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease lives on: asked for in a thread, and delivered in the place of what was there. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/clock.h"
#include "work/lease/delivery.h"
#include "work/lease/lease_ask.h"

#include <string.h>
#include <unistd.h>

#define RETRY_MS 60000 /* after a renewal that failed */
/* While something is to be taken back: so often, and so soon after one another. */
#define NARROW_TRIES 3
#define NARROW_MS    500

static void *renewal(void *arg)
{
	struct shim *s = arg;
	const struct lease_ask ask = shim_asking(s);
	const struct store_handle *row = &s->job.row;
	const struct lease_holder us = {row->run_id, row->project, row->executor_id};
	uint64_t one = 1;

	s->lent.failed = lease_ask_renew(&ask, s->lent.id, &us, &s->lent.got, &s->lent.err) != 0;
	atomic_store(&s->lent.answered, true);
	(void)!write(s->notify, &one, sizeof(one));
	return NULL;
}

void shim_lent_renew(struct shim *s)
{
	int err;

	s->due.renew = 0;
	if (s->lent.asking)
		return;
	atomic_store(&s->lent.answered, false);
	err = pthread_create(&s->lent.thread, NULL, renewal, s);
	if (!err)
		s->lent.asking = true;
	else
		s->due.renew = sys_mono_ms() + RETRY_MS;
}

static void deliver_again(struct shim *s, const struct lease *l)
{
	struct cl_err e;
	size_t removed = 0;
	struct shim_parts p;
	int rc;

	shim_parts_make(l, &s->lent.repos, &p);
	for (size_t i = 0; i < l->nredact; i++) {
		if (s->out)
			pump_learn(s->out, l->redact[i].p, l->redact[i].len);
		if (s->err)
			pump_learn(s->err, l->redact[i].p, l->redact[i].len);
	}
	rc = delivery_renew(&s->rd, &p.d, &removed, &e);
	shim_parts_release(&p);
	if (rc) {
		shim_lent_give_up(s, e.msg);
		return;
	}
	shim_interfaces_back(s, l);
	shim_lent_plan(s, l->expires_at);
	s->lent.narrowing = s->lent.complained = false;
	s->lent.tries = 0;
	shim_lent_settle(s, l, removed);
}

/*
 * A store that others keep busy, a child that the system did not start: what else is lent is not taken
 * for that as long as another try is soon. A key that is not there is no such thing.
 */
static bool try_again(struct shim *s)
{
	enum cl_code code = s->lent.err.code;

	if (code != CL_EBUSY && code != CL_EOS)
		return false;
	if (++s->lent.tries > NARROW_TRIES)
		return false;
	s->due.renew = sys_mono_ms() + NARROW_MS;
	return true;
}

static void complain(struct shim *s)
{
	const struct cl_err *e = &s->lent.err;
	char when[32];

	cl_format_time(s->lent.expires_at / 1000, when);
	if (s->job.key_lost)
		shim_note(s, "lease",
			"the key was in the environment of the command that started this run, and "
			"its supervisor has ended since: what it is lent ends at %s",
			when);
	shim_note(s, "lease", "it could not be renewed, which is tried again: %s%s%s", e->msg,
		*e->fix ? "; fix: " : "",
		*e->fix && s->job.key_lost
			? "put the key into a file that secrets.key_file of the hub names"
			: e->fix);
}

void shim_lent_answered(struct shim *s)
{
	cleanup_held struct lease *l = NULL;

	if (!s->lent.asking || !atomic_load(&s->lent.answered))
		return;
	(void)pthread_join(s->lent.thread, NULL);
	s->lent.asking = false;
	l = cl_steal(&s->lent.got);
	if (s->ended || s->lent.over)
		return;
	if (!s->lent.failed) {
		deliver_again(s, l);
		return;
	}
	/* A grant that was taken back is out of reach now, not when the key is found again. */
	if (s->lent.narrowing && try_again(s))
		return;
	if (s->lent.narrowing || !strcmp(cl_err_slug(&s->lent.err), "lease_over")) {
		shim_lent_give_up(s, s->lent.err.msg);
		return;
	}
	if (!s->lent.complained)
		complain(s);
	s->lent.complained = true;
	s->due.renew = sys_mono_ms() + RETRY_MS;
}
