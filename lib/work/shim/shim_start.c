/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forking the shim, and how it says whether the workload runs. */
#include "work/shim/shim_internal.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const struct shim_job *shim_job(const struct shim *s)
{
	return &s->job;
}

const struct rundir *shim_rundir(const struct shim *s)
{
	return &s->rd;
}

struct store *shim_store(const struct shim *s)
{
	return s->store;
}

/*
 * Sends {"error":...} or {"ok":true} to the process that asked for the start. False when
 * that is gone.
 */
static bool report(struct shim *s, const struct cl_err *e)
{
	json_t *j = e ? cl_err_json(e) : json_pack("{s:b, s:O*}", "ok", 1, "lease", s->lent.said);
	cleanup_free char *text = cl_json_text(j);
	bool heard = s->report >= 0 && write(s->report, text, strlen(text)) > 0;

	json_decref(j);
	if (s->report >= 0)
		(void)close(s->report);
	s->report = -1;
	return heard;
}

/*
 * A session of its own, no terminal, no descriptors of the caller's; orphans of the
 * engine become ours, so that conmon's exit status reaches us.
 */
static int detach(struct cl_err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) ||
		prctl(PR_SET_NAME, "cloop-shim", 0, 0, 0))
		return cl_fail_sys(e, CL_EOS, errno, "cannot become a supervisor");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot become a supervisor");
	if (null > 2)
		(void)close(null);
	(void)!chdir("/"); /* so that no file system is kept busy */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	return 0;
}

/*
 * A run that was given up meanwhile, because its executor was lost, may be running elsewhere. From
 * this row on, whoever gives it up finds us and waits for our end.
 */
static int insert_row(struct shim *s, struct cl_err *e)
{
	const struct store_handle *row = &s->job.row;
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s->store, &t, e))
		return -1;
	if (row->run_id && !store_run_get(s->store, row->run_id, &run, e) &&
		!strcmp(run.state, "finished")) {
		(void)cl_fail(e, CL_EREFUSED, "%s was given up while it was starting", row->run_id);
		(void)cl_constraint(e, "session");
		return cl_fix(e, "'cloop runs show %s' has the reason", row->run_id);
	}
	return store_handle_insert(s->store, row, e) || store_commit(&t, e) ? -1 : 0;
}

/* Opens the state file and takes the row: as a new one, or from a dead shim. */
static int take_row(struct shim *s, bool adopting, bool *won, struct cl_err *e)
{
	struct store_handle *row = &s->job.row;
	struct store_shim old = {row->shim_pid, row->shim_start, row->boot_id}, now;
	char boot[SYS_BOOT_ID_SIZE];
	uint64_t start;

	if (sys_boot_id(boot, e) || sys_proc_start(getpid(), &start, e) ||
		store_open(s->job.state_path, STORE_RW, &s->store, e))
		return -1;
	now = (struct store_shim){getpid(), (int64_t)start, boot};
	*won = true;
	if (adopting)
		return store_handle_claim(s->store, row->id, &old, &now, won, e);
	row->shim_pid = now.pid;
	row->shim_start = now.start;
	free(row->boot_id);
	row->boot_id = cl_strdup(boot);
	return insert_row(s, e);
}

static void replace(char **text, const char *by)
{
	free(*text);
	*text = *by ? cl_strdup(by) : NULL;
}

/* What only the driver knew. */
static void note_driver(struct shim *s)
{
	struct store_handle *row = &s->job.row;

	free(row->external_id);
	row->external_id = cl_strdup(s->started.external_id);
	replace(&row->address, s->started.address);
	replace(&row->address6, s->started.address6);
	replace(&row->bridge, s->started.bridge);
	row->unrecorded_before = s->started.unrecorded_before;
}

static int run_workload(struct shim *s, struct cl_err *e)
{
	struct shim_io io = {-1, -1, -1, -1};

	if (shim_setup(s, false, e) || shim_lent_take(s, e))
		return -1;
	io = (struct shim_io){s->child_stdin, s->keep_out, s->keep_err, s->exit_fd};
	if (s->driver->launch(s->arg, s, &io, &s->started, e))
		return -1;
	(void)close(cl_steal_fd(&s->child_stdin));
	note_driver(s);
	return shim_record_start(s, e);
}

/* False when the run of an adopted workload was given up as not started. */
static bool still_wanted(struct shim *s)
{
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	struct cl_err e;

	if (!s->job.row.run_id || store_run_get(s->store, s->job.row.run_id, &run, &e))
		return true;
	if (!strcmp(run.state, "starting"))
		s->due.start = 1; /* the one before us had no time to write it down */
	return strcmp(run.state, "finished") != 0;
}

/*
 * The shim before us died between the engine's answer and the row: as long as the run counts as
 * starting, nobody can stop it.
 */
static void note_started(struct shim *s)
{
	const struct store_handle *row = &s->job.row;
	struct cl_err e;
	bool won;

	if (row->run_id && s->started.init &&
		store_run_started(s->store, row->run_id, row->id, sys_now_ms(), &won, &e))
		shim_note(s, "store", "the start could not be recorded: %s", e.msg);
}

static void __attribute__((noreturn)) shim_main(struct shim *s, bool adopting)
{
	bool won = false, asked = true;
	struct cl_err e;
	int rc;

	cl_err_init(&e);
	rc = detach(&e);
	if (!rc)
		rc = take_row(s, adopting, &won, &e);
	if (rc || !won) {
		if (!rc)
			(void)cl_fail(&e, CL_EBUSY, "another supervisor has it");
		(void)report(s, &e);
		_exit(0); /* lint: allow */
	}
	if (adopting) {
		rc = shim_setup(s, true, &e);
		if (!rc)
			rc = s->driver->adopt(s->arg, s, &s->started, &e);
		if (rc)
			shim_note(s, "adopt", "could not be taken over: %s", e.msg);
		note_started(s);
		shim_lent_adopt(s);
		(void)report(s, NULL);
		shim_note(s, "adopt", "the supervisor was gone; process %d watches now",
			(int)getpid());
		asked = still_wanted(s);
	} else {
		rc = run_workload(s, &e);
		if (rc) {
			bool ignored;
			struct cl_err e2;

			s->driver->collect(s->arg, s);
			shim_lent_end(s);
			(void)store_handle_end(
				s->store, s->job.row.id, sys_now_ms(), &ignored, &e2);
			shim_release(s);
			(void)report(s, &e);
			_exit(0); /* lint: allow */
		}
		asked = report(s, NULL);
	}
	shim_loop(s, asked);
	shim_release(s);
	_exit(0); /* lint: allow */
}

void shim_close_inherited(void)
{
	(void)close_range(3, ~0U, 0);
}

/* Reads what the shim reported: 0, or the error it met. *lease is owned, NULL for none. */
static int read_report(int fd, json_t **lease, struct cl_err *e)
{
	struct cl_buf b = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	ssize_t n;
	int rc;

	do {
		n = read(fd, cl_buf_reserve(&b, 4096), 4096);
		if (n > 0)
			b.len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	b.p[b.len] = '\0';
	rc = !b.len || cl_doc_parse(&d, CL_DOC_JSON, "report", b.p, b.len, NULL, e);
	cl_buf_release(&b);
	if (rc)
		return cl_fail(e, CL_EBUG, "the supervisor ended without a word");
	if (json_object_get(d.root, "error"))
		return cl_err_from_json(d.root, e);
	*lease = json_incref(json_object_get(d.root, "lease"));
	return 0;
}

/* Forks twice, so that nobody has to reap the shim. */
static int fork_shim(struct shim *s, bool adopting, int *report_fd, struct cl_err *e)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	(void)fflush(NULL);
	pid = fork();
	if (!pid) {
		s->report = fds[1];
		if (fork())
			_exit(0); /* lint: allow */
		shim_main(s, adopting);
	}
	(void)close(fds[1]);
	if (pid < 0) {
		(void)close(fds[0]);
		return cl_fail_sys(e, CL_EOS, errno, "cannot start a supervisor");
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*report_fd = fds[0];
	return 0;
}

/* Every descriptor -1, everything else as the job says. */
static void init(struct shim *s, const struct shim_job *job, const struct shim_driver *d, void *arg)
{
	*s = (struct shim){.job = *job, .driver = d, .arg = arg, .status = -1};
	s->sigfd = s->listen_fd = s->notify = s->init_fd = s->report = -1;
	s->keep_out = s->keep_err = s->exit_fd = s->stdin_w = -1;
	s->read_out = s->read_err = s->child_stdin = s->lent.env_watch = -1;
	(void)pthread_mutex_init(&s->plog.lock, NULL);
	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		s->clients[i].fd = -1;
	rundir_init(&s->rd, job->run_base, job->row.id);
	s->log = cl_asprintf("%s/%s", job->log_dir, job->row.id);
}

int shim_start(const struct shim_job *job, const struct shim_driver *d, void *arg,
	struct store_handle *out, json_t **lease, struct cl_err *e)
{
	cleanup_store struct store *store = NULL;
	struct shim s;
	int fd, rc;

	*lease = NULL;
	init(&s, job, d, arg);
	rc = fork_shim(&s, false, &fd, e);
	rundir_release(&s.rd);
	free(s.log);
	if (rc)
		return -1;
	rc = read_report(fd, lease, e);
	(void)close(fd);
	if (rc)
		return -1;
	return store_open(job->state_path, STORE_RO, &store, e) ||
			       store_handle_get(store, job->row.id, out, e)
		       ? -1
		       : 0;
}

int shim_adopt(const struct shim_job *job, const struct shim_driver *d, void *arg, bool *won,
	struct cl_err *e)
{
	json_t *none = NULL;
	struct shim s;
	int fd, rc;

	init(&s, job, d, arg);
	rc = fork_shim(&s, true, &fd, e);
	rundir_release(&s.rd);
	free(s.log);
	*won = false;
	if (rc)
		return -1;
	rc = read_report(fd, &none, e);
	json_decref(none);
	(void)close(fd);
	*won = !rc;
	/* Somebody else being faster is not a failure. */
	return rc && e->code != CL_EBUSY ? -1 : 0;
}
