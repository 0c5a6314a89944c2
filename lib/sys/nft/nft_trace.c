/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of a trace, in and out. */
#include "sys/nft/nft_trace.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/nft/nft_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <libnftnl/common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE "cloop trace by process "

int nft_tracer_self(struct nft_tracer *out, struct cl_err *e)
{
	out->pid = getpid();
	return sys_proc_start(out->pid, &out->start, e);
}

void nft_trace_comment(const struct nft_tracer *who, char out[NFT_TRACE_COMMENT])
{
	(void)snprintf(out, NFT_TRACE_COMMENT, TRACE "%d, %" PRIu64, (int)who->pid, who->start);
}

bool nft_trace_comment_read(const char *comment, struct nft_tracer *out)
{
	char text[NFT_TRACE_COMMENT], *comma;
	uint64_t pid, start;
	struct cl_err e;

	if (!cl_starts(comment, TRACE) || strlen(comment) >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%s", comment + strlen(TRACE));
	comma = strchr(text, ',');
	if (!comma || comma[1] != ' ')
		return false;
	*comma = '\0';
	if (cl_parse_u64(text, 1, INT32_MAX, "pid", &pid, &e) ||
		cl_parse_u64(comma + 2, 0, UINT64_MAX, "start", &start, &e))
		return false;
	*out = (struct nft_tracer){(pid_t)pid, start};
	return true;
}

static bool dead(const struct nft_tracer *t)
{
	char boot[SYS_BOOT_ID_SIZE];
	struct cl_err e;

	return !sys_boot_id(boot, &e) && !sys_same_process(t->pid, t->start, boot);
}

/* --- what is there --- */

struct traces {
	const struct nft_tracer *who; /* NULL: those that are dead */
	uint64_t *handles;
	size_t n, cap;
};

static int on_rule(const struct nlmsghdr *h, void *data)
{
	struct traces *t = data;
	struct nft_wire_rule r;
	struct nft_tracer who;

	nft_wire_rule(h, &r);
	if (nft_trace_comment_read(r.comment, &who) &&
		(t->who ? who.pid == t->who->pid && who.start == t->who->start : dead(&who))) {
		t->handles = cl_grow(t->handles, &t->cap, t->n + 1, sizeof(*t->handles));
		t->handles[t->n++] = r.handle;
	}
	return MNL_CB_OK;
}

static int find(const char *table, struct traces *t, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	char why[SYS_NL_WHY];
	int err = EINTR;

	if (eg_check_table(table, e) || sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	for (int i = 0; err == EINTR && i < 10; i++) {
		char room[SYS_NL_SIZE];

		t->n = 0;
		err = sys_nl_ask(&nl, nft_ask_rules(room, table, "denied"), on_rule, t, why);
	}
	if (err == ENOENT)
		return cl_fail(e, CL_ENOTFOUND, "there is no table '%s'", table);
	return err ? sys_nl_fail(e, err, why, "read table '%s'", table) : 0;
}

static void del_rule(struct nft_batch *b, uint64_t handle)
{
	struct nftnl_rule *r = nftnl_rule_alloc();
	struct nlmsghdr *h = nft_batch_open(b, NFT_MSG_DELRULE, 0, "a rule of chain", "denied");

	if (!r)
		abort();
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, b->table);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, "denied");
	nftnl_rule_set_u64(r, NFTNL_RULE_HANDLE, handle);
	nftnl_rule_nlmsg_build_payload(h, r);
	nft_batch_close(b, h);
	nftnl_rule_free(r);
}

/* --- in --- */

static void limit(struct nft_rule *r)
{
	struct nftnl_expr *x = nft_expr_new("limit");

	nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_RATE, NFT_TRACE_RATE);
	nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_UNIT, 1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_BURST, NFT_TRACE_RATE);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	nft_expr(r, x);
}

static void add_rule(struct nft_batch *b, const struct nft_tracer *who, uint16_t group,
	const struct pol_addr *source)
{
	struct nft_rule r = nft_rule_begin(b, "denied");
	struct nftnl_expr *x = nft_expr_new("log");
	char comment[NFT_TRACE_COMMENT];

	if (source) {
		const struct pol_prefix own = pol_host(source);

		nft_address(&r, true, NFT_CMP_EQ, &own);
	}
	limit(&r);
	nftnl_expr_set_u16(x, NFTNL_EXPR_LOG_GROUP, group);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LOG_SNAPLEN, NFT_TRACE_SNAP);
	nft_expr(&r, x);
	nft_trace_comment(who, comment);
	nft_rule_end_first(&r, comment);
}

int nft_trace_put(const char *table, const struct nft_tracer *who, uint16_t group,
	const struct pol_addr *sources, size_t n, struct cl_err *e)
{
	struct traces t = {.who = who};
	size_t want = n ? 0 : 1;
	struct nft_batch b;
	int rc = find(table, &t, e);

	for (size_t i = 0; i < n; i++)
		want += sources[i].family != 0;
	if (rc || t.n == want) {
		free(t.handles);
		return rc;
	}
	nft_batch_begin(&b);
	nft_batch_table(&b, NFPROTO_INET, table);
	for (size_t i = 0; i < t.n; i++)
		del_rule(&b, t.handles[i]);
	free(t.handles);
	if (!n)
		add_rule(&b, who, group, NULL);
	for (size_t i = 0; i < n; i++)
		if (sources[i].family)
			add_rule(&b, who, group, &sources[i]);
	rc = nft_batch_send(&b, e);
	nft_batch_release(&b);
	return rc;
}

/* --- out --- */

static int drop(const char *table, struct traces *t, struct cl_err *e)
{
	struct nft_batch b;
	int rc = find(table, t, e);

	if (!rc && t->n) {
		nft_batch_begin(&b);
		nft_batch_table(&b, NFPROTO_INET, table);
		for (size_t i = 0; i < t->n; i++)
			del_rule(&b, t->handles[i]);
		rc = nft_batch_send(&b, e);
		nft_batch_release(&b);
	}
	free(t->handles);
	t->handles = NULL;
	return rc && e->code == CL_ENOTFOUND ? 0 : rc;
}

int nft_trace_drop(const char *table, const struct nft_tracer *who, struct cl_err *e)
{
	struct traces t = {.who = who};

	return drop(table, &t, e);
}

int nft_trace_sweep(const char *prefix, size_t *dropped, struct cl_err *e)
{
	cleanup_strv struct cl_strv tables = CL_STRV_INIT;

	if (nft_tables(prefix, &tables, e))
		return -1;
	for (size_t i = 0; i < tables.n; i++) {
		struct traces t = {.who = NULL};

		if (drop(tables.v[i], &t, e))
			return -1;
		*dropped += t.n;
	}
	return 0;
}
