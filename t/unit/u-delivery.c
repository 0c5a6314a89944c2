/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease's files in memory: what stands there, how it is renewed, and that nothing stays. */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "work/lease/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OWNER 23456
#define A32   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG  A32 A32 A32 A32 "a" /* 129 */

struct rig {
	char base[40];
	struct rundir rd;
};

/* In memory, so that it works without root too. */
static void rig_make(struct rig *r)
{
	struct cl_err e;

	*r = (struct rig){.base = "/dev/shm/cloop-unit-XXXXXX"};
	if (!mkdtemp(r->base))
		abort();
	rundir_init(&r->rd, r->base, "c-0123456789ab");
	CHECK_INT(rundir_make(&r->rd, geteuid(), &e), 0);
}

static void rig_wipe(struct rig *r)
{
	cleanup_free char *w = cl_asprintf("%s/w", r->base);

	rundir_remove(&r->rd);
	/* Nothing is left of it but the two folders that all runs share. */
	CHECK_INT(rmdir(w), 0);
	CHECK_INT(rmdir(r->base), 0);
	rundir_release(&r->rd);
}

static struct delivery_text text(const char *s)
{
	return (struct delivery_text){s, strlen(s)};
}

static const struct delivery_file files[] = {
	{"github-token", 0600, {"ghp_first", 9}},
	{"git-credential-cloop", 0700, {"#!/bin/sh\n", 10}},
	{"empty", 0600, {"", 0}},
};
static const struct delivery_env env[] = {{"API_KEY", {"k-1234567", 9}}, {"EMPTY", {"", 0}}};
static const struct delivery_text redact[] = {{"ghp_first", 9}, {"k-1\0\n234567", 11}};
static const struct delivery first = {"lease_0123", files, 3, env, 2, redact, 2};

/* What a file below the lease holds; owned. */
static char *holds(const struct rig *r, const char *name, size_t *len)
{
	cleanup_free char *path = cl_asprintf("%s/%s", r->rd.lease, name);
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	char *buf = cl_calloc(1, 4096);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, 4095);

	*len = n < 0 ? 0 : (size_t)n;
	if (fd >= 0)
		(void)close(fd);
	return buf;
}

static void check_holds(const struct rig *r, const char *name, const char *want, size_t len)
{
	size_t got;
	cleanup_free char *buf = holds(r, name, &got);

	CHECK_INT(got, len);
	CHECK(got == len && !memcmp(buf, want, len));
}

static void check_mode(const struct rig *r, const char *name, mode_t mode, bool given)
{
	cleanup_free char *path = cl_asprintf("%s/%s", r->rd.lease, name);
	struct stat st;

	CHECK_INT(lstat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, mode);
	CHECK_INT(st.st_uid, given && !geteuid() ? OWNER : geteuid());
}

static bool absent(const struct rig *r, const char *name)
{
	cleanup_free char *path = cl_asprintf("%s/%s", r->rd.lease, name);
	struct stat st;

	return lstat(path, &st) && errno == ENOENT;
}

static void collect(void *arg, const char *p, size_t len)
{
	cl_buf_addf(arg, "%zu:", len);
	cl_buf_add(arg, p, len);
}

static void check_recall(const struct rig *r, const char *want, size_t len)
{
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	cleanup_free char *id = NULL;
	struct cl_err e;

	CHECK_INT(delivery_recall(&r->rd, &id, collect, &got, &e), 0);
	CHECK_STR(id ? id : "", "lease_0123");
	CHECK(got.len == len && !memcmp(got.p, want, len));
}

void test_delivery__stands_as_it_should(void)
{
	static const char wanted[] = "9:ghp_first11:k-1\0\n234567";
	struct statvfs fs;
	struct cl_err e;
	struct rig r;

	rig_make(&r);
	CHECK(!delivery_there(&r.rd));
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	CHECK(delivery_there(&r.rd));
	check_mode(&r, "", 0700, false);
	check_mode(&r, "files", 0700, true);
	check_mode(&r, "files/github-token", 0600, true);
	check_mode(&r, "files/git-credential-cloop", 0700, true);
	check_mode(&r, "cloop/env", 0600, true);
	check_mode(&r, "redact", 0600, false);
	check_holds(&r, "files/github-token", "ghp_first", 9);
	check_holds(&r, "files/empty", "", 0);
	check_holds(&r, "cloop/env", "API_KEY=k-1234567\0EMPTY=", 25);
	check_recall(&r, wanted, sizeof(wanted) - 1);
	if (!geteuid()) {
		CHECK_INT(statvfs(r.rd.lease, &fs), 0);
		CHECK_INT(fs.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC),
			ST_NOSUID | ST_NODEV | ST_NOEXEC);
		CHECK(fs.f_blocks * fs.f_frsize <= DELIVERY_MAX);
	}
	/* A second lease of one run is not made over the first. */
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), -1);
	check_holds(&r, "files/github-token", "ghp_first", 9);
	CHECK_INT(delivery_env_add(&r.rd, "A=1\0B=2", 8, "API_KEY=none", &e), 0);
	check_holds(&r, "cloop/env", "API_KEY=k-1234567\0EMPTY=\0A=1\0B=2", 33);
	CHECK_INT(delivery_env_add(&r.rd, "", 0, "API=none", &e), 0);
	check_holds(&r, "cloop/env", "API_KEY=k-1234567\0EMPTY=\0A=1\0B=2\0API=none", 42);
	delivery_env_read(&r.rd);
	check_holds(&r, "cloop/env", "", 0);
	rig_wipe(&r);
}

static void refused(const struct delivery *d, const char *constraint)
{
	struct cl_err e;
	struct rig r;

	rig_make(&r);
	CHECK_INT(delivery_make(&r.rd, d, OWNER, OWNER, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK_STR(e.constraint, constraint);
	CHECK(absent(&r, ""));
	rig_wipe(&r);
}

void test_delivery__refuses_what_cannot_be_delivered(void)
{
	static const char *const names[] = {
		"", ".", "..", "a/b", "../x", ".hidden", "a b", "a\nb", "\xc3\xa9", LONG};
	static const mode_t modes[] = {0644, 0400, 04700, 0777, 0};
	static const struct delivery_env bad[] = {
		{"", {"x", 1}}, {"A=B", {"x", 1}}, {"A", {"x\0y", 3}}};
	struct delivery_file many[DELIVERY_FILES + 1];
	size_t size = DELIVERY_MAX / 4;
	cleanup_free char *big = cl_calloc(1, size);

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		refused(&(struct delivery){.id = "l",
				.files = &(struct delivery_file){names[i], 0600, {"x", 1}},
				.nfiles = 1},
			"secret_files");
	for (size_t i = 0; i < CL_ARRAY_LEN(modes); i++)
		refused(&(struct delivery){.id = "l",
				.files = &(struct delivery_file){"f", modes[i], {"x", 1}},
				.nfiles = 1},
			"secret_files");
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++)
		refused(&(struct delivery){.id = "l", .env = &bad[i], .nenv = 1}, "secret_env");
	refused(&(struct delivery){.id = "l",
			.files = &(struct delivery_file){"f", 0600, {big, size}},
			.nfiles = 1},
		"secret_files");
	for (size_t i = 0; i <= DELIVERY_FILES; i++)
		many[i] = (struct delivery_file){"f", 0600, {"", 0}};
	refused(&(struct delivery){.id = "l", .files = many, .nfiles = DELIVERY_FILES + 1},
		"secret_files");
}

void test_delivery__is_renewed_in_place(void)
{
	static const char wanted[] = "9:ghp_first11:k-1\0\n23456710:ghp_second";
	const struct delivery_file next[] = {
		{"github-token", 0600, text("ghp_second")}, {"empty", 0600, text("")}};
	const struct delivery_text value = text("ghp_second");
	const struct delivery second = {"lease_0123", next, 2, NULL, 0, &value, 1};
	char was[32] = "", is[32] = "";
	struct stat before, after;
	size_t removed = 9;
	struct cl_err e;
	struct rig r;
	int dir, old;

	rig_make(&r);
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	{
		cleanup_free char *path = cl_asprintf("%s/files", r.rd.lease);

		dir = open(path, O_RDONLY | O_DIRECTORY);
	}
	old = openat(dir, "github-token", O_RDONLY);
	CHECK_INT(fstatat(dir, "empty", &before, 0), 0);
	CHECK_INT(delivery_renew(&r.rd, &second, &removed, &e), 0);
	CHECK_INT(removed, 1);
	CHECK(absent(&r, "files/git-credential-cloop"));
	check_holds(&r, "files/github-token", "ghp_second", 10);
	check_mode(&r, "files/github-token", 0600, true);
	/* Whoever has the old one open reads the old one; who has the folder sees the new one. */
	CHECK_INT(read(old, was, sizeof(was)), 9);
	CHECK_STR(was, "ghp_first");
	(void)close(old);
	old = openat(dir, "github-token", O_RDONLY);
	CHECK_INT(read(old, is, sizeof(is)), 10);
	CHECK_STR(is, "ghp_second");
	/* What did not change is not touched. */
	CHECK_INT(fstatat(dir, "empty", &after, 0), 0);
	CHECK(before.st_ino == after.st_ino);
	check_recall(&r, wanted, sizeof(wanted) - 1);
	/* What every renewal brings is noted once: a long run has room for its files. */
	CHECK_INT(delivery_renew(&r.rd, &second, &removed, &e), 0);
	check_recall(&r, wanted, sizeof(wanted) - 1);
	/* A name that was never there, or that was taken back, is not planted. */
	CHECK_INT(delivery_renew(&r.rd, &first, &removed, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK(absent(&r, "files/git-credential-cloop"));
	check_holds(&r, "files/github-token", "ghp_second", 10);
	(void)close(dir);
	(void)close(old);
	rig_wipe(&r);
}

/* Through a descriptor that was open before: what stood there is overwritten, not only gone. */
void test_delivery__nothing_stays_of_it(void)
{
	char buf[32];
	struct cl_err e;
	struct rig r;
	int token, env_fd;

	rig_make(&r);
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	{
		cleanup_free char *a = cl_asprintf("%s/files/github-token", r.rd.lease);
		cleanup_free char *b = cl_asprintf("%s/redact", r.rd.lease);

		token = open(a, O_RDONLY);
		env_fd = open(b, O_RDONLY);
	}
	CHECK_INT(delivery_scrub(&r.rd), 3);
	CHECK(absent(&r, "files/github-token"));
	check_holds(&r, "cloop/env", "", 0);
	memset(buf, 1, sizeof(buf));
	CHECK(read(token, buf, 9) == 9);
	for (size_t i = 0; i < 9; i++)
		CHECK_INT(buf[i], 0);
	/* Output is scrubbed on. */
	check_recall(&r, "9:ghp_first11:k-1\0\n234567", 25);
	delivery_drop(&r.rd);
	CHECK(absent(&r, ""));
	CHECK(read(env_fd, buf, 17) == 17);
	for (size_t i = 0; i < 17; i++)
		CHECK_INT(buf[i], 0);
	(void)close(token);
	(void)close(env_fd);
	delivery_drop(&r.rd);
	CHECK_INT(delivery_scrub(&r.rd), 0);
	rig_wipe(&r);
}

/* Folders are none of ours; one that is there all the same keeps no value either. */
void test_delivery__folders_go_with_what_is_in_them(void)
{
	cleanup_free char *deep = NULL, *outside = NULL, *link = NULL, *secret = NULL;
	char path[600], buf[7];
	struct cl_err e;
	struct rig r;
	struct stat st;
	size_t len;
	int fd;

	rig_make(&r);
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	outside = cl_asprintf("%s/outside", r.base);
	CHECK_INT(mkdir(outside, 0700), 0);
	deep = cl_asprintf("%s/files/a/b", r.rd.lease);
	secret = cl_asprintf("%s/files/a/b/secret", r.rd.lease);
	link = cl_asprintf("%s/files/a/link", r.rd.lease);
	(void)snprintf(path, sizeof(path), "%s/files/a", r.rd.lease);
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK_INT(mkdir(deep, 0700), 0);
	CHECK_INT(symlink(outside, link), 0);
	fd = open(secret, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(write(fd, "planted", 7) == 7);
	/* Deeper than is gone into: that stays until the file system itself goes. */
	len = (size_t)snprintf(path, sizeof(path), "%s/files/d", r.rd.lease);
	for (int i = 0; i < 20; i++) {
		CHECK_INT(mkdir(path, 0700), 0);
		len += (size_t)snprintf(path + len, sizeof(path) - len, "/d");
	}
	/* The three that were delivered, the link, what is in the folders, and one too deep. */
	CHECK_INT(delivery_scrub(&r.rd), 6);
	CHECK(pread(fd, buf, 7, 0) == 7);
	for (size_t i = 0; i < 7; i++)
		CHECK_INT(buf[i], 0);
	CHECK(absent(&r, "files/a"));
	CHECK(!absent(&r, "files/d/d"));
	CHECK(!stat(outside, &st) && S_ISDIR(st.st_mode));
	delivery_drop(&r.rd);
	CHECK(absent(&r, ""));
	(void)close(fd);
	CHECK_INT(rmdir(outside), 0);
	rig_wipe(&r);
}

/* The names that came into the folder, in order. */
static char *moved(int watch)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	ssize_t n;

	while ((n = read(watch, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *v = (const void *)p;

			cl_buf_addf(&out, "%s ", v->name);
			p += sizeof(*v) + v->len;
		}
	return cl_buf_detach(&out);
}

/* A helper answers with the token beside it, which may be another grant's in a moment. */
void test_delivery__a_helper_is_silent_while_what_it_reads_changes(void)
{
	const struct delivery_file next[] = {
		{"git-credential-cloop", 0700, text("#!/bin/sh\necho b\n")},
		{"github-token", 0600, text("ghp_second")}, {"empty", 0600, text("")}};
	const struct delivery_file after[] = {
		next[0], {"github-token", 0600, text("ghp_third")}, next[2]};
	const struct delivery second = {"lease_0123", next, 3, NULL, 0, NULL, 0};
	const struct delivery third = {"lease_0123", after, 3, NULL, 0, NULL, 0};
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	cleanup_free char *path = NULL, *got = NULL;
	size_t removed;
	struct cl_err e;
	struct rig r;

	rig_make(&r);
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	path = cl_asprintf("%s/files", r.rd.lease);
	CHECK(inotify_add_watch(watch, path, IN_MOVED_TO) >= 0);
	CHECK_INT(delivery_renew(&r.rd, &second, &removed, &e), 0);
	got = moved(watch);
	CHECK_STR(got, "git-credential-cloop github-token git-credential-cloop ");
	check_holds(&r, "files/git-credential-cloop", "#!/bin/sh\necho b\n", 17);
	check_holds(&r, "spare/git-credential-cloop", "#!/bin/sh\nexit 0\n", 17);
	/* One that stays as it is goes on answering. */
	free(cl_steal(&got));
	CHECK_INT(delivery_renew(&r.rd, &third, &removed, &e), 0);
	got = moved(watch);
	CHECK_STR(got, "github-token ");
	(void)close(watch);
	rig_wipe(&r);
}

/* Whatever somebody could have put there: nothing outside is written, followed or waited for. */
void test_delivery__planted_files_are_not_followed(void)
{
	const struct delivery_file next = {"github-token", 0600, {"ghp_second", 10}};
	const struct delivery second = {"lease_0123", &next, 1, NULL, 0, NULL, 0};
	char got[8] = "";
	size_t removed;
	struct cl_err e;
	struct rig r;
	char *outside;
	int dir, fd;

	rig_make(&r);
	outside = cl_asprintf("%s/outside", r.base);
	fd = open(outside, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(write(fd, "intact", 6) == 6);
	CHECK_INT(delivery_make(&r.rd, &first, OWNER, OWNER, &e), 0);
	{
		cleanup_free char *path = cl_asprintf("%s/files", r.rd.lease);

		dir = open(path, O_RDONLY | O_DIRECTORY);
	}
	CHECK_INT(unlinkat(dir, "github-token", 0), 0);
	CHECK_INT(symlinkat(outside, dir, "github-token"), 0);
	CHECK_INT(delivery_renew(&r.rd, &second, &removed, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK_INT(mkfifoat(dir, "fifo", 0600), 0);
	CHECK_INT(delivery_scrub(&r.rd), 4);
	CHECK(pread(fd, got, 6, 0) == 6);
	CHECK_STR(got, "intact");
	(void)close(dir);
	(void)close(fd);
	CHECK_INT(unlink(outside), 0);
	free(outside);
	rig_wipe(&r);
}
