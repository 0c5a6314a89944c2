/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the packet filter, and puts back what is changed of the filters that should stand. */
#include "egress.h"
#include "verify.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/clock.h"
#include "sys/nft/nft_watch.h"
#include "sys/proc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/*
 * A reload is many changes: they are looked at together. News that were missed (a filter that a
 * dying process half removed) are found by the pass that is made anyway.
 */
#define SETTLE_MS 20
#define PASS_MS   60000
#define BUSY_MS   500

static void say(const struct cl_ctx *c, const struct work_filter *f, const char *who, size_t cut,
	const struct cl_err *failed)
{
	char at[32];

	cl_format_time(sys_now_ms() / 1000, at);
	if (c->json) {
		cl_take_json(json_pack("{s:s, s:s, s:o, s:b, s:I, s:o}", "at", at, "table",
			f->table, "by", *who ? json_string(who) : json_null(), "restored",
			failed == NULL, "connections_ended", (json_int_t)cut, "error",
			failed ? json_string(failed->msg) : json_null()));
	} else if (failed) {
		(void)printf("%s %s cannot be kept: %s\n", at, f->table, failed->msg);
		if (failed->fix[0])
			(void)printf("  fix: %s\n", failed->fix);
	} else {
		(void)printf(
			"%s %s was changed%s%s and is back", at, f->table, *who ? " by " : "", who);
		if (cut)
			(void)printf(", %zu connection%s ended", cut, cut == 1 ? "" : "s");
		(void)printf("\n");
	}
	(void)fflush(stdout);
}

struct watcher {
	struct cl_ctx *c;
	struct egress_watched w;
	struct nft_watch watch; /* not open with --once */
	int64_t next;           /* when to look again, by the monotonic clock */
	char who[NFT_WATCH_WHO];
	bool whole; /* nothing was left that could not be put back */
};

static void watcher_release(struct watcher *x)
{
	nft_watch_close(&x->watch);
	egress_watched_release(&x->w);
}
#define cleanup_watcher __attribute__((cleanup(watcher_release)))

/* What the kernel has said since; something of ours is looked at soon. */
static int listen_to(struct watcher *x, struct cl_err *e)
{
	int64_t soon = sys_mono_ms() + SETTLE_MS;
	bool changed = false;

	if (!x->watch.nl.s)
		return 0;
	if (nft_watch_read(&x->watch, &changed, x->who, e))
		return -1;
	if (changed && x->next > soon)
		x->next = soon;
	return 0;
}

/* The others go on, unless nothing can be done for any. */
static int gave_up(struct watcher *x, const struct work_filter *f, const struct cl_err *e)
{
	if (e->code == CL_EDENIED || e->code == CL_EUNAVAIL || e->code == CL_EBUSY)
		return -1;
	say(x->c, f, x->who, 0, e);
	x->whole = false;
	return 0;
}

static int tend(struct watcher *x, const struct work_filter *f, struct cl_err *e)
{
	cleanup_finding struct work_finding was = WORK_FINDING_INIT, now = WORK_FINDING_INIT;
	bool there = true;
	size_t cut = 0;

	if (work_filter_verify(f, x->w.run_base, &was, e))
		return gave_up(x, f, e);
	/* Where no network is, no packet passes. */
	if (was.same || was.gone)
		return 0;
	if (f->unvouched) {
		(void)work_filter_unvouched(f, e);
		return gave_up(x, f, e);
	}
	/* It may have come since: who it was. */
	if (listen_to(x, e))
		return -1;
	if (work_filter_restore(f, x->w.run_base, &there, &cut, e))
		return gave_up(x, f, e);
	if (!there)
		return 0;
	if (work_filter_verify(f, x->w.run_base, &now, e))
		return -1;
	x->whole = x->whole && now.same;
	say(x->c, f, x->who, cut, NULL);
	return work_filter_record(x->w.store, f, &was, x->who, cut, e);
}

static int pass(struct watcher *x, struct cl_err *e)
{
	int rc = egress_watched_read(x->c, &x->w, false, e);

	for (size_t i = 0; !rc && i < x->w.filters.n; i++)
		rc = tend(x, &x->w.filters.v[i], e);
	x->who[0] = 0;
	return rc;
}

/* A busy store, or a ruleset that changes all the time, is looked at again. */
static int tolerate(struct watcher *x, int rc, struct cl_err *e)
{
	if (!rc || e->code != CL_EBUSY)
		return rc;
	cl_warn(x->c, "%s", e->msg);
	x->next = sys_mono_ms() + BUSY_MS;
	return 0;
}

static int follow(struct watcher *x, int signals, struct cl_err *e)
{
	struct pollfd p[] = {{.fd = signals, .events = POLLIN},
		{.fd = nft_watch_fd(&x->watch), .events = POLLIN}};

	for (;;) {
		int64_t now = sys_mono_ms();
		int n = poll(p, 2, x->next > now ? (int)(x->next - now) : 0);

		if (n < 0 && errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot wait");
		if (n > 0 && p[0].revents)
			return 0;
		if (n > 0 && listen_to(x, e))
			return -1;
		now = sys_mono_ms();
		if (x->next > now)
			continue;
		x->next = now + PASS_MS;
		if (tolerate(x, pass(x, e), e))
			return -1;
	}
}

int egress_watch(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_watcher struct watcher x = {.c = c, .watch = NFT_WATCH_INIT, .whole = true};
	cleanup_fd int signals = -1;

	if (egress_watched_open(c, STORE_RW, &x.w, e))
		return -1;
	if (cl_flag(c, "once"))
		return pass(&x, e) ? -1 : !x.whole;
	signals = sys_end_signals(e);
	if (signals < 0 || nft_watch_open(&x.watch, e))
		return -1;
	x.next = sys_mono_ms();
	return follow(&x, signals, e);
}
