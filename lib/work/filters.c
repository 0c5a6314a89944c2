/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/filters.h"
#include "base/mem.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "sys/nft_dump.h"
#include "work/blocked.h"

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
	free(f->problem);
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
	const char *run_base;
	struct work_filters *out;
};

/* What the run of the workload may reach; *filtered false: nothing is filtered. */
static int policy_of(struct store *s, const struct store_handle *h, struct eg_policy *out,
	bool *filtered, struct cl_err *e)
{
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	cleanup_eg_stack struct eg_stack stack = EG_STACK_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};

	*filtered = false;
	if (!h->run_id)
		return cl_fail(e, CL_EDATA, "workload %s is of no run", h->id);
	if (store_run_get(s, h->run_id, &run, e))
		return -1;
	if (!run.egress)
		return 0;
	*filtered = true;
	stack.max_cidrs = EG_MAX_CIDRS_FILE;
	if (cl_doc_parse(&d, CL_DOC_JSON, "egress", run.egress, strlen(run.egress), &limits, e) ||
		eg_stack_read(&d, d.root, &stack, e) || eg_stack_compile(&stack, out, e))
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
static void take(struct work_filter *f, const struct store_handle *h, struct store *s)
{
	bool given = h->bridge && *h->bridge;
	struct cl_err e;
	char bridge[16];

	net_bridge_name(h->network, bridge);
	free(f->bridge);
	free(f->problem);
	eg_policy_release(&f->policy);
	f->bridge = cl_strdup(given ? h->bridge : bridge);
	f->problem = NULL;
	f->policy = EG_POLICY_INIT;
	f->prepared = h->netns != NULL;
	f->since = h->started_at;
	if (policy_of(s, h, &f->policy, &f->filtered, &e))
		f->problem = cl_strdup(e.msg);
}

static int on_handle(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct reading *r = arg;
	struct work_filter *f;

	(void)e;
	if (!h->nft_table || !h->network)
		return 0;
	f = filter_of(r->out, h->nft_table);
	add_user(f, h, r->run_base);
	if (!f->bridge || h->started_at >= f->since)
		take(f, h, r->store);
	return 0;
}

/* Without a policy only a network of ours has rules. */
static void drop_bare(struct work_filters *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct work_filter f = l->v[i];

		if (f.prepared || f.filtered || f.problem)
			l->v[n++] = f;
		else
			filter_release(&f);
	}
	l->n = n;
}

int work_filters_read(
	struct store *s, const char *run_base, struct work_filters *out, struct cl_err *e)
{
	struct reading r = {s, run_base, out};

	if (store_handle_each(s, NULL, false, on_handle, &r, e))
		return -1;
	drop_bare(out);
	return 0;
}

int work_filter_verify(const struct work_filter *f, const char *run_base, struct work_finding *out,
	struct cl_err *e)
{
	cleanup_ruleset struct vf_ruleset rules = VF_RULESET_INIT;
	const struct vf_want w = {.bridge = f->bridge, .policy = f->filtered ? &f->policy : NULL};

	if (f->problem)
		return cl_fail(e, CL_EDATA, "%s", f->problem);
	if (nft_dump_read(NFPROTO_INET, f->table, &rules, e))
		return -1;
	out->gone = !if_nametoindex(f->bridge);
	if (out->gone)
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

int work_filter_restore(const struct work_filter *f, const char *run_base, bool *there, size_t *cut,
	struct cl_err *e)
{
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
