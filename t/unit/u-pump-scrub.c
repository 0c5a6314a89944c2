/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of a run that was given secrets: what leaves, when, and what a killed supervisor loses. */
#include "unit.h"
#include "pump-rig.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#define VALUE "swordfish-0123456789"

static struct scrub *scrubber(void)
{
	struct scrub *s = scrub_new(true);

	CHECK(scrub_add(s, VALUE, strlen(VALUE)));
	return s;
}

/* Reads what a client has been given until it ends with `want`, for a minute at most. */
static void until(int client, struct cl_buf *got, const char *want)
{
	size_t len = strlen(want);

	while (got->len < len || memcmp(got->p + got->len - len, want, len) != 0) {
		struct pollfd fd = {client, POLLIN, 0};
		char *room = cl_buf_reserve(got, 65536);
		ssize_t n = poll(&fd, 1, 60000) > 0 ? read(client, room, 65536) : 0;

		CHECK(n > 0);
		if (n <= 0)
			return;
		got->len += (size_t)n;
		got->p[got->len] = '\0';
	}
}

void test_scrubbed__client_and_log_get_the_same(void)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT, want = CL_BUF_INIT, got = CL_BUF_INIT;
	struct pump *p = NULL;
	struct cl_err e;
	struct rig r;
	struct cl_buf log;
	uint64_t gaps;
	int client[2];
	size_t at = 0;

	rig_make(&r);
	for (int i = 0; i < 4000; i++) {
		cl_buf_addf(&text, "line %d of it: %s and on;", i, i % 3 ? "nothing" : VALUE);
		cl_buf_addf(
			&want, "line %d of it: %s and on;", i, i % 3 ? "nothing" : "[redacted]");
	}
	cl_buf_adds(&text, "\nend\n");
	cl_buf_adds(&want, "\nend\n");
	CHECK_INT(pipe(client), 0);
	(void)fcntl(client[1], F_SETPIPE_SZ, 1 << 20);
	CHECK_INT(
		pump_output(r.rd, SPOOL_STDOUT, &r.l, r.notify, client[1], scrubber(), &p, &e), 0);
	/* In pieces, so that values are cut everywhere. */
	for (size_t n; at < text.len; at += n) {
		n = 1 + at * 7 % 613;
		n = n < text.len - at ? n : text.len - at;
		CHECK(write(r.keep, text.p + at, n) == (ssize_t)n);
	}
	until(client[0], &got, "\nend\n");
	CHECK_STR(got.p, want.p);
	until_done(&r, p);
	pump_free(p);
	log = logged(&r, &gaps);
	CHECK(log.len == want.len && !memcmp(log.p, want.p, want.len));
	CHECK_INT(gaps, 0);
	cl_buf_release(&log);
	(void)close(client[0]);
	rig_wipe(&r);
}

/* A prompt whose last letter begins a value leaves; the value behind it does not. */
void test_scrubbed__a_reader_is_not_kept_waiting(void)
{
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	struct pump *p = NULL;
	struct cl_err e;
	struct rig r;
	int client[2];

	rig_make(&r);
	CHECK_INT(pipe(client), 0);
	CHECK_INT(
		pump_output(r.rd, SPOOL_STDOUT, &r.l, r.notify, client[1], scrubber(), &p, &e), 0);
	CHECK(write(r.keep, "yes or no? sw", 13) == 13);
	until(client[0], &got, "? sw");
	CHECK(write(r.keep, "ordfish-01234", 13) == 13);
	CHECK(write(r.keep, "56789 done", 10) == 10);
	until(client[0], &got, "done");
	CHECK_STR(got.p, "yes or no? sw[redacted] done");
	pump_learn(p, "learned-later", 13);
	CHECK(write(r.keep, " learned-later.", 15) == 15);
	until(client[0], &got, ".");
	CHECK_STR(got.p, "yes or no? sw[redacted] done [redacted].");
	/* What could still become a value leaves with the end, without its beginning. */
	CHECK(write(r.keep, " swordfish-0", 12) == 12);
	until_done(&r, p);
	until(client[0], &got, " [redacted]");
	pump_free(p);
	(void)close(client[0]);
	rig_wipe(&r);
}

/* Killed while it holds a beginning back: the next one's numbers show that something is gone. */
void test_scrubbed__a_killed_supervisor_leaves_a_gap(void)
{
	struct pump *p = NULL;
	struct cl_err e;
	struct cl_buf log;
	struct rig r;
	int client[2], st;
	uint64_t gaps;
	pid_t pid;

	rig_make(&r);
	spool_close(r.l.spool);
	CHECK_INT(pipe(client), 0);
	pid = fork();
	if (!pid) {
		if (spool_open(r.log, 0, &r.l.spool, &e) ||
			pump_output(
				r.rd, SPOOL_STDOUT, &r.l, r.notify, client[1], scrubber(), &p, &e))
			_exit(1);
		for (;;)
			(void)pause();
	}
	CHECK(write(r.keep, "first swordfish-01", 18) == 18);
	{
		cleanup_buf struct cl_buf got = CL_BUF_INIT;

		until(client[0], &got, "first ");
	}
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(spool_open(r.log, 0, &r.l.spool, &e), 0);
	CHECK_INT(pump_output(r.rd, SPOOL_STDOUT, &r.l, r.notify, -1, scrubber(), &p, &e), 0);
	CHECK(write(r.keep, "second", 6) == 6);
	until_done(&r, p);
	pump_free(p);
	log = logged(&r, &gaps);
	CHECK(log.len == 12 && !memcmp(log.p, "first second", 12));
	CHECK_INT(gaps, 1);
	cl_buf_release(&log);
	(void)close(client[0]);
	(void)close(client[1]);
	rig_wipe(&r);
}
