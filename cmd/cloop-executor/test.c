/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test: everything that can be known before a run, then a workload, which is the proof. */
#include "smoke.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/driver.h"
#include "work/lease/drill.h"
#include "work/key_pass.h"

#include <stdlib.h>
#include <string.h>

#define PREFLIGHT_MS (2 * 60 * 1000LL)
#define TRIAL_MS     (60 * 1000)
#define FATAL        2

/* One line, and its remedy; texts are a driver's, so they are masked. */
static void say(const char *mark, const char *check, const char *detail, const char *fix)
{
	cleanup_free char *line = cl_asprintf("%-4s  %s: %s", mark, check, detail);
	cleanup_free char *mend = fix && *fix ? cl_asprintf("      fix: %s", fix) : NULL;

	cl_mask(line, "");
	(void)puts(line);
	if (mend)
		cl_mask(mend, "");
	if (mend)
		(void)puts(mend);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void say_findings(const json_t *answer)
{
	const json_t *f;
	size_t i;

	json_array_foreach (json_object_get(answer, "findings"), i, f) {
		const char *status = text_of(f, "status");

		say(!strcmp(status, "fail") ? "FAIL" : status, text_of(f, "check"),
			text_of(f, "detail"), text_of(f, "fix"));
	}
}

static void add_finding(json_t *answer, json_t *take, bool fatal)
{
	(void)json_array_append_new(json_object_get(answer, "findings"), take);
	if (fatal)
		(void)json_object_set_new(answer, "fatal", json_true());
}

static json_t *finding(const char *status, const char *check, const char *detail, const char *fix)
{
	json_t *o = json_pack("{s:s, s:s, s:o}", "check", check, "status", status, "detail",
		cl_json_string(detail));

	if (fix && *fix)
		(void)json_object_set_new(o, "fix", cl_json_string(fix));
	return o;
}

/* A driver without a preflight says what it can do: that is all its contract asks of it. */
static json_t *ask_capabilities(const struct fleet_cmd *f, const struct cfg_executor *x)
{
	struct cap_set caps;
	struct cl_err e;
	bool failed =
		work_capabilities(x, &f->doc, f->hub.dir, f->fleet.machine.machine, &caps, &e) != 0;

	return json_pack("{s:s, s:b, s:[o]}", "executor_id", x->id, "fatal", failed, "findings",
		failed ? finding("fail", "capabilities", e.msg, e.fix)
		       : finding("ok", "capabilities",
				 "the driver has no preflight, and says what it can do", NULL));
}

/* What the driver finds; one that gives no answer is a finding too. */
static json_t *preflight(
	const struct fleet_cmd *f, const struct cfg_executor *x, const char *workdir)
{
	json_t *answer = NULL;
	struct cl_err e;

	if (!work_preflight(x, &f->doc, f->hub.dir, workdir, PREFLIGHT_MS, -1, &answer, &e) &&
		json_is_array(json_object_get(answer, "findings")))
		return answer;
	if (!answer && e.code == CL_EUSAGE)
		return ask_capabilities(f, x);
	if (answer)
		(void)cl_fail(&e, CL_EBUG, "%s preflight gave no findings", x->driver);
	json_decref(answer);
	return json_pack("{s:s, s:b, s:[o]}", "executor_id", x->id, "fatal", 1, "findings",
		finding("fail", "preflight", e.msg, e.fix));
}

/*
 * DECISIONS C14: values that were made up for it are lent to a workload there and taken back. An
 * executor that was not seen to give them up is not one to lend anything to.
 */
static void try_revocation(const struct fleet_cmd *f, const struct cfg_executor *x, json_t *answer)
{
	const struct drill_ask ask = {.cfg = &f->doc, .x = x};
	struct drill_result r = {0};
	char text[160];
	struct cl_err e;

	if (drill_revoke(&ask, &r, &e)) {
		add_finding(answer, finding("warn", "revocation", e.msg, e.fix), false);
		return;
	}
	(void)snprintf(text, sizeof(text),
		"%zu kinds of credential were lent and taken back, the "
		"slowest in %lld ms",
		(size_t)DRILL_PARTS, (long long)r.worst_ms);
	if (r.dead)
		add_finding(answer, finding("ok", "revocation", text, NULL), false);
	else
		add_finding(answer,
			finding("fail", "revocation",
				"what was lent to a workload there was revoked, and not given up "
				"in time",
				"'cloop drill revoke' tells which; lend it nothing until then"),
			true);
}

/* What was tried is no longer what could not be known. */
static void forget_warning(json_t *answer, const char *check)
{
	json_t *all = json_object_get(answer, "findings");
	const json_t *f;
	size_t i;

	json_array_foreach (all, i, f)
		if (!strcmp(text_of(f, "check"), check) && !strcmp(text_of(f, "status"), "warn")) {
			(void)json_array_remove(all, i);
			return;
		}
}

/*
 * Whether reading alone holds on a device there: tried on one, since which engine, runtime and
 * cgroup version enforce it is nothing that can be looked up.
 */
static void try_devices(const struct fleet_cmd *f, const struct cfg_executor *x, json_t *answer)
{
	json_t *in = json_pack("{s:i}", "timeout_ms", TRIAL_MS), *got = NULL;
	struct cl_err e;

	if (strcmp(x->kind, "container") != 0) {
		json_decref(in);
		return;
	}
	if (work_driver_ask(x, &f->doc, f->hub.dir, "device-trial", in, &got, &e)) {
		add_finding(answer, finding("warn", "device_cgroup", e.msg, e.fix), false);
		return;
	}
	forget_warning(answer, "devices");
	add_finding(answer,
		finding(strcmp(text_of(got, "verdict"), "ok") != 0 ? "warn" : "ok", "device_cgroup",
			text_of(got, "detail"), text_of(got, "fix")),
		false);
	json_decref(got);
}

static const char *advice(const struct smoke *s)
{
	if (s->exit_code == 127 || s->exit_code == 126)
		return "the program is static and needs no loader: look whether the sandbox's "
		       "architecture is this host's, and whether its workspace may hold programs";
	return "'cloop runs logs' of this run has all that it said";
}

static void say_smoke(const struct smoke *s)
{
	cleanup_free char *out = s->output.len ? cl_strdup(s->output.p) : cl_strdup("");
	cleanup_free char *how = NULL;
	const json_t *w;
	size_t i;

	json_array_foreach (s->warnings, i, w)
		if (json_is_string(w))
			say("warn", "image", json_string_value(w), NULL);
	if (out[0])
		out[strcspn(out, "\n")] = '\0';
	how = cl_asprintf("%s, status %lld%s%s", s->outcome, (long long)s->exit_code,
		s->error ? ": " : "", s->error ? s->error : "");
	say(smoke_passed(s) ? "ok" : "FAIL", "smoke", how, smoke_passed(s) ? NULL : advice(s));
	if (out[0])
		say("", "output", out, NULL);
}

static void say_summary(const struct cfg_executor *x, const struct smoke *s)
{
	bool container = !strcmp(x->kind, "container");

	(void)putchar('\n');
	if (container)
		(void)printf("image      %s\nruntime    %s\noci        %s\n",
			s->handle.image ? s->handle.image : x->image,
			*x->runtime ? x->runtime : "podman or docker, whichever is there",
			*x->oci_runtime ? x->oci_runtime : "the engine's default");
	else
		(void)printf("driver     %s\n", x->driver);
	(void)printf("%s  %s\nbinary     %s\n", container ? "container" : "process  ",
		container && s->handle.container ? s->handle.container
		: s->handle.external_id          ? s->handle.external_id
						 : "-",
		s->binary);
}

static json_t *smoke_json(const struct cfg_executor *x, const struct smoke *s)
{
	return json_pack("{s:b, s:O*, s:o, s:I, s:o, s:o, s:s, s:s, s:s, s:s, s:s*, s:s*, s:s}",
		"passed", smoke_passed(s), "warnings", s->warnings, "outcome",
		cl_json_string(s->outcome), "exit_code", (json_int_t)s->exit_code, "error",
		s->error ? cl_json_string(s->error) : json_null(), "output",
		cl_json_string(s->output.len ? s->output.p : ""), "run_id", s->run, "handle_id",
		s->handle.id, "runtime", x->runtime, "oci_runtime", x->oci_runtime, "image",
		s->handle.image, "container", s->handle.container, "binary", s->binary);
}

/* The workload. 0: it passed; 1: it did not. *out is owned. */
static int prove(const struct cl_ctx *c, struct fleet_cmd *f, const struct cfg_executor *x,
	const char *workdir, json_t **out, struct cl_err *e)
{
	cleanup_smoke struct smoke s = SMOKE_INIT;
	struct cl_err why;

	if (smoke_place(&s, workdir, e))
		return -1;
	if (smoke_run(&s, f, x, &why)) {
		*out = json_pack("{s:b, s:o, s:o}", "passed", 0, "error", cl_json_string(why.msg),
			"fix", cl_json_string(why.fix));
		if (!c->json)
			say("FAIL", "smoke", why.msg, why.fix);
		return 1;
	}
	*out = smoke_json(x, &s);
	if (c->json)
		return smoke_passed(&s) ? 0 : 1;
	say_smoke(&s);
	say_summary(x, &s);
	return smoke_passed(&s) ? 0 : 1;
}

static int dir_of(const struct cl_ctx *c, const char *option, char **out, struct cl_err *e)
{
	const char *dir = cl_str(c, option);

	*out = dir ? realpath(dir, NULL) : NULL;
	if (!dir || *out)
		return 0;
	(void)cl_fail(e, CL_ENOTFOUND, "there is no directory '%s' (--%s)", dir, option);
	return cl_fix(e, "name a directory that is there");
}

/* Everything that is looked at before a workload is started; owned. */
static json_t *look(const struct cl_ctx *c, struct fleet_cmd *f, const struct cfg_executor *x,
	const char *workdir, const struct hardware_who *who)
{
	json_t *found = preflight(f, x, workdir);

	if (test_hardware(f, x, who, json_object_get(found, "findings")))
		(void)json_object_set_new(found, "fatal", json_true());
	if (!json_is_true(json_object_get(found, "fatal"))) {
		try_devices(f, x, found);
		try_revocation(f, x, found);
	}
	if (!c->json)
		say_findings(found);
	(void)fflush(stdout);
	return found;
}

int cmd_executor_test(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_free char *workdir = NULL, *project = NULL;
	struct hardware_who who = {.key_file = getenv("CLOOP_SECRET_KEY_FILE"), .key_fd = -1};
	json_t *found = NULL, *smoke = NULL;
	const struct cfg_executor *x;
	bool fatal = false;
	int rc = FATAL;

	/* Before there is a child that could have it. */
	if (key_pass_take(&who.key_fd, e) || dir_of(c, "workdir", &workdir, e) ||
		dir_of(c, "project", &project, e) || fleet_cmd_look(c, STORE_RW, &f, e) ||
		cfg_executor_find(&f.cfg, cl_operand(c, 0), &x, e))
		return -1;
	who.project = project;
	if (!cl_flag(c, "skip-preflight")) {
		found = look(c, &f, x, workdir, &who);
		fatal = json_is_true(json_object_get(found, "fatal"));
	}
	if (!fatal)
		rc = prove(c, &f, x, workdir, &smoke, e);
	else if (!c->json)
		(void)puts("\nthe preflight is fatal: no workload was started");
	if (rc >= 0 && c->json)
		cl_take_json(json_pack("{s:s, s:b, s:O*, s:O*}", "executor_id", x->id, "ok", !rc,
			"preflight", found, "smoke", smoke));
	json_decref(found);
	json_decref(smoke);
	return rc;
}
