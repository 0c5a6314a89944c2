/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tsv.h"
#include "base/text.h"
#include "policy/place/health.h"
#include "policy/place/registry.h"

#define HALF (UINT64_C(1) << 63) /* no jitter */

/* One event; true when it changed the state. */
static bool event(struct hl_health *h, char what, int64_t now)
{
	enum pl_health from;

	switch (what) {
	case '+':
		return hl_observe(h, &hl_defaults, true, "", now, HALF, &from);
	case '-':
		return hl_observe(h, &hl_defaults, false, "no answer", now, HALF, &from);
	case 'c':
		return hl_hold(h, PL_CORDONED, "said so", now);
	case 'd':
		return hl_hold(h, PL_DRAINING, "said so", now);
	default:
		return hl_release(h, &hl_defaults, now);
	}
}

static void one(const struct tsv_row *r)
{
	struct hl_health h = HL_HEALTH_INIT;
	bool changed = false;
	int64_t now = 1000000;

	CHECK(hl_find(r->field[0], &h.state));
	h.failures = strtol(r->field[1], NULL, 10);
	for (const char *p = r->field[2]; *p; p++) {
		enum pl_health before = h.state;

		changed = event(&h, *p, ++now);
		CHECK_INT(changed, h.state != before);
		CHECK(!changed || h.changed_at == now);
		CHECK(*p != '+' || (h.last_seen == now && !h.next_probe));
		CHECK(*p != '-' ||
			(h.last_probe == now && h.last_seen != now && h.next_probe > now));
		CHECK(*p != 'u' || !changed || !h.next_probe);
		/* An operator's reason is not a probe's. */
		if (hl_held(h.state) && (*p == '-' || *p == '+') && strchr(r->field[2], 'c'))
			CHECK_STR(h.reason, "said so");
	}
	if (strcmp(pl_health_name(h.state), r->field[3]) != 0)
		UNIT_FAIL("line %d: %s, not %s", r->line, pl_health_name(h.state), r->field[3]);
	if (h.failures != strtol(r->field[4], NULL, 10))
		UNIT_FAIL("line %d: %d failures", r->line, (int)h.failures);
	CHECK_INT(changed, r->field[5][0] == '1');
}

void test_health__events(void)
{
	tsv_each("health/events.tsv", one);
}

void test_health__reason(void)
{
	struct hl_health h = HL_HEALTH_INIT;
	enum pl_health from;
	char text[600];

	(void)hl_observe(&h, &hl_defaults, false, "first\nsecond", 1, HALF, &from);
	CHECK_STR(h.reason, "first");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)hl_observe(&h, &hl_defaults, false, text, 2, HALF, &from);
	CHECK_INT(strlen(h.reason), HL_REASON + strlen("…"));
	CHECK(cl_ends(h.reason, "a…"));
	/* A cut never leaves half a character. */
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "é", 2);
	text[sizeof(text) - 2] = '\0';
	(void)hl_observe(&h, &hl_defaults, false, text, 3, HALF, &from);
	CHECK(cl_utf8_valid(h.reason, strlen(h.reason)));
	CHECK(cl_ends(h.reason, "é…"));
	(void)hl_observe(&h, &hl_defaults, false, "\033[2J\xff\xfe", 4, HALF, &from);
	CHECK_STR(h.reason, "?[2J??");
	(void)hl_observe(&h, &hl_defaults, true, "ignored", 5, HALF, &from);
	CHECK_STR(h.reason, "");
}

void test_health__backoff(void)
{
	static const int64_t want[] = {0, 5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000};
	struct hl_health h = HL_HEALTH_INIT;
	enum pl_health from;

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		CHECK_INT(hl_backoff(&hl_defaults, (int64_t)i), want[i]);
	CHECK_INT(hl_backoff(&hl_defaults, INT64_MAX), 300000);
	CHECK_INT(hl_backoff(&hl_defaults, -1), 0);
	for (int i = 1; i < 6; i++) {
		(void)hl_observe(&h, &hl_defaults, false, "x", 1000, HALF, &from);
		CHECK_INT(h.next_probe, 1000 + want[i]);
	}
	h.failures = INT64_MAX;
	(void)hl_observe(&h, &hl_defaults, false, "x", 1000, HALF, &from);
	CHECK(h.failures == INT64_MAX);
}

void test_health__jitter(void)
{
	CHECK_INT(hl_jitter(1000, 0.2, HALF), 1000);
	CHECK_INT(hl_jitter(1000, 0.2, 0), 800);
	CHECK(hl_jitter(1000, 0.2, UINT64_MAX) >= 1199 && hl_jitter(1000, 0.2, UINT64_MAX) <= 1200);
	CHECK_INT(hl_jitter(1000, 0, 0), 1000);
	CHECK_INT(hl_jitter(1000, -3, 0), 1000);
	CHECK_INT(hl_jitter(1000, 0.0 / 0.0, 0), 1000);
	CHECK(hl_jitter(1000, 5, 0) >= 99 && hl_jitter(1000, 5, 0) <= 100);
}

void test_health__rules(void)
{
	struct hl_rules r = hl_rules_normal((struct hl_rules){0, -4, 1, 1});
	struct hl_rules odd = {5, 2, 1, 1};
	struct hl_health h = HL_HEALTH_INIT;
	enum pl_health from;

	CHECK_INT(r.degrade_after, 1);
	CHECK_INT(r.unreachable_after, 1);
	CHECK_INT(hl_rules_normal(odd).unreachable_after, 5);
	for (int i = 0; i < 4; i++)
		CHECK(!hl_observe(&h, &odd, false, "x", i, HALF, &from));
	CHECK(hl_observe(&h, &odd, false, "x", 9, HALF, &from));
	CHECK_INT(h.state, PL_UNREACHABLE);
	CHECK(hl_schedulable(PL_DEGRADED) && !hl_schedulable(PL_DRAINING));
	CHECK(!hl_find("sick", &from));
}

/* ---- which executor (facts/executors.md 4, "Registry") ---- */

static const struct reg_entry fleet[] = {
	{"local", false, false}, {"box", true, false}, {"bench", true, false}};

static int resolve(struct reg_ask a, const char *want, enum reg_how how, struct cl_err *e)
{
	enum reg_how got;
	size_t i;
	int rc;

	if (!a.v) {
		a.v = fleet;
		a.n = 3;
	}
	a.project = "/srv/app";
	rc = reg_resolve(&a, &i, &got, e);
	if (want && rc)
		UNIT_FAIL("refused: %s", e->msg);
	if (want && !rc) {
		CHECK_STR(a.v[i].id, want);
		CHECK_INT(got, how);
	}
	return rc;
}

void test_registry__order(void)
{
	struct cl_err e;

	CHECK_INT(resolve((struct reg_ask){.asked = "bench", .bound = "box", .set = "local"},
			  "bench", REG_ASKED, &e),
		0);
	CHECK_INT(
		resolve((struct reg_ask){.bound = "box", .set = "bench"}, "box", REG_BOUND, &e), 0);
	CHECK_INT(resolve((struct reg_ask){.set = "bench"}, "bench", REG_SET, &e), 0);
	CHECK_INT(resolve((struct reg_ask){0}, "local", REG_FIRST, &e), 0);
}

void test_registry__never_falls_back(void)
{
	struct cl_err e;

	CHECK_INT(resolve((struct reg_ask){.asked = "bnch"}, NULL, 0, &e), -1);
	CHECK_STR(e.constraint, "executor");
	CHECK_HAS(e.fix, "bench");
	CHECK_INT(resolve((struct reg_ask){.bound = "gone", .set = "box"}, NULL, 0, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK_HAS(e.msg, "'/srv/app' is bound to executor 'gone'");
	CHECK_HAS(e.fix, "cloop executor bind -p /srv/app");
	CHECK_INT(resolve((struct reg_ask){.set = "gone"}, NULL, 0, &e), -1);
	CHECK_HAS(e.fix, "--default");
	CHECK_INT(resolve((struct reg_ask){.v = fleet, .n = 0}, NULL, 0, &e), -1);
	CHECK_HAS(e.msg, "no executor is configured");
}

void test_registry__strict_evicts(void)
{
	static const struct reg_entry bare[] = {{"local", false, true}};
	static const struct reg_entry named[] = {{"local", false, true}, {"box", true, false}};
	struct cl_err e;

	CHECK_INT(resolve((struct reg_ask){.strict = true}, "box", REG_FIRST, &e), 0);
	CHECK_INT(
		resolve((struct reg_ask){.strict = true, .bound = "box"}, "box", REG_BOUND, &e), 0);
	CHECK_INT(resolve((struct reg_ask){.strict = true, .asked = "local"}, NULL, 0, &e), -1);
	CHECK_STR(cl_err_slug(&e), "host_execution");
	CHECK_HAS(e.fix, "box, bench");
	CHECK_INT(resolve((struct reg_ask){.strict = true, .bound = "local"}, NULL, 0, &e), -1);
	CHECK_INT(resolve((struct reg_ask){.strict = true, .set = "local"}, NULL, 0, &e), -1);
	CHECK_INT(resolve((struct reg_ask){.strict = true, .v = bare, .n = 1}, NULL, 0, &e), -1);
	CHECK_STR(e.constraint, "host_execution_policy");
	/* What only a name leads to is no default, strict or not. */
	CHECK_INT(resolve((struct reg_ask){.v = named, .n = 2}, "box", REG_FIRST, &e), 0);
	CHECK_INT(resolve((struct reg_ask){.v = named, .n = 2, .asked = "local"}, "local",
			  REG_ASKED, &e),
		0);
	CHECK_INT(resolve((struct reg_ask){.v = named, .n = 1}, NULL, 0, &e), -1);
	CHECK_HAS(e.fix, "-e local");
	/* It only ever tightens. */
	CHECK(!reg_tighten(false, true));
	CHECK(reg_tighten(false, false));
	CHECK(reg_tighten(true, true));
	CHECK(reg_tighten(true, false));
	CHECK_STR(reg_how_name(REG_BOUND), "bound");
}

void test_due__each_at_its_own_time(void)
{
	struct hl_health h = HL_HEALTH_INIT;
	const int64_t now = 10000000;

	CHECK_INT(hl_due(&h, &hl_defaults, now, HALF), 0);
	h.last_probe = now - 1000;
	CHECK_INT(hl_due(&h, &hl_defaults, now, HALF), now - 1000 + HL_INTERVAL_MS);
	CHECK_INT(hl_due(&h, &hl_defaults, now, 0), now - 1000 + HL_INTERVAL_MS * 8 / 10);
	CHECK(hl_due(&h, &hl_defaults, now, UINT64_MAX) <= now - 1000 + HL_INTERVAL_MS * 12 / 10);
	/* A back-off is what was written, with its jitter. */
	h.next_probe = now + 7;
	CHECK_INT(hl_due(&h, &hl_defaults, now, 0), now + 7);
	h.next_probe = now - 7;
	CHECK_INT(hl_due(&h, &hl_defaults, now, 0), now - 7);
	/* A clock that was set back does not keep anybody for days. */
	h.next_probe = now + 2 * hl_defaults.most_ms + 1;
	CHECK_INT(hl_due(&h, &hl_defaults, now, 0), 0);
	h.next_probe = 0;
	h.last_probe = now + 3600000;
	CHECK_INT(hl_due(&h, &hl_defaults, now, 0), 0);
}
