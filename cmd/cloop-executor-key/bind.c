/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "work/access.h"
#include "work/project.h"

#include <string.h>

int key_executor(
	const struct keyed *k, const char *id, const struct cfg_executor **out, struct cl_err *e)
{
	cleanup_free const char **ids = cl_calloc(k->cfg.nexecutors + 1, sizeof(*ids));

	for (size_t i = 0; i < k->cfg.nexecutors; i++) {
		*out = &k->cfg.executors[i];
		if (!strcmp((*out)->id, id))
			return 0;
		ids[i] = (*out)->id;
	}
	return cfg_no_executor(id, ids, k->cfg.nexecutors, e);
}

/* "" for the default, else the project's directory. */
static int subject(struct cl_ctx *c, struct keyed *k, char **project, struct cl_err *e)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;

	if (cl_flag(c, "default")) {
		*project = cl_strdup("");
		return 0;
	}
	if (work_confine(
		    k->store, &k->hub, &k->cfg, cl_str_or(c, "project", "."), CONFINE_RUN, &d, e))
		return -1;
	*project = work_project_of(d.path);
	return 0;
}

/* What only a name leads to is nobody's default. */
static int check_default(const struct cl_ctx *c, const struct cfg_executor *x, struct cl_err *e)
{
	if (!cl_flag(c, "default") || !x->row->named_only)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' takes only work that is sent there by name, so it is nobody's "
		"default",
		x->id);
	(void)cl_constraint(e, "executor");
	return cl_fix(e, "bind single projects to it (-p DIR), or name it with -e");
}

static int audit(
	struct keyed *k, const struct store_binding *b, const char *before, struct cl_err *e)
{
	json_t *detail = json_pack("{s:o, s:o, s:s}", "project", cl_json_string(b->project),
		"before", before ? cl_json_string(before) : json_null(), "decision", "allow");
	const struct store_audit_row row = {
		k->actor, "executor.bind", "executor", b->executor_id, b->project, detail};
	int rc = store_audit_add(k->store, k->now, &row, e);

	json_decref(detail);
	return rc;
}

static void tell(const struct cl_ctx *c, const struct store_binding *b, const char *before)
{
	bool changed = !before || strcmp(before, b->executor_id) != 0;

	if (c->json) {
		cl_take_json(json_pack("{s:o, s:o, s:b, s:o, s:b}", "project",
			*b->project ? cl_json_string(b->project) : json_null(), "executor_id",
			cl_json_string(b->executor_id), "default", !*b->project, "before",
			before ? cl_json_string(before) : json_null(), "changed", changed));
		return;
	}
	(void)printf("%s: %s", *b->project ? b->project : "default", b->executor_id);
	if (!changed)
		(void)printf(", as before");
	else if (before)
		(void)printf(", no longer %s", before);
	(void)putchar('\n');
}

int key_bind(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	cleanup_binding struct store_binding b = STORE_BINDING_INIT, old = STORE_BINDING_INIT;
	cleanup_txn struct store_txn t = {0};
	const struct cfg_executor *x;
	bool found;

	if (cl_flag(c, "default") && cl_given(c, "project"))
		return cl_usage(c, e, "--default is of every project: give it or --project");
	if (keyed_open(c, &k, e) || key_executor(&k, cl_operand(c, 0), &x, e) ||
		check_default(c, x, e) || subject(c, &k, &b.project, e) ||
		keyed_signer(&k, &signer, e))
		return -1;
	b.executor_id = cl_strdup(x->id);
	b.created_at = k.now;
	b.created_by = cl_strdup(k.actor);
	/* Whether its author may use it is asked in the same breath as it is written. */
	if (seal_binding_sign(&signer, &b, e) || store_begin(k.store, &t, e) ||
		work_access_check(k.store, x->id, e) ||
		store_binding_get(k.store, b.project, &old, &found, e) ||
		store_binding_put(k.store, &b, e) ||
		audit(&k, &b, found ? old.executor_id : NULL, e) || store_commit(&t, e))
		return -1;
	if (!x->enabled || x->disabled_reason)
		cl_warn(c, "executor '%s' is %s: what is bound to it is refused until it is back",
			x->id, x->disabled_reason ? "out of service" : "off");
	tell(c, &b, found ? old.executor_id : NULL);
	return 0;
}
