/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hub.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/grant.h"
#include "sys/clock.h"
#include "work/ctx.h"

#include <string.h>

static int row_json(const struct store_audit *a, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	cl_take_json(store_audit_json(a));
	return 0;
}

static int row_text(const struct store_audit *a, void *arg, struct cl_err *e)
{
	struct cl_table *t = arg;
	cleanup_free char *seq = cl_asprintf("%lld", (long long)a->seq);
	cleanup_free char *what =
		cl_asprintf("%s%s%s", a->entity, *a->entity_id ? " " : "", a->entity_id);
	char when[32];

	(void)e;
	cl_format_time(a->at / 1000, when);
	cl_table_add(t, seq);
	cl_table_add(t, when);
	cl_table_add(t, a->actor);
	cl_table_add(t, a->action);
	cl_table_add(t, what);
	cl_table_add(t, a->project);
	cl_table_add(t, strcmp(a->detail, "{}") ? a->detail : "");
	return 0;
}

/* "24h" before now, or a moment. */
static int parse_since(const struct cl_ctx *c, int64_t *since, struct cl_err *e)
{
	const char *text = cl_str(c, "since");
	struct cl_err ignored;
	int64_t n;

	*since = 0;
	if (!text)
		return 0;
	if (!cl_parse_time(text, "--since", &n, &ignored)) {
		*since = n * 1000;
		return 0;
	}
	if (cl_parse_duration(text, false, "--since", &n, e)) {
		e->code = CL_EUSAGE;
		return cl_fix(e, "write an age such as 24h, or a moment such as "
				 "2026-01-31T09:00:00Z");
	}
	*since = sys_now_ms() - n;
	return 0;
}

int cmd_hub_audit_list(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub struct hub h = HUB_INIT;
	cleanup_store struct store *s = NULL;
	struct store_audit_filter f = {
		.action = cl_str(c, "action"),
		.actor = cl_str(c, "actor"),
		.entity_id = cl_str(c, "id"),
		.project = cl_str(c, "project"),
		.secret = cl_str(c, "secret"),
		.limit = cl_int(c, "limit", 100),
	};
	cleanup_grant_row struct store_grant grant = STORE_GRANT_INIT;
	struct cl_table t;
	int rc;

	if (parse_since(c, &f.since, e) || hub_store_from_ctx(c, STORE_RO, &h, &s, e) ||
		(cl_given(c, "grant") && store_grant_get(s, cl_str(c, "grant"), &grant, e)))
		return -1;
	f.grant_id = grant.id;
	cl_table_init(&t, 7);
	rc = store_audit_each(s, &f, c->json ? row_json : row_text, &t, e);
	cl_table_print(&t, stdout);
	cl_table_release(&t);
	return rc;
}

/* "12:9f86d0..." : a head as verify printed it. */
static int parse_head(const struct cl_ctx *c, int64_t *seq, const char **hash, struct cl_err *e)
{
	const char *text = cl_str(c, "head"), *colon = text ? strchr(text, ':') : NULL;
	cleanup_free char *number = colon ? cl_strndup(text, (size_t)(colon - text)) : NULL;

	*seq = 0;
	*hash = "";
	if (!text)
		return 0;
	if (!colon || strlen(colon + 1) != 64 || !cl_all_in(colon + 1, "0123456789abcdef"))
		return cl_usage(c, e, "--head '%s' is not SEQ:HASH as verify prints it", text);
	*hash = colon + 1;
	if (!cl_parse_i64(number, 1, INT64_MAX, "--head", seq, e))
		return 0;
	e->code = CL_EUSAGE;
	return -1;
}

int cmd_hub_audit_verify(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub struct hub h = HUB_INIT;
	cleanup_store struct store *s = NULL;
	struct store_chain chain;
	const char *hash;
	int64_t seq;

	if (parse_head(c, &seq, &hash, e) || hub_store_from_ctx(c, STORE_RO, &h, &s, e) ||
		store_audit_verify(s, seq, hash, &chain, e))
		return -1;
	if (c->json) {
		cl_take_json(json_pack("{s:b, s:I, s:I, s:s, s:s*, s:o}", "ok", !chain.broken,
			"rows", (json_int_t)chain.rows, "head_seq", (json_int_t)chain.head_seq,
			"head", chain.head, "why", chain.broken ? chain.why : NULL, "bad_seq",
			chain.broken ? json_integer(chain.bad_seq) : json_null()));
		return chain.broken;
	}
	if (chain.broken) {
		(void)printf("broken at row %lld: %s (%lld %s)\n", (long long)chain.bad_seq,
			chain.why, (long long)chain.rows,
			chain.rows == 1 ? "row before it holds" : "rows before it hold");
		return 1;
	}
	(void)printf("whole: %lld row%s\n", (long long)chain.rows, chain.rows == 1 ? "" : "s");
	if (chain.head_seq)
		(void)printf("head: %lld:%s\n", (long long)chain.head_seq, chain.head);
	return 0;
}
