/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `rules set` and `rules clear`: the stored rule sets of executors and projects. */
#include "rules.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/egress/fits.h"
#include "report.h"
#include "store/audit.h"
#include "sys/clock.h"
#include "sys/confine.h"
#include "sys/path.h"
#include "work/fleet.h"
#include "work/project.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rules_scope_release(struct rules_scope *r)
{
	free(r->project);
	store_close(r->store);
	cfg_release(&r->cfg);
	cl_doc_release(&r->doc);
	hub_release(&r->hub);
}

/* A project that is gone still has its rules: its path as it is typed then. */
static int find_project(const char *dir, bool must_exist, struct rules_scope *r, struct cl_err *e)
{
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
	cleanup_free char *path = NULL;
	cleanup_fd int fd = -1;

	if (must_exist) {
		if (work_confine(r->store, &r->hub, &r->cfg, dir, CONFINE_RUN, &d, e))
			return -1;
		path = cl_steal(&d.path);
	} else {
		fd = sys_resolve_dir(dir, &path, e);
		if (fd < 0 && (e->code != CL_ENOTFOUND || *dir != '/'))
			return -1;
	}
	/* The rules of a feature's directory are those of its project. */
	r->project = work_project_of(path ? path : dir);
	return 0;
}

int rules_scope_open(struct cl_ctx *c, enum store_mode mode, bool one, bool must_exist,
	struct rules_scope *r, struct cl_err *e)
{
	const char *executor = cl_str(c, "executor"), *project = cl_str(c, "project");
	const char *level = cl_str_or(c, "level", "executor");

	if (executor && project)
		return cl_usage(c, e, "--executor and --project cannot go together");
	if (cl_given(c, "level") && !executor)
		return cl_usage(c, e, "--level goes with --executor");
	if (one && !executor && !project)
		return cl_usage(c, e, "name whose rules: --executor ID or --project DIR");
	if (hub_store_from_ctx(c, mode, &r->hub, &r->store, e) ||
		hub_config_for_run(c, &r->hub, &r->doc, &r->cfg, e))
		return -1;
	if (project && find_project(project, must_exist, r, e))
		return -1;
	r->of = executor ? (struct store_rules_of){level, executor}
			 : (struct store_rules_of){"project", r->project};
	return 0;
}

/* --- what is above --- */

int rules_executor(const struct rules_scope *r, const char *id, const struct cfg_executor **x,
	struct cl_err *e)
{
	cleanup_fleet struct work_fleet fleet = WORK_FLEET_INIT;
	cleanup_free char *project = r->project ? work_project_of(r->project) : NULL;
	struct work_node *node;
	enum reg_how how;

	if (id || !r->cfg.nexecutors)
		return cfg_executor_find(&r->cfg, id, x, e);
	if (work_fleet_read(r->store, r->hub.dir, &r->cfg, sys_now_ms(), &fleet, e))
		return -1;
	if (work_resolve(r->store, &fleet, NULL, project, &node, &how, e)) {
		/* Not status 1, which is an answer. */
		if (cl_err_exit(e) == 1)
			e->code = CL_ECONFIG;
		return -1;
	}
	return cfg_executor(&r->cfg, node->x->id, x, e);
}

/* The executor whose levels bound the rules. */
static int find_executor(struct cl_ctx *c, const struct rules_scope *r,
	const struct cfg_executor **x, struct cl_err *e)
{
	const char *on = r->project ? cl_str(c, "on") : r->of.subject;

	if (!r->project && cl_given(c, "on"))
		return cl_usage(c, e, "--on goes with --project");
	return rules_executor(r, on, x, e);
}

static int no_filter(struct cl_ctx *c, const struct rules_scope *r, const struct cfg_executor *x,
	struct cl_err *e)
{
	if (r->project) {
		cl_warn(c,
			"executor '%s' has no egress filter: it refuses runs of a project with "
			"rules",
			x->id);
		return 0;
	}
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' has no egress filter, so that nothing would enforce its rules",
		x->id);
	(void)cl_constraint(e, "egress_rules");
	return cl_fix(
		e, "set %s.egress_filter.enabled: true with what it may reach at most", x->key);
}

static void print_refusal(const struct fits *f, const char *child, const char *parent)
{
	const struct report report = {&f->outside, &f->parent, &f->child, "", "", 0};
	json_t *o = json_object(), *reasons = json_array();

	for (size_t i = 0; i < f->reasons.n; i++)
		(void)json_array_append_new(reasons, cl_json_string(f->reasons.v[i]));
	(void)json_object_set_new(o, "saved", json_false());
	(void)json_object_set_new(o, "code", json_string(FITS_CODE));
	(void)json_object_set_new(o, "child", cl_json_string(child));
	(void)json_object_set_new(o, "parent", cl_json_string(parent));
	(void)json_object_set_new(o, "reasons", reasons);
	(void)json_object_set_new(o, "outside", report_json(&report));
	cl_take_json(o);
}

/* 0: they fit; 1: they do not, and JSON has said so; -1 with *e. */
static int check_fit(struct cl_ctx *c, const struct rules_scope *r, const struct eg_auth *a,
	const struct cfg_executor *x, struct cl_err *e)
{
	cleanup_free char *child = work_level_name(r->of.level, r->of.subject);
	cleanup_free char *parent = cl_asprintf("executor %s", x->id);
	cleanup_levels struct work_levels above = WORK_LEVELS_INIT;
	cleanup_eg_stack struct eg_stack own = EG_STACK_INIT;
	cleanup_fits struct fits f = FITS_INIT;
	bool inside;

	if (work_levels_read(&r->hub, r->store, x, NULL, SB_NET_UNTOUCHED,
		    work_rules_above(r->of.level), &above, e))
		return -1;
	if (!above.filtered)
		return no_filter(c, r, x, e);
	eg_auth_copy(a, eg_stack_add(&own, child, 0));
	if (fits_check(&own, &above.stack, parent, false, &f, &inside, e))
		return -1;
	if (inside)
		return 0;
	if (!c->json)
		return fits_fail(&f, child, parent, e);
	print_refusal(&f, child, parent);
	return 1;
}

/* --- saving --- */

static json_t *parsed(const char *rules)
{
	return rules ? json_loads(rules, 0, NULL) : json_null();
}

static int save(const struct rules_scope *r, const struct store_rules *before, const char *rules,
	int64_t *version, struct cl_err *e)
{
	char actor[32], action[32];
	int64_t now = sys_now_ms();
	json_t *detail;
	int rc;

	(void)snprintf(actor, sizeof(actor), "uid:%u", (unsigned)getuid());
	(void)snprintf(action, sizeof(action), "%s.firewall", r->of.level);
	if (store_rules_put(r->store, &r->of, rules, actor, now, version, e) ||
		vouch_add(&r->hub, r->store, &r->of, before, e))
		return -1;
	detail = json_pack("{s:I, s:o?, s:o?}", "version", (json_int_t)*version, "before",
		parsed(before->rules), "after", parsed(rules));
	{
		struct store_audit_row a = {
			actor, action, r->of.level, r->of.subject, r->project, detail};

		rc = store_audit_add(r->store, now, &a, e);
	}
	json_decref(detail);
	return rc;
}

static void print_saved(const struct cl_ctx *c, const struct rules_scope *r, int64_t version,
	bool changed, bool set)
{
	cleanup_free char *name = work_level_name(r->of.level, r->of.subject);

	if (c->json)
		cl_take_json(json_pack("{s:b, s:s, s:o, s:I, s:b}", "saved", true, "level",
			r->of.level, "subject", cl_json_string(r->of.subject), "version",
			(json_int_t)version, "changed", changed));
	else if (!changed && !version)
		(void)printf("%s: none stored, nothing to clear\n", name);
	else if (!changed)
		(void)printf("%s: version %lld, unchanged\n", name, (long long)version);
	else
		(void)printf(
			"%s: version %lld%s\n", name, (long long)version, set ? "" : ", cleared");
}

/* Newest first; what somebody has altered is said, and replaced by what comes. */
static bool last_set(const struct rules_scope *r, struct cl_ctx *c, struct store_rules *last)
{
	struct cl_err tampered;

	if (!vouch_newest(&r->hub, r->store, &r->of, 1, last, &tampered))
		return true;
	cl_warn(c, "%s", tampered.msg);
	store_rules_release(last);
	return false;
}

/* One transaction: the set that is judged is the one that is stored. */
static int commit(const struct rules_scope *r, struct store_txn *t, bool changed, struct cl_err *e)
{
	if (store_commit(t, e))
		return -1;
	return changed ? vouch_settle(&r->hub, r->store, &r->of, e) : 0;
}

/* Sets that a new one above them cuts short: the next run has less. */
static int warn_cut(const struct store_rules *r, void *arg, struct cl_err *e)
{
	const struct rules_cut *cut = arg;
	cleanup_eg_stack struct eg_stack own = EG_STACK_INIT;
	cleanup_fits struct fits f = FITS_INIT;
	struct cl_err ignored;
	bool inside = true;

	(void)e;
	if (!(work_rules_bit(r->level) & work_rules_below(cut->of->level)) ||
		(strcmp(r->level, "project") != 0 && strcmp(r->subject, cut->of->subject) != 0) ||
		work_level_add(r, &own, &ignored) || !own.n ||
		fits_check(&own, cut->above, cut->name, false, &f, &inside, &ignored) || inside)
		return 0;
	cl_warn(cut->c, "%s reach further and are cut: %s%s", own.v[0].name, f.reasons.v[0],
		f.reasons.n > 1 ? ", and more" : "");
	return 0;
}

static void tell_cut(struct cl_ctx *c, const struct rules_scope *r, const struct cfg_executor *x)
{
	cleanup_levels struct work_levels above = WORK_LEVELS_INIT;
	cleanup_free char *name = cl_asprintf("executor %s", x->id);
	struct rules_cut cut = {c, &r->of, &above.stack, name};
	unsigned counting = work_rules_above(r->of.level) | work_rules_bit(r->of.level);
	struct cl_err e;

	if (!work_levels_read(&r->hub, r->store, x, NULL, SB_NET_UNTOUCHED, counting, &above, &e))
		(void)store_rules_each(r->store, warn_cut, &cut, &e);
}

static int read_file(
	const struct cl_ctx *c, const char *path, struct eg_auth *out, struct cl_err *e)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (cl_read_file(path, EGRESS_MAX_FILE, &text, e) || egress_policy_text(name, &text, &s, e))
		return -1;
	if (s.n != 1 || s.v[0].name) {
		(void)cl_fail(e, CL_EDATA, "%s has levels, and a rule set is one of them", name);
		return cl_fix(e, "give the authorisation of one level");
	}
	egress_notes(c, &s, name);
	eg_auth_copy(&s.v[0].auth, out);
	return 0;
}

static int read_rules(struct cl_ctx *c, struct eg_auth *out, struct cl_err *e)
{
	static const char *const parts[] = {"internet", "cidrs", "deny", "ports", "all-ports",
		"resolver", "broker", "block-special-use", "silent"};
	const char *path = cl_str(c, "policy");

	for (size_t i = 0; path && i < CL_ARRAY_LEN(parts); i++)
		if (cl_given(c, parts[i]))
			return cl_usage(c, e,
				"--policy and --%s cannot go together: the file is the whole set",
				parts[i]);
	if (path ? read_file(c, path, out, e) : egress_flags(c, false, out, e))
		return -1;
	return work_rules_check(out, e);
}

int egress_rules_set(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_rules_scope struct rules_scope r = RULES_SCOPE_INIT;
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_rules struct store_rules last = STORE_RULES_INIT;
	cleanup_txn struct store_txn t = {0};
	cleanup_free char *text = NULL;
	const struct cfg_executor *x;
	bool changed;
	json_t *j;
	int rc;

	if (read_rules(c, &a, e) || rules_scope_open(c, STORE_RW, true, true, &r, e) ||
		find_executor(c, &r, &x, e))
		return -1;
	j = eg_auth_json(&a);
	text = cl_json_text(j);
	json_decref(j);
	/* Judged and stored as one: the level above cannot change in between. */
	if (store_begin(r.store, &t, e))
		return -1;
	rc = check_fit(c, &r, &a, x, e);
	if (rc)
		return rc;
	changed = !last_set(&r, c, &last) || !last.rules || strcmp(last.rules, text) != 0;
	if ((changed && save(&r, &last, text, &last.version, e)) || commit(&r, &t, changed, e))
		return -1;
	print_saved(c, &r, last.version, changed, true);
	if (!r.project)
		tell_cut(c, &r, x);
	return 0;
}

int egress_rules_clear(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_rules_scope struct rules_scope r = RULES_SCOPE_INIT;
	cleanup_rules struct store_rules last = STORE_RULES_INIT;
	cleanup_txn struct store_txn t = {0};
	bool changed;

	if (rules_scope_open(c, STORE_RW, true, false, &r, e) || store_begin(r.store, &t, e))
		return -1;
	changed = !last_set(&r, c, &last) || last.rules;
	if ((changed && save(&r, &last, NULL, &last.version, e)) || commit(&r, &t, changed, e))
		return -1;
	print_saved(c, &r, last.version, changed, false);
	return 0;
}
