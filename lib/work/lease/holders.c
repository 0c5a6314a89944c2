/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/revoke_internal.h"

#include "base/doc.h"
#include "base/mem.h"
#include "policy/place/session.h"
#include "store/run.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

const char *holder_state_name(enum holder_state s)
{
	static const char *const names[] = {[HOLDER_REVOKED] = "revoked",
		[HOLDER_STAYS] = "revoked",
		[HOLDER_HOLDS] = "held",
		[HOLDER_PENDING] = "revoke_pending",
		[HOLDER_UNREACHABLE] = "unreachable",
		[HOLDER_FAILED] = "failed"};

	return names[s];
}

void holders_release(struct holders *h)
{
	for (size_t i = 0; i < h->n; i++) {
		char *all[] = {h->v[i].grant_id, h->v[i].secret_name, h->v[i].kind,
			h->v[i].lease_id, h->v[i].run_id, h->v[i].sandbox, h->v[i].project,
			h->v[i].executor_id, h->v[i].error};

		for (size_t k = 0; k < CL_ARRAY_LEN(all); k++)
			free(all[k]);
	}
	free(h->v);
	*h = HOLDERS_INIT;
}

/* True when somebody supervises the workload. */
static bool supervised(struct store *s, const char *handle)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	struct cl_err e;

	return !store_handle_get(s, handle, &h, &e) &&
	       sys_same_process(
		       (pid_t)h.shim_pid, (uint64_t)h.shim_start, h.boot_id ? h.boot_id : "");
}

/* True when it was answered that it, or a variable of it, lasts as long as the workload does. */
static bool stays(const struct store_holder *h)
{
	json_t *o = h->result ? json_loads(h->result, 0, NULL) : NULL;
	bool yes = json_is_true(json_object_get(o, "stays")) ||
		   (json_is_true(json_object_get(o, "env_stays")) &&
			   !json_is_true(json_object_get(o, "terminated")));

	json_decref(o);
	/* Who was told to end the workload after that has not answered yet. */
	return yes && (!h->action || strcmp(h->action, "kill") != 0);
}

enum holder_state holder_judge(struct store *s, const struct store_holder *h, int64_t now)
{
	bool over = (h->run_state && !strcmp(h->run_state, "finished")) ||
		    (h->handle_state && !strcmp(h->handle_state, "ended"));

	if (!strcmp(h->state, "held"))
		return strcmp(h->lease_state, "live") || over ? HOLDER_REVOKED : HOLDER_HOLDS;
	if (!strcmp(h->state, "failed"))
		return over ? HOLDER_REVOKED : HOLDER_FAILED;
	if (!strcmp(h->state, "taken"))
		return !over && h->handle_state && stays(h) ? HOLDER_STAYS : HOLDER_REVOKED;
	if (strcmp(h->state, "taking") != 0)
		return HOLDER_REVOKED;
	if (!over && stays(h))
		return HOLDER_STAYS;
	/* A supervisor that is there answers for what has ended, too. */
	if (h->handle_state && supervised(s, h->sandbox))
		return HOLDER_PENDING;
	if (over)
		return HOLDER_REVOKED;
	if (h->handle_state)
		return HOLDER_UNREACHABLE;
	/* A run that is starting has no workload yet; one that never started has none either. */
	return now - h->created_at < SES_STARTING_MS ? HOLDER_PENDING : HOLDER_UNREACHABLE;
}

static void read_result(struct holder *h, const char *text)
{
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;

	h->error = cl_strdup_null(json_string_value(json_object_get(o, "error")));
	h->files_removed = json_integer_value(json_object_get(o, "files_removed"));
	h->env_stays = json_is_true(json_object_get(o, "env_stays"));
	h->terminated = json_is_true(json_object_get(o, "terminated"));
	json_decref(o);
}

struct adding {
	struct store *s;
	struct holders *out;
	int64_t now;
};

static int add(const struct store_holder *h, void *arg, struct cl_err *e)
{
	struct adding *a = arg;
	struct holder *to;

	(void)e;
	/* What another grant has taken over is listed as that one's. */
	if (!strcmp(h->state, "superseded"))
		return 0;
	a->out->v = cl_grow(a->out->v, &a->out->cap, a->out->n + 1, sizeof(*a->out->v));
	to = &a->out->v[a->out->n++];
	*to = (struct holder){.grant_id = cl_strdup(h->grant_id),
		.secret_name = cl_strdup(h->secret_name),
		.kind = cl_strdup(h->kind),
		.lease_id = cl_strdup(h->lease_id),
		.run_id = cl_strdup_null(h->run_id),
		.sandbox = cl_strdup_null(h->sandbox),
		.project = cl_strdup(h->project),
		.executor_id = cl_strdup(h->executor_id),
		.how = h->how,
		.created_at = h->created_at,
		.expires_at = h->expires_at,
		.state = holder_judge(a->s, h, a->now)};
	read_result(to, h->result);
	/* Nobody is left to say so. */
	to->terminated =
		to->terminated || (to->state == HOLDER_REVOKED && !strcmp(h->state, "taking"));
	return 0;
}

static int list(
	struct store *s, const struct store_holder_filter *f, struct holders *out, struct cl_err *e)
{
	struct adding a = {s, out, sys_now_ms()};

	return store_holder_each(s, f, add, &a, e);
}

int holders_of_grant(struct store *s, const char *grant_id, struct holders *out, struct cl_err *e)
{
	const struct store_holder_filter f = {.grant_id = grant_id};

	return list(s, &f, out, e);
}

int holders_of_lease(struct store *s, const char *lease_id, struct holders *out, struct cl_err *e)
{
	const struct store_holder_filter f = {.lease_id = lease_id};

	return list(s, &f, out, e);
}

enum holder_state holders_worst(const struct holders *h)
{
	enum holder_state worst = HOLDER_REVOKED;

	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].state > worst)
			worst = h->v[i].state;
	return worst;
}
