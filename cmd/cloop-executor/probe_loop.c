/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe-health --loop: the same passes, for those who have a daemon rather than cron. Each
 * executor has its own time (policy/place/health.h), and the configuration is read anew for each pass.
 */
#include "executor.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "work/guardian.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOP_LOCK ".cloop/probe.lock"
/* An executor that was configured, or that another process has probed, is seen after this. */
#define LOOK_MS 10000

/* Spread, and the same as long as the last answer is. */
static uint64_t spread(const struct work_node *n)
{
	unsigned char hash[CL_SHA256_LEN];
	uint64_t bits;
	char text[400];

	(void)snprintf(text, sizeof(text), "%lld %s", (long long)n->health.last_probe, n->x->id);
	cl_sha256(text, strlen(text), hash);
	memcpy(&bits, hash, sizeof(bits));
	return bits;
}

static bool asked(const struct fleet_cmd *f, const struct work_node *n)
{
	return hl_due(&n->health, &hl_defaults, f->now, spread(n)) <= f->now;
}

/* How long nobody is due, at most LOOK_MS. */
static int idle_ms(const struct fleet_cmd *f)
{
	int64_t now = sys_now_ms(), ms = LOOK_MS;

	for (size_t i = 0; i < f->fleet.n; i++) {
		const struct work_node *n = &f->fleet.v[i];
		int64_t left = hl_due(&n->health, &hl_defaults, now, spread(n)) - now;

		if (work_node_serves(n) && left < ms)
			ms = left;
	}
	/* One that is due and was not asked is another's, for as long as a probe may take. */
	return ms < 1000 ? 1000 : (int)ms;
}

/* What stops one pass (a configuration that is being written, a store that is busy) is said. */
static int pass(struct cl_ctx *c, int end)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct cl_err e;

	cl_err_init(&e);
	if (fleet_cmd_open(c, STORE_RW, &f, &e) || probe_pass(c, &f, asked, end, &e) < 0) {
		cl_warn(c, "%s", e.msg);
		return LOOK_MS;
	}
	(void)fflush(stdout);
	return idle_ms(&f);
}

int probe_loop(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fd int signals = -1, lock = -1;
	cleanup_hub struct hub hub = HUB_INIT;
	bool got;

	if (hub_from_ctx(c, &hub, e) || work_lock(hub.dir, LOOP_LOCK, &got, &lock, e))
		return -1;
	if (!got) {
		(void)cl_fail(e, CL_EBUSY, "another process probes the executors of '%s' in a loop",
			hub.dir);
		return cl_fix(e, "end that one first: one is enough");
	}
	signals = sys_end_signals(e);
	if (signals < 0)
		return -1;
	for (;;) {
		struct pollfd p = {.fd = signals, .events = POLLIN};
		int n = poll(&p, 1, pass(c, signals));

		/* As the first process of a container we get what goes on without its parent. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot wait");
	}
}
