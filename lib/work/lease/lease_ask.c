/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/lease_ask.h"

#include "base/err_json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "sys/proc.h"
#include "work/key_pass.h"
#include "work/lease/lease_wire.h"
#include "work/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pipes that the child writes into; its question is in memory, since it may be left unread. */
struct talk {
	int in, out[2], err[2];
};

static void talk_close(const struct talk *t)
{
	const int fds[] = {t->in, t->out[0], t->out[1], t->err[0], t->err[1]};

	for (size_t i = 0; i < CL_ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}
#define cleanup_talk __attribute__((cleanup(talk_close)))

static int talk_open(struct talk *t, const char *question, struct cl_err *e)
{
	size_t len = strlen(question);

	t->in = memfd_create("lease", MFD_CLOEXEC);
	if (t->in < 0 || write(t->in, question, len) != (ssize_t)len || lseek(t->in, 0, SEEK_SET) ||
		pipe2(t->out, O_CLOEXEC) || pipe2(t->err, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe for a lease");
	return 0;
}

static void shut(int *fd)
{
	(void)close(*fd);
	*fd = -1;
}

static int why_failed(struct talk *t, int status, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *first = NULL;

	if (!cl_read_fd(t->err[0], "cloop-secret", 65536, &text, e) &&
		!cl_doc_parse(&d, CL_DOC_JSON, "cloop-secret", text.p, text.len, NULL, e))
		return cl_err_from_json(d.root, e);
	first = sys_first_line(&text);
	return cl_fail(e, CL_EUNAVAIL, "cloop-secret ended with status %d%s%s", status,
		first ? ": " : "", first ? first : "");
}

/*
 * The child's answer. A new lease is only taken from one that ended well. A renewed one that is
 * whole is in force: its child may be about tokens that it replaces, and is reaped by who reaps.
 */
static int answer(struct talk *t, pid_t pid, bool renewed, struct lease **out, struct cl_err *e)
{
	cleanup_seal struct seal_buf bytes = SEAL_BUF_INIT;
	struct cl_err reading;
	int status, rc;

	shut(&t->out[1]);
	shut(&t->err[1]);
	rc = seal_read_fd(t->out[0], "a lease", LEASE_WIRE_MAX, &bytes, &reading);
	shut(&t->out[0]);
	if (!rc && renewed) {
		rc = lease_parse(&bytes, out, &reading);
		if (!rc)
			return 0;
	}
	if (sys_wait(pid, &status, e))
		return -1;
	if (status)
		return why_failed(t, status, e);
	if (!rc)
		return lease_parse(&bytes, out, e);
	*e = reading;
	return -1;
}

void lease_ask_env(
	const struct lease_ask *a, struct cl_strv *env, struct sys_pass *key, struct sys_spawn *s)
{
	cleanup_free char *base = work_run_base();

	cl_strv_add(env, "PATH=" SYS_PATH);
	cl_strv_addf(env, "CLOOP_RUN_DIR=%s", base);
	if (a->key_file)
		cl_strv_addf(env, "CLOOP_SECRET_KEY_FILE=%s", a->key_file);
	if (a->key_fd) {
		cl_strv_addf(env, KEY_PASS_ENV "=%d", KEY_PASS_FD);
		*key = (struct sys_pass){a->key_fd, KEY_PASS_FD};
		s->pass = key;
		s->npass = 1;
	}
	s->envp = env->v;
}

static int ask(const struct lease_ask *a, const char *verb, const char *question,
	struct lease **out, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-secret"), *dir = cl_strdup(a->hub_dir);
	cleanup_free char *word = cl_strdup(verb);
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	char *argv[] = {(char *)"cloop-secret", (char *)"-C", dir, word, (char *)"--json", NULL};
	cleanup_talk struct talk t = {-1, {-1, -1}, {-1, -1}};
	struct sys_spawn s = SYS_SPAWN_INIT;
	struct sys_pass key;
	pid_t pid;

	*out = NULL;
	if (talk_open(&t, question, e))
		return -1;
	lease_ask_env(a, &env, &key, &s);
	s.path = path;
	s.argv = argv;
	s.in = t.in;
	s.out = t.out[1];
	s.err = t.err[1];
	return sys_spawn(&s, &pid, e) || answer(&t, pid, !strcmp(verb, "renew"), out, e) ? -1 : 0;
}

/* A list of names, or nothing where there is none. */
static int add_names(json_t *o, const char *key, const struct cl_strv *names)
{
	json_t *list;

	if (!names)
		return 0;
	list = json_array();
	for (size_t i = 0; i < names->n; i++)
		if (json_array_append_new(list, json_string(names->v[i]))) {
			json_decref(list);
			return -1;
		}
	return json_object_set_new(o, key, list);
}

int lease_ask_take(const struct lease_ask *a, const struct lease_request *r, struct lease **out,
	struct cl_err *e)
{
	json_t *o = json_pack("{s:s*, s:s*, s:s*, s:s*}", "run_id", r->run_id, "sandbox",
		r->sandbox, "project", r->project, "executor", r->executor);
	cleanup_free char *text = NULL;

	if (o && !add_names(o, "devices", r->pick.devices) &&
		!add_names(o, "interfaces", r->pick.interfaces))
		text = cl_json_text(o);
	json_decref(o);
	if (!text)
		return cl_fail(
			e, CL_EDATA, "a project, an executor or a device whose name is no UTF-8");
	return ask(a, "take", text, out, e);
}

int lease_ask_renew(const struct lease_ask *a, const char *id, const struct lease_holder *holder,
	struct lease **out, struct cl_err *e)
{
	json_t *o = json_pack("{s:s, s:s*, s:s*, s:s*}", "id", id, "run_id", holder->run_id,
		"project", holder->project, "executor", holder->executor);
	cleanup_free char *text = o ? cl_json_text(o) : NULL;

	json_decref(o);
	return text ? ask(a, "renew", text, out, e)
		    : cl_fail(e, CL_EDATA,
			      "a lease, a project or an executor whose name is no UTF-8");
}
