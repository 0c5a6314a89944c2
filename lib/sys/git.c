/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/git.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH      64
#define TIMEOUT_MS 30000
#define GIT_FD     3

/* What git would take for an option, a range, a search or another path is none of these. */
static int check_names(const char *rev, const char *path, struct cl_err *e)
{
	if (!cl_all_in(rev, CL_ALNUM "_./@{}~^-+") || *rev == '-' || strlen(rev) > 255 ||
		strstr(rev, "..")) {
		(void)cl_fail(e, CL_EDATA, "'%.100s' is no revision", rev);
		return cl_fix(e, "name a branch, a tag or a commit: git:origin/main:PATH");
	}
	if (!*path || *path == '/' || *path == ':' || strlen(path) > 4095 ||
		cl_starts(path, "./") || cl_starts(path, "../")) {
		(void)cl_fail(e, CL_EDATA, "'%.100s' is no path in a repository", path);
		return cl_fix(e, "write it from the top of the work tree, as git ls-files does");
	}
	return 0;
}

static int not_found(struct cl_err *e)
{
	(void)cl_fail(e, CL_ENOTFOUND, "there is no git repository here");
	return cl_fix(e, "run it in the work tree of the repository");
}

/* The nearest .git above the current directory: an O_PATH descriptor of it, or -1. */
static int find(struct stat *st, struct cl_err *e)
{
	cleanup_fd int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, up;

	for (int i = 0; dir >= 0 && i < DEPTH; i++) {
		int found = openat(dir, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC), next;

		if (found >= 0) {
			if (!fstat(found, st))
				return found;
			(void)close(found);
			break;
		}
		next = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 || fstat(dir, &here) || fstat(next, &up) ||
			(here.st_ino == up.st_ino && here.st_dev == up.st_dev)) {
			if (next >= 0)
				(void)close(next);
			break;
		}
		(void)close(dir);
		dir = next;
	}
	return not_found(e);
}

/* A repository that takes its objects from elsewhere could show other people's files. */
static int check_pinned(int git, const struct stat *st, struct cl_err *e)
{
	/* The first are to be folders, the others not to be there. */
	enum { OWN_FOLDERS = 5 };
	static const char *const elsewhere[] = {"objects", "objects/info", "objects/pack", "refs",
		"refs/heads", "objects/info/alternates", "objects/info/http-alternates",
		"commondir"};
	struct stat other;

	if (!S_ISDIR(st->st_mode)) {
		(void)cl_fail(e, CL_EDENIED, ".git is a %s and leads elsewhere",
			S_ISLNK(st->st_mode) ? "link" : "file");
		return cl_fix(e, "run it in the repository's main work tree");
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(elsewhere); i++) {
		if (fstatat(git, elsewhere[i], &other, AT_SYMLINK_NOFOLLOW))
			continue;
		if (i < OWN_FOLDERS && S_ISDIR(other.st_mode))
			continue;
		(void)cl_fail(
			e, CL_EDENIED, ".git/%s takes the repository elsewhere", elsewhere[i]);
		return cl_fix(e, "use a clone of its own: git clone --dissociate");
	}
	return 0;
}

/* `dir` is open on the folder that the repository is asked for from. */
static int check_owner(int dir, const struct stat *st, struct cl_err *e)
{
	struct stat here;

	if (st->st_uid == geteuid())
		return 0;
	if (!geteuid() && !fstatat(dir, "", &here, AT_EMPTY_PATH) && here.st_uid == st->st_uid)
		return 0;
	(void)cl_fail(e, CL_EDENIED, "the git repository belongs to uid %u", (unsigned)st->st_uid);
	return cl_fix(e, "run it as its owner");
}

/* The revision is there and the file is not in it, or the revision is not there. */
static int no_object(const char *object, const struct cl_buf *said, struct cl_err *e)
{
	cleanup_free char *line = sys_first_line(said);

	if (line && (strstr(line, "' exists on disk, but not in '") ||
			    strstr(line, "' does not exist in '"))) {
		(void)cl_fail(e, CL_ENOTFOUND, "the revision has no file '%s'", object);
		(void)cl_slug(e, "git_no_file");
		return cl_fix(e, "write the path from the top of the work tree; 'none' stands for "
				 "a policy that is not there");
	}
	(void)cl_fail(
		e, CL_ENOTFOUND, "git has no '%s': %s", object, line ? line : "it says nothing");
	return cl_fix(e, "fetch the revision (a shallow clone has few: git fetch --unshallow; "
			 "actions/checkout: fetch-depth: 0)");
}

/* Nothing that the repository configures runs: no hook, no filter, no program of its own. */
static int call(int git, const struct stat *st, const char *const *words, size_t nwords,
	struct sys_run *r, struct cl_err *e)
{
	static const char *const args[] = {"git", "--no-pager", "--git-dir=/proc/self/fd/3", "-c",
		"safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
		"-c", "core.attributesFile=/dev/null", "-c", "protocol.allow=never"};
	static const char *const env[] = {("PATH=" SYS_PATH), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat"};
	const struct sys_pass pass = {git, GIT_FD};
	cleanup_strv struct cl_strv argv = CL_STRV_INIT, envp = CL_STRV_INIT;

	for (size_t i = 0; i < CL_ARRAY_LEN(args); i++)
		cl_strv_add(&argv, args[i]);
	for (size_t i = 0; i < nwords; i++)
		cl_strv_add(&argv, words[i]);
	for (size_t i = 0; i < CL_ARRAY_LEN(env); i++)
		cl_strv_add(&envp, env[i]);
	r->spawn.path = "git";
	r->spawn.argv = argv.v;
	r->spawn.envp = envp.v;
	r->spawn.pass = &pass;
	r->spawn.npass = 1;
	r->spawn.new_session = true;
	r->spawn.die_with_parent = true;
	r->spawn.as = !geteuid() && st->st_uid ? st : NULL;
	r->timeout_ms = TIMEOUT_MS;
	if (!sys_run(r, e))
		return 0;
	(void)cl_wrap(e, "git");
	return e->fix[0] ? -1 : cl_fix(e, "install git, or give the file itself");
}

static int read_file(int git, const struct stat *st, const char *object, size_t max,
	struct cl_buf *out, struct cl_err *e)
{
	const char *const words[] = {"cat-file", "blob", object};
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.max_output = max + 1;
	if (call(git, st, words, CL_ARRAY_LEN(words), &r, e))
		return -1;
	if (r.status)
		return no_object(object, &r.err, e);
	if (r.out.len > max)
		return cl_fail(e, CL_EDATA, "'%s' has more than %zu bytes", object, max);
	cl_buf_add(out, r.out.p, r.out.len);
	return 0;
}

int sys_git_file(
	const char *rev, const char *path, size_t max, struct cl_buf *out, struct cl_err *e)
{
	cleanup_free char *object = cl_asprintf("%s:%s", rev, path);
	cleanup_fd int git = -1;
	struct stat st;

	if (check_names(rev, path, e))
		return -1;
	git = find(&st, e);
	return git < 0 || check_pinned(git, &st, e) || check_owner(AT_FDCWD, &st, e) ||
			       read_file(git, &st, object, max, out, e)
		       ? -1
		       : 0;
}

/* The repository in `dir`: an O_PATH descriptor, or -1. */
static int open_in(int dir, struct stat *st, struct cl_err *e)
{
	cleanup_fd int git = openat(dir, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (git < 0 || fstat(git, st))
		return not_found(e);
	return check_pinned(git, st, e) || check_owner(dir, st, e) ? -1 : cl_steal_fd(&git);
}

static bool plain_branch(const char *name)
{
	return cl_all_in(name, CL_ALNUM "_./-") && *name != '-' && *name;
}

int sys_git_merged(int dir, const char *below, struct cl_strv *out, struct cl_err *e)
{
	static const char heads[] = "refs/heads/";
	cleanup_free char *pattern = cl_asprintf("%s%s", heads, below);
	const char *const words[] = {
		"for-each-ref", "--merged=HEAD", "--format=%(refname)", pattern};
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_fd int git = -1;
	struct stat st;

	git = open_in(dir, &st, e);
	if (git < 0 || call(git, &st, words, CL_ARRAY_LEN(words), &r, e))
		return -1;
	if (r.status) {
		cleanup_free char *line = sys_first_line(&r.err);

		return cl_fail(e, CL_EUNAVAIL, "git cannot tell which branches are merged: %s",
			line ? line : "it says nothing");
	}
	cl_split(r.out.p, '\n', &lines);
	for (size_t i = 0; i < lines.n; i++)
		if (cl_starts(lines.v[i], heads) && plain_branch(lines.v[i] + strlen(heads)))
			cl_strv_add(out, lines.v[i] + strlen(heads));
	return 0;
}

int sys_git_forget_branch(int dir, const char *name, bool *gone, struct cl_err *e)
{
	/* -d looks again whether it is merged; -D is not for us. */
	const char *const words[] = {"branch", "-d", "--", name};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_fd int git = -1;
	struct stat st;

	*gone = false;
	if (!plain_branch(name))
		return cl_fail(e, CL_EDATA, "'%.100s' is no branch", name);
	git = open_in(dir, &st, e);
	if (git < 0 || call(git, &st, words, CL_ARRAY_LEN(words), &r, e))
		return -1;
	*gone = !r.status;
	return 0;
}
