/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows joined with the policies that refused. */
#include "work/blocked.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct blocked_reader *r)
{
	for (size_t i = 0; r->levels && i < r->stack.n; i++)
		eg_policy_release(&r->levels[i]);
	free(r->levels);
	r->levels = NULL;
	eg_policy_release(&r->whole);
	eg_stack_release(&r->stack);
	free(r->run_id);
	r->run_id = NULL;
	r->known = false;
}

void blocked_reader_release(struct blocked_reader *r)
{
	forget(r);
}

void blocked_meaning_release(struct blocked_meaning *m)
{
	free(m->what);
	free(m->level);
	free(m->cause);
	free(m->reason);
	*m = (struct blocked_meaning){0};
}

/* The levels of the run, as its row has them. */
static bool load(struct blocked_reader *r, const char *run_id)
{
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (store_run_get(r->store, run_id, &run, &e) || !run.egress)
		return false;
	r->stack.max_cidrs = EG_MAX_CIDRS_FILE;
	if (cl_doc_parse(&d, CL_DOC_JSON, run_id, run.egress, strlen(run.egress), &limits, &e) ||
		eg_stack_read(&d, d.root, &r->stack, &e) ||
		eg_stack_compile(&r->stack, &r->whole, &e))
		return false;
	r->levels = cl_calloc(r->stack.n + 1, sizeof(*r->levels));
	for (size_t i = 0; i < r->stack.n; i++)
		if (eg_compile(&r->stack.v[i].auth, &r->levels[i], &e))
			return false;
	return true;
}

static bool known(struct blocked_reader *r, const char *run_id)
{
	if (!run_id)
		return false;
	if (!r->run_id || strcmp(r->run_id, run_id) != 0) {
		forget(r);
		r->run_id = cl_strdup(run_id);
		r->known = load(r, run_id);
	}
	return r->known;
}

/* The outermost level that refuses says why. */
static void explain(struct blocked_reader *r, const struct eg_packet *k, const char *executor,
	struct blocked_meaning *out)
{
	struct eg_answer a = {EG_DROP, EG_SAY_DEFAULT, -1};
	struct cl_buf cause = CL_BUF_INIT;
	const char *level = executor;

	for (size_t i = 0; i < r->stack.n; i++) {
		level = r->stack.v[i].name ? r->stack.v[i].name : executor;
		cl_buf_reset(&cause);
		a = eg_cause(&r->levels[i], level, k, &cause);
		if (a.verdict == EG_DROP)
			break;
	}
	out->level = cl_strdup(level);
	out->cause = cl_buf_detach(&cause);
	out->reason = cl_strdup(a.reason);
	if (a.verdict == EG_DROP)
		out->rule = eg_cause(&r->whole, level, k, &cause).rule + 1;
	cl_buf_release(&cause);
}

void blocked_explain(
	struct blocked_reader *r, const struct store_blocked *row, struct blocked_meaning *out)
{
	struct eg_packet packet = {.port = (uint16_t)row->port, .proto = (uint8_t)row->proto};
	cleanup_free char *executor = cl_asprintf("executor %s", row->executor_id);
	struct cl_buf what = CL_BUF_INIT, cause = CL_BUF_INIT;
	struct cl_err e;

	/* Addresses in the store are ours; one that is not is nobody's. */
	(void)pol_addr_parse(row->destination, "destination", &packet.dest, &e);
	eg_packet_text(&packet, &what);
	out->what = cl_buf_detach(&what);
	if (known(r, row->run_id)) {
		explain(r, &packet, executor, out);
		return;
	}
	out->reason = cl_strdup(eg_cause(NULL, executor, &packet, &cause).reason);
	out->cause = cl_buf_detach(&cause);
	out->level = cl_steal(&executor);
}

char *blocked_text(const struct blocked_meaning *m)
{
	char *text = cl_asprintf("blocked %s, %s", m->what, m->cause);

	cl_mask(text, "");
	return text;
}

static json_t *time_json(int64_t ms)
{
	char text[32];

	cl_format_time(ms / 1000, text);
	return json_string(text);
}

static json_t *text_json(const char *text)
{
	json_t *j = text ? json_string(text) : NULL;

	return j ? j : json_null();
}

json_t *blocked_json(const struct store_blocked *row, const struct blocked_meaning *m, bool live)
{
	char proto[EG_IPPROTO_TEXT];
	json_t *j;

	eg_ipproto_text((uint8_t)row->proto, proto);
	j = json_pack("{s:o, s:o, s:s, s:o, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b}",
		"first_at", time_json(row->first_at), "last_at", time_json(row->last_at), "sandbox",
		row->handle_id, "run_id", text_json(row->run_id), "project",
		text_json(row->project), "executor_id", row->executor_id, "source", row->source,
		"destination", row->destination, "protocol", proto, "port", (json_int_t)row->port,
		"packets", (json_int_t)row->packets, "bytes", (json_int_t)row->bytes, "live", live);
	(void)json_object_set_new(j, "level", text_json(m->level));
	(void)json_object_set_new(j, "rule", m->rule ? json_integer(m->rule) : json_null());
	(void)json_object_set_new(j, "reason", text_json(m->reason));
	(void)json_object_set_new(j, "cause", text_json(m->cause));
	return j;
}
