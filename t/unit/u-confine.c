/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which directory may be a project: every case of t/cases/confine twice, once on facts
 * made up from its lines, once (as root) on a real tree that is chrooted into.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/confine.h"
#include "sys/confine.h"
#include "confine-fixture.h"
#include "unit.h"

struct line {
	char *word[5];
};

struct setup {
	struct line lines[128];
	size_t n;
	char *text;
	const char *name;
};

static bool load(const char *name, struct setup *s)
{
	cleanup_free char *path = cl_asprintf("%s/confine/%s", T_CASES, name);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	FILE *f = fopen(path, "r");
	char *rest, *line;

	memset(s, 0, sizeof(*s));
	s->name = name;
	CHECK(f != NULL);
	if (!f)
		return false;
	text.len = fread(cl_buf_reserve(&text, 32768), 1, 32768, f);
	text.p[text.len] = '\0';
	(void)fclose(f);
	rest = s->text = cl_buf_detach(&text);
	while ((line = strsep(&rest, "\n"))) {
		struct line *l = &s->lines[s->n];
		size_t words = 0;

		if (*line && *line != '#' && s->n < CL_ARRAY_LEN(s->lines) - 1)
			while (words < 4 && (l->word[words] = strsep(&line, " ")))
				words++;
		s->n += words > 0;
	}
	CHECK(s->n > 5);
	return true;
}

static const char *value(const struct setup *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->lines[i].word[0], key))
			return s->lines[i].word[1];
	return NULL;
}

static bool is(const struct line *l, const char *key)
{
	return !strcmp(l->word[0], key);
}

static bool asks(const struct line *l)
{
	return is(l, "create") || is(l, "run");
}

/* --- on made-up facts --- */

/* The path with the links of the case followed; owned. */
static char *follow(const struct setup *s, const char *asked)
{
	char *path = confine_clean(asked);

	for (size_t i = 0; i < s->n; i++) {
		const struct line *l = &s->lines[i];
		char *to;

		if (!is(l, "link") || cl_ends(l->word[1], "/.cloop") ||
			!confine_within(l->word[1], path))
			continue;
		to = cl_asprintf("%s%s", l->word[2], path + strlen(l->word[1]));
		free(path);
		path = to;
	}
	return path;
}

static bool levels_below(const char *top, const char *path, int most)
{
	int levels = 0;

	for (const char *p = path + strlen(top); *p; p++)
		levels += *p == '/';
	return levels <= most;
}

static void make_up(const struct setup *s, const struct line *ask, struct confine_facts *f)
{
	cleanup_free char *path = follow(s, ask->word[1]), *feature = NULL, *state = NULL;

	f->purpose = is(ask, "run") ? CONFINE_RUN : CONFINE_CREATE;
	feature = f->purpose == CONFINE_RUN ? confine_feature_project(path) : NULL;
	cl_strv_add(&f->names, feature ? feature : path);
	state = cl_asprintf("%s/.cloop", f->names.v[0]);
	cl_strv_add(&f->hub, value(s, "hub"));
	cl_strv_add(&f->home, value(s, "home"));
	if (value(s, "root"))
		cl_strv_add(&f->root, value(s, "root"));
	f->projects = cl_calloc(s->n, sizeof(*f->projects));
	for (size_t i = 0; i < s->n; i++) {
		const struct line *l = &s->lines[i];
		const char *dir = f->names.v[0];

		if (is(l, "project"))
			cl_strv_add(&f->projects[f->nprojects++], l->word[1]);
		/* By its text a relative link stays inside, as long as it does not go up. */
		if (is(l, "link") && !strcmp(l->word[1], state) &&
			(l->word[2][0] == '/' || strstr(l->word[2], "..")))
			f->state_link = cl_strdup(l->word[2]);
		if (is(l, "marker") && !f->other_hub &&
			(confine_within(l->word[1], dir) ||
				(confine_within(dir, l->word[1]) &&
					levels_below(dir, l->word[1], CONFINE_DEPTH))))
			f->other_hub = cl_strdup(l->word[1]);
	}
}

static void check_verdict(const struct setup *s, const struct line *l, bool manage, int rc,
	int rule, const struct cl_err *e)
{
	int want = atoi(l->word[manage ? 2 : 3]); /* lint: allow */

	if (rule != want)
		UNIT_FAIL("%s: %s %s manage %d: rule %d, not %d (%s)", s->name, l->word[0],
			l->word[1], manage, rule, want, rc ? e->msg : "");
	CHECK_INT(rc, rule ? -1 : 0);
	if (rc) {
		CHECK_STR(cl_err_slug(e), "project_unconfined");
		CHECK(e->fix[0] != '\0');
	}
}

static void pure(const char *name)
{
	struct setup s;

	if (!load(name, &s))
		return;
	for (size_t i = 0; i < s.n; i++)
		for (int manage = 0; manage < 2 && asks(&s.lines[i]); manage++) {
			cleanup_confine struct confine_facts f = CONFINE_FACTS_INIT;
			struct cl_err e;
			int rule = -1, rc;

			make_up(&s, &s.lines[i], &f);
			f.manage = manage;
			rc = confine_judge(&f, &rule, &e);
			check_verdict(&s, &s.lines[i], manage, rc, rule, &e);
		}
	free(s.text);
}

void test_cases__made_up(void)
{
	pure("example.case");
	pure("packaged.case");
	pure("no-root.case");
}

/* --- on a real tree --- */

static void build(const struct setup *s)
{
	mark(value(s, "hub"));
	make(value(s, "home"));
	if (value(s, "root"))
		make(value(s, "root"));
	make("/etc");
	make("/usr/lib");
	for (size_t i = 0; i < s->n; i++) {
		const struct line *l = &s->lines[i];

		if (is(l, "dir") || is(l, "project") || is(l, "run"))
			make(l->word[1]);
		if (is(l, "marker"))
			mark(l->word[1]);
		if (is(l, "link")) {
			cleanup_free char *above = cl_strdup(l->word[1]);

			*strrchr(above, '/') = '\0';
			make(above);
			CHECK_INT(symlink(l->word[2], l->word[1]), 0);
		}
	}
}

static void ask_all(const struct setup *s)
{
	const char *projects[16];
	struct confine_ask ask = {.hub = value(s, "hub"),
		.root = value(s, "root"),
		.home = value(s, "home"),
		.projects = projects};

	for (size_t i = 0; i < s->n; i++)
		if (is(&s->lines[i], "project"))
			projects[ask.nprojects++] = s->lines[i].word[1];
	for (size_t i = 0; i < s->n; i++)
		for (int manage = 0; manage < 2 && asks(&s->lines[i]); manage++) {
			cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
			const struct line *l = &s->lines[i];
			struct cl_err e;
			int rc;

			ask.dir = l->word[1];
			ask.manage = manage;
			ask.purpose = is(l, "run") ? CONFINE_RUN : CONFINE_CREATE;
			rc = confine_check(&ask, &d, &e);
			check_verdict(s, l, manage, rc, d.rule, &e);
		}
}

static void in_root(const char *name)
{
	struct setup s;

	if (!load(name, &s))
		return;
	new_root();
	if (!unit_failures) {
		build(&s);
		ask_all(&s);
	}
	free(s.text);
}

void test_cases__real_tree(void)
{
	apart(in_root, "example.case");
	apart(in_root, "packaged.case");
	apart(in_root, "no-root.case");
}

/* --- the pure parts --- */

void test_clean__forms(void)
{
	static const char *const rows[][2] = {{"/", "/"}, {"//", "/"}, {"/a/b", "/a/b"},
		{"/a//b/", "/a/b"}, {"/a/./b/.", "/a/b"}, {"/a/../b", "/b"}, {"/..", "/"},
		{"/../../a", "/a"}, {"/a/b/../../..", "/"}, {"/a/...", "/a/..."},
		{"/a/b/c/../../d/e/..", "/a/d"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_free char *got = confine_clean(rows[i][0]);

		CHECK_STR(got, rows[i][1]);
	}
}

void test_within__edges(void)
{
	CHECK(confine_within("/", "/"));
	CHECK(confine_within("/", "/a"));
	CHECK(confine_within("/a", "/a"));
	CHECK(confine_within("/a", "/a/b"));
	CHECK(!confine_within("/a", "/ab"));
	CHECK(!confine_within("/a/b", "/a"));
	CHECK(!confine_within("/a", "8:1/a"));
	CHECK(confine_within("8:1/", "8:1/a"));
	CHECK(!confine_within("8:1/", "8:17/a"));
}

/* Nobody without executor.manage learns from a refusal what else is on the host. */
void test_words__tell_strangers_nothing(void)
{
	char first[sizeof(((struct cl_err *)0)->msg)] = "";

	for (int kind = 3; kind <= 6; kind++) {
		cleanup_confine struct confine_facts f = CONFINE_FACTS_INIT;
		struct cl_err e;
		int rule;

		cl_strv_add(&f.names, "/srv/projects/x");
		cl_strv_add(&f.root, "/srv/projects");
		f.projects = cl_calloc(1, sizeof(*f.projects));
		if (kind == 3)
			cl_strv_add(&f.hub, "/srv/projects/x/secret");
		if (kind == 4)
			f.other_hub = cl_strdup("/srv/projects/x/secret");
		if (kind == 5) {
			cl_strv_add(&f.projects[0], "/srv/projects/x/secret");
			f.nprojects = 1;
		}
		if (kind == 6)
			f.state_link = cl_strdup("/secret");
		CHECK_INT(confine_judge(&f, &rule, &e), -1);
		CHECK_INT(rule, kind);
		CHECK(!strstr(e.msg, "secret") && !e.rule[0]);
		if (kind == 3)
			memcpy(first, e.msg, sizeof(first));
		CHECK_STR(e.msg, first);
		f.manage = true;
		CHECK_INT(confine_judge(&f, &rule, &e), -1);
		CHECK_HAS(e.msg, "secret");
		CHECK(cl_starts(e.rule, "confine."));
	}
}
