/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/fleet.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "work/public.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void work_fleet_release(struct work_fleet *f)
{
	for (size_t i = 0; i < f->n; i++)
		sec_labels_release(&f->v[i].labels);
	free(f->v);
	*f = WORK_FLEET_INIT;
}

/* ---- reading ---- */

static struct work_node *node_of(const struct work_fleet *f, const char *id)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].x->id, id))
			return &f->v[i];
	return NULL;
}

void work_node_health(struct work_node *n, const struct store_health *h)
{
	n->health = HL_HEALTH_INIT;
	n->version = 0;
	if (!h)
		return;
	/* The column holds one of the five. */
	(void)hl_find(h->state, &n->health.state);
	(void)snprintf(n->health.reason, sizeof(n->health.reason), "%s", h->reason);
	cl_mask(n->health.reason, "");
	n->health.failures = h->failures;
	n->health.last_seen = h->last_seen;
	n->health.last_probe = h->last_probe;
	n->health.next_probe = h->next_probe;
	n->health.changed_at = h->changed_at;
	n->version = h->version;
}

static int take_health(const struct store_health *h, void *arg, struct cl_err *e)
{
	struct work_fleet *f = arg;
	struct work_node *n = node_of(f, h->executor_id);

	(void)e;
	if (n)
		work_node_health(n, h);
	else
		f->strays++;
	return 0;
}

static int take_load(const char *executor, void *arg, struct cl_err *e)
{
	struct work_node *node = node_of(arg, executor);

	(void)e;
	if (node)
		node->load++;
	return 0;
}

/* A label that no selector could name counts for nothing, and config check has said so. */
static void add_labels(const json_t *from, struct sec_labels *out)
{
	json_t *o = json_deep_copy(from);
	struct cl_err ignored;
	const char *key;
	json_t *value;

	json_object_foreach (o, key, value)
		if (json_is_string(value))
			(void)sec_label_set(out, key, json_string_value(value), &ignored);
	json_decref(o);
}

static bool contains(const struct cfg_executor *x)
{
	return !strcmp(x->kind, "container");
}

int work_fleet_look(
	struct store *s, const struct cfg *c, int64_t now, struct work_fleet *out, struct cl_err *e)
{
	*out = (struct work_fleet){.v = cl_calloc(c->nexecutors + 1, sizeof(*out->v)),
		.n = c->nexecutors,
		.strict = reg_tighten(false, c->allow_host_process),
		.now = now};
	if (uname(&out->machine))
		out->machine.machine[0] = '\0';
	for (size_t i = 0; i < out->n; i++) {
		struct work_node *n = &out->v[i];

		n->x = &c->executors[i];
		n->health = HL_HEALTH_INIT;
		add_labels(n->x->labels, &n->labels);
		n->caps = CAP_SET_INIT;
		if (contains(n->x))
			cap_of_container(n->x, geteuid() == 0, out->machine.machine, &n->caps);
	}
	if (store_health_each(s, take_health, out, e))
		return -1;
	return store_load_each(s, now, take_load, out, e);
}

int work_fleet_sign(struct store *s, const char *hub_dir, struct work_fleet *f, struct cl_err *e)
{
	if (work_public(hub_dir, f->pub, &f->known, e))
		return -1;
	for (size_t i = 0; i < f->n; i++)
		if (work_labels_by(s, f->known ? f->pub : NULL, f->v[i].x->id, &f->v[i].labels,
			    &f->v[i].forged, e))
			return -1;
	return 0;
}

int work_fleet_read(struct store *s, const char *hub_dir, const struct cfg *c, int64_t now,
	struct work_fleet *out, struct cl_err *e)
{
	if (work_fleet_look(s, c, now, out, e))
		return -1;
	return work_fleet_sign(s, hub_dir, out, e);
}

int work_labels_get(struct store *s, const unsigned char *pub, const char *executor,
	struct store_labels *row, bool *found, bool *genuine, struct cl_err *e)
{
	bool undone;

	if (store_labels_get(s, executor, row, found, &undone, e))
		return -1;
	*genuine = !undone && (!*found || (pub && seal_labels_verify(pub, row)));
	return 0;
}

int work_labels_by(struct store *s, const unsigned char *pub, const char *executor,
	struct sec_labels *out, bool *forged, struct cl_err *e)
{
	cleanup_label_row struct store_labels row = STORE_LABELS_INIT;
	json_t *stored = NULL;
	bool found, genuine;

	if (work_labels_get(s, pub, executor, &row, &found, &genuine, e))
		return -1;
	if (found && genuine)
		stored = json_loads(row.labels, JSON_REJECT_DUPLICATES, NULL);
	*forged = !genuine || (found && !json_is_object(stored));
	/* Nor does what they lay over count: who breaks them would have back what they took away. */
	if (*forged)
		sec_labels_release(out);
	else
		add_labels(stored, out);
	json_decref(stored);
	return 0;
}

int work_labels(struct store *s, const char *hub_dir, const char *executor, struct sec_labels *out,
	bool *forged, struct cl_err *e)
{
	unsigned char pub[SEAL_KEY];
	bool known;

	if (work_public(hub_dir, pub, &known, e))
		return -1;
	return work_labels_by(s, known ? pub : NULL, executor, out, forged, e);
}

int work_fleet_find(
	const struct work_fleet *f, const char *id, struct work_node **out, struct cl_err *e)
{
	cleanup_free const char **ids = cl_calloc(f->n + 1, sizeof(*ids));

	*out = node_of(f, id);
	if (*out)
		return 0;
	for (size_t i = 0; i < f->n; i++)
		ids[i] = f->v[i].x->id;
	return cfg_no_executor(id, ids, f->n, e);
}

/* ---- as placement sees it ---- */

const char *work_node_isolation(const struct work_node *n)
{
	return contains(n->x) || n->x->row->named_only ? cap_isolation_name(n->caps.isolation)
						       : "-";
}

bool work_node_serves(const struct work_node *n)
{
	return n->x->enabled && !n->x->disabled_reason;
}

/* What to type about its health; owned. */
static char *health_fix(const struct work_node *n)
{
	cleanup_free char *word = cl_shell_word(n->x->id);

	if (hl_held(n->health.state))
		return cl_asprintf("uncordon it: cloop executor uncordon %s", word);
	return cl_asprintf("mend it, and have it seen: cloop executor probe-health %s", word);
}

void work_node_candidate(const struct work_fleet *f, const struct work_node *n,
	struct pl_label *labels, char **fix, struct pl_candidate *out)
{
	size_t k = 0;

	pl_of_executor(n->x, geteuid() == 0, f->machine.machine, labels, out);
	for (; k < n->labels.n && k < PL_MAX_LIST; k++)
		labels[k] = (struct pl_label){n->labels.v[k].key, n->labels.v[k].value};
	out->labels = (struct pl_labels){labels, k};
	out->in_flight = n->load;
	out->in_flight_known = true;
	*fix = NULL;
	if (n->x->disabled_reason)
		return;
	out->health = n->health.state;
	out->health_reason = n->health.reason;
	if (hl_schedulable(n->health.state))
		return;
	*fix = health_fix(n);
	out->health_fix = *fix;
}

int work_node_admits(const struct work_node *n, struct cl_err *e)
{
	cleanup_free char *fix = NULL;

	if (hl_schedulable(n->health.state))
		return 0;
	fix = health_fix(n);
	(void)cl_fail(e, CL_EREFUSED, "executor '%s' is %s%s%s", n->x->id,
		pl_health_name(n->health.state), *n->health.reason ? ": " : "", n->health.reason);
	(void)cl_constraint(e, "health");
	return cl_fix(e, "%s, or run it on another (-e)", fix);
}

int work_admits(struct store *s, const struct cfg_executor *x, struct cl_err *e)
{
	cleanup_health struct store_health row = STORE_HEALTH_INIT;
	struct work_node n = {.x = x};
	bool found;

	if (store_health_get(s, x->id, &row, &found, e))
		return -1;
	work_node_health(&n, found ? &row : NULL);
	return work_node_admits(&n, e);
}

/* ---- which one ---- */

/* A row that somebody wrote around the key is on record before it is refused. */
static int forged(struct store *s, const struct work_fleet *f, const struct store_binding *b,
	struct cl_err *e)
{
	cleanup_free char *word = cl_shell_word(b->project);
	json_t *detail = json_pack(
		"{s:o, s:s}", "executor_id", cl_json_string(b->executor_id), "decision", "deny");
	const struct store_audit_row row = {
		"run", "executor.forged_binding", "project", b->project, b->project, detail};
	struct cl_err ignored;

	(void)store_audit_add(s, f->now, &row, &ignored);
	json_decref(detail);
	(void)cl_fail(e, CL_EREFUSED,
		"the binding of %s%s%s to executor '%s' is not as this hub signed it",
		*b->project ? "project '" : "the default", b->project, *b->project ? "'" : "",
		b->executor_id);
	(void)cl_slug(e, "forged_binding");
	(void)cl_constraint(e, "executor");
	if (!*b->project)
		return cl_fix(e, "find out who writes to state.db, then set it again: "
				 "cloop executor bind --default ID");
	return cl_fix(e,
		"find out who writes to state.db, then bind it again: cloop executor bind -p %s ID",
		word);
}

int work_binding(struct store *s, const struct work_fleet *f, const char *project, char **executor,
	struct cl_err *e)
{
	cleanup_binding struct store_binding b = STORE_BINDING_INIT;
	bool found;

	*executor = NULL;
	if (store_binding_get(s, project, &b, &found, e))
		return -1;
	if (!found)
		return 0;
	if (!f->known || !seal_binding_verify(f->pub, &b))
		return forged(s, f, &b, e);
	*executor = cl_strdup(b.executor_id);
	return 0;
}

int work_resolve(struct store *s, const struct work_fleet *f, const char *asked,
	const char *project, struct work_node **out, enum reg_how *how, struct cl_err *e)
{
	cleanup_free struct reg_entry *v = cl_calloc(f->n + 1, sizeof(*v));
	cleanup_free char *bound = NULL, *set = NULL;
	size_t which;

	if (!asked && ((project && work_binding(s, f, project, &bound, e)) ||
			      (!bound && work_binding(s, f, "", &set, e))))
		return -1;
	for (size_t i = 0; i < f->n; i++)
		v[i] = (struct reg_entry){f->v[i].x->id,
			strcmp(work_node_isolation(&f->v[i]), "none") != 0,
			f->v[i].x->row->named_only};
	if (reg_resolve(&(struct reg_ask){asked, bound, set, project, v, f->n, f->strict}, &which,
		    how, e))
		return -1;
	*out = &f->v[which];
	return 0;
}
