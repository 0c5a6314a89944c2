/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The janitor of leases as a command of its own, for cron. Tokens that GitHub has not destroyed yet are
 * asked for again, as far as the key is there.
 */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "work/paths.h"
#include "work/token.h"

static void as_json(const struct lease_sweep *d, const struct token_pass *t)
{
	json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "expired", (json_int_t)d->expired,
		"orphans", (json_int_t)d->orphans, "settled", (json_int_t)d->settled, "pending",
		(json_int_t)d->pending, "forgotten", (json_int_t)d->forgotten, "tombstones",
		(json_int_t)d->tombstones);

	(void)json_object_set_new(o, "tokens",
		json_pack("{s:I, s:I, s:I, s:o}", "destroyed", (json_int_t)t->destroyed, "queued",
			(json_int_t)t->queued, "lapsed", (json_int_t)t->lapsed, "error",
			t->queued ? cl_json_string(t->why.msg) : json_null()));
	cl_take_json(o);
}

static void as_text(const struct lease_sweep *d, const struct token_pass *t)
{
	char when[32];

	(void)printf("%lld expired, %lld orphaned, %lld settled, %lld pending, %lld forgotten\n",
		(long long)d->expired, (long long)d->orphans, (long long)d->settled,
		(long long)d->pending, (long long)(d->forgotten + d->tombstones));
	if (t->destroyed + t->lapsed + t->queued)
		(void)printf("tokens of GitHub Apps: %lld destroyed, %lld ended by themselves, "
			     "%lld queued\n",
			(long long)t->destroyed, (long long)t->lapsed, (long long)t->queued);
	if (!t->queued)
		return;
	cl_format_time(t->last / 1000, when);
	(void)printf("  tried again at each sweep; the last ends by itself at %s: %s\n", when,
		t->why.msg);
}

int cmd_secret_sweep(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_free char *base = work_run_base();
	struct store_token_filter due = {0};
	struct lease_actor who;
	struct lease_sweep d;
	struct token_pass t;
	struct cl_err why;

	if (keyed_without(c, STORE_RW, &k, e))
		return -1;
	who = (struct lease_actor){k.actor, k.now};
	due.due = k.now;
	if (lease_sweep(k.store, &who, base, &d, e))
		return -1;
	/* From cron it may be the only one that looks after this hub. */
	if (d.unreachable && revoke_guard(k.hub.dir, &why))
		cl_warn(c, "nobody takes over what is without a supervisor: %s", why.msg);
	if (token_replay(&k, &due, NULL, 0, &t, e))
		return -1;
	if (c->json)
		as_json(&d, &t);
	else
		as_text(&d, &t);
	return 0;
}
