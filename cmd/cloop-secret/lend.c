/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What work/lease/lease_ask.h runs: a question as JSON on standard input, a lease through the pipe that
 * standard output is. Material goes nowhere else: a terminal and a file are refused.
 */
#include "secret.h"
#include "base/mem.h"
#include "policy/sandbox/sandbox.h"
#include "work/lease/app_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUESTION_MAX 65536
/* A root of repositories on a file system that hangs must not keep the run's supervisor. */
#define SECONDS 60

static int only_a_pipe(struct cl_err *e)
{
	struct stat st;

	if (!fstat(STDOUT_FILENO, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "a lease is written into a pipe only: it holds credentials");
	return cl_fix(e, "'cloop secret lease' shows what would be lent, without any value");
}

/* The first `texts` of its n keys are texts. */
static int read_question(
	struct cl_doc *d, const char *const *keys, size_t n, size_t texts, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (cl_read_fd(STDIN_FILENO, "-", QUESTION_MAX, &text, e) ||
		cl_doc_parse(d, CL_DOC_JSON, "-", text.p, text.len, NULL, e) ||
		cl_doc_closed(d, d->root, "", keys, n, e))
		return -1;
	for (size_t i = 0; i < texts; i++) {
		const json_t *v = json_object_get(d->root, keys[i]);

		if (v && !json_is_string(v))
			return cl_doc_fail(d, d->root, keys[i], 0, CL_EDATA, e,
				"'%s' of the question is no text", keys[i]);
	}
	return 0;
}

/* Names of hardware that the run takes: *out is `names` where the question has the list. */
static int read_names(struct cl_doc *d, const char *key, struct cl_strv *names,
	const struct cl_strv **out, struct cl_err *e)
{
	if (cl_doc_has(d->root, key))
		*out = names;
	return cl_doc_strv(d, d->root, key, SB_MAX_DEVICES, names, e);
}

static int hand_over(const struct lease *l, struct cl_err *e)
{
	size_t done = 0;

	while (done < l->mem.len) {
		ssize_t n = write(STDOUT_FILENO, l->mem.p + done, l->mem.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot hand the lease over");
		done += (size_t)n;
	}
	return 0;
}

/* Who reads it has it whole at the end of the pipe, whatever we are still about. */
static int hand_on(void *arg, const struct lease *l, struct cl_err *e)
{
	/* First, so that what could fail has not failed once somebody has the lease. */
	cleanup_fd int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)arg;
	if (nowhere < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '/dev/null'");
	if (hand_over(l, e))
		return -1;
	if (dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot end the pipe of a lease");
	(void)alarm(SECONDS);
	return 0;
}

/* Who holds a lease asks for it as what it is, whichever user its supervisor runs as. */
static void name_run(struct keyed *k, const char *run_id)
{
	if (run_id)
		(void)snprintf(k->actor, sizeof(k->actor), "run:%s", run_id);
}

static const char *text_of(const struct cl_doc *d, const char *key)
{
	return json_string_value(json_object_get(d->root, key));
}

int cmd_secret_take(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const keys[] = {
		"run_id", "sandbox", "project", "executor", "devices", "interfaces"};
	cleanup_strv struct cl_strv devices = CL_STRV_INIT, interfaces = CL_STRV_INIT;
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_held struct lease *l = NULL;
	struct lease_request r = {0};

	(void)alarm(SECONDS);
	if (only_a_pipe(e) || read_question(&d, keys, CL_ARRAY_LEN(keys), 4, e) ||
		read_names(&d, "devices", &devices, &r.pick.devices, e) ||
		read_names(&d, "interfaces", &interfaces, &r.pick.interfaces, e) ||
		keyed_open(c, &k, e))
		return -1;
	r.run_id = text_of(&d, "run_id");
	r.sandbox = text_of(&d, "sandbox");
	r.project = text_of(&d, "project");
	r.executor = text_of(&d, "executor");
	name_run(&k, r.run_id);
	return lease_take(&k, &r, &l, e) || hand_over(l, e) ? -1 : 0;
}

int cmd_secret_renew(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const keys[] = {"id", "run_id", "project", "executor"};
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct lease_holder holder;
	const char *id;

	(void)alarm(SECONDS);
	if (only_a_pipe(e) || read_question(&d, keys, CL_ARRAY_LEN(keys), 4, e))
		return -1;
	id = text_of(&d, "id");
	if (!id)
		return cl_fail(e, CL_EDATA, "the question names no lease: 'id' is missing");
	holder = (struct lease_holder){
		text_of(&d, "run_id"), text_of(&d, "project"), text_of(&d, "executor")};
	if (keyed_open(c, &k, e))
		return -1;
	name_run(&k, holder.run_id);
	return lease_renew_to(&k, id, &holder, hand_on, NULL, e);
}

/* A line of JSON, and two lines of tokens, either of which may be empty. */
static int split(const struct seal_buf *in, struct lease_text line[3], struct cl_err *e)
{
	const char *p = in->p ? (const char *)in->p : "";

	for (size_t i = 0; i < 3; i++) {
		line[i] = (struct lease_text){p, strcspn(p, "\n")};
		if (p[line[i].len] != '\n')
			return cl_fail(e, CL_EDATA, "the question has %zu lines and not three", i);
		p += line[i].len + 1;
	}
	return 0;
}

int cmd_secret_drop(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const keys[] = {"lease_id", "grant_id", "reason"};
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_seal struct seal_buf in = SEAL_BUF_INIT;
	struct lease_text line[3];

	(void)alarm(SECONDS);
	if (keyed_without(c, STORE_RW, &k, e) ||
		seal_read_fd(STDIN_FILENO, "standard input", QUESTION_MAX, &in, e) ||
		split(&in, line, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, "-", line[0].p, line[0].len, NULL, e) ||
		cl_doc_closed(&d, d.root, "", keys, CL_ARRAY_LEN(keys), e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++)
		if (!text_of(&d, keys[i]))
			return cl_fail(e, CL_EDATA, "'%s' of the question is no text", keys[i]);
	return app_token_end(&k, text_of(&d, "lease_id"), text_of(&d, "grant_id"), line[1], line[2],
		text_of(&d, "reason"), e);
}
