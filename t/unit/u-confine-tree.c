/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Confinement where only a real tree will do: links, mounts, what cannot be read. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/confine.h"
#include "confine-fixture.h"
#include "unit.h"

static char top[64];

static void setup_tree(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/u-confine-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
}

static void teardown_tree(void)
{
	cleanup_free char *command = cl_asprintf("chmod -R u+rwx '%s'; rm -rf '%s'", top, top);

	CHECK_INT(system(command), 0); /* lint: allow */
}

static char *under(const char *name)
{
	return cl_asprintf("%s/%s", top, name);
}

/* Judges a path below top for the local operator; fills e. */
static int check(
	const char *name, enum confine_purpose purpose, struct confine_dir *d, struct cl_err *e)
{
	cleanup_free char *dir = under(name);
	struct confine_ask ask = {
		.dir = dir, .purpose = purpose, .manage = true, .home = "/home/x"};

	return confine_check(&ask, d, e);
}

void test_resolve__refused(void)
{
	static const char *const links[][2] = {{"dangling", "nowhere/at/all"}, {"loop", "loop"},
		{"magic", "/proc/self/cwd"}, {"tofile", "file"}};
	static const char *const bad[] = {"dangling", "dangling/x", "loop", "loop/x", "magic",
		"magic/x", "tofile", "tofile/x", "file", "file/x"};
	cleanup_free char *plain = NULL;

	setup_tree();
	plain = under("file");
	CHECK_INT(close(open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(links); i++) {
		cleanup_free char *at = under(links[i][0]);

		CHECK_INT(symlink(links[i][1], at), 0);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
		struct cl_err e;

		CHECK_INT(check(bad[i], CONFINE_CREATE, &d, &e), -1);
		if (e.code != CL_EDATA)
			UNIT_FAIL("%s: %s", bad[i], e.msg);
		CHECK_INT(d.rule, 0);
	}
	teardown_tree();
}

void test_resolve__what_is_judged_is_held(void)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT, none = CONFINE_DIR_INIT;
	cleanup_confine_dir struct confine_dir made = CONFINE_DIR_INIT;
	cleanup_free char *real = NULL, *link = NULL;
	struct stat a, b;
	struct cl_err e;

	setup_tree();
	real = under("real \n dir");
	link = under("link");
	CHECK_INT(mkdir(real, 0755), 0);
	CHECK_INT(symlink("real \n dir", link), 0);
	CHECK_INT(check("link", CONFINE_RUN, &d, &e), 0);
	CHECK_STR(d.path, real);
	CHECK(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
	CHECK_INT(fstat(d.fd, &a) + stat(real, &b), 0);
	CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	CHECK_INT(check("none", CONFINE_RUN, &none, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	CHECK_INT(check("link/new/one", CONFINE_CREATE, &made, &e), 0);
	CHECK_INT(made.fd, -1);
	CHECK(cl_ends(made.path, "/real \n dir/new/one"));
	teardown_tree();
}

void test_resolve__relative(void)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT, empty = CONFINE_DIR_INIT;
	struct confine_ask ask = {.dir = "sub/../sub/.", .manage = true, .home = "/home/x"};
	cleanup_free char *sub = NULL, *old = getcwd(NULL, 0);
	struct cl_err e;

	setup_tree();
	sub = under("sub");
	CHECK_INT(mkdir(sub, 0755), 0);
	CHECK_INT(chdir(top), 0);
	CHECK_INT(confine_check(&ask, &d, &e), 0);
	CHECK_STR(d.path, sub);
	ask.dir = "";
	CHECK_INT(confine_check(&ask, &empty, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
	CHECK_INT(chdir(old), 0);
	teardown_tree();
}

void test_search__too_broad(void)
{
	struct confine_facts f = CONFINE_FACTS_INIT;
	cleanup_fd int fd = -1;
	struct cl_err e;
	int rule;

	setup_tree();
	for (int i = 0; i < 20; i++) {
		cleanup_free char *name = cl_asprintf("d%d", i), *dir = under(name);

		CHECK_INT(mkdir(dir, 0755), 0);
	}
	fd = open(top, O_PATH | O_CLOEXEC);
	cl_strv_add(&f.names, top);
	f.manage = true;
	confine_search_hubs(top, fd, NULL, 8, 21, &f);
	CHECK_INT(f.search, CONFINE_SEARCHED);
	confine_search_hubs(top, fd, NULL, 8, 20, &f);
	CHECK_INT(f.search, CONFINE_TOO_BROAD);
	CHECK_INT(confine_judge(&f, &rule, &e), -1);
	CHECK_INT(rule, 4);
	CHECK_HAS(e.msg, "too much below");
	confine_facts_release(&f);
	teardown_tree();
}

/* Who cannot look is not told that nothing is there. */
static void unreadable(const char *arg)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT, above = CONFINE_DIR_INIT;
	cleanup_free char *locked = NULL, *state = NULL, *deep = NULL;
	struct cl_err e;

	(void)arg;
	CHECK(!setgid(65534) && !setuid(65534));
	setup_tree();
	deep = under("p");
	locked = under("p/locked");
	CHECK_INT(mkdir(deep, 0755), 0);
	CHECK_INT(mkdir(locked, 0), 0);
	CHECK_INT(check("p", CONFINE_RUN, &d, &e), -1);
	CHECK_INT(d.rule, 4);
	CHECK_HAS(e.msg, "/p/locked' cannot be read");
	CHECK_INT(rmdir(locked), 0);
	state = under(".cloop");
	CHECK_INT(mkdir(state, 0), 0);
	CHECK_INT(check("p", CONFINE_RUN, &above, &e), -1);
	CHECK_INT(above.rule, 4);
	teardown_tree();
}

void test_search__unreadable(void)
{
	apart(unreadable, NULL);
}

/* One directory under two names, and what is mounted inside. */
static void bound(const char *arg)
{
	static const struct {
		const char *from, *to, *ask;
		int rule;
	} rows[] = {
		{"/srv/cloop/x", "/data/hub", "/data/hub", 3},
		{"/srv/cloop/x", "/data/hub", "/data/hub/new", 3},
		{"/srv/cloop", "/data/box/in", "/data/box", 3},
		{"/srv", "/data/all", "/data/all/other", 0},
		{"/srv", "/data/all", "/data/all/cloop", 3},
		{"/etc", "/data/etc", "/data/etc", 1},
		{"/home/hub", "/data/home", "/data/home", 1},
		{"/srv/projects", "/data/root", "/data/root", 2},
		{"/srv/projects/a", "/data/a", "/data/a", 5},
		{"/srv/projects/a/sub", "/data/box/in", "/data/box", 5},
		{"/srv/projects/b/.cloop", "/data/state", "/data/state/x", 1},
		{"/srv/projects/b", "/data/b", "/data/b", 0},
	};
	const char *projects[] = {"/srv/projects/a"};

	(void)arg;
	new_root();
	mark("/srv/cloop");
	make("/srv/cloop/x");
	make("/srv/other");
	make("/home/hub");
	make("/etc");
	make("/srv/projects/a/sub");
	make("/srv/projects/b/.cloop/x");
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
		struct confine_ask ask = {.dir = rows[i].ask,
			.manage = true,
			.hub = "/srv/cloop",
			.root = "/srv/projects",
			.home = "/home/hub",
			.projects = projects,
			.nprojects = 1};
		struct cl_err e = {0};

		make(rows[i].to);
		CHECK_INT(mount(rows[i].from, rows[i].to, NULL, MS_BIND, NULL), 0);
		(void)confine_check(&ask, &d, &e);
		if (d.rule != rows[i].rule)
			UNIT_FAIL("%s at %s, asked %s: rule %d, not %d (%s)", rows[i].from,
				rows[i].to, rows[i].ask, d.rule, rows[i].rule, e.msg);
		CHECK_INT(umount2(rows[i].to, MNT_DETACH), 0);
	}
}

void test_mounts__no_second_name(void)
{
	apart(bound, NULL);
}
