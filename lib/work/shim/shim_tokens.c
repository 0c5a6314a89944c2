/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of GitHub Apps that a run was lent: they end at GitHub too, which may take its time. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

/* Those that a thread of its own is about, while the workload goes on. */
struct shim_ending {
	pthread_t thread;
	atomic_bool done;
	struct app_slots tokens;
	struct lease_ask ask; /* of the job, which outlives the thread */
	char *lease_id;
	const char *reason;
	size_t failed; /* the thread's until it is done */
	int notify;
};

void shim_tokens_take(struct shim *s, const struct lease *l, struct app_slots *out)
{
	if (s->lent.id && s->store)
		app_slots_take(s->store, s->lent.id, &s->rd, l, out);
}

static void say(struct shim *s, size_t failed)
{
	if (failed)
		shim_note(s, "lease",
			"%zu tokens were not destroyed at GitHub and are tried again at each sweep "
			"until "
			"they end; the audit trail has it as github_app.token_destroy",
			failed);
}

void shim_tokens_end(struct shim *s, const struct app_slots *tokens, const char *reason)
{
	const struct lease_ask ask = shim_asking(s);
	size_t failed;

	app_slots_end(&ask, s->lent.id, tokens, reason, &failed);
	say(s, failed);
}

static void *end_them(void *arg)
{
	struct shim_ending *x = arg;
	uint64_t one = 1;

	app_slots_end(&x->ask, x->lease_id, &x->tokens, x->reason, &x->failed);
	atomic_store(&x->done, true);
	(void)!write(x->notify, &one, sizeof(one));
	return NULL;
}

static void ending_free(struct shim_ending *x)
{
	app_slots_release(&x->tokens);
	free(x->lease_id);
	free(x);
}

void shim_tokens_end_aside(struct shim *s, struct app_slots *take_tokens, const char *reason)
{
	struct shim_ending *x;

	if (!take_tokens->n)
		return;
	shim_tokens_ended(s, true);
	x = cl_calloc(1, sizeof(*x));
	x->tokens = *take_tokens;
	*take_tokens = APP_SLOTS_INIT;
	x->ask = shim_asking(s);
	x->lease_id = cl_strdup(s->lent.id);
	x->reason = reason;
	x->notify = s->notify;
	if (!pthread_create(&x->thread, NULL, end_them, x)) {
		s->lent.tokens = x;
		return;
	}
	shim_tokens_end(s, &x->tokens, reason);
	ending_free(x);
}

void shim_tokens_ended(struct shim *s, bool wait)
{
	struct shim_ending *x = s->lent.tokens;

	if (!x || (!wait && !atomic_load(&x->done)))
		return;
	(void)pthread_join(x->thread, NULL);
	s->lent.tokens = NULL;
	say(s, x->failed);
	ending_free(x);
}
