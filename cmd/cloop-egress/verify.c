/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel enforces, against a policy from the command line. */
#include "egress.h"
#include "verify.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/net/net.h"
#include "sys/nft/nft_dump.h"
#include "work/ctx.h"

#include <linux/netfilter.h>
#include <string.h>

#define SHOWN 10

static bool has_note(const struct vf_report *r, enum vf_note_kind kind)
{
	for (size_t i = 0; i < r->nnotes; i++)
		if (r->notes[i].kind == kind)
			return true;
	return false;
}

static void print_text(
	const struct egress_filter *f, const struct vf_report *r, const struct cl_strv *tables)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	size_t n = r->n + r->nnotes + tables->n;
	/* Without a table everything differs, and one example says it. */
	size_t most = has_note(r, VF_NO_TABLE) ? 1 : SHOWN, shown = r->n < most ? r->n : most;

	cl_buf_addf(&text, "%s on %s: ", f->table, f->bridge);
	if (!n)
		cl_buf_adds(&text, "as it should be\n");
	else if (has_note(r, VF_NO_TABLE))
		cl_buf_adds(&text, "the table is not there, and nothing is filtered\n");
	else
		cl_buf_addf(&text, "%zu difference%s\n", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < tables->n; i++)
		cl_buf_addf(&text, "table %s is not as it was made\n", tables->v[i]);
	for (size_t i = 0; i < r->nnotes; i++) {
		if (r->notes[i].kind == VF_NO_TABLE)
			continue;
		vf_note_text(&r->notes[i], &text);
		cl_buf_addc(&text, '\n');
	}
	for (size_t i = 0; i < shown; i++)
		vf_difference_text(r, i, &text);
	if (r->n > shown)
		cl_buf_addf(&text, "and %zu more (--json has all)\n", r->n - shown);
	cl_mask(text.p, "\t\n");
	(void)fwrite(text.p, 1, text.len, stdout);
}

int egress_verify_one(
	const struct egress_filter *f, struct vf_report *report, bool *same, struct cl_err *e)
{
	cleanup_ruleset struct vf_ruleset rules = VF_RULESET_INIT;
	const struct vf_want w = {.bridge = f->bridge, .policy = f->policy};

	if (nft_dump_read(NFPROTO_INET, f->table, &rules, e))
		return -1;
	*same = vf_verify(&rules, &w, report);
	return 0;
}

static void print(const struct cl_ctx *c, const struct egress_filter *f, const struct vf_report *r,
	const struct cl_strv *tables)
{
	json_t *o, *names;

	if (!c->json) {
		print_text(f, r, tables);
		return;
	}
	o = vf_report_json(r);
	names = json_array();
	for (size_t i = 0; i < tables->n; i++)
		(void)json_array_append_new(names, json_string(tables->v[i]));
	if (tables->n)
		(void)json_object_set_new(o, "identical", json_false());
	(void)json_object_set_new(o, "table", json_string(f->table));
	(void)json_object_set_new(o, "bridge", json_string(f->bridge));
	(void)json_object_set_new(o, "other_tables", names);
	cl_take_json(o);
}

void egress_verify_print(
	const struct cl_ctx *c, const struct egress_filter *f, const struct vf_report *r)
{
	const struct cl_strv none = CL_STRV_INIT;

	print(c, f, r, &none);
}

/* After the machine was started anew the store still has what was live before. */
static void print_gone(const struct cl_ctx *c, const struct egress_filter *f)
{
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:b, s:b}", "table", f->table, "bridge",
			f->bridge, "identical", false, "gone", true));
	else
		(void)printf("%s on %s: the network is not there: its workloads have ended (cloop "
			     "sweep), or it is in another network namespace\n",
			f->table, f->bridge);
}

static void print_unvouched(const struct cl_ctx *c, const struct work_filter *f)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	(void)work_filter_unvouched(f, &e);
	cl_buf_addf(&text, "%s on %s: what should stand is not known: %s\n  fix: %s\n", f->table,
		f->bridge, e.msg, e.fix);
	cl_mask(text.p, "\t\n");
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:b, s:b, s:s, s:s}", "table", f->table,
			"bridge", f->bridge, "identical", false, "vouched", false, "problem", e.msg,
			"fix", e.fix));
	else
		(void)fwrite(text.p, 1, text.len, stdout);
}

void egress_finding_print(
	const struct cl_ctx *c, const struct work_filter *f, const struct work_finding *was)
{
	const struct egress_filter names = {.table = f->table, .bridge = f->bridge};

	if (was->gone) {
		print_gone(c, &names);
		return;
	}
	if (f->unvouched) {
		print_unvouched(c, f);
		return;
	}
	print(c, &names, &was->report, &was->tables);
}

/* Table and bridge as they are given, or as an executor's are called. */
static int names(struct cl_ctx *c, char **table, char **bridge, struct cl_err *e)
{
	cleanup_free char *network = NULL, *id = NULL;
	cleanup_hub struct hub hub = HUB_INIT;
	char of_network[16] = "";

	if (cl_given(c, "executor")) {
		if (hub_from_ctx(c, &hub, e))
			return -1;
		id = hub_network_id(hub.mark, cl_str(c, "executor"));
		network = eg_network_name(id, NULL);
		net_bridge_name(network, of_network);
	}
	if (cl_given(c, "table"))
		*table = cl_strdup(cl_str(c, "table"));
	else if (id)
		*table = eg_table_name(id, NULL);
	if (cl_given(c, "bridge"))
		*bridge = cl_strdup(cl_str(c, "bridge"));
	else if (id)
		*bridge = cl_strdup(of_network);
	if (!*table || !*bridge)
		return cl_usage(c, e, "--%s NAME is needed", *table ? "bridge" : "table");
	return eg_check_table(*table, e) || eg_check_interface(*bridge, e) ? -1 : 0;
}

int egress_firewall_verify(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_eg_stack struct eg_stack stack = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy policy = EG_POLICY_INIT;
	cleanup_report struct vf_report report = VF_REPORT_INIT;
	cleanup_free char *source = NULL, *table = NULL, *bridge = NULL;
	struct egress_filter f = {.policy = &policy};
	bool same;

	if (names(c, &table, &bridge, e) || egress_stack(c, &stack, &source, e) ||
		eg_stack_compile(&stack, &policy, e))
		return -1;
	f.table = table;
	f.bridge = bridge;
	if (egress_verify_one(&f, &report, &same, e))
		return -1;
	egress_verify_print(c, &f, &report);
	return same ? 0 : 1;
}
