/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forgetting a project, and deleting the directory that the hub made for it. */
#include "project.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/fleet.h"
#include "sys/id.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct removing {
	struct project_cmd p;
	struct store_project row;
	bool delete_root;
	char token[STORE_CLAIM_ID];
	bool bound, capped; /* went with it */
	bool deleted;
};

static int not_ours(const struct removing *r, const char *why, struct cl_err *e)
{
	cleanup_free char *word = cl_shell_word(r->row.path);

	(void)cl_fail(e, CL_EREFUSED, "'%s' is not deleted: %s", r->row.path, why);
	(void)cl_constraint(e, "project");
	return cl_fix(e, "forget the project alone: cloop project remove %s", word);
}

/* What stands there is the directory that the hub made, and still overlaps nothing. */
static int check_root(struct removing *r, struct cl_err *e)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
	cleanup_free char *there = NULL;

	if (!r->row.made)
		return not_ours(r, "the hub did not make it", e);
	if (work_confine(r->p.store, &r->p.hub, &r->p.cfg, r->row.path, CONFINE_RUN, &d, e))
		return -1;
	there = project_identity(d.fd);
	if (strcmp(d.path, r->row.path) != 0 || strcmp(there, r->row.made) != 0)
		return not_ours(r, "it is another directory than the one the hub made", e);
	return 0;
}

static int still_live(const struct removing *r, struct cl_err *e)
{
	cleanup_free char *word = cl_shell_word(r->row.path);

	(void)cl_fail(e, CL_EREFUSED, "project '%s' has runs that are not finished", r->row.path);
	(void)cl_constraint(e, "live_runs");
	return cl_fix(e, "wait for them, or stop them: cloop runs list --live -p %s", word);
}

/* Row, binding, ceiling and the record of it go together; a claim keeps the place meanwhile. */
static int forget(struct removing *r, struct cl_err *e)
{
	const struct sb_limits none = {{0}};
	cleanup_free char *holder = NULL;
	cleanup_txn struct store_txn t = {0};
	struct sb_limits had;
	bool won = true;

	if (store_begin(r->p.store, &t, e) ||
		(r->delete_root && store_claim(r->p.store, r->row.path, true, r->p.actor, r->p.now,
					   r->token, &won, &holder, e)))
		return -1;
	if (!won) {
		(void)cl_fail(e, CL_EBUSY, "somebody is working on '%s'", holder);
		return cl_fix(e, "try again when that is done");
	}
	if (store_project_delete(r->p.store, r->row.path, &won, e))
		return -1;
	if (!won)
		return still_live(r, e);
	if (store_binding_delete(r->p.store, r->row.path, &r->bound, e) ||
		store_ceiling_get(r->p.store, SB_PROJECT, r->row.path, &had, &r->capped, e) ||
		store_ceiling_put(
			r->p.store, SB_PROJECT, r->row.path, &none, r->p.actor, r->p.now, e) ||
		project_audit(&r->p, "project.delete", r->row.path,
			json_pack("{s:s, s:b, s:b, s:b}", "decision", "allow", "delete_root",
				r->delete_root, "binding", r->bound, "ceiling", r->capped),
			e))
		return -1;
	return store_commit(&t, e);
}

/* The directory under a name of its own first, looked at again, then all that is in it. */
static int delete_tree(struct removing *r, struct cl_err *e)
{
	char *slash = strrchr(r->row.path, '/');
	cleanup_free char *parent = cl_strndup(r->row.path, (size_t)(slash - r->row.path));
	cleanup_free char *there = NULL;
	cleanup_fd int in = -1, fd = -1;
	char grave[40];

	if (sys_new_id(".cloop-deleted-", 16, grave, sizeof(grave), e))
		return -1;
	in = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || syscall(SYS_renameat2, in, slash + 1, in, grave, 1 /* RENAME_NOREPLACE */))
		return cl_fail_sys(e, CL_EOS, errno, "cannot move '%s' away", r->row.path);
	fd = openat(in, grave, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	there = fd < 0 ? cl_strdup("") : project_identity(fd);
	if (strcmp(there, r->row.made) != 0) {
		/* Back where it was, unless something else is there by now. */
		(void)syscall(SYS_renameat2, in, grave, in, slash + 1, 1 /* RENAME_NOREPLACE */);
		return cl_fail(
			e, CL_EREFUSED, "'%s' was exchanged for something else", r->row.path);
	}
	if (sys_rmtree_of(in, grave, fd, e)) {
		cleanup_free char *left = cl_asprintf("%s/%s", parent, grave);
		cleanup_free char *word = cl_shell_word(left);

		(void)cl_wrap(e, "'%s', which was '%s'", left, r->row.path);
		return cl_fix(e,
			"unmount what is mounted there (findmnt shows it), then: "
			"rm -r --one-file-system %s",
			word);
	}
	r->deleted = true;
	return 0;
}

static int delete_root(struct removing *r, struct cl_err *e)
{
	struct cl_err ignored;
	int rc = delete_tree(r, e);

	(void)store_claim_drop(r->p.store, r->token, &ignored);
	return rc ? cl_wrap(e, "the project is forgotten, and its directory is not deleted") : 0;
}

static void tell(const struct cl_ctx *c, const struct removing *r)
{
	if (c->json) {
		cl_take_json(json_pack("{s:o, s:b, s:b, s:b}", "path", cl_json_string(r->row.path),
			"deleted_root", r->deleted, "binding_removed", r->bound, "ceiling_removed",
			r->capped));
		return;
	}
	(void)printf("%s %s", r->deleted ? "deleted" : "forgot", r->row.path);
	if (r->bound || r->capped)
		(void)printf(", and %s", r->bound && r->capped ? "its binding and its ceiling"
					 : r->bound            ? "its binding"
							       : "its ceiling");
	(void)putchar('\n');
}

int cmd_project_remove(struct cl_ctx *c, struct cl_err *e)
{
	struct removing r = {.p = PROJECT_CMD_INIT, .row = STORE_PROJECT_INIT};
	int rc;

	r.delete_root = cl_flag(c, "delete-root");
	rc = project_cmd_open(c, STORE_RW, &r.p, e) || project_find(c, &r.p, &r.row, e);
	if (!rc && ((r.delete_root && check_root(&r, e)) || forget(&r, e)))
		rc = project_deny(&r.p, "project.delete", r.row.path, 0, e);
	if (!rc && r.delete_root)
		rc = delete_root(&r, e);
	if (!rc)
		tell(c, &r);
	store_project_release(&r.row);
	project_cmd_release(&r.p);
	return rc ? -1 : 0;
}
