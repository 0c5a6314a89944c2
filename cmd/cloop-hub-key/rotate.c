/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"
#include "base/mem.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t told;

static void tell(int sig)
{
	told = sig;
}

static bool stopped(void *arg)
{
	(void)arg;
	return told != 0;
}

/* The row under way is finished and what was moved is kept; a second signal ends us at once. */
static void listen(void)
{
	struct sigaction sa = {.sa_handler = tell, .sa_flags = (int)SA_RESETHAND};

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
}

static int count(struct keyed *k, bool resume, int64_t *n, struct cl_err *e)
{
	cleanup_free char *primary = NULL;

	*n = 0;
	if (store_key_primary(k->store, &primary, e))
		return -1;
	for (int i = 0; i < STORE_NSETS; i++) {
		int64_t all, other;

		if (store_sealed_count(
			    k->store, (enum store_set)i, primary ? primary : "", &all, &other, e))
			return -1;
		*n += resume ? other : all;
	}
	return 0;
}

static int dry(struct cl_ctx *c, struct keyed *k, struct cl_err *e)
{
	int64_t n;

	if (count(k, cl_flag(c, "continue"), &n, e))
		return -1;
	if (c->json)
		cl_take_json(json_pack("{s:b, s:I}", "dry_run", 1, "rows", (json_int_t)n));
	else
		(void)printf("%lld rows would move%s; nothing was done\n", (long long)n,
			cl_flag(c, "continue") ? " to the primary key" : " to a new key");
	return 0;
}

static json_t *report(const struct store_rotation *r)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:b, s:s?}", "rotation_id", r->id,
		"target_key_id", r->target, "state", r->state, "rewrapped",
		(json_int_t)r->rewrapped, "skipped", (json_int_t)r->skipped, "failed",
		(json_int_t)r->failed, "complete", !strcmp(r->state, "completed"), "dry_run", 0,
		"error", r->error);
}

static void as_text(const struct store_rotation *r)
{
	bool whole = !strcmp(r->state, "completed");

	(void)printf("%s %s: rows go to %s (%s)\n", whole ? "✓" : "✗", r->state, r->target, r->id);
	(void)printf("  rewrapped:   %lld\n  skipped:     %lld\n  failed:      %lld\n",
		(long long)r->rewrapped, (long long)r->skipped, (long long)r->failed);
	if (r->error)
		(void)printf("  first error: %s\n", r->error);
	if (!whole)
		(void)printf("  go on with:  cloop hub key rotate --continue\n");
}

int key_rotate(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_rotation struct store_rotation rot = {0};
	const struct seal_rotate how = {
		.resume = cl_flag(c, "continue"),
		.batch = cl_int(c, "batch", 128),
		.stop = stopped,
	};
	struct seal_who who;

	if (cl_flag(c, "dry-run"))
		return keyed_without(c, STORE_RO, &k, e) ? -1 : dry(c, &k, e);
	if (keyed_open(c, &k, e))
		return -1;
	who = keyed_who(&k);
	listen();
	if (seal_ring_rotate(k.ring, &how, &who, &rot, e))
		return -1;
	if (keyed_audit(&k, "sealing_key.rotate", "sealing_key", rot.target, report(&rot), e))
		return -1;
	if (c->json)
		cl_take_json(report(&rot));
	else
		as_text(&rot);
	return strcmp(rot.state, "completed") != 0;
}
