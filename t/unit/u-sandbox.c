/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/sandbox.h"

/* The blocks of a case file; each starts behind "### ". */
static void blocks_of(const char *path, struct cl_strv *out)
{
	FILE *f = fopen(path, "r");
	cleanup_free char *text = cl_calloc(1, 1 << 18);
	const char *p;

	if (!f || !fread(text, 1, (1 << 18) - 1, f)) {
		UNIT_FAIL("cannot read %s", path);
		abort();
	}
	(void)fclose(f);
	for (p = strstr(text, "\n### "); p;) {
		const char *next = strstr(p + 1, "\n### ");

		if (next)
			cl_strv_addn(out, p + 5, (size_t)(next + 1 - p - 5));
		else
			cl_strv_add(out, p + 5);
		p = next;
	}
}

static int parse(
	const char *text, size_t len, struct cl_doc *d, struct sb_spec *s, struct cl_err *e)
{
	return sb_read("f.yaml", text, len, d, s, e);
}

/* The rules of notes, and the constraints of needs, as the case file writes them. */
static void note_rules(const struct sb_spec *s, struct cl_buf *out)
{
	for (size_t i = 0; i < s->nnotes; i++)
		cl_buf_addf(out, "%s%s", i ? "," : "", s->notes[i].rule);
	if (!s->nnotes)
		cl_buf_adds(out, "-");
}

static void need_names(const struct sb_spec *s, struct cl_buf *out)
{
	struct sb_need need[SB_NEEDS_MAX];
	size_t n = sb_needs(s, need);

	for (size_t i = 0; i < n; i++)
		cl_buf_addf(out, "%s%s", i ? "," : "", need[i].constraint);
	if (!n)
		cl_buf_adds(out, "-");
}

/* The normalised JSON is a spec itself, and means the same. */
static void check_round_trip(const struct sb_spec *s, const char *hash)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec again = SB_SPEC_INIT;
	cleanup_buf struct cl_buf a = CL_BUF_INIT, b = CL_BUF_INIT;
	json_t *j = sb_json(s);
	cleanup_free char *text = cl_json_text(j);
	struct cl_err e;
	char got[65];

	json_decref(j);
	if (parse(text, strlen(text), &d, &again, &e)) {
		UNIT_FAIL("%s: %s", text, e.msg);
		return;
	}
	sb_hash(&again, got);
	CHECK_STR(got, hash);
	need_names(s, &a);
	need_names(&again, &b);
	CHECK_STR(b.p, a.p);
	CHECK_INT(again.has_env, s->has_env);
	CHECK_INT(sb_asks_nothing(&again), sb_asks_nothing(s));
}

void test_spec__valid_cases(void)
{
	cleanup_strv struct cl_strv blocks = CL_STRV_INIT;

	blocks_of(T_CASES "/sandbox/valid.case", &blocks);
	CHECK(blocks.n > 35);
	for (size_t i = 0; i < blocks.n; i++) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
		cleanup_buf struct cl_buf notes = CL_BUF_INIT, needs = CL_BUF_INIT;
		cleanup_strv struct cl_strv want = CL_STRV_INIT;
		char *yaml = strchr(blocks.v[i], '\n') + 1, hash[65];
		struct cl_err e;
		int before = unit_failures;

		yaml[-1] = '\0';
		cl_split(blocks.v[i], ' ', &want);
		CHECK_INT(want.n, 4);
		if (parse(yaml, strlen(yaml), &d, &s, &e)) {
			UNIT_FAIL("refused: %s\n%s", e.msg, yaml);
			continue;
		}
		sb_sense(&d, &s);
		sb_hash(&s, hash);
		note_rules(&s, &notes);
		need_names(&s, &needs);
		if (strcmp(want.v[0], "-") != 0)
			CHECK(cl_starts(hash, want.v[0]));
		CHECK_STR(notes.p, want.v[1]);
		CHECK_STR(sb_net_name(sb_network(&s)), want.v[2]);
		CHECK_STR(needs.p, want.v[3]);
		CHECK_INT(sb_asks_nothing(&s), !strcmp(want.v[2], "untouched"));
		check_round_trip(&s, hash);
		if (unit_failures > before)
			UNIT_FAIL("in this spec:\n%s", yaml);
	}
}

void test_spec__invalid_cases(void)
{
	cleanup_strv struct cl_strv blocks = CL_STRV_INIT;

	blocks_of(T_CASES "/sandbox/invalid.case", &blocks);
	CHECK(blocks.n > 90);
	for (size_t i = 0; i < blocks.n; i++) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
		char *yaml = strchr(blocks.v[i], '\n') + 1, *rule, *piece, place[32];
		struct cl_err e;
		int before = unit_failures;

		yaml[-1] = '\0';
		rule = strchr(blocks.v[i], ' ');
		piece = strchr(rule + 1, ' ');
		*rule++ = *piece++ = '\0';
		if (!parse(yaml, strlen(yaml), &d, &s, &e)) {
			UNIT_FAIL("accepted:\n%s", yaml);
			continue;
		}
		(void)snprintf(place, sizeof(place), "%u:%u", e.line, e.column);
		CHECK_INT(e.code, CL_EDATA);
		CHECK_STR(cl_err_slug(&e), SB_INVALID);
		CHECK_STR(place, blocks.v[i]);
		CHECK_STR(e.rule, rule);
		CHECK_HAS(e.msg, piece);
		CHECK(*e.fix);
		CHECK_STR(e.file, "f.yaml");
		if (unit_failures > before)
			UNIT_FAIL("%s (fix: %s) in this spec:\n%s", e.msg, e.fix, yaml);
	}
}

/* A spec made of `n` times the same piece between head and tail. */
static int repeated(
	const char *head, const char *piece, size_t n, const char *tail, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	cl_buf_adds(&b, head);
	for (size_t i = 0; i < n; i++)
		cl_buf_adds(&b, piece);
	cl_buf_adds(&b, tail);
	return parse(b.p, b.len, &d, &s, e);
}

void test_spec__counts_and_lengths(void)
{
	struct cl_err e;

	CHECK_INT(repeated("setup:\n", "  - a\n", 32, "", &e), 0);
	CHECK_INT(repeated("setup:\n", "  - a\n", 33, "", &e), -1);
	CHECK_HAS(e.msg, "more than the 32 allowed");
	CHECK_INT(repeated("setup: [", "a", 4096, "]\n", &e), 0);
	CHECK_INT(repeated("setup: [", "a", 4097, "]\n", &e), -1);
	CHECK_HAS(e.msg, "longer than 4096 bytes");
	CHECK_INT(repeated("env:\n", "  - A\n", 64, "", &e), 0);
	CHECK_INT(repeated("env:\n", "  - A\n", 65, "", &e), -1);
	CHECK_INT(repeated("env: [", "A", 256, "]\n", &e), 0);
	CHECK_INT(repeated("env: [", "A", 257, "]\n", &e), -1);
	CHECK_HAS(e.msg, "longer than 256 bytes");
	CHECK_INT(repeated("image: ", "a", 512, "\n", &e), 0);
	CHECK_INT(repeated("image: ", "a", 513, "\n", &e), -1);
	CHECK_HAS(e.msg, "longer than 512 bytes");
	CHECK_INT(repeated("capabilities: {network: ", "a", 128, "}\n", &e), 0);
	CHECK_INT(repeated("capabilities: {network: ", "a", 129, "}\n", &e), -1);
	CHECK_INT(repeated("mounts:\n", "  - {source: a, target: /a}\n", 17, "", &e), -1);
	CHECK_HAS(e.msg, "more than the 16 allowed");
	CHECK_INT(repeated("#", "x", 65535, "", &e), 0);
	CHECK_INT(repeated("#", "x", 65536, "", &e), -1);
	CHECK_HAS(e.msg, "more than the 65536 allowed");
	CHECK_INT(repeated("image: ", "[", 9000, "", &e), -1);
	CHECK_INT(repeated("", "{a: ", 9000, "", &e), -1);
}

void test_spec__hostile_bytes(void)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		{"image: a\0b\n", 11},
		{"image: \"a\\0b\"\n", 15},
		{"image: \xff\xfe\n", 10},
		{"image: \xc0\xaf\n", 10},
		{"\xff\xfei\0m\0", 6},
		{"image: \x1b[31m\n", 13},
		{"setup: [\"a\\0b\"]\n", 16},
		{"image: [", 8},
		{"\"image", 6},
		{"image: *x\n", 10},
		{"? image\n: - [\n", 14},
		{"%YAML 9.9\n---\nimage: a\n", 23},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
		struct cl_err e;

		if (!parse(bad[i].text, bad[i].len, &d, &s, &e))
			UNIT_FAIL("accepted number %zu", i);
		else
			CHECK_STR(cl_err_slug(&e), SB_INVALID);
	}
}

void test_spec__yaml_corpus_is_refused(void)
{
	static const char *const files[] = {"01-tab-in-block-scalar-ok", "02-tab-as-indent-fails",
		"03-tab-indented-key-fails", "04-tab-after-dash-number", "05-alias-as-key",
		"06-duplicate-key", "07-core-schema-surprises"};

	for (size_t i = 0; i < CL_ARRAY_LEN(files); i++) {
		cleanup_free char *path = cl_asprintf(T_CASES "/sandbox/yaml/%s.yaml", files[i]);
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
		FILE *f = fopen(path, "r");
		char text[4096];
		struct cl_err e;
		size_t n;

		CHECK(f != NULL);
		if (!f)
			continue;
		n = fread(text, 1, sizeof(text), f);
		(void)fclose(f);
		CHECK_INT(parse(text, n, &d, &s, &e), -1);
		CHECK(e.line > 0);
	}
}

void test_spec__setup_hash(void)
{
	cleanup_doc struct cl_doc d1 = CL_DOC_INIT, d2 = CL_DOC_INIT, d3 = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec a = SB_SPEC_INIT, b = SB_SPEC_INIT, c = SB_SPEC_INIT;
	static const char with[] = "image: ghcr.io/acme/py:3.12\nsetup: [pip install x]\n"
				   "env: [A]\nresources: {cpu: 3}\n";
	struct cl_err e;
	char hash[65];

	CHECK_INT(parse(with, strlen(with), &d1, &a, &e), 0);
	sb_setup_hash(&a, hash);
	CHECK_STR(hash, "4bc706b5c768f4bea9e62e554167823d04335fa5b84f7f933e1b5f367656f9a5");
	CHECK_INT(parse("setup: [a, b]", 13, &d2, &b, &e), 0);
	sb_setup_hash(&b, hash);
	CHECK_STR(hash, "932c88a8982816e95597df76914b97ceec0e4b99f91a505bac834357e6f51dcf");
	CHECK_INT(parse("image: a", 8, &d3, &c, &e), 0);
	sb_setup_hash(&c, hash);
	CHECK_STR(hash, "");
}

void test_spec__hash_tells_values_apart(void)
{
	static const char *const specs[] = {"{}", "image: a", "setup: [a]", "setup: [a, b]",
		"setup: [b, a]", "env: [a]", "resources: {cpu: 1}", "resources: {cpu: 1e-05}",
		"resources: {memory: 64}", "resources: {disk: 64}", "resources: {pids: 64}",
		"capabilities: {git: true}", "capabilities: {network: a}",
		"capabilities: {virtualized: true}", "capabilities: {kernel_isolated: true}",
		"capabilities: {egress: public}", "capabilities: {egress: none}",
		"capabilities: {devices: [a]}", "mounts: [{source: a, target: /b}]",
		"mounts: [{source: a, target: /b, read_only: true}]"};
	char hash[CL_ARRAY_LEN(specs)][65];
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(specs); i++) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;

		CHECK_INT(parse(specs[i], strlen(specs[i]), &d, &s, &e), 0);
		sb_hash(&s, hash[i]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(hash[i], hash[k]))
				UNIT_FAIL("'%s' hashes as '%s'", specs[i], specs[k]);
	}
}

void test_spec__limits(void)
{
	static const struct {
		const char *yaml;
		int64_t milli;
	} cases[] = {{"resources: {cpu: 1.5}", 1500}, {"resources: {cpu: 1e-05}", 1},
		{"resources: {cpu: 0.0019}", 1}, {"resources: {cpu: 0}", 0},
		{"resources: {cpu: 5000}", 1024000}};

	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
		struct sb_limits l;
		struct cl_err e;

		CHECK_INT(parse(cases[i].yaml, strlen(cases[i].yaml), &d, &s, &e), 0);
		sb_limits_of(&s, &l);
		CHECK_INT(l.v[SB_CPU], cases[i].milli);
	}
}

void test_spec__clamp_is_recorded(void)
{
	static const char yaml[] = "resources:\n  memory: 2t\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct cl_err e;

	CHECK_INT(parse(yaml, strlen(yaml), &d, &s, &e), 0);
	CHECK_INT(s.memory_mb, 1048576);
	CHECK_INT(s.nnotes, 1);
	CHECK_STR(s.notes[0].key, "resources.memory");
	CHECK_STR(s.notes[0].asked, "2t");
	CHECK_STR(s.notes[0].given, "1048576m");
	CHECK_INT(s.notes[0].line, 2);
	CHECK_INT(s.notes[0].column, 11);
	CHECK_HAS(s.notes[0].text, "'2t' is above the bound 1048576m");
}

void test_path__clean(void)
{
	static const char *const cases[][2] = {{"", "."}, {".", "."}, {"./a", "a"}, {"a/", "a"},
		{"a//b", "a/b"}, {"a/../b", "b"}, {"../a", "../a"}, {"../../a", "../../a"},
		{"a/..", "."}, {"/", "/"}, {"//", "/"}, {"/..", "/"}, {"/../a", "/a"},
		{"/a/./b/..", "/a"}, {"..config", "..config"}, {"a/../../b", "../b"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		sb_path_clean(cases[i][0], &b);
		CHECK_STR(b.p, cases[i][1]);
	}
}

void test_setup__words(void)
{
	static const char *const cases[][2] = {
		{"pip install --no-cache-dir -r requirements.txt", "requirements.txt"},
		{"pip install --requirement=req/dev.txt", "req/dev.txt"},
		{"pip install -rrequirements.txt x", "requirements.txt,x"},
		{"apt-get update && apt-get install -y git", "git"},
		{"./install.sh", "./install.sh"},
		{"sh 'my dir/x.sh'", "my dir/x.sh"},
		{"pip install .", "."},
		{". /etc/profile", ""},
		{"cat < input.txt > /dev/null", "input.txt"},
		{"curl -o /x https://example.test/a.txt", ""},
		{"cp /workspace/tool /usr/bin", "tool"},
		{"cd /workspace && make", "."},
		{"echo $HOME *.txt ~/x", ""},
		{"", ""},
		{"   ", ""},
		{"'unclosed", ""},
		{"a;b.c|(d/e)", "b.c,d/e"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		cleanup_strv struct cl_strv words = CL_STRV_INIT;
		cleanup_free char *got = NULL;

		sb_setup_words(cases[i][0], &words);
		got = cl_join((const char *const *)words.v, words.n, ",");
		CHECK_STR(got, cases[i][1]);
	}
}
