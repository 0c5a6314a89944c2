/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "project.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct adding {
	struct cl_ctx *c;
	struct project_cmd p;
	char *dir;             /* as it is meant; owned */
	struct confine_dir at; /* what was judged */
	uid_t uid;             /* of the owner */
	gid_t gid;
	char token[STORE_CLAIM_ID]; /* "" without a claim */
	int parent;                 /* O_PATH of what a new directory is made in; -1 */
	bool made;
	struct store_project row;
};

static void adding_release(struct adding *a)
{
	project_cmd_release(&a->p);
	cl_cleanup_free(&a->dir);
	confine_dir_release(&a->at);
	cl_cleanup_fd(&a->parent);
	store_project_release(&a->row);
}
#define cleanup_adding __attribute__((cleanup(adding_release)))

/* ---- which directory, and whose ---- */

static int check_name(const char *name, struct cl_err *e)
{
	cleanup_free char *masked = cl_strdup(name);

	cl_mask(masked, "");
	if (*name && *name != '.' && strlen(name) < 128 && !strcmp(masked, name))
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%.140s' is no name for a new project's directory", name);
	return cl_fix(e, "use up to 127 bytes of text that do not begin with '.'");
}

/* A bare name that is to be made is made in the projects root. */
static int name_dir(struct adding *a, struct cl_err *e)
{
	const char *text = cl_operand(a->c, 0), *root = work_projects_root(&a->p.cfg);

	if (!cl_flag(a->c, "create") || strchr(text, '/')) {
		a->dir = cl_strdup(text);
		return 0;
	}
	if (check_name(text, e))
		return -1;
	if (!root) {
		(void)cl_fail(e, CL_ECONFIG,
			"a new project '%s' has no place: no projects root is configured", text);
		return cl_fix(e, "set ui.projects_root in %s, or name a path", a->p.cfg.file);
	}
	if (sys_mkdirs(root, 0755, e))
		return cl_wrap(e, "ui.projects_root");
	a->dir = cl_asprintf("%s/%s", root, text);
	return 0;
}

static int no_user(const char *name, struct cl_err *e)
{
	(void)cl_fail(e, CL_ENOTFOUND, "this host has no user '%s'", name);
	return cl_fix(e, "name one of 'getent passwd' with --owner");
}

/* --owner, else whom the directory (or, of a new one, what it is made in) belongs to. */
static int find_owner(struct adding *a, int fd, struct cl_err *e)
{
	const char *name = cl_str(a->c, "owner");
	struct passwd pw, *found = NULL;
	char space[4096];
	struct stat st;

	if (name) {
		(void)getpwnam_r(name, &pw, space, sizeof(space), &found);
		if (!found)
			return no_user(name, e);
		a->uid = pw.pw_uid;
		a->gid = pw.pw_gid;
	} else if (a->at.fd < 0 && geteuid()) {
		a->uid = geteuid();
		a->gid = getegid();
	} else {
		if (fstat(fd, &st))
			return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", a->at.path);
		a->uid = st.st_uid;
		a->gid = st.st_gid;
	}
	if (!a->uid)
		cl_warn(a->c,
			"'%s' belongs to root: runs of it are refused unless an executor has "
			"allow_root_user",
			a->at.path);
	return 0;
}

static void fill_row(struct adding *a, const char *origin)
{
	const char *slash = strrchr(a->at.path, '/');

	a->row = (struct store_project){.path = cl_strdup(a->at.path),
		.name = cl_strdup(cl_str_or(a->c, "name", slash + 1)),
		.owner = work_user_name(a->uid),
		.origin = cl_strdup(origin),
		.created_at = a->p.now,
		.created_by = cl_strdup(a->p.actor)};
}

/* ---- registering ---- */

static int busy(const char *path, const char *holder, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"directory '%s' cannot be a project: '%s' is one, or is becoming one", path,
		holder);
	(void)cl_slug(e, "project_unconfined");
	(void)cl_constraint(e, "project");
	(void)cl_rule(e, "confine.5");
	return cl_fix(e, "choose a directory that overlaps no project");
}

static int insert(struct adding *a, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_free char *holder = NULL;
	bool won;

	if (store_begin(a->p.store, &t, e) ||
		store_project_add(a->p.store, &a->row, *a->token ? a->token : NULL, a->p.now, &won,
			&holder, e))
		return -1;
	if (!won)
		return busy(a->row.path, holder, e);
	if ((*a->token && store_claim_drop(a->p.store, a->token, e)) ||
		project_audit(&a->p, "project.create", a->row.path,
			json_pack("{s:s, s:s, s:o}", "decision", "allow", "origin", a->row.origin,
				"owner", cl_json_string(a->row.owner)),
			e))
		return -1;
	return store_commit(&t, e);
}

static int add_existing(struct adding *a, struct cl_err *e)
{
	if (cl_flag(a->c, "create")) {
		(void)cl_fail(e, CL_EREFUSED, "'%s' is there already", a->at.path);
		return cl_fix(e, "leave out --create to register it as it is");
	}
	if (find_owner(a, a->at.fd, e))
		return -1;
	fill_row(a, "added");
	return insert(a, e);
}

/* ---- making ---- */

static int open_parent(struct adding *a, char **name, struct cl_err *e)
{
	char *slash = strrchr(a->at.path, '/');
	cleanup_free char *parent = cl_strndup(a->at.path, (size_t)(slash - a->at.path));

	*name = cl_strdup(slash + 1);
	a->parent = open(*parent ? parent : "/", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (a->parent >= 0)
		return 0;
	if (errno != ENOENT)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", parent);
	(void)cl_fail(e, CL_ENOTFOUND, "there is no directory '%s' to make '%s' in", parent, *name);
	return cl_fix(e, "try again after: mkdir -p '%s'", parent);
}

static int not_made(const struct adding *a, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "'%s' is not the directory that was made", a->at.path);
	(void)cl_slug(e, "project_unconfined");
	(void)cl_constraint(e, "project");
	return cl_fix(e, "find out who puts something else there, and try again");
}

/*
 * Who may write to the parent can put another directory there before we open it, and what the hub
 * has made it may one day delete: so it is the owner's, and nothing is in it.
 */
static bool still_new(int fd, uid_t owner)
{
	cleanup_fd int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	const struct dirent *de;
	bool empty = d != NULL;
	struct stat st;

	while (empty && (de = readdir(d)))
		empty = !strcmp(de->d_name, ".") || !strcmp(de->d_name, "..");
	if (d) {
		(void)cl_steal_fd(&again);
		(void)closedir(d);
	}
	return empty && !fstat(fd, &st) && st.st_uid == owner;
}

/*
 * As its owner; where only root may write, and so nobody can put something else in its place, root
 * makes it and gives it away.
 */
static int make_dir(struct adding *a, const char *name, int *fd, struct cl_err *e)
{
	struct stat in;
	bool roots = !fstat(a->parent, &in) && !in.st_uid && !(in.st_mode & 022) && !geteuid();

	if (roots ? mkdirat(a->parent, name, 0755)
		  : sys_mkdirat_as(a->parent, name, 0755, a->uid, a->gid)) {
		(void)cl_fail_sys(e, errno == EEXIST ? CL_EREFUSED : CL_EOS, errno,
			"cannot make '%s'", a->at.path);
		return cl_fix(e, "let its owner write to the directory it is made in");
	}
	a->made = true;
	*fd = openat(a->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0 || (roots && fchown(*fd, a->uid, a->gid)))
		return cl_fail_sys(e, CL_EOS, errno, "cannot give '%s' to its owner", a->at.path);
	return still_new(*fd, a->uid) ? 0 : not_made(a, e);
}

/* What was made is judged again: it is that very directory, and overlaps nothing. */
static int judge_again(struct adding *a, int fd, struct cl_err *e)
{
	cleanup_confine_dir struct confine_dir now = CONFINE_DIR_INIT;
	cleanup_free char *made = project_identity(fd), *there = NULL;

	if (work_confine(a->p.store, &a->p.hub, &a->p.cfg, a->at.path, CONFINE_CREATE, &now, e))
		return -1;
	there = now.fd < 0 ? cl_strdup("") : project_identity(now.fd);
	if (strcmp(made, there) != 0 || !*made || strcmp(now.path, a->at.path) != 0)
		return not_made(a, e);
	/* Only what the hub made itself, in the projects root, does it ever delete. */
	if (now.facts.root.n && confine_within(now.facts.root.v[0], now.path)) {
		free(a->row.made);
		a->row.made = cl_steal(&made);
	}
	return 0;
}

static int claimed(struct adding *a, const char *name, struct cl_err *e)
{
	cleanup_fd int fd = -1;

	if (make_dir(a, name, &fd, e))
		return -1;
	fill_row(a, "created");
	return judge_again(a, fd, e) || insert(a, e) ? -1 : 0;
}

static int create(struct adding *a, struct cl_err *e)
{
	cleanup_free char *holder = NULL, *name = NULL;
	struct cl_err ignored;
	bool won;
	int rc;

	if (!cl_flag(a->c, "create")) {
		cleanup_free char *word = cl_shell_word(a->dir);

		(void)cl_fail(e, CL_ENOTFOUND, "there is no directory '%s'", a->at.path);
		return cl_fix(e, "to have it made: cloop project add --create %s", word);
	}
	if (open_parent(a, &name, e) || find_owner(a, a->parent, e) ||
		store_claim(a->p.store, a->at.path, false, a->p.actor, a->p.now, a->token, &won,
			&holder, e))
		return -1;
	if (!won)
		return busy(a->at.path, holder, e);
	rc = claimed(a, name, e);
	/* Nothing is left of what did not become a project. */
	if (rc && a->made)
		(void)unlinkat(a->parent, name, AT_REMOVEDIR);
	if (rc)
		(void)store_claim_drop(a->p.store, a->token, &ignored);
	return rc;
}

int cmd_project_add(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_adding struct adding a = {.c = c,
		.p = PROJECT_CMD_INIT,
		.at = CONFINE_DIR_INIT,
		.parent = -1,
		.row = STORE_PROJECT_INIT};

	if (cl_given(c, "name") && check_name(cl_str(c, "name"), e))
		return -1;
	if (project_cmd_open(c, STORE_RW, &a.p, e) || name_dir(&a, e))
		return -1;
	if (work_confine(a.p.store, &a.p.hub, &a.p.cfg, a.dir, CONFINE_CREATE, &a.at, e) ||
		(a.at.fd < 0 ? create(&a, e) : add_existing(&a, e)))
		return project_deny(
			&a.p, "project.create", a.at.path ? a.at.path : a.dir, a.at.rule, e);
	if (c->json)
		cl_take_json(store_project_json(&a.row));
	else
		(void)printf(
			"%s %s, of %s\n", a.made ? "made" : "registered", a.row.path, a.row.owner);
	return 0;
}
