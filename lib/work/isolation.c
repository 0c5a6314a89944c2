/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/isolation.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/audit.h"
#include "store/counter.h"
#include "sys/clock.h"
#include "sys/engine/runtime_id.h"
#include "work/driver.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS   (24 * 60 * 60 * 1000LL)
#define RETRY_MS 60000LL
#define HOUR_MS  (60 * 60 * 1000LL)
#define SKEW_MS  (5 * 60 * 1000LL) /* a clock that was set back further has jumped */

const char *isolation_runtime(const struct cfg_executor *x)
{
	return x->oci_runtime ? x->oci_runtime : "";
}

int isolation_read(
	const struct isolation_ask *q, struct store_isolation *out, bool *found, struct cl_err *e)
{
	return store_isolation_get(
		q->store, q->executor->id, isolation_runtime(q->executor), out, found, e);
}

/* Engine, runtime, configuration and kernel as they are now; "" when there is no engine. */
static void identity_now(
	const struct cfg_executor *x, const char *runtime_path, char out[RUNTIME_ID_SIZE])
{
	cleanup_engine struct engine en = ENGINE_INIT;
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	struct cl_err e;

	out[0] = '\0';
	work_engine_env(&env);
	if (!engine_find(x->runtime, env.v, &en, &e))
		runtime_id(&en, isolation_runtime(x), runtime_path, out);
}

bool isolation_due(
	const struct isolation_ask *q, const struct store_isolation *row, const char **why)
{
	char identity[RUNTIME_ID_SIZE];
	int64_t now = sys_now_ms();
	const char *text = NULL;

	if (!row) {
		text = "nobody has probed it";
	} else if (row->failure) {
		if (now - row->attempted_at > RETRY_MS || row->attempted_at - now > SKEW_MS)
			text = "the last probe could not run, or could not tell";
	} else if (now - row->taken_at > DAY_MS || row->taken_at - now > SKEW_MS) {
		text = "the evidence is more than a day old";
	}
	if (row && !text) {
		identity_now(q->executor, row->runtime_path, identity);
		if (!*identity)
			text = "the engine cannot be looked at";
		else if (strcmp(identity, row->identity) != 0)
			text = "engine, runtime or kernel are no longer what they were";
		else if (!*row->engine_release && !strcmp(row->standing, "verified"))
			text = "which kernel the engine runs on was not known";
	}
	if (why)
		*why = text;
	return text != NULL;
}

/* ---- taking it ---- */

/* What the driver answered. */
struct attempt {
	int64_t started; /* Unix milliseconds */
	json_t *out;
	struct iso_evidence sandbox, reference;
	bool has_sandbox, has_reference;
	char failure[600]; /* "": it ran */
	char identity[RUNTIME_ID_SIZE];
};

static const char *member(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static bool read_one(const json_t *out, const char *key, struct iso_evidence *v)
{
	const json_t *j = json_object_get(out, key);
	cleanup_free char *text = NULL;
	struct cl_err e;

	if (!json_is_object(j))
		return false;
	text = cl_json_text(j);
	return !iso_evidence_read(key, text, strlen(text), v, &e);
}

static void fail(struct attempt *a, const char *why)
{
	(void)snprintf(a->failure, sizeof(a->failure), "%.*s", (int)sizeof(a->failure) - 1, why);
}

static void attempt(const struct isolation_ask *q, int64_t timeout_ms, struct attempt *a)
{
	json_t *in = json_object();
	struct cl_err e;

	a->started = sys_now_ms();
	if (timeout_ms)
		(void)json_object_set_new(in, "timeout_ms", json_integer(timeout_ms));
	if (work_driver_ask(q->executor, q->doc, q->hub_dir, "probe", in, &a->out, &e)) {
		fail(a, e.msg);
		identity_now(q->executor, "", a->identity);
	} else {
		fail(a, member(a->out, "failure"));
		a->has_sandbox = read_one(a->out, "evidence", &a->sandbox);
		a->has_reference = read_one(a->out, "reference", &a->reference);
		(void)snprintf(a->identity, sizeof(a->identity), "%s", member(a->out, "identity"));
		if (!a->has_sandbox && !a->failure[0])
			fail(a, "its answer cannot be read");
	}
}

static char *text_of(const json_t *out, const char *key)
{
	const json_t *j = json_object_get(out, key);

	return json_is_object(j) ? cl_json_text(j) : NULL;
}

/*
 * What was found before counts where the probe could not run or could not tell: a contradiction
 * always, anything else only while it is still the same engine and runtime that were found to be
 * so. What is not known of them is no longer the same.
 */
static const struct iso_answer *earlier(const struct store_isolation *was, bool found,
	const struct attempt *a, struct iso_answer *out)
{
	*out = (struct iso_answer){0};
	if (!found || !was->taken_at || !iso_verdict_of(was->verdict, &out->verdict) ||
		!iso_standing_of(was->standing, &out->standing))
		return NULL;
	if (out->standing == ISO_CONTRADICTED)
		return out;
	if (!*a->identity || strcmp(was->identity, a->identity) != 0)
		return NULL;
	/* An attempt that failed early was told no release. */
	if (a->has_sandbox &&
		(!*member(a->out, "engine_release") ||
			strcmp(was->engine_release, member(a->out, "engine_release")) != 0))
		return NULL;
	return *was->engine_release ? out : NULL;
}

static void fill(const struct isolation_ask *q, const struct attempt *a,
	const struct iso_answer *answer, const struct store_isolation *was,
	struct store_isolation *out)
{
	bool kept = answer->kept;
	const char *failure = !a->has_sandbox ? a->failure : kept ? answer->reason : NULL;

	*out = (struct store_isolation){.executor_id = cl_strdup(q->executor->id),
		.runtime = cl_strdup(isolation_runtime(q->executor)),
		.verdict = cl_strdup(iso_verdict_name(answer->verdict)),
		.standing = cl_strdup(iso_standing_name(answer->standing)),
		.reason = cl_strdup(kept ? was->reason : answer->reason),
		.evidence = kept ? cl_strdup_null(was->evidence) : text_of(a->out, "evidence"),
		.reference = kept ? cl_strdup_null(was->reference) : text_of(a->out, "reference"),
		.engine_release =
			cl_strdup(kept ? was->engine_release : member(a->out, "engine_release")),
		.runtime_path = cl_strdup(member(a->out, "runtime_path")),
		.identity = cl_strdup(a->identity),
		.taken_at = kept             ? was->taken_at
			    : a->has_sandbox ? a->started
					     : 0,
		.attempted_at = a->started,
		.failure = cl_strdup_null(failure)};
}

/* A verdict that is another than before is on record. */
static int note_change(struct store *s, const struct store_isolation *was, bool found,
	const struct store_isolation *row, struct cl_err *e)
{
	cleanup_free char *actor = cl_asprintf("uid:%u", (unsigned)getuid());
	struct store_audit_row audit = {.actor = actor,
		.action = "executor.isolation_verdict",
		.entity = "executor",
		.entity_id = row->executor_id};
	json_t *detail;
	int rc;

	if (found && !strcmp(was->verdict, row->verdict) && !strcmp(was->standing, row->standing))
		return 0;
	detail = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "runtime", row->runtime, "verdict",
		row->verdict, "standing", row->standing, "reason", row->reason, "was_verdict",
		found ? was->verdict : "", "was_standing", found ? was->standing : "");
	audit.detail = detail;
	rc = store_audit_add(s, sys_now_ms(), &audit, e);
	json_decref(detail);
	return rc;
}

/* A probe that began after this one has been written down: that is what counts. */
static void stands(
	struct store_isolation *was, struct store_isolation *out, struct iso_answer *answer)
{
	store_isolation_release(out);
	*out = *was;
	*was = STORE_ISOLATION_INIT;
	answer->kept = true;
	answer->verdict = ISO_UNKNOWN;
	answer->standing = ISO_UNVERIFIED;
	(void)iso_verdict_of(out->verdict, &answer->verdict);
	(void)iso_standing_of(out->standing, &answer->standing);
	(void)snprintf(answer->reason, sizeof(answer->reason),
		"a probe that began later has its answer on record: %.500s", out->reason);
}

static int record(const struct isolation_ask *q, const struct attempt *a,
	struct store_isolation *out, struct iso_answer *answer, struct cl_err *e)
{
	cleanup_isolation struct store_isolation was = STORE_ISOLATION_INIT;
	const struct iso_question question = {.runtime = isolation_runtime(q->executor),
		.sandbox = a->has_sandbox ? &a->sandbox : NULL,
		.failure = a->failure,
		.reference = a->has_reference ? &a->reference : NULL,
		.engine_release = member(a->out, "engine_release"),
		.engine_asked = true};
	cleanup_txn struct store_txn t = {0};
	struct iso_answer before;
	bool found = false, won;

	if (store_begin(q->store, &t, e) || isolation_read(q, &was, &found, e))
		return -1;
	iso_classify(&question, earlier(&was, found, a, &before), answer);
	fill(q, a, answer, &was, out);
	if (store_isolation_put(q->store, out, sys_now_ms() + SKEW_MS, &won, e) ||
		store_counter_add(q->store, "cloop_executor_isolation_probes_total",
			out->failure ? "failed" : out->standing, 1, e) ||
		(won && note_change(q->store, &was, found, out, e)))
		return -1;
	if (!won)
		stands(&was, out, answer);
	return store_commit(&t, e);
}

int isolation_take(const struct isolation_ask *q, int64_t timeout_ms, struct store_isolation *out,
	struct iso_answer *answer, struct cl_err *e)
{
	struct attempt a = {0};
	int rc;

	attempt(q, timeout_ms, &a);
	rc = record(q, &a, out, answer, e);
	json_decref(a.out);
	return rc;
}

int isolation_refresh(const struct isolation_ask *q, bool *taken, struct store_isolation *out,
	struct iso_answer *answer, struct cl_err *e)
{
	cleanup_isolation struct store_isolation was = STORE_ISOLATION_INIT;
	bool found = false;

	*taken = false;
	if (iso_claim(isolation_runtime(q->executor)) == ISO_UNKNOWN)
		return 0;
	if (isolation_read(q, &was, &found, e))
		return -1;
	if (!isolation_due(q, found ? &was : NULL, NULL) ||
		(found && was.failure && sys_now_ms() - was.attempted_at < HOUR_MS))
		return 0;
	*taken = true;
	return isolation_take(q, 0, out, answer, e);
}

void isolation_apply(
	const struct store_isolation *row, const char *due, char at[32], struct pl_candidate *c)
{
	enum iso_standing s = ISO_UNVERIFIED;

	(void)iso_standing_of(row->standing, &s);
	c->standing = s == ISO_CONTRADICTED       ? PL_CONTRADICTED
		      : s == ISO_VERIFIED && !due ? PL_VERIFIED
						  : PL_UNVERIFIED;
	c->verdict = row->verdict;
	c->evidence = s == ISO_VERIFIED && due ? due : row->reason;
	cl_format_time((row->taken_at ? row->taken_at : row->attempted_at) / 1000, at);
	c->evidence_at = at;
}
