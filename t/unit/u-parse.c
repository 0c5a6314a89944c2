/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table parser, with a command that has verbs, one that has none, and one that wraps. */
#include "cli/parse.h"
#include "base/mem.h"
#include "base/text.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int nothing(struct cl_ctx *c, struct cl_err *e)
{
	(void)c;
	(void)e;
	return 0;
}

static const char *const colours[] = {"red", "green", NULL};

static const struct cl_opt paint_opts[] = {
	{.name = "colour",
		.letter = 'c',
		.type = CL_ENUM,
		.arg = "NAME",
		.help = "h",
		.values = colours},
	{.name = "coats",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.help = "h",
		.min = 1,
		.max = 9},
	{.name = "dry", .type = CL_DURATION, .arg = "TIME", .help = "h", .min = 1},
	{.name = "wait", .type = CL_DURATION, .arg = "TIME", .help = "h"},
	{.name = "tag", .letter = 't', .type = CL_LIST, .arg = "T", .help = "h"},
	{.name = "room", .type = CL_CSV, .arg = "R,...", .help = "h"},
	{.name = "note", .type = CL_STR, .arg = "TEXT", .help = "h"},
	{.name = "gloss", .letter = 'g', .type = CL_FLAG, .help = "h"},
	{.name = "matt", .letter = 'm', .type = CL_FLAG, .help = "h"},
	{.name = "any", .type = CL_INT, .arg = "N", .help = "h", .min = -5},
	{0},
};

static const struct cl_opt own_opts[] = {
	{.name = "store", .letter = 's', .type = CL_STR, .arg = "FILE", .help = "h"},
	{.name = "loud", .type = CL_FLAG, .help = "h"},
	{0},
};

static const struct cl_operand walls[] = {
	{.name = "WALL", .help = "h"},
	{.name = "MORE", .help = "h", .optional = true, .repeat = true},
	{0},
};

static const struct cl_operand argv_operand[] = {
	{.name = "ARGV", .help = "h", .repeat = true},
	{0},
};

static const struct cl_exit paint_exits[] = {{1, "still wet"}, {4, "out of paint"}, {0}};

static const struct cl_verb verbs[] = {
	{.name = "paint",
		.alias = "colour in",
		.summary = "s",
		.opts = paint_opts,
		.operands = walls,
		.exits = paint_exits,
		.run = nothing},
	{.name = "brush add", .summary = "s", .run = nothing, .needs = CL_NO_JSON},
	{.name = "brush", .summary = "s", .run = nothing},
	{.name = "exec",
		.summary = "s",
		.operands = argv_operand,
		.run = nothing,
		.needs = CL_ARGV_REST},
	{.name = "secret-verb", .summary = "s", .run = nothing, .needs = CL_HIDDEN},
	{0},
};

static const struct cl_spec many = {
	.name = "cloop-decor", .summary = "s", .verbs = verbs, .opts = own_opts};

static const struct cl_opt wrap_opts[] = {
	{.name = "project", .letter = 'p', .type = CL_STR, .arg = "DIR", .help = "h"},
	{.name = "tty", .letter = 't', .type = CL_FLAG, .help = "h"},
	{0},
};

static const struct cl_verb wrap_verbs[] = {
	{.name = "",
		.summary = "s",
		.opts = wrap_opts,
		.operands = argv_operand,
		.run = nothing,
		.needs = CL_ARGV_REST},
	{0},
};

static const struct cl_spec wrapper = {
	.name = "cloop-wrap", .summary = "s", .verbs = wrap_verbs, .own_failure = 125};

static const struct cl_verb plain_verbs[] = {
	{.name = "", .summary = "s", .opts = paint_opts, .operands = walls, .run = nothing},
	{0},
};

static const struct cl_spec plain = {.name = "cloop-plain", .summary = "s", .verbs = plain_verbs};

/* A verb without a name beside one with a name. */
static const struct cl_verb both_verbs[] = {
	{.name = "", .summary = "s", .opts = paint_opts, .run = nothing},
	{.name = "touch", .summary = "s", .opts = wrap_opts, .operands = walls, .run = nothing},
	{0},
};

static const struct cl_spec both = {
	.name = "cloop-both", .summary = "s", .verbs = both_verbs, .opts = own_opts};

/* A command line, words parted by blanks ('~' stands for an empty word), and what came of it. */
struct parsed {
	struct cl_ctx c;
	struct cl_err e;
	enum cl_ask ask;
	struct cl_strv words;
	int rc;
};

static void parse(struct parsed *p, const struct cl_spec *spec, const char *line)
{
	*p = (struct parsed){.words = CL_STRV_INIT};
	cl_strv_add(&p->words, spec->name);
	if (*line)
		cl_split(line, ' ', &p->words);
	for (size_t i = 0; i < p->words.n; i++)
		if (!strcmp(p->words.v[i], "~"))
			p->words.v[i][0] = '\0';
	p->rc = cl_parse(&p->c, spec, (int)p->words.n, p->words.v, &p->ask, &p->e);
}

static void parsed_release(struct parsed *p)
{
	cl_ctx_release(&p->c);
	cl_strv_release(&p->words);
}
#define cleanup_parsed __attribute__((cleanup(parsed_release)))

/* The operands joined, or the message of the refusal. */
static char *outcome(const struct parsed *p)
{
	if (p->rc)
		return cl_asprintf("! %s", p->e.msg);
	if (p->ask != CL_ASK_RUN)
		return cl_asprintf("? %d %s", p->ask, p->c.verb ? p->c.verb->name : "-");
	return cl_join((const char *const *)p->c.operands, p->c.noperands, "|");
}

static void table(const struct cl_spec *spec, const char *const rows[][2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_parsed struct parsed p;
		cleanup_free char *got = NULL;

		parse(&p, spec, rows[i][0]);
		got = outcome(&p);
		if (strcmp(got, rows[i][1]) != 0)
			UNIT_FAIL("'%s' gave '%s', not '%s'", rows[i][0], got, rows[i][1]);
		if (p.rc && (p.e.code != CL_EUSAGE || !p.e.fix[0]))
			UNIT_FAIL("'%s': no usage error with a fix: %s", rows[i][0], p.e.fix);
	}
}

void test_parse__operands_and_verbs(void)
{
	static const char *const rows[][2] = {
		{"paint a", "a"},
		{"paint a b c", "a|b|c"},
		{"colour in a", "a"},
		{"paint -", "-"},
		{"paint a -g b", "a|b"},
		{"paint -- -g --colour", "-g|--colour"},
		{"paint a -- --", "a|--"},
		{"paint ~", ""},
		{"brush", ""},
		{"brush add", ""},
		{"--store f --loud paint a", "a"},
		{"-sf paint a", "a"},
		{"-C d paint a", "a"},
		{"secret-verb", ""},
		{"paint", "! WALL is missing"},
		{"brush x", "! 'x' is one operand too many"},
		{"brush add x", "! 'x' is one operand too many"},
		{"", "! cloop decor needs a verb"},
		{"--loud", "! cloop decor needs a verb"},
		{"-- paint a", "! cloop decor needs a verb"},
		{"pant a", "! cloop decor has no verb 'pant'"},
		{"~", "! cloop decor has no verb ''"},
		{"brush sub", "! 'sub' is one operand too many"},
		{"colour out", "! cloop decor has no verb 'colour'"},
	};

	table(&many, rows, CL_ARRAY_LEN(rows));
}

void test_parse__options(void)
{
	static const char *const rows[][2] = {
		{"paint a --colour red", "a"},
		{"paint a --colour=RED", "a"},
		{"paint a -cred", "a"},
		{"paint a -gm", "a"},
		{"paint a -gcred", "a"},
		{"paint a -gc red", "a"},
		{"paint a --note=", "a"},
		{"paint a --note ~", "a"},
		{"paint a --note --gloss", "a"},
		{"paint a --note=a=b", "a"},
		{"paint a --any -5", "a"},
		{"paint a --wait 0", "a"},
		{"paint a --colour blue", "! --colour 'blue' is none of red, green"},
		{"paint a --colour=", "! --colour '' is none of red, green"},
		{"paint a --coats 0", "! --coats '0' is not between 1 and 9"},
		{"paint a --coats 1x", "! --coats '1x' is not a whole number"},
		{"paint a --any -6", "! --any '-6' is less than -5"},
		{"paint a --dry 0s", "! --dry '0s' must be longer than nothing"},
		{"paint a --dry 5", "! --dry '5' is not a duration"},
		{"paint a --gloss=1", "! --gloss takes no value"},
		{"paint a --note", "! --note needs a value (TEXT)"},
		{"paint a -c", "! -c needs a value (NAME)"},
		{"paint a -gc", "! -c needs a value (NAME)"},
		{"paint a --color red", "! unknown option '--color'"},
		{"paint a --col red", "! unknown option '--col'"},
		{"paint a --", "a"},
		{"paint a -z", "! unknown option '-z'"},
		{"paint a -gz", "! unknown option '-z'"},
		{"paint a --=x", "! unknown option '--'"},
		{"paint a ---gloss", "! unknown option '---gloss'"},
		{"brush add --json", "! unknown option '--json'"},
		{"brush --json", ""},
		{"--gloss paint a", "! unknown option '--gloss'"},
		{"paint a -\xff", "! unknown option '-?'"},
	};

	table(&many, rows, CL_ARRAY_LEN(rows));
}

void test_parse__a_verb_without_a_name(void)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"--gloss", ""},
		{"-g --json", ""},
		{"--json -g", ""},
		{"touch a", "a"},
		{"touch -t a", "a"},
		{"--json touch a -t", "a"},
		{"--gloss touch", "! 'touch' is one operand too many"},
		{"-p d touch a", "! unknown option '-p'"},
		{"touch -g a", "! unknown option '-g'"},
		{"touchy", "! 'touchy' is one operand too many"},
		{"--bogus", "! unknown option '--bogus'"},
		{"--help", "? 1 "},
		{"touch --help", "? 1 touch"},
		{"--gloss --help", "? 1 "},
	};

	table(&both, rows, CL_ARRAY_LEN(rows));
}

void test_parse__a_command_line_as_operand(void)
{
	static const char *const rows[][2] = {
		{"ls -l", "ls|-l"},
		{"-t ls -t", "ls|-t"},
		{"-p d -- ls --help", "ls|--help"},
		{"-p d ls --help", "ls|--help"},
		{"-- -t", "-t"},
		{"-- --", "--"},
		{"ls -- -x", "ls|--|-x"},
		{"- x", "-|x"},
		{"-p ls", "! ARGV is missing"},
		{"", "! ARGV is missing"},
		{"--", "! ARGV is missing"},
		{"-x ls", "! unknown option '-x'"},
		{"--help ls", "? 1 "},
		{"-p d --help ls", "? 1 "},
		{"-td --help", "? 1 "},
		{"-p d -h", "? 1 "},
	};

	table(&wrapper, rows, CL_ARRAY_LEN(rows));
}

void test_parse__help_is_always_answered(void)
{
	static const char *const rows[][2] = {
		{"--help", "? 1 -"},
		{"-h", "? 1 -"},
		{"--loud --help", "? 1 -"},
		{"-C d --help", "? 1 -"},
		{"--help paint", "? 1 paint"},
		{"paint --help", "? 1 paint"},
		{"paint a b --bogus --help", "? 1 paint"},
		{"--bogus --help", "? 1 -"},
		{"bogus --help", "? 1 -"},
		{"brush add --help", "? 1 brush add"},
		{"-C d paint --help", "? 1 paint"},
		{"paint -gh", "? 1 paint"},
		{"exec ls --help", "ls|--help"},
		{"exec -- ls --help", "ls|--help"},
		{"exec --help", "? 1 exec"},
		{"paint -- --help", "--help"},
		{"--cl-spec", "? 2 -"},
		{"--version", "? 3 -"},
		{"paint a --version", "! unknown option '--version'"},
	};

	table(&many, rows, CL_ARRAY_LEN(rows));
}

void test_parse__a_command_without_verbs(void)
{
	static const char *const rows[][2] = {
		{"a --gloss", "a"},
		{"--gloss a", "a"},
		{"paint", "paint"},
		{"a --help", "? 1 "},
		{"--cl-spec", "? 2 -"},
		{"a --cl-spec", "! unknown option '--cl-spec'"},
		{"", "! WALL is missing"},
	};

	table(&plain, rows, CL_ARRAY_LEN(rows));
}

void test_parse__fixes_say_what_to_type(void)
{
	static const char *const rows[][2] = {
		{"paint a --glos", "did you mean '--gloss'?"},
		{"paint a --quux", "see 'cloop decor paint --help'"},
		{"pant a", "did you mean 'cloop decor paint'?"},
		{"brush ad", "see 'cloop decor brush --help'"},
		{"secret-verbs", "see 'cloop decor --help'"}, /* a hidden one is not suggested */
		{"--gloss paint a", "it belongs after its verb: 'cloop decor paint --gloss'"},
		{"paint a --coats x", "write digits alone, such as 10"},
		{"paint a --coats 10", "write a whole number from 1 to 9"},
		{"paint a --any -6", "write -5 or more"},
		{"paint a --dry 5", "write one such as 90s, 15m, 24h, 7d or 1h30m"},
		{"paint a --colour gren", "did you mean 'green'?"},
		{"paint a --colour blue", "see 'cloop decor paint --help'"},
		{"kitchen", "see 'cloop decor --help'"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_parsed struct parsed p;

		parse(&p, &many, rows[i][0]);
		CHECK_INT(p.rc, -1);
		CHECK_STR(p.e.fix, rows[i][1]);
	}
}

void test_parse__values_reach_the_verb(void)
{
	cleanup_parsed struct parsed p;
	cleanup_strv struct cl_strv tags = CL_STRV_INIT, rooms = CL_STRV_INIT;

	parse(&p, &many,
		"-C /hub --json paint w --colour GREEN --coats 2 --coats 3 --dry 1m --tag a,b -tc "
		"--room=,x,,y, --room z --note first --note last -g");
	CHECK_INT(p.rc, 0);
	CHECK_STR(p.c.verb->name, "paint");
	CHECK_STR(p.c.dir, "/hub");
	CHECK(p.c.json);
	CHECK_STR(cl_str(&p.c, "colour"), "green");
	CHECK_INT(cl_int(&p.c, "coats", 7), 3);
	CHECK_INT(cl_int(&p.c, "dry", 7), 60000);
	CHECK_INT(cl_int(&p.c, "wait", 7), 7);
	CHECK_STR(cl_str(&p.c, "note"), "last");
	CHECK_STR(cl_str_or(&p.c, "store", "none"), "none");
	CHECK(cl_str(&p.c, "store") == NULL);
	CHECK(cl_flag(&p.c, "gloss") && !cl_flag(&p.c, "matt") && cl_given(&p.c, "room"));
	cl_list(&p.c, "tag", &tags);
	CHECK(tags.n == 2 && !strcmp(tags.v[0], "a,b") && !strcmp(tags.v[1], "c"));
	cl_list(&p.c, "room", &rooms);
	CHECK_INT(rooms.n, 3);
	CHECK_STR(rooms.v[2], "z");
	CHECK_STR(cl_operand(&p.c, 0), "w");
	CHECK(!cl_operand(&p.c, 1) && !p.c.operands[1]);
}

void test_parse__ten_thousand_words(void)
{
	cleanup_parsed struct parsed p;
	cleanup_buf struct cl_buf line = CL_BUF_INIT;
	cleanup_strv struct cl_strv tags = CL_STRV_INIT;

	cl_buf_adds(&line, "paint w");
	for (int i = 0; i < 10000; i++)
		cl_buf_addf(&line, " -t%d o%d", i, i);
	parse(&p, &many, line.p);
	CHECK_INT(p.rc, 0);
	CHECK_INT(p.c.noperands, 10001);
	cl_list(&p.c, "tag", &tags);
	CHECK_INT(tags.n, 10000);
	CHECK_STR(tags.v[9999], "9999");
}

void test_parse__no_arguments_at_all(void)
{
	char *none[] = {NULL};
	struct cl_ctx c;
	struct cl_err e;
	enum cl_ask ask;

	CHECK_INT(cl_parse(&c, &many, 0, none, &ask, &e), -1);
	CHECK_INT(e.code, CL_EUSAGE);
	cl_ctx_release(&c);
}

void test_spec__exits_are_the_verbs_own_and_the_shared(void)
{
	struct cl_exit x[48];
	size_t n = cl_exits(&many, &verbs[0], x, 48);

	CHECK_INT(n, 11);
	CHECK(x[0].status == 0 && x[1].status == 1 && x[2].status == 4 && x[3].status == 64);
	CHECK_INT(cl_exits(&wrapper, &wrap_verbs[0], x, 48), 1);
	CHECK_INT(cl_exits(&many, &verbs[0], x, 2), 2);
}

void test_spec__json_of_the_table(void)
{
	json_t *j = cl_spec_json(&many), *v, *o;
	size_t i;

	CHECK_STR(json_string_value(json_object_get(j, "typed")), "cloop decor");
	CHECK_INT(json_array_size(json_object_get(j, "verbs")), 5);
	v = json_array_get(json_object_get(j, "verbs"), 1);
	json_array_foreach (json_object_get(v, "shared"), i, o)
		CHECK(strcmp(json_string_value(json_object_get(o, "name")), "json") != 0);
	v = json_array_get(json_object_get(j, "verbs"), 0);
	CHECK_STR(json_string_value(json_object_get(v, "synopsis")),
		"cloop decor paint [OPTION...] WALL [MORE...]");
	CHECK_STR(json_string_value(json_object_get(v, "alias")), "colour in");
	json_decref(j);
}

/* Whether the table's own check aborts. */
static bool aborts(const struct cl_spec *spec)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		(void)close(2);
		(void)signal(SIGABRT, SIG_DFL);
		cl_spec_check(spec);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static bool contradicts(const struct cl_verb *v, const struct cl_opt *own)
{
	const struct cl_spec spec = {.name = "cloop-bad", .summary = "s", .verbs = v, .opts = own};

	return aborts(&spec);
}

#define VERB(...) \
	((const struct cl_verb[]){{.name = "v", .summary = "s", .run = nothing, __VA_ARGS__}, {0}})
#define OPTS(...) ((const struct cl_opt[]){__VA_ARGS__, {0}})

void test_spec__check_finds_contradictions(void)
{
	static const struct cl_operand late[] = {
		{.name = "A", .help = "h", .optional = true}, {.name = "B", .help = "h"}, {0}};
	static const struct cl_operand after[] = {
		{.name = "A", .help = "h", .repeat = true}, {.name = "B", .help = "h"}, {0}};
	static const struct cl_exit twice[] = {{1, "a"}, {1, "b"}, {0}};
	static const struct cl_verb same[] = {{.name = "v", .summary = "s", .run = nothing},
		{.name = "v", .summary = "s", .run = nothing}, {0}};
	static const struct cl_verb empty[] = {{.name = "v", .summary = "s"}, {0}};
	static const struct cl_text rows[] = {{"A", "a"}, {"B", "b"}, {"A", "c"}, {0}};
	struct cl_spec texts = {.name = "cloop-bad", .summary = "s", .verbs = VERB(.opts = NULL)};

	CHECK(!aborts(&texts));
	texts.environment = rows;
	CHECK(aborts(&texts));
	texts.environment = NULL;
	texts.files = rows;
	CHECK(aborts(&texts));
	cl_spec_check(&many);
	cl_spec_check(&wrapper);
	cl_spec_check(&plain);
	CHECK(!contradicts(VERB(.opts = OPTS({.name = "a", .help = "h"})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "a"})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "a", .help = "ends."})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "a", .help = "h", .arg = "X"})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "a", .help = "h", .type = CL_STR})), NULL));
	CHECK(contradicts(
		VERB(.opts = OPTS({.name = "a", .help = "h", .type = CL_ENUM, .arg = "X"})), NULL));
	CHECK(contradicts(
		VERB(.opts = OPTS({.name = "a", .help = "h"}, {.name = "a", .help = "h"})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "json", .help = "h"})), NULL));
	CHECK(contradicts(VERB(.opts = OPTS({.name = "x", .letter = 'C', .help = "h"})), NULL));
	CHECK(contradicts(
		VERB(.opts = OPTS({.name = "x", .help = "h"})), OPTS({.name = "x", .help = "h"})));
	CHECK(contradicts(VERB(.operands = late), NULL));
	CHECK(contradicts(VERB(.operands = after), NULL));
	CHECK(contradicts(VERB(.exits = twice), NULL));
	CHECK(contradicts(same, NULL));
	CHECK(contradicts(empty, NULL));
}
