/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step 7: whether there is anything to lend, and what was not lent. The driver does the rest. */
#include "run.h"
#include "base/mem.h"
#include "policy/secret_subject.h"
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

json_t *run_lease_json(const struct run_plan *p)
{
	const char *key = getenv("CLOOP_SECRET_KEY_FILE");
	/* The driver works elsewhere; a path that is none it refuses by itself. */
	cleanup_free char *real = p->lend && key && *key ? realpath(key, NULL) : NULL;

	if (!p->lend)
		return json_null();
	return real ? json_pack("{s:s}", "key_file", real) : json_object();
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
