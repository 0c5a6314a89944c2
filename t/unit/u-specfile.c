/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "sys/specfile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A project in a temporary place; the tests run one after another. */
static char dir[64];

static void project(const char *yaml)
{
	cleanup_free char *cloop = NULL, *file = NULL;
	FILE *f;

	(void)snprintf(dir, sizeof(dir), "/tmp/u-specfile-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	cloop = cl_asprintf("%s/.cloop", dir);
	file = cl_asprintf("%s/" SB_FILE, dir);
	CHECK_INT(mkdir(cloop, 0755), 0);
	if (!yaml)
		return;
	f = fopen(file, "w");
	CHECK(f && fputs(yaml, f) >= 0 && !fclose(f));
}

/* Removes what the test made, named from the deepest. */
static void gone(const char *const *paths)
{
	for (; *paths; paths++) {
		cleanup_free char *p = cl_asprintf("%s/%s", dir, *paths);

		CHECK_INT(remove(p), 0);
	}
	CHECK_INT(rmdir(dir), 0);
}

static bool is_dir(const char *path, struct stat *st)
{
	cleanup_free char *p = cl_asprintf("%s/%s", dir, path);

	return !lstat(p, st) && S_ISDIR(st->st_mode);
}

static void link_to(const char *target, const char *path)
{
	cleanup_free char *p = cl_asprintf("%s/%s", dir, path);

	CHECK_INT(symlink(target, p), 0);
}

/* As the driver does it: each source, as the workspace's owner. */
static int make_all(const struct sb_spec *s, struct cl_err *e)
{
	cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	CHECK_INT(fstat(fd, &st), 0);
	for (size_t i = 0; i < s->nmounts; i++)
		if (sys_spec_make_source(fd, s->mounts[i].source, st.st_uid, st.st_gid, e))
			return -1;
	return 0;
}

void test_load__absent_and_present(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT, d2 = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT, s2 = SB_SPEC_INIT;
	struct cl_err e;
	bool found = true;

	project(NULL);
	CHECK_INT(sys_spec_load(dir, &d, &s, &found, &e), 0);
	CHECK(!found && sb_asks_nothing(&s));
	gone((const char *const[]){".cloop", NULL});

	project("image: alpine:3\n");
	CHECK_INT(sys_spec_load(dir, &d2, &s2, &found, &e), 0);
	CHECK(found);
	CHECK_STR(s2.image, "alpine:3");
	gone((const char *const[]){SB_FILE, ".cloop", NULL});
	CHECK_INT(sys_spec_load(dir, &d2, &s2, &found, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
}

static void load(struct cl_doc *d, struct sb_spec *s)
{
	struct cl_err e;
	bool found;

	if (sys_spec_load(dir, d, s, &found, &e))
		UNIT_FAIL("%s", e.msg);
}

void test_sources__are_made_for_the_owner(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct stat st;
	struct cl_err e;

	project("mounts:\n  - {source: a/b/c, target: /x}\n  - {source: a/b, target: /y}\n");
	/* Only root can give a directory away; anybody else owns what it makes. */
	if (!geteuid())
		CHECK_INT(chown(dir, 1234, 1235), 0);
	load(&d, &s);
	CHECK_INT(sys_spec_mounts(dir, &s, "f", &e), 0);
	CHECK_INT(make_all(&s, &e), 0);
	CHECK(is_dir("a/b/c", &st));
	CHECK_INT(st.st_uid, geteuid() ? geteuid() : 1234);
	CHECK(is_dir("a", &st));
	CHECK_INT(st.st_uid, geteuid() ? geteuid() : 1234);
	CHECK_INT(make_all(&s, &e), 0);
	CHECK_INT(sys_spec_mounts(dir, &s, "f", &e), 0);
	gone((const char *const[]){"a/b/c", "a/b", "a", SB_FILE, ".cloop", NULL});
}

void test_sources__links_lead_nowhere_else(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct stat st;
	struct cl_err e;

	project("mounts: [{source: link/made, target: /x}]\n");
	load(&d, &s);
	link_to("/tmp", "link");
	CHECK_INT(sys_spec_mounts(dir, &s, "f.yaml", &e), -1);
	CHECK_STR(cl_err_slug(&e), SB_INVALID);
	CHECK_STR(e.rule, "mounts");
	CHECK_STR(e.file, "f.yaml");
	CHECK_INT(e.line, 1);
	CHECK_INT(make_all(&s, &e), -1);
	CHECK(access("/tmp/made", F_OK));
	gone((const char *const[]){"link", SB_FILE, ".cloop", NULL});

	project("mounts: [{source: link/made, target: /x}]\n");
	link_to("missing", "link");
	CHECK_INT(make_all(&s, &e), -1);
	CHECK(!is_dir("missing", &st));
	gone((const char *const[]){"link", SB_FILE, ".cloop", NULL});

	project("mounts: [{source: link/made, target: /x}]\n");
	link_to(".", "link");
	CHECK_INT(make_all(&s, &e), 0);
	CHECK(is_dir("made", &st));
	gone((const char *const[]){"made", "link", SB_FILE, ".cloop", NULL});
}

void test_sources__a_file_in_the_way(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct cl_err e;

	project("mounts: [{source: .cloop/sandbox.yaml/x, target: /x}]\n");
	load(&d, &s);
	CHECK_INT(sys_spec_mounts(dir, &s, "f", &e), -1);
	CHECK_STR(cl_err_slug(&e), SB_INVALID);
	CHECK_INT(make_all(&s, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	gone((const char *const[]){SB_FILE, ".cloop", NULL});
}

/*
 * What root made may not be given away by name: whoever may rename in the workspace puts
 * something else there meanwhile. So it is made as the owner, who must be able to.
 */
void test_sources__never_more_than_the_owner_could(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	cleanup_free char *held = NULL;
	struct stat st;
	struct cl_err e;

	if (geteuid())
		return;
	project("mounts: [{source: held/made, target: /x}]\n");
	held = cl_asprintf("%s/held", dir);
	CHECK_INT(mkdir(held, 0755), 0);
	CHECK_INT(chmod(held, 0775), 0); /* and root's own groups do not help */
	CHECK_INT(chown(dir, 1234, 1235), 0);
	load(&d, &s);
	CHECK_INT(make_all(&s, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK(!is_dir("held/made", &st));
	CHECK(is_dir("held", &st));
	CHECK_INT(st.st_uid, 0);
	/* Afterwards we are root again, groups and all. */
	CHECK_INT(chmod(held, 0700), 0);
	CHECK_INT(chown(held, 4321, 4321), 0);
	CHECK_INT(access(held, W_OK), 0);
	gone((const char *const[]){"held", SB_FILE, ".cloop", NULL});
}

void test_setup__files_of_the_project(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;

	project("setup:\n  - true\n  - sh .cloop/sandbox.yaml\n  - cat ../../etc/hostname\n");
	load(&d, &s);
	sys_spec_setup_files(dir, &d, &s);
	CHECK_INT(s.nnotes, 1);
	CHECK_STR(s.notes[0].rule, "setup-file");
	CHECK_INT(s.notes[0].line, 3);
	gone((const char *const[]){SB_FILE, ".cloop", NULL});
}
