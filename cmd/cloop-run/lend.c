/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step 7: whether there is anything to lend, and what was not lent. The driver does the rest. */
#include "run.h"
#include "base/mem.h"
#include "policy/secret/secret_subject.h"
#include "store/grant.h"
#include "sys/clock.h"
#include "work/fleet.h"

#include <stdlib.h>

struct look {
	struct sec_requester who;
	bool found;
};

/* Whether a row is one of ours is known to who holds the key: in doubt it is asked. */
static int look_at(const struct store_grant *g, void *arg, struct cl_err *e)
{
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	struct look *l = arg;

	(void)e;
	if (!l->found && (sec_subject_parse(g->subject, &subject, e) ||
				 sec_subject_matches(&subject, &l->who)))
		l->found = true;
	return 0;
}

int run_may_lend(const struct run_plan *p, bool *out, struct cl_err *e)
{
	const struct store_grant_filter active = {.active_at = sys_now_ms(), .lost_too = true};
	cleanup_labels struct sec_labels labels = SEC_LABELS_INIT;
	struct look l = {
		.who = {.project = p->project, .executor = p->executor->id, .labels = &labels}};
	const char *key;
	json_t *value;
	bool forged;

	json_object_foreach (p->executor->labels, key, value)
		if (sec_label_set(&labels, key, json_string_value(value), e))
			return cl_wrap(e, "executor %s", p->executor->id);
	if (work_labels(p->store, p->hub.dir, p->executor->id, &labels, &forged, e))
		return -1;
	if (store_grant_each(p->store, &active, look_at, &l, e))
		return -1;
	*out = l.found;
	return 0;
}

static json_t *names(const struct cl_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, cl_json_string(v->v[i]));
	return a;
}

json_t *run_lease_json(const struct run_plan *p)
{
	const char *key = getenv("CLOOP_SECRET_KEY_FILE");
	/* The driver works elsewhere; a path that is none it refuses by itself. */
	cleanup_free char *real = p->lend && key && *key ? realpath(key, NULL) : NULL;
	json_t *o;

	if (!p->lend)
		return json_null();
	o = json_pack(
		"{s:s*, s:o*}", "key_file", real, "key_passed", p->key_fd < 0 ? NULL : json_true());
	if (p->spec.has_devices)
		(void)json_object_set_new(o, "devices", names(&p->spec.devices));
	if (p->spec.has_interfaces)
		(void)json_object_set_new(o, "interfaces", names(&p->spec.interfaces));
	return o;
}

/* DECISIONS K1: what outlives its command is not to depend on what only that had. */
int run_key_lasts(const struct cl_ctx *c, const struct run_plan *p, struct cl_err *e)
{
	const char *file = getenv("CLOOP_SECRET_KEY_FILE");

	if (!p->lend || p->key_fd < 0 || !cl_flag(c, "detach") || (file && *file) ||
		p->cfg.key_file)
		return 0;
	(void)cl_fail(e, CL_ECONFIG,
		"this run is granted secrets, and a detached run outlives the CLOOP_SECRET_KEY "
		"that "
		"it was started with");
	return cl_fix(e, "put the key into a file that secrets.key_file or "
			 "CLOOP_SECRET_KEY_FILE names, or leave --detach out");
}

void run_say_lease(struct cl_ctx *c, const json_t *lease)
{
	const json_t *r;
	size_t i;

	json_array_foreach (json_object_get(lease, "refused"), i, r) {
		const char *fix = json_string_value(json_object_get(r, "fix"));

		cl_warn(c, "%s (%s) is not lent to this run: %s%s%s",
			json_string_value(json_object_get(r, "name")),
			json_string_value(json_object_get(r, "grant_id")),
			json_string_value(json_object_get(r, "reason")),
			fix && *fix ? "; fix: " : "", fix ? fix : "");
	}
}
