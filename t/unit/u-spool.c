/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "work/control.h"
#include "work/pump.h"
#include "work/rundir.h"
#include "work/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder(void)
{
	char *t = cl_strdup("/tmp/cloop-unit-XXXXXX");

	if (!mkdtemp(t))
		abort();
	return t;
}

static void wipe(char *dir)
{
	cleanup_free char *cmd = cl_asprintf("rm -rf '%s'", dir);

	(void)!system(cmd); /* lint: allow */
	free(dir);
}

static size_t read_all(const char *dir, uint64_t from, uint64_t *first, uint64_t *last)
{
	struct spool_reader *r = NULL;
	struct spool_record rec;
	struct cl_err e;
	bool got = true;
	size_t n = 0;

	*first = *last = 0;
	if (spool_reader_open(dir, from, &r, &e))
		return 0;
	while (!spool_next(r, &rec, &got, &e) && got) {
		if (!n++)
			*first = rec.seq;
		*last = rec.seq;
	}
	spool_reader_close(r);
	return n;
}

void test_spool__numbers_and_reopening(void)
{
	char *dir = folder();
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;

	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "one", 3, 1), 1);
	CHECK_INT(spool_append(s, SPOOL_STDERR, "two", 3, 2), 2);
	spool_close(s);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "three", 5, 3), 3);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 3);
	CHECK_INT(first, 1);
	CHECK_INT(last, 3);
	CHECK_INT(read_all(dir, 3, &first, &last), 1);
	CHECK_INT(read_all(dir, 4, &first, &last), 0);
	wipe(dir);
}

void test_spool__a_torn_tail_is_cut(void)
{
	char *dir = folder();
	cleanup_free char *seg = cl_asprintf("%s/0000000000000001.seg", dir);
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;
	struct stat st;

	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "one", 3, 1), 1);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "second", 6, 1), 2);
	spool_close(s);
	CHECK_INT(stat(seg, &st), 0);
	CHECK_INT(truncate(seg, st.st_size - 2), 0);
	CHECK_INT(read_all(dir, 0, &first, &last), 1);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "again", 5, 1), 2);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 2);
	wipe(dir);
}

void test_spool__the_ring_drops_the_oldest(void)
{
	char *dir = folder();
	char block[4096];
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;
	size_t n;

	memset(block, 'x', sizeof(block));
	CHECK_INT(spool_open(dir, 1 << 20, &s, &e), 0);
	for (int i = 0; i < 1000; i++)
		CHECK_INT(spool_append(s, SPOOL_STDOUT, block, sizeof(block), 1), i + 1);
	spool_close(s);
	n = read_all(dir, 0, &first, &last);
	CHECK_INT(last, 1000);
	CHECK(first > 700);
	CHECK_INT(n, last - first + 1);
	CHECK(n * sizeof(block) <= (1 << 20));
	/* A reader that asks for what is gone starts at what is kept. */
	CHECK_INT(read_all(dir, 5, &first, &last), n);
	wipe(dir);
}

void test_spool__oversized_and_hostile(void)
{
	char *dir = folder();
	cleanup_free char *big = cl_calloc(1, SPOOL_MAX_RECORD + 1);
	cleanup_free char *seg = cl_asprintf("%s/00000000000000ff.seg", dir);
	cleanup_free char *junk = cl_asprintf("%s/zzzz.seg", dir);
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;
	int fd;

	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, big, SPOOL_MAX_RECORD + 1, 1), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "", 0, 1), 1);
	spool_close(s);
	fd = open(seg, O_WRONLY | O_CREAT, 0600);
	CHECK(write(fd, big, 100) == 100);
	(void)close(fd);
	fd = open(junk, O_WRONLY | O_CREAT, 0600);
	(void)close(fd);
	CHECK_INT(read_all(dir, 0, &first, &last), 1);
	wipe(dir);
}

void test_pump__replays_and_survives_its_client(void)
{
	char *dir = folder();
	cleanup_free char *log = cl_asprintf("%s/log", dir), *fifo = cl_asprintf("%s/f", dir);
	struct pump_log l = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int rd = -1, keep = -1, notify = eventfd(0, EFD_CLOEXEC), client[2];
	struct pump *p = NULL;
	char got[64] = "";
	struct cl_err e;
	uint64_t n;

	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK_INT(rundir_open_fifo(fifo, &rd, &keep, &e), 0);
	CHECK_INT(spool_open(log, 0, &l.spool, &e), 0);
	CHECK_INT(pump_output(rd, SPOOL_STDOUT, &l, notify, -1, &p, &e), 0);
	CHECK(write(keep, "before", 6) == 6);
	while (spool_append(l.spool, SPOOL_NOTE, "", 0, 0) < 3)
		(void)poll(NULL, 0, 5);
	/* The pump's chunk is somewhere in the log now: a client gets it by replay. */
	CHECK_INT(pipe(client), 0);
	pump_attach(p, client[1], log);
	CHECK(read(client[0], got, sizeof(got)) == 6);
	CHECK(!memcmp(got, "before", 6));
	CHECK(write(keep, "after", 5) == 5);
	CHECK(read(client[0], got, sizeof(got)) == 5);
	(void)close(client[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK(write(keep, "lost", 4) == 4);
	CHECK(read(notify, &n, sizeof(n)) == 8);
	CHECK(pump_events(p) & PUMP_CLIENT_CLOSED);
	pump_finish(p);
	CHECK(read(notify, &n, sizeof(n)) == 8);
	CHECK(pump_events(p) & PUMP_DONE);
	pump_free(p);
	spool_close(l.spool);
	(void)close(keep);
	(void)close(notify);
	wipe(dir);
}

/* What the log cannot keep (a full disk) still reaches the client that was there first. */
void test_pump__a_first_client_needs_no_log(void)
{
	char *dir = folder();
	cleanup_free char *fifo = cl_asprintf("%s/f", dir);
	struct pump_log l = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int rd = -1, keep = -1, notify = eventfd(0, EFD_CLOEXEC), client[2];
	struct pump *p = NULL;
	char got[64] = "";
	struct cl_err e;

	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK_INT(rundir_open_fifo(fifo, &rd, &keep, &e), 0);
	CHECK(write(keep, "early", 5) == 5);
	CHECK_INT(pipe(client), 0);
	CHECK_INT(pump_output(rd, SPOOL_STDOUT, &l, notify, client[1], &p, &e), 0);
	CHECK(read(client[0], got, sizeof(got)) == 5);
	CHECK(!memcmp(got, "early", 5));
	pump_free(p);
	(void)close(client[0]);
	(void)close(keep);
	(void)close(notify);
	wipe(dir);
}

void test_pump__says_why_the_client_was_given_up(void)
{
	char *dir = folder();
	cleanup_free char *fifo = cl_asprintf("%s/f", dir);
	struct pump_log l = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int rd = -1, keep = -1, notify = eventfd(0, EFD_CLOEXEC);
	struct pump *p = NULL;
	struct cl_err e;
	uint64_t n;

	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK_INT(rundir_open_fifo(fifo, &rd, &keep, &e), 0);
	CHECK_INT(
		pump_output(rd, SPOOL_STDOUT, &l, notify, open("/dev/full", O_WRONLY), &p, &e), 0);
	CHECK(write(keep, "x", 1) == 1);
	CHECK(read(notify, &n, sizeof(n)) == 8);
	CHECK(pump_events(p) & PUMP_CLIENT_CLOSED);
	CHECK_INT(pump_error(p), ENOSPC);
	pump_free(p);
	(void)close(keep);
	(void)close(notify);
	wipe(dir);
}

/* A thief takes whatever shows in the shared stdin: the pump never blocks in its read. */
void test_pump__a_shared_stdin_may_be_taken_by_others(void)
{
	int in[2], out[2], notify = eventfd(0, EFD_CLOEXEC);
	char got[8];
	struct cl_err e;

	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(pipe(in), 0);
	CHECK_INT(pipe(out), 0);
	for (int i = 0; i < 300; i++) {
		struct pump *p = NULL;

		CHECK_INT(pump_input(dup(in[0]), dup(out[1]), notify, &p, &e), 0);
		CHECK(write(in[1], "x", 1) == 1);
		(void)fcntl(in[0], F_SETFL, O_NONBLOCK);
		(void)!read(in[0], got, 1);
		(void)fcntl(in[0], F_SETFL, 0);
		pump_free(p); /* joins: would hang if the thread were in read() */
	}
	for (int i = 0; i < 2; i++) {
		(void)close(in[i]);
		(void)close(out[i]);
	}
	(void)close(notify);
}

void test_control__messages_carry_descriptors(void)
{
	char *dir = folder();
	cleanup_free char *path = cl_asprintf("%s/sock", dir);
	int srv = -1, cli = -1, con, fds[CONTROL_FDS], pass[2];
	json_t *msg = json_pack("{s:s}", "op", "attach"), *got = NULL;
	struct cl_err e;
	size_t n = 0;

	CHECK_INT(control_connect(path, &cli, &e), -1);
	CHECK_INT(control_listen(path, &srv, &e), 0);
	CHECK_INT(control_connect(path, &cli, &e), 0);
	con = accept(srv, NULL, NULL);
	CHECK_INT(pipe(pass), 0);
	CHECK_INT(control_send(cli, msg, pass, 2, &e), 0);
	CHECK_INT(control_recv(con, &got, fds, &n, &e), 0);
	CHECK_INT(n, 2);
	CHECK_STR(json_string_value(json_object_get(got, "op")), "attach");
	CHECK(write(fds[1], "x", 1) == 1);
	json_decref(got);
	CHECK(send(cli, "[1]", 3, 0) == 3);
	CHECK_INT(control_recv(con, &got, fds, &n, &e), -1);
	(void)close(cli);
	CHECK_INT(control_recv(con, &got, fds, &n, &e), 0);
	CHECK(!got);
	for (int i = 0; i < 2; i++)
		(void)close(pass[i]);
	(void)close(con);
	(void)close(srv);
	json_decref(msg);
	wipe(dir);
}
