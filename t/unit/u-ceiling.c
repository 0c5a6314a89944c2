/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/text.h"
#include "policy/sandbox/ceiling.h"

static char *line_of(FILE *f)
{
	static char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line != '#')
			return line;
	}
	return NULL;
}

void test_size__cases(void)
{
	FILE *f = fopen(T_CASES "/sandbox/sizes.tsv", "r");
	const char *line;
	int n = 0;

	while ((line = line_of(f))) {
		cleanup_strv struct cl_strv c = CL_STRV_INIT;
		bool large = false;
		int64_t mb = -7;
		struct cl_err e;
		int rc;

		cl_split(line, '\t', &c);
		rc = sb_size_mb(c.v[0], "size", &mb, &large, &e);
		n++;
		if (!strcmp(c.v[1], "!")) {
			if (!rc)
				UNIT_FAIL("'%s' was accepted", c.v[0]);
			else
				CHECK_HAS(e.msg, c.v[2]);
			CHECK_INT(mb, -7);
			continue;
		}
		if (rc)
			UNIT_FAIL("'%s': %s", c.v[0], e.msg);
		CHECK_INT(large, !strcmp(c.v[1], "clamp"));
		CHECK_INT(mb, large ? SB_MAX_MB : strtol(c.v[1], NULL, 10));
		/* An operator's size is not clamped: above the maximum is an error. */
		CHECK_INT(sb_size_mb(c.v[0], "size", &mb, NULL, &e), large ? -1 : 0);
	}
	CHECK(n > 30);
	if (f)
		(void)fclose(f);
}

void test_ceiling__effective(void)
{
	FILE *f = fopen(T_CASES "/sandbox/ceilings.tsv", "r");
	const char *line;
	int n = 0;

	while ((line = line_of(f))) {
		cleanup_strv struct cl_strv c = CL_STRV_INIT;

		cl_split(line, '\t', &c);
		CHECK_INT(sb_effective(strtoll(c.v[0], NULL, 10), strtoll(c.v[1], NULL, 10),
				  strtoll(c.v[2], NULL, 10)),
			strtoll(c.v[3], NULL, 10));
		n++;
	}
	CHECK(n >= 10);
	if (f)
		(void)fclose(f);
}

void test_ceiling__clamp_names_the_source(void)
{
	struct sb_ceilings c = {{{{4000, 8192, 0, 0}}, {{2000, 8192, 0, 0}}, {{0, 0, 1024, 100}}}};
	struct sb_limits stated = {{8000, 16384, 0, 100}};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct sb_clamp out[SB_NRESOURCES];
	size_t n = sb_clamp(&c, &stated, out);

	CHECK_INT(n, 2);
	CHECK_INT(out[0].resource, SB_CPU);
	CHECK_INT(out[0].requested, 8000);
	CHECK_INT(out[0].effective, 2000);
	CHECK_STR(sb_source_name(out[0].source), "executor");
	CHECK_STR(sb_source_name(out[1].source), "fleet"); /* a tie: the earlier one */
	CHECK_INT(stated.v[SB_CPU], 2000);
	CHECK_INT(stated.v[SB_MEMORY], 8192);
	CHECK_INT(stated.v[SB_DISK], 0); /* unset stays unset */
	CHECK_INT(stated.v[SB_PIDS], 100);
	sb_clamp_text(&out[1], &text);
	CHECK_STR(text.p, "memory: asked for 16384 MB, the fleet ceiling allows 8192 MB");
	CHECK_INT(sb_clamp(&c, &stated, out), 0);
}

void test_ceiling__negative_is_left_out_whole(void)
{
	struct sb_ceilings c = {{{{1000, 0, 0, -1}}, {{3000, 0, 0, 0}}, {{0}}}};
	struct sb_limits fleet = {{0, 4096, 0, 0}}, more = {{0, 2048, -1, 0}};
	struct cl_err e;

	CHECK_INT(sb_cap(&c, SB_CPU, NULL), 3000);
	CHECK_INT(sb_cap(&c, SB_PIDS, NULL), 0);
	CHECK_INT(sb_ceiling_check(&c.of[SB_FLEET], "executors.limits", &e), -1);
	CHECK_HAS(e.msg, "executors.limits: the pids ceiling -1 is negative");
	CHECK_INT(sb_ceiling_check(&c.of[SB_EXECUTOR], "x", &e), 0);
	sb_ceiling_ratchet(&fleet, &more);
	CHECK_INT(fleet.v[SB_MEMORY], 4096);
	more.v[SB_DISK] = 512;
	sb_ceiling_ratchet(&fleet, &more);
	CHECK_INT(fleet.v[SB_MEMORY], 2048);
	CHECK_INT(fleet.v[SB_DISK], 512);
	more.v[SB_MEMORY] = 9000;
	sb_ceiling_ratchet(&fleet, &more);
	CHECK_INT(fleet.v[SB_MEMORY], 2048);
}

void test_ceiling__driver_limits(void)
{
	struct sb_limits defaults = {{0, 4096, 999, 0}}, stated = {{0}}, out;
	struct sb_ceilings none = {{{{0}}}}, caps = {{{{1000, 8192, 2048, 500}}}};

	sb_effective_limits(&defaults, &stated, &none, &out);
	CHECK_INT(out.v[SB_CPU], 0);
	CHECK_INT(out.v[SB_MEMORY], 4096);
	CHECK_INT(out.v[SB_DISK], 0); /* no executor default for disk */
	CHECK_INT(out.v[SB_PIDS], 1024);
	sb_effective_limits(&defaults, &stated, &caps, &out);
	CHECK_INT(out.v[SB_CPU], 1000);
	CHECK_INT(out.v[SB_MEMORY], 4096);
	CHECK_INT(out.v[SB_DISK], 2048);
	CHECK_INT(out.v[SB_PIDS], 500);
	defaults.v[SB_PIDS] = -1;
	sb_effective_limits(&defaults, &stated, &none, &out);
	CHECK_INT(out.v[SB_PIDS], -1);
	stated.v[SB_PIDS] = 7;
	sb_effective_limits(&defaults, &stated, &none, &out);
	CHECK_INT(out.v[SB_PIDS], 7);
}

void test_ceiling__fetch_limit(void)
{
	CHECK_INT(sb_fetch_limit(0, 0, 0), 0);
	CHECK_INT(sb_fetch_limit(0, 0, 512), 512);
	CHECK_INT(sb_fetch_limit(0, 256, 512), 256);
	CHECK_INT(sb_fetch_limit(100, 256, 512), 100);
	CHECK_INT(sb_fetch_limit(100, 0, 0), 100);
	CHECK_INT(sb_fetch_limit(1000, 2000, 512), 512);
}

void test_ceiling__unenforced(void)
{
	struct sb_ceilings none = {{{{0}}}}, disk = {{{{0, 0, 64, 0}}}};

	CHECK(!sb_unenforced(&none, 0, false, false));
	CHECK(!sb_unenforced(&none, 1, true, false));
	CHECK_HAS(sb_unenforced(&none, 1, false, true), "enforces no limits");
	CHECK_HAS(sb_unenforced(&disk, 0, true, false), "disk ceiling");
	CHECK(!sb_unenforced(&disk, 1, true, true));
}
