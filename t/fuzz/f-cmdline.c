/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table parser: NUL parts the words of a command line. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/parse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int nothing(struct cl_ctx *c, struct cl_err *e)
{
	(void)c;
	(void)e;
	return 0;
}

static const char *const modes[] = {"one", "two", NULL};

static const struct cl_opt opts[] = {
	{.name = "mode", .letter = 'm', .type = CL_ENUM, .arg = "M", .help = "h", .values = modes},
	{.name = "count",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.help = "h",
		.min = 1,
		.max = 9},
	{.name = "time", .type = CL_DURATION, .arg = "T", .help = "h", .min = 1},
	{.name = "tag", .letter = 't', .type = CL_LIST, .arg = "T", .help = "h"},
	{.name = "room", .type = CL_CSV, .arg = "R", .help = "h"},
	{.name = "quick", .letter = 'q', .type = CL_FLAG, .help = "h"},
	{0},
};

static const struct cl_operand operands[] = {
	{.name = "A", .help = "h"},
	{.name = "B", .help = "h", .optional = true, .repeat = true},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "make",
		.alias = "do it",
		.summary = "s",
		.opts = opts,
		.operands = operands,
		.run = nothing},
	{.name = "make two", .summary = "s", .opts = opts, .run = nothing, .needs = CL_NO_JSON},
	{.name = "exec",
		.summary = "s",
		.opts = opts,
		.operands = operands,
		.run = nothing,
		.needs = CL_ARGV_REST},
	{0},
};

static const struct cl_verb bare[] = {
	{.name = "",
		.summary = "s",
		.opts = opts,
		.operands = operands,
		.run = nothing,
		.needs = CL_ARGV_REST},
	{0},
};

static const struct cl_spec specs[] = {
	{.name = "cloop-fuzz", .summary = "s", .verbs = verbs},
	{.name = "cloop-bare", .summary = "s", .verbs = bare, .own_failure = 125},
};

static void check_run(const struct cl_ctx *c)
{
	cleanup_strv struct cl_strv tags = CL_STRV_INIT, rooms = CL_STRV_INIT;
	int64_t n = cl_int(c, "count", 1);
	const char *mode;

	assert(c->verb && n >= 1 && n <= 9 && cl_int(c, "time", 1) >= 1);
	mode = cl_str_or(c, "mode", "one");
	assert(!strcmp(mode, "one") || !strcmp(mode, "two"));
	cl_list(c, "tag", &tags);
	cl_list(c, "room", &rooms);
	for (size_t i = 0; i < rooms.n; i++)
		assert(*rooms.v[i] && !strchr(rooms.v[i], ','));
	assert(!c->operands[c->noperands]);
	assert(c->noperands >= 1 || !c->verb->operands);
	assert(!cl_flag(c, "help"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cl_spec *spec = &specs[size && data[0] % 2];
	cleanup_strv struct cl_strv words = CL_STRV_INIT;
	enum cl_ask ask = CL_ASK_RUN;
	struct cl_ctx c;
	struct cl_err e;

	cl_strv_add(&words, spec->name);
	for (size_t i = 1, n; i < size && words.n < 300; i += n + 1) {
		n = strnlen((const char *)data + i, size - i);
		cl_strv_addn(&words, (const char *)data + i, n);
	}
	if (cl_parse(&c, spec, (int)words.n, words.v, &ask, &e))
		assert(e.code == CL_EUSAGE && e.msg[0] && e.fix[0] &&
			cl_utf8_valid(e.msg, strlen(e.msg)));
	else if (ask == CL_ASK_RUN)
		check_run(&c);
	cl_ctx_release(&c);
	return 0;
}
