/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/filters.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "sys/net/net.h"
#include "sys/nft/nft_dump.h"
#include "work/blocked.h"
#include "work/standing.h"

#include <linux/netfilter.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

static void filter_release(struct work_filter *f)
{
	for (size_t i = 0; i < f->nusers; i++) {
		free(f->users[i].handle);
		free(f->users[i].run_id);
		free(f->users[i].project);
	}
	free(f->users);
	free(f->table);
	free(f->bridge);
	free(f->unvouched);
	eg_policy_release(&f->policy);
}

void work_filters_release(struct work_filters *f)
{
	for (size_t i = 0; i < f->n; i++)
		filter_release(&f->v[i]);
	free(f->v);
	*f = WORK_FILTERS_INIT;
}

void work_finding_release(struct work_finding *f)
{
	vf_report_release(&f->report);
	cl_strv_release(&f->tables);
}

struct reading {
	struct store *store;
	const char *hub, *run_base;
	struct work_filters *out;
};

/* What the state file says of a workload's policy, beside its row. */
struct said {
	struct store_run run;
	struct eg_stack stack;
	bool filtered;
};

static void said_release(struct said *s)
{
	store_run_release(&s->run);
	eg_stack_release(&s->stack);
}
#define cleanup_said __attribute__((cleanup(said_release)))

/* *out is released also when it fails. */
static int say_policy(
	struct store *s, const struct store_handle *h, struct said *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};

	if (!h->run_id)
		return cl_fail(e, CL_EDATA, "workload %s is of no run", h->id);
	if (store_run_get(s, h->run_id, &out->run, e))
		return -1;
	out->filtered = out->run.egress != NULL;
	if (!out->filtered)
		return 0;
	out->stack.max_cidrs = EG_MAX_CIDRS_FILE;
	if (cl_doc_parse(&d, CL_DOC_JSON, "egress", out->run.egress, strlen(out->run.egress),
		    &limits, e) ||
		eg_stack_read(&d, d.root, &out->stack, e))
		return cl_wrap(e, "the policy of run %s", h->run_id);
	return 0;
}

static struct work_filter *filter_of(struct work_filters *l, const char *table)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].table, table))
			return &l->v[i];
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	l->v[l->n] = (struct work_filter){.table = cl_strdup(table), .policy = EG_POLICY_INIT};
	return &l->v[l->n++];
}

static void add_user(struct work_filter *f, const struct store_handle *h, const char *run_base)
{
	struct work_filter_user u = {.handle = cl_strdup(h->id),
		.run_id = h->run_id ? cl_strdup(h->run_id) : NULL,
		.project = cl_strdup(h->project)};

	(void)blocked_sources(h, run_base, u.address);
	f->users = cl_grow(f->users, &f->users_cap, f->nusers + 1, sizeof(*f->users));
	f->users[f->nusers++] = u;
}

/* The newest workload's policy is that of its network. */
static void take(struct work_filter *f, const struct store_handle *h, const struct said *said)
{
	bool given = h->bridge && *h->bridge;
	struct cl_err e;
	char bridge[16];

	if (f->bridge && h->started_at < f->since)
		return;
	net_bridge_name(h->network, bridge);
	free(f->bridge);
	eg_policy_release(&f->policy);
	f->bridge = cl_strdup(given ? h->bridge : bridge);
	f->policy = EG_POLICY_INIT;
	f->prepared = h->netns != NULL;
	f->filtered = said->filtered;
	f->since = h->started_at;
	if (f->filtered && !f->unvouched && eg_stack_compile(&said->stack, &f->policy, &e))
		f->unvouched = cl_asprintf("the policy of run %s: %s", h->run_id, e.msg);
}

/* Whatever else is said of the filter: one of its workloads is not as it was started. */
static void distrust(struct work_filter *f, const char *handle, const char *why)
{
	if (!f->unvouched)
		f->unvouched = cl_asprintf("workload %s: %s", handle, why);
}

/* No driver has written down a filter of this workload. */
static void on_bare(
	struct reading *r, const struct store_handle *h, const struct said *said, const char *why)
{
	struct work_filter *f;

	/* It is starting, and nothing stands yet; or it has ended, and nothing stands any more. */
	if (said->run.state && strcmp(said->run.state, "running") != 0)
		return;
	f = filter_of(r->out, h->nft_table);
	add_user(f, h, r->run_base);
	distrust(f, h->id, why ? why : "nothing beside the state file says that it has a filter");
	take(f, h, said);
}

static void on_standing(struct reading *r, const struct store_handle *h, const struct said *said,
	const struct standing *st, const char *why)
{
	struct work_filter *f = filter_of(r->out, st->table);
	cleanup_free char *differs =
		why ? NULL : standing_differs(st, h, said->filtered ? &said->stack : NULL);
	cleanup_free char *text =
		differs ? cl_asprintf("the state file says %s", differs) : cl_strdup_null(why);
	struct store_handle was = *h;

	add_user(f, h, r->run_base);
	if (text)
		distrust(f, h->id, text);
	was.network = st->network;
	was.bridge = st->bridge;
	was.started_at = st->started_at;
	take(f, &was, said);
	f->prepared = st->prepared;
}

static int on_handle(const struct store_handle *h, void *arg, struct cl_err *e)
{
	cleanup_said struct said said = {STORE_RUN_INIT, EG_STACK_INIT, false};
	cleanup_standing struct standing st = STANDING_INIT;
	struct reading *r = arg;
	struct cl_err bad = {.msg = ""};
	bool found, unknown;

	if (standing_read(r->run_base, h->id, &st, &found, e))
		return -1;
	if (!found && (!h->nft_table || !h->network))
		return 0;
	unknown = say_policy(r->store, h, &said, &bad) != 0;
	if (found)
		on_standing(r, h, &said, &st, unknown ? bad.msg : NULL);
	else
		on_bare(r, h, &said, unknown ? bad.msg : NULL);
	return 0;
}

/* Also when the state file cannot say. */
static bool is_live(struct store *s, const char *handle)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	struct cl_err e;

	if (store_handle_get(s, handle, &h, &e))
		return e.code != CL_ENOTFOUND;
	return !strcmp(h.state, "live");
}

/* Filters of this hub's workloads that the state file does not list: a row was taken out. */
static int unlisted(struct reading *r, struct cl_err *e)
{
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;

	if (standing_handles(r->run_base, &handles, e))
		return -1;
	for (size_t i = 0; i < handles.n; i++) {
		cleanup_standing struct standing st = STANDING_INIT, again = STANDING_INIT;
		const char *h = handles.v[i];
		struct work_filter *f;
		bool found;

		if (is_live(r->store, h))
			continue;
		/* The driver takes its word back before the row ends. */
		if (standing_read(r->run_base, h, &st, &found, e))
			return -1;
		if (!found || strcmp(st.hub, r->hub) != 0 || is_live(r->store, h))
			continue;
		if (standing_read(r->run_base, h, &again, &found, e))
			return -1;
		if (!found)
			continue;
		f = filter_of(r->out, st.table);
		distrust(f, h,
			"a filter was installed for it, and the state file does not list it "
			"as live");
		if (!f->bridge)
			f->bridge = cl_strdup(st.bridge);
		f->prepared = st.prepared;
	}
	return 0;
}

/* Without a policy only a network of ours has rules. */
static void drop_bare(struct work_filters *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct work_filter f = l->v[i];

		if (f.prepared || f.filtered || f.unvouched)
			l->v[n++] = f;
		else
			filter_release(&f);
	}
	l->n = n;
}

int work_filters_read(struct store *s, const char *hub, const char *run_base,
	struct work_filters *out, struct cl_err *e)
{
	struct reading r = {s, hub, run_base, out};

	if (store_handle_each(s, NULL, false, on_handle, &r, e) || unlisted(&r, e))
		return -1;
	drop_bare(out);
	return 0;
}

int work_filter_verify(const struct work_filter *f, const char *run_base, struct work_finding *out,
	struct cl_err *e)
{
	cleanup_ruleset struct vf_ruleset rules = VF_RULESET_INIT;
	const struct vf_want w = {.bridge = f->bridge, .policy = f->filtered ? &f->policy : NULL};

	if (nft_dump_read(NFPROTO_INET, f->table, &rules, e))
		return -1;
	out->gone = !if_nametoindex(f->bridge);
	if (out->gone || f->unvouched)
		return 0;
	out->same = vf_verify(&rules, &w, &out->report);
	if (f->prepared && net_verify(run_base, f->table, &out->tables, e))
		return -1;
	out->same = out->same && !out->tables.n;
	return 0;
}

static int restore_engine(const struct work_filter *f, bool *there, size_t *cut, struct cl_err *e)
{
	const struct nft_filter n = {.table = f->table, .bridge = f->bridge};

	/* The engine's network goes before its rules: then nothing must come back. */
	*there = if_nametoindex(f->bridge) != 0;
	if (!*there)
		return 0;
	if (nft_apply(&n, &f->policy, e))
		return -1;
	for (size_t i = 0; i < 2 * f->nusers; i++)
		if (net_forget_denied(&f->users[i / 2].address[i % 2], &f->policy, cut, e))
			return -1;
	return 0;
}

int work_filter_unvouched(const struct work_filter *f, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "%s", f->unvouched);
	cl_mask(e->msg, "\t"); /* of a file that somebody else wrote */
	(void)cl_constraint(e, "egress_unvouched");
	return cl_fix(e,
		"stop what runs behind it and start it again, and see 'cloop hub audit list' and "
		"who writes the hub's .cloop/state.db; a run of an earlier release is told so too, "
		"until it ends");
}

int work_filter_restore(const struct work_filter *f, const char *run_base, bool *there, size_t *cut,
	struct cl_err *e)
{
	if (f->unvouched)
		return work_filter_unvouched(f, e);
	return f->prepared ? net_restore(run_base, f->table, f->filtered ? &f->policy : NULL, there,
				     cut, e)
			   : restore_engine(f, there, cut, e);
}

/* "the table is not there; 38 sets of packets differed": a line for people. */
static void summary(const struct work_filter *f, const struct work_finding *was, const char *who,
	size_t cut, struct cl_buf *out)
{
	cl_buf_addf(out, "the egress filter in table %s was changed%s%s and is back", f->table,
		*who ? " by " : "", who);
	if (was->report.nnotes) {
		cl_buf_adds(out, ": ");
		vf_note_text(&was->report.notes[0], out);
	} else if (was->report.n) {
		cleanup_buf struct cl_buf first = CL_BUF_INIT;

		vf_difference_text(&was->report, 0, &first);
		cl_buf_addf(out, ": %.*s", (int)strcspn(first.p, "\n"), first.p);
	} else if (was->tables.n) {
		cl_buf_addf(out, ": table %s", was->tables.v[0]);
	}
	if (cut)
		cl_buf_addf(
			out, "; %zu connection%s that it denies ended", cut, cut == 1 ? "" : "s");
}

static json_t *data_of(
	const struct work_filter *f, const struct work_finding *was, const char *who, size_t cut)
{
	json_t *tables = json_array();

	for (size_t i = 0; i < was->tables.n; i++)
		(void)json_array_append_new(tables, json_string(was->tables.v[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:i, s:i, s:I}", "table", f->table, "bridge",
		f->bridge, "by", *who ? json_string(who) : json_null(), "tables", tables, "notes",
		(int)was->report.nnotes, "differences", (int)was->report.n, "connections_ended",
		(json_int_t)cut);
}

int work_filter_record(struct store *s, const struct work_filter *f, const struct work_finding *was,
	const char *who, size_t cut, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_txn struct store_txn t = {0};
	json_t *data = data_of(f, was, who, cut);
	int64_t now = sys_now_ms();
	int rc = store_begin(s, &t, e);

	summary(f, was, who, cut, &text);
	for (size_t i = 0; !rc && i < f->nusers; i++) {
		const struct work_filter_user *u = &f->users[i];
		const struct store_audit_row row = {.actor = "watch",
			.action = "egress.restore",
			.entity = "run",
			.entity_id = u->run_id,
			.project = u->project,
			.detail = data};

		rc = store_journal_add(
			     s, now, u->project, u->run_id, "egress_restored", text.p, data, e) ||
				     store_audit_add(s, now, &row, e)
			     ? -1
			     : 0;
	}
	json_decref(data);
	return rc || store_commit(&t, e) ? -1 : 0;
}
