/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run is lent, in the hands of its supervisor: asked for before anything starts, renewed
 * at two thirds of its time, narrowed when something of it was taken back, and over with the run.
 * The supervisor never has the key: a child of cloop-secret opens what is lent (DECISIONS K5).
 */
#include "work/shim_internal.h"
#include "base/mem.h"
#include "policy/secret_kind.h"
#include "store/secret.h"
#include "sys/clock.h"
#include "work/delivery.h"
#include "work/key_pass.h"
#include "work/lease_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define LOOK_MS   5000  /* how often it is asked whether something was taken back */
#define RETRY_MS  60000 /* after a renewal that failed */
#define SOON_MS   2000  /* a lease that ends then is let go: its first grant ends it */
#define ENV_MS    60000 /* by then a sandbox has read its variables, whatever the kernel told us */
#define REVOKE_MS 5000  /* between SIGTERM and SIGKILL of a workload that may not go on */

/* ---- from a lease to what is delivered ---- */

struct parts {
	struct delivery d;
	struct delivery_file *files;
	struct delivery_env *env;
	struct delivery_text *redact;
};

static void parts_release(struct parts *p)
{
	free(p->files);
	free(p->env);
	free(p->redact);
}

static void add_env(struct parts *p, const struct lease_env *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p->env[p->d.nenv++] =
			(struct delivery_env){v[i].name, {v[i].value.p, v[i].value.len}};
}

/* Pointers into the lease, whose memory is locked; nothing of it is copied. */
static void parts_make(const struct lease *l, const struct shim_repos *r, struct parts *p)
{
	size_t nfiles = 0, nenv = l->nenv + r->variables.n;

	for (size_t i = 0; i < l->nitems; i++) {
		nfiles += l->items[i].nfiles;
		nenv += l->items[i].nenv;
	}
	*p = (struct parts){.files = cl_calloc(nfiles + 1, sizeof(*p->files)),
		.env = cl_calloc(nenv + 1, sizeof(*p->env)),
		.redact = cl_calloc(l->nredact + 1, sizeof(*p->redact))};
	for (size_t i = 0; i < l->nitems; i++) {
		const struct lease_item *it = &l->items[i];

		add_env(p, it->env, it->nenv);
		for (size_t k = 0; k < it->nfiles; k++)
			p->files[p->d.nfiles++] = (struct delivery_file){it->files[k].name,
				it->files[k].mode, {it->files[k].data.p, it->files[k].data.len}};
	}
	add_env(p, l->env, l->nenv);
	for (size_t i = 0; i < r->variables.n; i++)
		p->env[p->d.nenv++] = (struct delivery_env){
			r->variables.v[i], {r->values.v[i], strlen(r->values.v[i])}};
	for (size_t i = 0; i < l->nredact; i++)
		p->redact[p->d.nredact++] =
			(struct delivery_text){l->redact[i].p, l->redact[i].len};
	p->d.id = l->id;
	p->d.files = p->files;
	p->d.env = p->env;
	p->d.redact = p->redact;
}

/* ---- taking ---- */

/* What was not delivered, for the command that asked for the run. */
static json_t *refusals(const struct lease *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->nrefused; i++) {
		const struct lease_refusal *r = &l->refused[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", r->name, "grant_id",
				      r->grant_id, "code", r->code, "reason",
				      cl_json_string(r->reason), "fix", cl_json_string(r->fix)));
	}
	return list;
}

static json_t *summary(const struct lease *l)
{
	json_t *items = json_array();

	for (size_t i = 0; i < l->nitems; i++)
		(void)json_array_append_new(
			items, json_pack("{s:s, s:s, s:s}", "name", l->items[i].name, "kind",
				       sec_kinds[l->items[i].kind].name, "grant_id",
				       l->items[i].grant_id));
	return json_pack(
		"{s:s, s:o, s:o}", "lease_id", l->id, "lent", items, "refused", refusals(l));
}

/* The kernel says when somebody has read the variables and is done with it. */
static void watch_env(struct shim *s)
{
	cleanup_free char *path = cl_asprintf("%s/cloop/env", s->rd.lease);

	s->lent.env_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->lent.env_watch >= 0)
		(void)inotify_add_watch(s->lent.env_watch, path, IN_CLOSE_NOWRITE);
	s->due.env = sys_mono_ms() + ENV_MS;
}

int shim_lent_watch_fd(const struct shim *s)
{
	return s->lent.env_watch;
}

void shim_lent_env_read(struct shim *s)
{
	if (s->lent.env_watch >= 0)
		(void)close(cl_steal_fd(&s->lent.env_watch));
	s->due.env = 0;
	delivery_env_read(&s->rd);
}

static void plan_renewal(struct shim *s, int64_t expires_at)
{
	int64_t left = expires_at - sys_now_ms();

	s->lent.expires_at = expires_at;
	/* One that a grant ends soon is asked for a few times more, and not ever faster. */
	s->due.renew = left < SOON_MS ? 0 : sys_mono_ms() + left * 2 / 3;
	s->due.look = sys_mono_ms() + LOOK_MS;
}

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
	struct parts p;
	int rc;

	if (!s->job.lend)
		return 0;
	if (s->job.key_fd)
		key_pass_pin(s->job.key_fd);
	/* From here on there is something in our memory that nobody else may have. */
	if (seal_process(e) || lease_ask_take(&ask, &r, &l, e))
		return cl_wrap(e, "what this run is granted cannot be lent to it");
	s->lent.said = summary(l);
	if (!l->nitems)
		return 0;
	s->lent.id = cl_strdup(l->id);
	rc = shim_hardware_take(s, l, e) || shim_interfaces_take(s, l, e) ||
			     shim_repos_take(&s->lent.repos, l, e)
		     ? -1
		     : 0;
	if (!rc) {
		parts_make(l, &s->lent.repos, &p);
		rc = delivery_make(&s->rd, &p.d, s->job.uid, s->job.gid, e);
		parts_release(&p);
	}
	if (rc) {
		cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;

		shim_tokens_take(s, l, &tokens);
		shim_tokens_end(s, &tokens, "it was not delivered");
		return -1;
	}
	s->lent.dir = cl_strdup(l->dir);
	watch_env(s);
	plan_renewal(s, l->expires_at);
	return 0;
}

const char *shim_lease_dir(const struct shim *s)
{
	return s->lent.dir;
}

/* ---- taking out of output ---- */

static void learn(void *arg, const char *p, size_t len)
{
	(void)scrub_add(arg, p, len);
}

int shim_lent_scrubber(struct shim *s, struct scrub **out, struct cl_err *e)
{
	cleanup_free char *id = NULL;

	*out = NULL;
	if (!delivery_there(&s->rd))
		return 0;
	*out = scrub_new(true);
	if (!delivery_recall(&s->rd, &id, learn, *out, e))
		return 0;
	scrub_freep(out);
	*out = NULL;
	return -1;
}

/* ---- renewing ---- */

static void *renewal(void *arg)
{
	struct shim *s = arg;
	const struct lease_ask ask = shim_asking(s);
	uint64_t one = 1;

	s->lent.failed = lease_ask_renew(&ask, s->lent.id, &s->lent.got, &s->lent.err) != 0;
	atomic_store(&s->lent.answered, true);
	(void)!write(s->notify, &one, sizeof(one));
	return NULL;
}

/* Not by ourselves: a forge may take its time, and a deadline does not wait for that. */
static void start_renewal(struct shim *s)
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

static void answer(struct shim *s, const char *grant_id, const struct lease_answer *a)
{
	cleanup_free char *who = cl_asprintf("run:%s", s->job.row.run_id ? s->job.row.run_id : "");
	const struct lease_actor actor = {who, sys_now_ms()};
	struct cl_err e;

	if (lease_answer(s->store, &actor, s->lent.id, grant_id, a, &e))
		shim_note(s, "lease", "what was given up could not be recorded: %s", e.msg);
}

/* True when the grant itself is gone, and not only this lease of it. */
static bool grant_gone(struct shim *s, const char *grant_id)
{
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	struct cl_err e;

	return !store_grant_get(s->store, grant_id, &g, &e) && g.revoked_at > 0;
}

struct held {
	const char *grant_id;
	int64_t how;
};

static int find_hold(const struct store_hold *h, void *arg, struct cl_err *e)
{
	struct held *f = arg;

	(void)e;
	if (!strcmp(h->grant_id, f->grant_id))
		f->how |= h->how;
	return 0;
}

/* How the workload has what the grant gave: enum sec_by. */
static int64_t how_held(struct shim *s, const char *grant_id)
{
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;
	struct held f = {grant_id, 0};
	struct cl_err e;

	if (store_lease_get(s->store, s->lent.id, &l, &e) ||
		store_hold_each(s->store, l.seq, find_hold, &f, &e))
		return SEC_BY_ENV; /* what cannot be told is taken for the worse */
	return f.how;
}

/*
 * What was taken back is out of the files; a variable of a running process is not to be had back,
 * so a grant that stands in one ends with the workload, and is given up when that is over.
 */
static void settle(struct shim *s, const struct lease_take_backs *t, size_t removed)
{
	size_t bound = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct lease_take_back *b = &t->v[i];
		struct lease_answer a = {.files_removed = i ? 0 : (int64_t)removed};
		int64_t how = how_held(s, b->grant_id);
		char why[300];

		a.env_stays = how & SEC_BY_ENV;
		a.failed = how & SEC_BY_INTERFACE && s->lent.stuck;
		a.error = a.failed ? s->lent.stuck : NULL;
		if (b->kill || (a.env_stays && grant_gone(s, b->grant_id))) {
			(void)snprintf(why, sizeof(why),
				"the grant of '%.100s' (%s) was taken back, and %s", b->secret_name,
				b->grant_id,
				b->kill ? "its holders were to be killed"
					: "its value stands in the environment");
			s->lent.ending = true;
			s->lent.removed += removed;
			shim_stop(s, OUTCOME_KILLED, REVOKE_MS, why);
		} else if (how & (SEC_BY_MOUNT | SEC_BY_DEVICE)) {
			if (++bound > s->lent.bound)
				shim_note(s, "lease",
					"'%s' (%s) was taken back; what is in the sandbox of it "
					"stays until the run ends: 'cloop runs stop' ends it",
					b->secret_name, b->grant_id);
		} else {
			shim_note(s, "lease", "'%s' (%s) was taken back", b->secret_name,
				b->grant_id);
			answer(s, b->grant_id, &a);
		}
	}
	s->lent.bound = bound;
}

/* The workload that had to end for them is over. */
static void settle_ended(struct shim *s)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	struct cl_err e;

	if (!s->lent.ending || lease_take_backs(s->store, s->lent.id, sys_now_ms(), &t, &e))
		return;
	for (size_t i = 0; i < t.n; i++)
		answer(s, t.v[i].grant_id,
			&(struct lease_answer){.terminated = true,
				.files_removed = i ? 0 : (int64_t)s->lent.removed});
}

static bool taken_back(struct shim *s, struct lease_take_backs *t)
{
	struct cl_err e;

	if (!lease_take_backs(s->store, s->lent.id, sys_now_ms(), t, &e))
		return true;
	if (!s->lent.blind)
		shim_note(s, "lease", "it cannot be seen whether something was taken back: %s",
			e.msg);
	s->lent.blind = true;
	return false;
}

/* All of it goes: the lease is over, whoever ended it. */
static void give_up(struct shim *s, const char *why)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;
	size_t removed;

	shim_tokens_take(s, NULL, &tokens);
	removed = delivery_scrub(&s->rd);
	shim_interfaces_back(s, NULL);
	/* What stands in variables may still be taken back. */
	s->lent.over = true;
	s->due.renew = 0;
	shim_note(s, "lease", "%s: %zu files were taken back", why, removed);
	if (taken_back(s, &t))
		settle(s, &t, removed);
	/* Not by ourselves: output is pumped and deadlines are kept meanwhile. */
	shim_tokens_end_aside(s, &tokens, "taken back");
}

static bool brings(const struct lease *l, const char *grant_id)
{
	for (size_t i = 0; i < l->nitems; i++)
		if (!strcmp(l->items[i].grant_id, grant_id))
			return true;
	return false;
}

/*
 * A renewal that was on its way when a grant was taken back brings that grant once more: it is
 * not given up before another renewal comes without it.
 */
static bool set_aside(const struct lease *l, struct lease_take_backs *t)
{
	size_t all = t->n;

	t->n = 0;
	for (size_t i = 0; i < all; i++) {
		if (!brings(l, t->v[i].grant_id)) {
			t->v[t->n++] = t->v[i];
			continue;
		}
		free(t->v[i].grant_id);
		free(t->v[i].secret_name);
	}
	return t->n < all;
}

static void deliver_again(struct shim *s, const struct lease *l)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	struct cl_err e;
	size_t removed = 0;
	struct parts p;
	bool again;
	int rc;

	parts_make(l, &s->lent.repos, &p);
	for (size_t i = 0; i < l->nredact; i++) {
		if (s->out)
			pump_learn(s->out, l->redact[i].p, l->redact[i].len);
		if (s->err)
			pump_learn(s->err, l->redact[i].p, l->redact[i].len);
	}
	rc = delivery_renew(&s->rd, &p.d, &removed, &e);
	parts_release(&p);
	if (rc) {
		give_up(s, e.msg);
		return;
	}
	shim_interfaces_back(s, l);
	plan_renewal(s, l->expires_at);
	s->lent.narrowing = s->lent.complained = false;
	if (!taken_back(s, &t))
		return;
	again = set_aside(l, &t);
	settle(s, &t, removed);
	if (again)
		shim_lent_look(s);
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
	if (s->lent.narrowing || !strcmp(cl_err_slug(&s->lent.err), "lease_over")) {
		give_up(s, s->lent.err.msg);
		return;
	}
	if (!s->lent.complained)
		shim_note(s, "lease", "it could not be renewed, which is tried again: %s",
			s->lent.err.msg);
	s->lent.complained = true;
	s->due.renew = sys_mono_ms() + RETRY_MS;
}

void shim_lent_look(struct shim *s)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;

	/* What is past and stays due would have the supervisor turn without a pause. */
	s->due.look = !s->lent.id || s->lent.ending ? 0 : sys_mono_ms() + LOOK_MS;
	if (!s->due.look || s->ended)
		return;
	if (!taken_back(s, &t))
		return;
	if (t.n == s->lent.bound && !t.over && sys_now_ms() < s->lent.expires_at)
		return;
	if (s->lent.over) {
		settle(s, &t, 0);
	} else if (t.over || sys_now_ms() >= s->lent.expires_at) {
		give_up(s, t.n ? "what it was lent was revoked" : "what it was lent has lapsed");
	} else if (t.n) {
		s->lent.narrowing = true;
		start_renewal(s);
	}
}

void shim_lent_due(struct shim *s, int64_t now)
{
	if (s->due.env && now >= s->due.env)
		shim_lent_env_read(s);
	if (s->due.look && now >= s->due.look)
		shim_lent_look(s);
	if (s->due.renew && now >= s->due.renew)
		start_renewal(s);
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
	plan_renewal(s, l.expires_at);
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
		settle_ended(s);
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
