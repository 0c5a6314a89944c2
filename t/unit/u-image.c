/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/imageref.h"

static char *line_of(FILE *f)
{
	static char line[4096];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

static const char *dash(const char *s)
{
	return *s ? s : "-";
}

void test_reference__cases(void)
{
	FILE *f = fopen(T_CASES "/image/references.tsv", "r");
	const char *line;
	int n = 0;

	CHECK(f != NULL);
	while (f && (line = line_of(f))) {
		cleanup_strv struct cl_strv c = CL_STRV_INIT;
		struct ir_ref r;
		struct cl_err e;
		int rc;

		cl_split(line, '\t', &c);
		rc = ir_parse(c.v[0], &r, &e);
		n++;
		if (!strcmp(c.v[1], "!")) {
			CHECK_INT(rc, -1);
			if (rc)
				CHECK_HAS(e.msg, c.v[2]);
			CHECK_STR(e.rule, "reference-syntax");
			continue;
		}
		if (rc) {
			UNIT_FAIL("%s: %s", c.v[0], e.msg);
			continue;
		}
		CHECK_STR(dash(r.registry), c.v[1]);
		CHECK_STR(dash(r.repository), c.v[2]);
		CHECK_STR(dash(r.tag), c.v[3]);
		CHECK_STR(dash(r.digest), c.v[4]);
		CHECK_INT(r.qualified, strcmp(c.v[1], "-") != 0);
		CHECK_STR(r.original, c.v[0]);
	}
	CHECK(n > 50);
	if (f)
		(void)fclose(f);
}

void test_reference__length(void)
{
	char text[2048];
	struct ir_ref r;
	struct cl_err e;

	memset(text, 'a', sizeof(text));
	text[512] = '\0';
	CHECK_INT(ir_parse(text, &r, &e), 0);
	ir_qualify(&r, "docker.io");
	CHECK_INT(strlen(r.repository), 520);
	text[512] = 'a';
	text[2047] = '\0';
	CHECK_INT(ir_parse(text, &r, &e), -1);
	CHECK_HAS(e.msg, "longer than 512");
	CHECK_INT(strlen(r.original), 512);
}

void test_reference__canonical_drops_the_tag(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct ir_ref r;
	struct cl_err e;

	CHECK_INT(ir_parse("GHCR.io/a/b:1@sha256:"
			   "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9",
			  &r, &e),
		0);
	ir_canonical(&r, &b);
	CHECK_STR(b.p, "ghcr.io/a/b@sha256:"
		       "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9");
	cl_buf_reset(&b);
	ir_text(&r, &b);
	CHECK_STR(b.p, "ghcr.io/a/b:1@sha256:"
		       "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9");
	CHECK_INT(ir_parse("alpine:3", &r, &e), 0);
	cl_buf_reset(&b);
	ir_canonical(&r, &b);
	CHECK_STR(b.p, "");
}
