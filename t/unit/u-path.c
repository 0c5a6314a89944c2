/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/path.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char path[64];
	int fd;
};

static struct place make_place(void)
{
	struct place p = {.path = "/tmp/u-path-XXXXXX"};

	if (!mkdtemp(p.path))
		abort();
	p.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p;
}

static void drop_place(struct place *p)
{
	struct cl_err e;

	CHECK_INT(sys_rmtree(AT_FDCWD, p->path + 1, &e), -1); /* a path is no name */
	(void)close(p->fd);
	p->fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(sys_rmtree(p->fd, p->path + 5, &e), 0);
	CHECK_INT(access(p->path, F_OK), -1);
	(void)close(p->fd);
}

static void put(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void same_text(int dirfd, const char *name, const char *want)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(sys_read_small(dirfd, name, 4096, &b, &e), 0);
	CHECK_STR(b.p, want);
}

void test_path__open_beneath(void)
{
	static const struct {
		const char *path;
		enum cl_code beneath, nolinks;
	} cases[] = {
		{"dir/file", CL_OK, CL_OK},
		{"dir/../dir/file", CL_OK, CL_OK},
		{"inside", CL_OK, CL_EREFUSED},
		{"dir-link/file", CL_OK, CL_EREFUSED},
		{"../x", CL_EREFUSED, CL_EREFUSED},
		{"dir/../../x", CL_EREFUSED, CL_EREFUSED},
		{"/etc/passwd", CL_EREFUSED, CL_EREFUSED},
		{"outside", CL_EREFUSED, CL_EREFUSED},
		{"absolute", CL_EREFUSED, CL_EREFUSED},
		{"loop", CL_EREFUSED, CL_EREFUSED},
		{"missing", CL_ENOTFOUND, CL_ENOTFOUND},
		{"", CL_ENOTFOUND, CL_ENOTFOUND},
		{"dir/file/x", CL_EOS, CL_EOS},
	};
	struct place p = make_place();
	struct cl_err e;

	CHECK_INT(mkdirat(p.fd, "dir", 0755), 0);
	put(p.fd, "dir/file", "x");
	CHECK_INT(symlinkat("dir/file", p.fd, "inside"), 0);
	CHECK_INT(symlinkat("dir", p.fd, "dir-link"), 0);
	CHECK_INT(symlinkat("../../etc/passwd", p.fd, "outside"), 0);
	CHECK_INT(symlinkat("/etc/passwd", p.fd, "absolute"), 0);
	CHECK_INT(symlinkat("loop", p.fd, "loop"), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		cleanup_fd int a = -1;
		cleanup_fd int b = -1;

		cl_err_init(&e);
		a = sys_open_beneath(p.fd, cases[i].path, O_RDONLY, &e);
		if ((a >= 0 ? CL_OK : e.code) != cases[i].beneath)
			UNIT_FAIL("'%s' beneath: %s", cases[i].path, e.msg);
		cl_err_init(&e);
		b = sys_open_nolinks(p.fd, cases[i].path, O_RDONLY, &e);
		if ((b >= 0 ? CL_OK : e.code) != cases[i].nolinks)
			UNIT_FAIL("'%s' without links: %s", cases[i].path, e.msg);
	}
	drop_place(&p);
}

void test_path__magic_links(void)
{
	cleanup_fd int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cl_err e;

	CHECK_INT(sys_open_beneath(proc, "cwd", O_PATH, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
}

void test_path__resolve_dir(void)
{
	struct place p = make_place();
	cleanup_free char *real = NULL, *link = cl_asprintf("%s/l", p.path);
	cleanup_free char *file = cl_asprintf("%s/f", p.path);
	cleanup_free char *none = NULL;
	struct cl_err e;
	int fd;

	CHECK_INT(symlinkat(".", p.fd, "l"), 0);
	put(p.fd, "f", "");
	fd = sys_resolve_dir(link, &real, &e);
	CHECK(fd >= 0);
	CHECK_STR(real, p.path);
	(void)close(fd);
	CHECK_INT(sys_resolve_dir(file, &none, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
	CHECK_INT(sys_resolve_dir("/nowhere/at/all", &none, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	drop_place(&p);
}

void test_path__write_atomic(void)
{
	const struct sys_owner mine = {(uid_t)-1, (gid_t)-1, 0640};
	struct place p = make_place();
	struct stat st;
	struct cl_err e;

	put(p.fd, "victim", "untouched");
	CHECK_INT(symlinkat("victim", p.fd, "link"), 0);
	CHECK_INT(linkat(p.fd, "victim", p.fd, "hard", 0), 0);
	CHECK_INT(sys_write_atomic(p.fd, "new", "one", 3, &mine, &e), 0);
	CHECK_INT(sys_write_atomic(p.fd, "new", "two", 3, &mine, &e), 0);
	CHECK_INT(sys_write_atomic(p.fd, "link", "three", 5, &mine, &e), 0);
	CHECK_INT(sys_write_atomic(p.fd, "hard", "", 0, &mine, &e), 0);
	same_text(p.fd, "new", "two");
	same_text(p.fd, "victim", "untouched");
	same_text(p.fd, "link", "three");
	same_text(p.fd, "hard", "");
	CHECK_INT(fstatat(p.fd, "new", &st, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	CHECK_INT(fstatat(p.fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	CHECK(S_ISREG(st.st_mode));
	CHECK_INT(sys_write_atomic(p.fd, "a/b", "", 0, &mine, &e), -1);
	CHECK_INT(sys_write_atomic(p.fd, "", "", 0, &mine, &e), -1);
	CHECK_INT(mkdirat(p.fd, "dir", 0755), 0);
	CHECK_INT(sys_write_atomic(p.fd, "dir", "x", 1, &mine, &e), -1);
	CHECK_INT(e.sys, EISDIR);
	drop_place(&p);
}

void test_path__write_new(void)
{
	const struct sys_owner mine = {(uid_t)-1, (gid_t)-1, 0600};
	struct place p = make_place();
	struct stat st;
	struct cl_err e;

	CHECK_INT(sys_write_new(p.fd, "new", "one", 3, &mine, &e), 0);
	same_text(p.fd, "new", "one");
	CHECK_INT(fstatat(p.fd, "new", &st, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(st.st_nlink, 1);
	/* What is there stays, whatever it is. */
	CHECK_INT(symlinkat("nowhere", p.fd, "link"), 0);
	CHECK_INT(sys_write_new(p.fd, "new", "two", 3, &mine, &e), -1);
	CHECK_INT(e.sys, EEXIST);
	CHECK_INT(sys_write_new(p.fd, "link", "two", 3, &mine, &e), -1);
	CHECK_INT(e.sys, EEXIST);
	same_text(p.fd, "new", "one");
	CHECK_INT(faccessat(p.fd, "nowhere", F_OK, 0), -1);
	CHECK_INT(sys_write_new(p.fd, "a/b", "", 0, &mine, &e), -1);
	CHECK_INT(sys_write_new(p.fd, "", "", 0, &mine, &e), -1);
	CHECK_INT(sys_write_new(-1, "x", "", 0, &mine, &e), -1);
	drop_place(&p);
}

void test_path__mkdirs(void)
{
	struct place p = make_place();
	cleanup_free char *deep = cl_asprintf("%s/a/b/c", p.path);
	cleanup_free char *through = cl_asprintf("%s/f/x", p.path);
	struct stat st;
	struct cl_err e;

	put(p.fd, "f", "");
	CHECK_INT(sys_mkdirs(deep, 0751, &e), 0);
	CHECK_INT(sys_mkdirs(deep, 0700, &e), 0);
	CHECK_INT(stat(deep, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0751);
	CHECK_INT(sys_mkdirs(through, 0700, &e), -1);
	CHECK_INT(e.sys, ENOTDIR);
	drop_place(&p);
}

void test_path__small_files(void)
{
	struct place p = make_place();
	cleanup_free char *file = cl_asprintf("%s/f", p.path);
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	put(p.fd, "f", "12345");
	CHECK_INT(sys_read_small(p.fd, "f", 5, &b, &e), 0);
	CHECK_STR(b.p, "12345");
	CHECK_INT(sys_read_small(p.fd, "f", 4, &b, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
	CHECK_INT(sys_read_small(p.fd, "none", 4, &b, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	CHECK_INT(sys_put(file, "abc", &e), 0);
	same_text(p.fd, "f", "abc45");
	CHECK_INT(sys_put("/nowhere/x", "", &e), -1);
	drop_place(&p);
}

/* A tree that is deeper than a path can say, with a link out and a full directory beside. */
void test_path__rmtree_deep(void)
{
	struct place p = make_place();
	struct cl_err e;
	int fd = dup(p.fd);

	for (int i = 0; i < 3000; i++) {
		int sub;

		CHECK_INT(mkdirat(fd, "subdirectory", 0755), 0);
		put(fd, "file", "x");
		CHECK_INT(symlinkat("/etc", fd, "link"), 0);
		sub = openat(fd, "subdirectory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = sub;
	}
	(void)close(fd);
	CHECK_INT(access("/etc/passwd", F_OK), 0);
	CHECK_INT(sys_rmtree(p.fd, "subdirectory", &e), 0);
	CHECK_INT(faccessat(p.fd, "subdirectory", F_OK, 0), -1);
	CHECK_INT(access("/etc/passwd", F_OK), 0);
	drop_place(&p);
}

/* What was looked at goes, not what has its name by then. */
void test_path__rmtree_of(void)
{
	struct place p = make_place();
	struct cl_err e;
	int tree;

	CHECK_INT(mkdirat(p.fd, "ours", 0755), 0);
	CHECK_INT(mkdirat(p.fd, "ours/in", 0755), 0);
	put(p.fd, "ours/in/f", "x");
	CHECK_INT(fchmodat(p.fd, "ours", 0, 0), 0);
	tree = openat(p.fd, "ours", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CHECK_INT(renameat(p.fd, "ours", p.fd, "away"), 0);
	CHECK_INT(mkdirat(p.fd, "ours", 0750), 0);
	put(p.fd, "ours/keep", "theirs");
	CHECK_INT(sys_rmtree_of(p.fd, "ours", tree, &e), -1);
	same_text(p.fd, "ours/keep", "theirs");
	CHECK_INT(faccessat(p.fd, "away", F_OK, 0), 0);
	CHECK_INT(faccessat(p.fd, "away/in", F_OK, 0), -1);
	/* Under its own name it goes itself. */
	CHECK_INT(sys_rmtree_of(p.fd, "away", tree, &e), 0);
	CHECK_INT(faccessat(p.fd, "away", F_OK, 0), -1);
	(void)close(tree);
	drop_place(&p);
}

void test_path__rmtree_kinds(void)
{
	struct place p = make_place();
	struct cl_err e;

	put(p.fd, "file", "x");
	CHECK_INT(symlinkat("/etc", p.fd, "link"), 0);
	CHECK_INT(mkdirat(p.fd, "locked", 0755), 0);
	CHECK_INT(mkdirat(p.fd, "locked/in", 0755), 0);
	put(p.fd, "locked/in/f", "");
	CHECK_INT(fchmodat(p.fd, "locked/in", 0, 0), 0);
	CHECK_INT(fchmodat(p.fd, "locked", 0, 0), 0);
	CHECK_INT(sys_rmtree(p.fd, "none", &e), 0);
	CHECK_INT(sys_rmtree(p.fd, "file", &e), 0);
	CHECK_INT(sys_rmtree(p.fd, "link", &e), 0);
	CHECK_INT(access("/etc/passwd", F_OK), 0);
	CHECK_INT(sys_rmtree(p.fd, "locked", &e), 0);
	CHECK_INT(faccessat(p.fd, "locked", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	CHECK_INT(sys_rmtree(p.fd, "..", &e), -1);
	CHECK_INT(sys_rmtree(p.fd, ".", &e), -1);
	CHECK_INT(sys_rmtree(p.fd, "a/b", &e), -1);
	drop_place(&p);
}
