/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/driver.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "sys/proc.h"
#include "work/key_pass.h"
#include "work/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer than a setup build may take; every driver bounds its own steps. */
#define DRIVER_TIMEOUT_MS (40 * 60 * 1000)
/* What is asked before every run may not hold one up. */
#define CAPABILITIES_TIMEOUT_MS 10000
#define REAP_TIMEOUT_MS         (2 * 60 * 1000)

static int not_roots(const char *path, const char *at, const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDENIED, "the driver '%s' is not used: '%s' %s", path, at, why);
	return cl_fix(e, "chown root '%s' and chmod go-w '%s'", at, at);
}

/* A folder that anybody may write is fine where nobody can replace another's entry. */
static int check_owner(const char *path, const char *at, const struct stat *st, struct cl_err *e)
{
	bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

	if (st->st_uid)
		return not_roots(path, at, "does not belong to root", e);
	if ((st->st_mode & 022) && !sticky)
		return not_roots(path, at, "can be written by others than root", e);
	return 0;
}

/* The file that is meant, and every folder above it; *real is owned. */
static int trusted(const char *path, char **real, struct cl_err *e)
{
	cleanup_free char *whole = realpath(path, NULL);
	/* Resolved once: a link on the way may lead elsewhere by the time it has been judged. */
	cleanup_free char *judged = whole ? cl_strdup(whole) : NULL;
	struct stat st;

	if (!whole || stat(whole, &st)) {
		(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "the driver '%s' cannot be used", path);
		return cl_fix(e, "install it there, or correct executors.drivers");
	}
	if (!S_ISREG(st.st_mode) || access(whole, X_OK)) {
		(void)cl_fail(e, CL_EUNAVAIL, "the driver '%s' is no program", path);
		return cl_fix(e, "chmod +x '%s'", whole);
	}
	for (char *slash = whole + strlen(whole);; *slash = '\0') {
		const char *at = slash == whole ? "/" : whole;

		if (lstat(at, &st))
			return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", at);
		if (check_owner(path, at, &st, e))
			return -1;
		if (slash == whole)
			break;
		slash = strrchr(whole, '/');
	}
	*real = cl_steal(&judged);
	return 0;
}

/* What a driver that failed had to say: its last line, as the contract has it. */
static int failed(const char *program, const char *verb, struct sys_run *r, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *first = sys_first_line(&r->err);
	const char *last;

	while (r->err.len && r->err.p[r->err.len - 1] == '\n')
		r->err.p[--r->err.len] = '\0';
	last = r->err.len ? strrchr(r->err.p, '\n') : NULL;
	last = last ? last + 1 : r->err.p;
	if (!cl_doc_parse(&d, CL_DOC_JSON, program, last, strlen(last), NULL, e) &&
		json_is_object(d.root))
		return cl_err_from_json(d.root, e);
	if (r->status == 64) {
		(void)cl_fail(e, CL_EUSAGE, "%s has no verb '%s'", program, verb);
		return cl_fix(e, "see cloop-exec(7) for what that means");
	}
	(void)cl_fail(e, strchr(program, '/') ? CL_EUNAVAIL : CL_EBUG,
		"%s %s ended with status %d: %s", program, verb, r->status,
		first && *first ? first : "it said nothing");
	return cl_fix(e, "give it its input by hand; cloop-exec(7) has what it reads and answers");
}

/* Runs it to its end; *r has what it wrote, and its status. */
static int call(const char *program, const char *verb, json_t *in, int64_t timeout_ms, int key,
	struct sys_run *r, struct cl_err *e)
{
	const struct sys_pass pass = {key, KEY_PASS_FD};
	cleanup_free char *path = NULL, *name = cl_strdup(program);
	cleanup_free char *text = cl_json_text(in), *verb_copy = cl_strdup(verb);
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	char *argv[] = {name, verb_copy, (char *)"--json", NULL};
	int rc;

	if (!strchr(program, '/'))
		path = cl_sibling(program);
	else if (trusted(program, &path, e))
		return -1;
	work_engine_env(&env);
	if (strchr(program, '/')) {
		cleanup_free char *dir = cl_libexec_dir();

		cl_strv_addf(&env, "CLOOP_LIBEXEC=%s", dir);
	}
	r->spawn.path = path;
	r->spawn.argv = argv;
	r->spawn.envp = env.v;
	r->spawn.new_session = true;
	if (key >= 0 && !strchr(program, '/')) {
		r->spawn.pass = &pass;
		r->spawn.npass = 1;
	}
	r->input = text;
	r->input_len = strlen(text);
	r->timeout_ms = timeout_ms;
	rc = sys_run(r, e);
	r->spawn.pass = NULL;
	r->spawn.npass = 0;
	return rc;
}

static int answer(const char *program, const char *verb, const struct sys_run *r, json_t **out,
	struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (cl_doc_parse(&d, CL_DOC_JSON, program, r->out.p, r->out.len, NULL, e))
		return cl_wrap(e, "answer of %s %s", program, verb);
	if (!json_is_object(d.root)) {
		(void)cl_fail(e, CL_EBUG, "the answer of %s %s is no JSON object", program, verb);
		return cl_fix(e, "see cloop-exec(7) for what it answers");
	}
	*out = json_incref(d.root);
	return 0;
}

int work_driver(const char *program, const char *verb, json_t *in, json_t **out, struct cl_err *e)
{
	return work_driver_with(program, verb, in, -1, out, e);
}

int work_driver_with(
	const char *program, const char *verb, json_t *in, int key, json_t **out, struct cl_err *e)
{
	int64_t bound = !strcmp(verb, "capabilities") ? CAPABILITIES_TIMEOUT_MS
			: cl_starts(verb, "reap")     ? REAP_TIMEOUT_MS
						      : DRIVER_TIMEOUT_MS;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	if (call(program, verb, in, bound, key, &r, e))
		return -1;
	return r.status ? failed(program, verb, &r, e) : answer(program, verb, &r, out, e);
}

int work_preflight(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *project, int64_t timeout_ms, int stop, json_t **out, struct cl_err *e)
{
	json_t *in = json_pack("{s:o, s:s, s:s*}", "executor", work_executor_json(cfg, x), "hub",
		hub, "project", project);
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	int rc;

	r.stop = stop;
	rc = call(x->driver, "preflight", in, timeout_ms, -1, &r, e);
	json_decref(in);
	if (rc)
		return -1;
	/* Status 1 is an answer: a check failed. */
	return r.status > 1 || (r.status && !r.out.len)
		       ? failed(x->driver, "preflight", &r, e)
		       : answer(x->driver, "preflight", &r, out, e);
}

int work_driver_ask(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *verb, json_t *take_in, json_t **out, struct cl_err *e)
{
	json_t *in = take_in ? take_in : json_object();
	int rc;

	(void)json_object_set_new(in, "executor", work_executor_json(cfg, x));
	(void)json_object_set_new(in, "hub", json_string(hub));
	rc = work_driver(x->driver, verb, in, out, e);
	json_decref(in);
	return rc ? cl_wrap(e, "executor '%s'", x->id) : 0;
}

const char *work_supervisor(const char *driver)
{
	for (const struct cfg_kind *k = cfg_kinds(); k->section; k++)
		if (k->name && !strcmp(k->name, driver))
			return k->program;
	return "cloop-supervise";
}

json_t *work_executor_json(const struct cl_doc *d, const struct cfg_executor *x)
{
	const char *name = strchr(x->row->section, '.') + 1;
	json_t *raw = json_object_get(json_object_get(d->root, "executors"), name), *out;
	const char *bracket = strchr(x->key, '[');
	unsigned n;

	if (json_is_array(raw) && bracket && sscanf(bracket, "[%u]", &n) == 1)
		raw = json_array_get(raw, n);
	out = raw ? json_deep_copy(raw) : json_object();
	(void)json_object_set_new(out, "id", json_string(x->id));
	return out;
}

int work_capabilities(const struct cfg_executor *x, const struct cl_doc *cfg, const char *hub,
	const char *arch, struct cap_set *out, struct cl_err *e)
{
	cleanup_scan struct cl_scan scan = CL_SCAN_INIT;
	cleanup_free char *text = NULL;
	json_t *answer = NULL;

	*out = CAP_SET_INIT;
	if (work_driver_ask(x, cfg, hub, "capabilities", NULL, &answer, e))
		return -1;
	text = cl_json_text(answer);
	json_decref(answer);
	cl_scan_start(&scan, x->driver, text, strlen(text), 8);
	if (cap_read(&scan, out, e)) {
		*out = CAP_SET_INIT;
		return cl_wrap(e, "executor '%s'", x->id);
	}
	/* These are the text's, which goes. */
	out->platform = !strcmp(out->platform, "linux") ? "linux" : "";
	out->arch = !strcmp(out->arch, arch) ? arch : "";
	return 0;
}
