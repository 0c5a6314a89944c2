/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands that connect to a shim: attach, wait, status, signal, stop. */
#include "work/shim/shim_internal.h"
#include "base/err_json.h"
#include "base/mem.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void drop(struct shim *s, struct shim_client *c)
{
	bool was_attached = c->attached;

	(void)close(c->fd);
	*c = (struct shim_client){.fd = -1};
	if (!was_attached)
		return;
	/* The run goes on without its client; its output is in the log. */
	if (s->out)
		pump_attach(s->out, -1, NULL);
	if (s->err)
		pump_attach(s->err, -1, NULL);
	if (!s->ended)
		shim_note(s, "client", "the attached client went away; the run goes on");
}

/*
 * A free place, or the one of whoever has been connected longest: commands that wait come
 * again by themselves, and one that hangs must not keep `stop` out. Never the attached one.
 */
static struct shim_client *place(struct shim *s)
{
	struct shim_client *oldest = NULL;

	for (size_t i = 0; i < SHIM_CLIENTS; i++) {
		struct shim_client *c = &s->clients[i];

		if (c->fd < 0)
			return c;
		if (!c->attached && (!oldest || c->number < oldest->number))
			oldest = c;
	}
	if (oldest)
		drop(s, oldest);
	return oldest;
}

void shim_accept(struct shim *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct shim_client *c = fd < 0 ? NULL : place(s);

	if (c)
		*c = (struct shim_client){.fd = fd, .number = ++s->accepted};
	else if (fd >= 0)
		(void)close(fd);
}

static void answer(struct shim *s, struct shim_client *c, json_t *take_msg)
{
	struct cl_err e;

	if (control_send(c->fd, take_msg, NULL, 0, &e))
		drop(s, c);
	json_decref(take_msg);
}

static json_t *ok(void)
{
	return json_pack("{s:b}", "ok", 1);
}

static json_t *refusal(const char *text)
{
	struct cl_err e;

	(void)cl_fail(&e, CL_EDATA, "%s", text);
	return cl_err_json(&e);
}

static json_t *op_attach(struct shim *s, struct shim_client *c, json_t *msg, int *fds, size_t n)
{
	/* What a pump read before it knew of its client is in the log, and comes from there. */
	const char *replay = json_is_false(json_object_get(msg, "replay")) ? NULL : s->log;
	struct cl_err e;

	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		if (s->clients[i].fd >= 0 && s->clients[i].attached)
			return refusal("somebody is attached already");
	if (n < 2)
		return refusal("attach needs two descriptors");
	if (s->told)
		return shim_ended_json(s); /* the streams are closed; the log has them */
	c->attached = c->waiting = true;
	if (!s->reading) {
		shim_start_reading(s, cl_steal_fd(&fds[0]), cl_steal_fd(&fds[1]));
	} else {
		if (s->out)
			pump_attach(s->out, cl_steal_fd(&fds[0]), replay);
		if (s->err)
			pump_attach(s->err, cl_steal_fd(&fds[1]), replay);
	}
	if (s->stdin_w >= 0 && n > 2)
		(void)pump_input(
			cl_steal_fd(&fds[2]), cl_steal_fd(&s->stdin_w), s->notify, &s->in, &e);
	else if (s->stdin_w >= 0)
		(void)close(cl_steal_fd(&s->stdin_w));
	return ok();
}

static const struct {
	const char *name;
	int sig;
} signals[] = {{"interrupt", SIGINT}, {"terminate", SIGTERM}, {"kill", SIGKILL}};

static json_t *op_signal(struct shim *s, json_t *msg)
{
	const char *name = json_string_value(json_object_get(msg, "signal"));
	struct cl_err e;

	for (size_t i = 0; name && i < CL_ARRAY_LEN(signals); i++) {
		if (strcmp(signals[i].name, name) != 0)
			continue;
		if (s->ended)
			return ok();
		if (signals[i].sig == SIGKILL)
			shim_kill(s, OUTCOME_KILLED, "it was told to with SIGKILL");
		else if (s->driver->signal(s->arg, s, signals[i].sig, &e))
			return cl_err_json(&e);
		return ok();
	}
	return refusal("signal must be interrupt, terminate or kill");
}

static json_t *op_stop(struct shim *s, json_t *msg)
{
	json_t *grace = json_object_get(msg, "grace_ms");
	int64_t ms = json_is_integer(grace) ? json_integer_value(grace) : SHIM_GRACE_MS;

	if (!s->ended)
		shim_stop(s, OUTCOME_KILLED, ms < 0 ? 0 : ms, "it was told to stop");
	return ok();
}

static json_t *op_status(const struct shim *s)
{
	if (s->recorded)
		return shim_ended_json(s);
	return json_pack("{s:b, s:s}", "ok", 1, "state", "running");
}

static json_t *dispatch(struct shim *s, struct shim_client *c, json_t *msg, int *fds, size_t n)
{
	const char *op = json_string_value(json_object_get(msg, "op"));

	if (!op)
		return refusal("no op");
	if (!strcmp(op, "attach"))
		return op_attach(s, c, msg, fds, n);
	if (!strcmp(op, "signal"))
		return op_signal(s, msg);
	if (!strcmp(op, "stop"))
		return op_stop(s, msg);
	if (!strcmp(op, "status"))
		return op_status(s);
	if (!strcmp(op, "lease")) {
		shim_lent_look(s);
		return ok();
	}
	if (strcmp(op, "wait") != 0)
		return refusal("op must be attach, wait, status, signal, stop or lease");
	/* Between the end and the last of the cleaning up there is nothing left to wait for. */
	if (s->told)
		return shim_ended_json(s);
	c->waiting = true;
	return ok();
}

void shim_client_ready(struct shim *s, struct shim_client *c)
{
	int fds[CONTROL_FDS] = {-1, -1, -1};
	json_t *msg = NULL;
	struct cl_err e;
	size_t n;

	if (control_recv(c->fd, &msg, fds, &n, &e)) {
		answer(s, c, cl_err_json(&e));
		return;
	}
	if (!msg) {
		drop(s, c);
		return;
	}
	answer(s, c, dispatch(s, c, msg, fds, n));
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	json_decref(msg);
}

void shim_tell_ended(struct shim *s)
{
	json_t *j = shim_ended_json(s);
	struct cl_err e;

	s->told = true;
	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		if (s->clients[i].fd >= 0 && s->clients[i].waiting)
			(void)control_send(s->clients[i].fd, j, NULL, 0, &e);
	json_decref(j);
}
