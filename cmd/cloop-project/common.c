/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "project.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "sys/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void project_cmd_release(struct project_cmd *p)
{
	cfg_release(&p->cfg);
	cl_doc_release(&p->doc);
	store_close(p->store);
	hub_release(&p->hub);
}

int project_cmd_open(
	const struct cl_ctx *c, enum store_mode mode, struct project_cmd *out, struct cl_err *e)
{
	(void)snprintf(out->actor, sizeof(out->actor), "uid:%u", (unsigned)getuid());
	out->now = sys_now_ms();
	if (hub_store_from_ctx(c, mode, &out->hub, &out->store, e))
		return -1;
	return hub_config(&out->hub, geteuid(), &out->doc, &out->cfg, e);
}

/* ---- by name ---- */

struct by_name {
	const char *name;
	struct cl_strv paths, names;
};

static int look(const struct store_project *p, void *arg, struct cl_err *e)
{
	struct by_name *b = arg;

	(void)e;
	cl_strv_add(&b->names, p->name);
	if (!strcmp(p->name, b->name))
		cl_strv_add(&b->paths, p->path);
	return 0;
}

static int find_name(
	struct project_cmd *p, struct by_name *b, struct store_project *out, struct cl_err *e)
{
	const char *near;
	bool found;

	if (store_project_each(p->store, look, b, e))
		return -1;
	if (b->paths.n == 1)
		return store_project_get(p->store, b->paths.v[0], out, &found, e);
	if (b->paths.n) {
		cleanup_free char *all = cl_join((const char *const *)b->paths.v, b->paths.n, ", ");

		(void)cl_fail(e, CL_EDATA, "'%s' is the name of %zu projects", b->name, b->paths.n);
		return cl_fix(e, "name the directory: %s", all);
	}
	near = cl_nearest(b->name, (const char *const *)b->names.v, b->names.n);
	(void)cl_fail(e, CL_ENOTFOUND, "there is no project '%s'", b->name);
	return near ? cl_fix(e, "did you mean '%s'?", near)
		    : cl_fix(e, "'cloop project list' shows those that are registered");
}

int project_find(
	const struct cl_ctx *c, struct project_cmd *p, struct store_project *out, struct cl_err *e)
{
	const char *text = cl_operand(c, 0);
	struct by_name b = {text, CL_STRV_INIT, CL_STRV_INIT};
	cleanup_free char *path = NULL;
	bool found = false;
	int rc;

	/* What cannot be resolved may still be a name. */
	if (!work_project_path(text, &path, e) && store_project_get(p->store, path, out, &found, e))
		return -1;
	if (found)
		return 0;
	rc = find_name(p, &b, out, e);
	cl_strv_release(&b.paths);
	cl_strv_release(&b.names);
	return rc;
}

/* ---- records ---- */

int project_audit(struct project_cmd *p, const char *action, const char *path, json_t *take_detail,
	struct cl_err *e)
{
	const struct store_audit_row row = {p->actor, action, "project", path, path, take_detail};
	int rc = store_audit_add(p->store, p->now, &row, e);

	json_decref(take_detail);
	return rc;
}

int project_deny(struct project_cmd *p, const char *action, const char *path, int rule,
	const struct cl_err *why)
{
	/* There may be no such directory: people paste tokens as paths. */
	cleanup_free char *said = cp_redact(path);
	struct cl_err ignored;

	(void)project_audit(p, action, said,
		json_pack("{s:s, s:i, s:o}", "decision", "deny", "rule", rule, "reason",
			cl_json_string(why->msg)),
		&ignored);
	return -1;
}

char *project_identity(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st))
		return cl_strdup("");
	/* Where a file system keeps no birth it is the same for all of them: 0. */
	return cl_asprintf("%u.%u:%llu:%lld.%u", st.stx_dev_major, st.stx_dev_minor,
		(unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec,
		st.stx_btime.tv_nsec);
}
