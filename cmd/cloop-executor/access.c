/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/access.h"

#include <stdlib.h>
#include <string.h>

struct edit {
	struct cl_strv add, remove; /* entries in their one form */
	struct cl_strv entries;     /* what the list is in the end */
	bool changed;
};

static int parse(const struct cl_ctx *c, const char *option, struct cl_strv *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv given = CL_STRV_INIT;

	cl_list(c, option, &given);
	for (size_t i = 0; i < given.n; i++) {
		cleanup_free char *entry = NULL;

		if (access_parse(given.v[i], &entry, e))
			return cl_wrap(e, "--%s", option);
		cl_strv_add(out, entry);
	}
	cl_strv_uniq(out);
	return 0;
}

/* Narrowing a list so that one is off it oneself is a mistake nobody could take back here. */
static int check_lockout(const char *id, const struct cl_strv *entries, struct cl_err *e)
{
	cleanup_who struct work_who who = WORK_WHO_INIT;
	cleanup_free char *word = cl_shell_word(id);

	work_who(&who);
	if (access_allows(entries, &(struct access_who){who.user, &who.groups}))
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"with that list you (%s) could not use executor '%s' yourself", who.user, id);
	(void)cl_constraint(e, "access");
	(void)cl_slug(e, "executor_audience_self_lockout");
	if (!who.named)
		return cl_fix(e, "run it as an account of this host that is on the list");
	return cl_fix(
		e, "add yourself too: cloop executor access %s --add user:%s", word, who.user);
}

static int check_size(const char *id, const struct cl_strv *entries, struct cl_err *e)
{
	if (entries->n <= ACCESS_MAX)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "executor '%s' would have %zu entries, and %d are the most",
		id, entries->n, ACCESS_MAX);
	return cl_fix(e, "name a group instead of its members");
}

/* One transaction: the list is judged as a whole, as it will stand. */
static int apply(struct fleet_cmd *f, const char *id, struct edit *x, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	json_t *added = json_array(), *removed = json_array(), *detail;
	bool did;

	detail = json_pack("{s:o, s:o}", "added", added, "removed", removed);
	if (store_begin(f->store, &t, e)) {
		json_decref(detail);
		return -1;
	}
	for (size_t i = 0; i < x->add.n + x->remove.n; i++) {
		bool add = i < x->add.n;
		const char *entry = add ? x->add.v[i] : x->remove.v[i - x->add.n];

		if (add ? store_access_add(f->store, id, entry, f->actor, f->now, &did, e)
			: store_access_remove(f->store, id, entry, &did, e)) {
			json_decref(detail);
			return -1;
		}
		x->changed = x->changed || did;
		if (did)
			(void)json_array_append_new(add ? added : removed, json_string(entry));
	}
	if (store_access_list(f->store, id, &x->entries, e) ||
		(x->changed &&
			(check_lockout(id, &x->entries, e) || check_size(id, &x->entries, e)))) {
		json_decref(detail);
		return -1;
	}
	if (!x->changed)
		json_decref(detail);
	else if (fleet_audit(f, "executor.access", id, NULL, detail, e))
		return -1;
	return store_commit(&t, e);
}

static void show(const struct cl_ctx *c, const char *id, const struct edit *x)
{
	json_t *list;

	if (!c->json) {
		for (size_t i = 0; i < x->entries.n; i++)
			(void)puts(x->entries.v[i]);
		if (!x->entries.n)
			(void)printf("%s: not restricted\n", id);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < x->entries.n; i++)
		(void)json_array_append_new(list, cl_json_string(x->entries.v[i]));
	cl_take_json(json_pack("{s:o, s:b, s:o, s:b}", "executor_id", cl_json_string(id),
		"restricted", x->entries.n > 0, "entries", list, "changed", x->changed));
}

int cmd_executor_access(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct edit x = {CL_STRV_INIT, CL_STRV_INIT, CL_STRV_INIT, false};
	struct work_node *n;
	int rc;

	rc = parse(c, "add", &x.add, e) || parse(c, "remove", &x.remove, e) ||
	     fleet_cmd_open(c, x.add.n || x.remove.n ? STORE_RW : STORE_RO, &f, e) ||
	     fleet_cmd_node(c, &f, &n, e);
	if (!rc)
		rc = x.add.n || x.remove.n ? apply(&f, n->x->id, &x, e)
					   : store_access_list(f.store, n->x->id, &x.entries, e);
	if (!rc)
		show(c, n->x->id, &x);
	cl_strv_release(&x.add);
	cl_strv_release(&x.remove);
	cl_strv_release(&x.entries);
	return rc ? -1 : 0;
}
