/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/drill_internal.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/run.h"
#include "sys/clock.h"
#include "sys/id.h"
#include "sys/proc.h"
#include "work/control.h"
#include "work/lease/revoke.h"
#include "work/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define START_MS 120000 /* for the workload to be there and to have looked around */
#define SAY_MS   5000   /* for a holder to say that it gave up what is gone */

/* ---- what is planted ---- */

/* A value that opens nothing: a word of ours and 24 digits of the kernel's random source. */
#define VALUE "cloop-drill_"

static const struct plant {
	const char *secret, *kind, *payload; /* %s: the value */
	const char *grant[8];
} plants[] = {
	{"drill-token", "github_pat", "%s", {"--repos", "drill/drill"}},
	{"drill-cluster", "kubeconfig",
		"clusters: [{name: drill, cluster: {server: 'https://drill.invalid'}}]\n"
		"users: [{name: drill, user: {token: %s}}]\n"
		"contexts: [{name: drill, context: {cluster: drill, user: drill}}]\n",
		{"--contexts", "drill", "--verbs",
			"get,list,watch,create,update,patch,delete,deletecollection"}},
	{"drill-login", "registry", "drill:%s", {"--registries", "drill.invalid"}},
	/* The last one: it ends the workload. */
	{"drill-env", "env", "{\"CLOOP_DRILL\":\"%s\"}", {"--env-keys", "CLOOP_DRILL"}},
};
#define PLANTS CL_ARRAY_LEN(plants)

static const struct {
	const char *what, *where;
	size_t plant;
} parts[DRILL_PARTS] = {
	{"file", "github-token", 0},
	{"helper", "what git's credential helper answers", 0},
	{"kubeconfig", "KUBECONFIG", 1},
	{"registry", "DOCKER_CONFIG", 2},
	{"env", "a variable: the workload is ended", 3},
};
#define ENV (DRILL_PARTS - 1)

/*
 * What the workload does: it says what it finds, then what it finds no more, each as soon as it
 * sees it. Names are those of `parts`.
 */
static const char script[] =
	"helper() { printf 'protocol=https\\nhost=github.com\\npath=drill/drill\\n\\n' |\n"
	"	\"$CLOOP_LEASE_DIR/git-credential-cloop\" get 2>/dev/null | grep -q '^password=.'; "
	"}\n"
	"file() { [ -s \"$CLOOP_LEASE_DIR/github-token\" ]; }\n"
	"kubeconfig() { [ -s \"$KUBECONFIG\" ]; }\n"
	"registry() { [ -s \"$DOCKER_CONFIG/config.json\" ]; }\n"
	"env() { [ -n \"$CLOOP_DRILL\" ]; }\n"
	"left=\n"
	"for i in file helper kubeconfig registry env; do\n"
	"	if $i; then echo \"has $i\"; left=\"$left $i\"; fi\n"
	"done\n"
	"echo ready\n"
	"while :; do\n"
	"	still=\n"
	"	for i in $left; do if $i; then still=\"$still $i\"; else echo \"gone $i\"; fi; "
	"done\n"
	"	left=$still\n"
	"	sleep 0.01 2>/dev/null || sleep 1\n"
	"done\n";

struct drill {
	const struct drill_ask *ask;
	struct drill_hub hub;
	struct store *store;
	char *grants[PLANTS];
	pid_t pid; /* of cloop-run; 0: none, or reaped */
	int out, err;
	struct cl_buf text; /* what the workload said, less whole lines */
	bool ready, over;
	bool has[DRILL_PARTS], gone[DRILL_PARTS];
	int64_t gone_at[DRILL_PARTS];
};

static int64_t deadline(const struct drill *d)
{
	return d->ask->deadline_ms ? d->ask->deadline_ms : DRILL_DEADLINE_MS;
}

static int plant(struct drill *d, size_t i, struct cl_err *e)
{
	const struct plant *p = &plants[i];
	const char *mint[] = {"mint", p->secret, "--kind", p->kind, NULL};
	const char *args[16] = {"grant", p->secret, "--to", NULL, "--ttl", "1h"};
	cleanup_free char *to = cl_asprintf("project:%s", d->hub.project);
	cleanup_buf struct cl_buf payload = CL_BUF_SECRET;
	const char *mark = strstr(p->payload, "%s");
	char value[sizeof(VALUE) + 24];
	json_t *granted = NULL;
	size_t n = 6;

	args[3] = to;
	for (size_t k = 0; p->grant[k]; k++)
		args[n++] = p->grant[k];
	if (sys_new_id(VALUE, 24, value, sizeof(value), e))
		return -1;
	cl_buf_add(&payload, p->payload, (size_t)(mark - p->payload));
	cl_buf_addf(&payload, "%s%s", value, mark + 2);
	if (drill_command(&d->hub, "cloop-secret", mint, &payload, NULL, e) ||
		drill_command(&d->hub, "cloop-secret", args, NULL, &granted, e))
		return cl_wrap(e, "the drill's %s", p->kind);
	d->grants[i] = cl_strdup_null(json_string_value(json_object_get(granted, "id")));
	json_decref(granted);
	return d->grants[i] ? 0 : cl_fail(e, CL_EBUG, "cloop-secret grant printed no id");
}

/* ---- the workload ---- */

static int start(struct drill *d, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-run");
	cleanup_free char *timeout = cl_asprintf(
		"%llds", (long long)(START_MS + PLANTS * (deadline(d) + SAY_MS)) / 1000 + 1);
	char *argv[] = {(char *)"cloop-run", (char *)"-C", d->hub.hub, (char *)"--json",
		(char *)"-p", d->hub.project, (char *)"-e", d->ask->x->id, (char *)"--timeout",
		timeout, (char *)"--", (char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	cleanup_fd int write_end = -1;
	int ends[2], rc;

	d->err = memfd_create("drill", MFD_CLOEXEC);
	if (d->err < 0 || pipe2(ends, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe for the drill");
	d->out = ends[0];
	write_end = ends[1];
	s.path = path;
	s.argv = argv;
	s.envp = d->hub.env.v;
	s.cwd = "/";
	s.out = write_end;
	s.err = d->err;
	s.new_session = true;
	rc = sys_spawn(&s, &d->pid, e);
	if (rc)
		d->pid = 0;
	return rc;
}

static void hear(struct drill *d, const char *line)
{
	if (!strcmp(line, "ready"))
		d->ready = true;
	for (size_t i = 0; i < DRILL_PARTS; i++) {
		if (cl_starts(line, "has ") && !strcmp(line + 4, parts[i].what))
			d->has[i] = true;
		if (d->gone[i] || !cl_starts(line, "gone ") || strcmp(line + 5, parts[i].what) != 0)
			continue;
		d->gone[i] = true;
		d->gone_at[i] = sys_mono_ms();
	}
}

/* The workload cannot make us keep more than a line of its own. */
#define LINE_MAX_LEN 4096

static void take_lines(struct drill *d)
{
	char *end;

	while (d->text.len && (end = memchr(d->text.p, '\n', d->text.len))) {
		size_t used = (size_t)(end - d->text.p) + 1;

		*end = '\0';
		hear(d, d->text.p);
		memmove(d->text.p, d->text.p + used, d->text.len - used);
		d->text.len -= used;
	}
	if (d->text.len > LINE_MAX_LEN)
		cl_buf_reset(&d->text);
}

/* What it says by `until`; an end of its output is the end of it. */
static void listen_to(struct drill *d, int64_t until)
{
	struct pollfd p = {.fd = d->out, .events = POLLIN};
	int64_t left = until - sys_mono_ms();
	char piece[1024];
	ssize_t n;

	if (d->over || poll(&p, 1, left < 0 ? 0 : left > 1000 ? 1000 : (int)left) < 1)
		return;
	n = read(d->out, piece, sizeof(piece));
	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		d->over = true;
		d->gone[ENV] = true;
		d->gone_at[ENV] = sys_mono_ms();
		return;
	}
	cl_buf_add(&d->text, piece, (size_t)n);
	take_lines(d);
}

static bool stopped(const struct drill *d)
{
	return d->ask->stop && *d->ask->stop;
}

static int given_up(struct cl_err *e)
{
	return cl_fail(e, CL_EUNAVAIL, "the drill was given up");
}

static int why_not(struct drill *d, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc doc = CL_DOC_INIT;
	cleanup_free char *first = NULL;
	struct cl_err quiet;
	int status = -1;

	if (d->over && d->pid && !sys_wait(d->pid, &status, &quiet))
		d->pid = 0;
	(void)lseek(d->err, 0, SEEK_SET);
	if (!cl_read_fd(d->err, "cloop-run", 65536, &text, &quiet)) {
		const char *brace = text.len ? memchr(text.p, '{', text.len) : NULL;

		if (brace && !cl_doc_parse(&doc, CL_DOC_JSON, "cloop-run", brace,
				     text.len - (size_t)(brace - text.p), NULL, &quiet)) {
			(void)cl_err_from_json(doc.root, e);
			return cl_wrap(e, "the drill's workload did not start");
		}
	}
	first = sys_first_line(&text);
	if (!d->over)
		return cl_fail(e, CL_EUNAVAIL,
			"the drill's workload did not start within %d seconds%s%s", START_MS / 1000,
			first ? ": " : "", first ? first : "");
	(void)cl_fail(e, CL_EUNAVAIL, "the drill's workload ended with status %d%s%s", status,
		first ? ": " : "", first ? first : "");
	return cl_fix(
		e, "it needs a 'sh' with 'grep' in the image of executor '%s'", d->ask->x->id);
}

static int until_ready(struct drill *d, struct cl_err *e)
{
	int64_t until = sys_mono_ms() + START_MS;

	while (!d->ready && !d->over && !stopped(d) && sys_mono_ms() < until)
		listen_to(d, until);
	if (stopped(d))
		return given_up(e);
	if (!d->ready)
		return why_not(d, e);
	for (size_t i = 0; i < DRILL_PARTS; i++)
		if (!d->has[i])
			return cl_fail(e, CL_EUNAVAIL,
				"executor '%s' delivered no %s (%s) to the drill's workload",
				d->ask->x->id, parts[i].what, parts[i].where);
	return 0;
}

/* ---- taking it back ---- */

static bool any_left(const struct drill *d, size_t plant_no)
{
	for (size_t i = 0; i < DRILL_PARTS; i++)
		if (parts[i].plant == plant_no && !d->gone[i])
			return true;
	return false;
}

static bool has_answered(struct drill *d, const char *grant_id)
{
	cleanup_holders struct holders h = HOLDERS_INIT;
	const struct revoke_until until = {SAY_MS, d->ask->stop};
	struct cl_err ignored;

	return !revoke_wait(d->store, grant_id, NULL, &until, &h, &ignored) && h.n &&
	       holders_worst(&h) == HOLDER_REVOKED;
}

static void note_part(
	const struct drill *d, size_t i, int64_t began, bool answered, struct drill_result *out)
{
	struct drill_part *p = &out->v[i];

	*p = (struct drill_part){.what = parts[i].what,
		.where = parts[i].where,
		.dead = d->gone[i],
		.early = d->gone[i] && d->gone_at[i] < began,
		.ms = d->gone[i] ? d->gone_at[i] - began : -1,
		.answered = answered};
	if (p->early)
		p->ms = 0;
	out->dead = out->dead && p->dead && answered;
	if (p->ms > out->worst_ms)
		out->worst_ms = p->ms;
}

static int take(struct drill *d, size_t plant_no, struct drill_result *out, struct cl_err *e)
{
	const struct store_end end = {.at = sys_now_ms(), .by = "drill"};
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	int64_t began, until, leases;
	bool was_live, answered;

	if (store_grant_get(d->store, d->grants[plant_no], &g, e))
		return -1;
	began = sys_mono_ms();
	until = began + deadline(d);
	if (revoke_grant(d->store, &g, &end, "scrub", d->hub.run, &was_live, &leases, e))
		return -1;
	/* Who has ended says nothing more. */
	while (any_left(d, plant_no) && !d->over && !stopped(d) && sys_mono_ms() < until)
		listen_to(d, until);
	if (stopped(d))
		return given_up(e);
	answered = !any_left(d, plant_no) && has_answered(d, g.id);
	for (size_t i = 0; i < DRILL_PARTS; i++)
		if (parts[i].plant == plant_no)
			note_part(d, i, began, answered, out);
	return 0;
}

/* ---- all of it ---- */

static void finish(struct drill *d)
{
	struct cl_err ignored;
	int64_t until = sys_mono_ms() + START_MS;
	int status;

	if (!d->over)
		drill_hub_stop(&d->hub);
	while (d->pid && !d->over && sys_mono_ms() < until)
		listen_to(d, until);
	if (d->pid && !d->over)
		(void)kill(d->pid, SIGKILL);
	if (d->pid)
		(void)sys_wait(d->pid, &status, &ignored);
	store_close(d->store);
	drill_hub_close(&d->hub);
	for (size_t i = 0; i < PLANTS; i++)
		free(d->grants[i]);
	for (size_t i = 0; i < 2; i++)
		if ((i ? d->out : d->err) >= 0)
			(void)close(i ? d->out : d->err);
	cl_buf_release(&d->text);
}
#define cleanup_drill __attribute__((cleanup(finish)))

int drill_revoke(const struct drill_ask *a, struct drill_result *out, struct cl_err *e)
{
	cleanup_drill struct drill d = {
		.ask = a, .hub = DRILL_HUB_INIT, .out = -1, .err = -1, .text = CL_BUF_INIT};

	*out = (struct drill_result){.dead = true};
	if (drill_hub_open(&d.hub, a, e))
		return cl_wrap(e, "the drill cannot be set up");
	for (size_t i = 0; i < PLANTS; i++)
		if (plant(&d, i, e))
			return -1;
	if (start(&d, e) || store_open(d.hub.state, STORE_RW, &d.store, e) || until_ready(&d, e))
		return -1;
	for (size_t i = 0; i < PLANTS; i++)
		if (take(&d, i, out, e))
			return -1;
	return 0;
}
