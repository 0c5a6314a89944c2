/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "pump-rig.h"
#include "base/buf.h"
#include "base/mem.h"
#include "work/pump.h"
#include "work/rundir.h"
#include "work/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
	CHECK_INT(pump_output(rd, SPOOL_STDOUT, &l, notify, -1, NULL, &p, &e), 0);
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
	CHECK_INT(pump_output(rd, SPOOL_STDOUT, &l, notify, client[1], NULL, &p, &e), 0);
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
	CHECK_INT(pump_output(
			  rd, SPOOL_STDOUT, &l, notify, open("/dev/full", O_WRONLY), NULL, &p, &e),
		0);
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

/* Numbers one after the other: any piece that is missing, doubled or moved shows. */
static void count_on(uint32_t *out, size_t n, uint32_t *next)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (*next)++;
}

static bool counts(const char *p, size_t len)
{
	const uint32_t *v = (const uint32_t *)(const void *)p;

	for (size_t i = 0; i < len / sizeof(*v); i++)
		if (v[i] != i)
			return false;
	return true;
}

#define WORDS 40000

/* What a client takes arrives whole in every kind of file, and the log has the same. */
void test_pump__kinds_of_clients(void)
{
	static const int flags[] = {O_WRONLY, O_WRONLY | O_APPEND, O_RDWR};
	static uint32_t words[WORDS], back[WORDS];

	for (size_t i = 0; i < CL_ARRAY_LEN(flags); i++) {
		cleanup_free char *path = NULL;
		struct pump *p = NULL;
		struct cl_buf b;
		uint32_t next = 0;
		struct cl_err e;
		uint64_t gaps;
		struct rig r;
		int fd;

		rig_make(&r);
		path = cl_asprintf("%s/client", r.dir);
		fd = open(path, flags[i] | O_CREAT, 0600);
		CHECK_INT(pump_output(r.rd, SPOOL_STDOUT, &r.l, r.notify, fd, NULL, &p, &e), 0);
		count_on(words, WORDS, &next);
		CHECK(write(r.keep, words, sizeof(words)) == (ssize_t)sizeof(words));
		until_done(&r, p);
		pump_free(p);
		fd = open(path, O_RDONLY);
		CHECK(read(fd, back, sizeof(back)) == (ssize_t)sizeof(back));
		CHECK(counts((const char *)back, sizeof(back)));
		(void)close(fd);
		b = logged(&r, &gaps);
		CHECK_INT(b.len, sizeof(words));
		CHECK(counts(b.p, b.len));
		CHECK_INT(gaps, 0);
		cl_buf_release(&b);
		rig_wipe(&r);
	}
}

/* One page of a workload that counts, without waiting. False when its pipe is full. */
static bool write_page(struct rig *r, uint32_t *next, size_t *total)
{
	uint32_t page[1024], after = *next;

	count_on(page, CL_ARRAY_LEN(page), &after);
	if (write(r->keep, page, sizeof(page)) != (ssize_t)sizeof(page))
		return false;
	*next = after;
	*total += sizeof(page);
	return true;
}

/* A client that does not read holds the workload up; once it is gone the log gets the rest. */
void test_pump__a_slow_client_then_none(void)
{
	struct pump *p = NULL;
	uint32_t next = 0;
	size_t total = 0;
	struct cl_buf b;
	struct cl_err e;
	uint64_t gaps;
	struct rig r;
	int client[2];

	rig_make(&r);
	CHECK_INT(pipe(client), 0);
	CHECK_INT(pump_output(r.rd, SPOOL_STDOUT, &r.l, r.notify, client[1], NULL, &p, &e), 0);
	(void)fcntl(r.keep, F_SETFL, O_NONBLOCK);
	for (int tries = 0; tries < 20; tries++)
		if (write_page(&r, &next, &total))
			tries = 0;
		else
			(void)poll(NULL, 0, 5);
	(void)close(client[0]);
	until_done(&r, p);
	pump_free(p);
	b = logged(&r, &gaps);
	CHECK_INT(b.len, total);
	CHECK(counts(b.p, b.len));
	CHECK_INT(gaps, 0);
	cl_buf_release(&b);
	rig_wipe(&r);
}

/* A supervisor's process: pumps until it is killed, or to the end. */
static void __attribute__((noreturn)) supervise(struct rig *r, int client, bool last)
{
	struct pump *p = NULL;
	struct cl_err e;

	if (rundir_open_fifo(r->fifo, &r->rd, &r->keep, &e) ||
		spool_open(r->log, 0, &r->l.spool, &e) ||
		pump_output(r->rd, SPOOL_STDOUT, &r->l, r->notify, client, NULL, &p, &e))
		_exit(1);
	if (!last)
		for (;;)
			(void)pause();
	until_done(r, p);
	pump_free(p);
	spool_close(r->l.spool);
	_exit(0);
}

/* Writes and reads at once until `much` more has come through, or the end; counts what is read. */
static void stream(
	struct rig *r, int client, size_t much, uint32_t *next, size_t *total, uint32_t *seen)
{
	static uint32_t in[16384];

	for (size_t came = 0; came < much;) {
		struct pollfd fds[2] = {{client, POLLIN, 0}, {r->keep, POLLOUT, 0}};
		ssize_t n;

		(void)poll(fds, 2, -1);
		if (fds[1].revents)
			(void)write_page(r, next, total);
		if (!fds[0].revents)
			continue;
		n = read(client, in, sizeof(in));
		CHECK(n >= 0 && n % 4 == 0);
		if (n <= 0)
			return;
		for (ssize_t i = 0; i < n / 4; i++, (*seen)++)
			if (in[i] != *seen)
				CHECK_INT(in[i], *seen);
		came += (size_t)n;
	}
}

/* True when the log has each number once, in order, and misses some only where a record is. */
static bool honest(const struct rig *r, size_t *words)
{
	struct spool_reader *reader = NULL;
	struct spool_record rec;
	uint64_t last = 0;
	uint32_t next = 0;
	struct cl_err e;
	bool got = true, good = !spool_reader_open(r->log, 0, &reader, &e);

	*words = 0;
	while (good && !spool_next(reader, &rec, &got, &e) && got) {
		const uint32_t *v = (const uint32_t *)(const void *)rec.data;

		good = rec.len >= 4 && (v[0] == next || (v[0] > next && rec.seq > last + 1));
		for (size_t i = 1; good && i < rec.len / 4; i++)
			good = v[i] == v[0] + i;
		next = v[0] + (uint32_t)rec.len / 4;
		last = rec.seq;
		*words += rec.len / 4;
	}
	spool_reader_close(reader);
	return good;
}

/*
 * SIGKILL to one supervisor after the other, anywhere in the stream: the client gets each byte
 * once, and what the log has missed shows in its numbers.
 */
void test_pump__killed_anywhere(void)
{
	uint32_t next = 0, seen = 0;
	size_t total = 0, words;
	struct rig r;
	int client[2], st, keep;
	pid_t pid = 0;

	rig_make(&r);
	spool_close(r.l.spool);
	r.l.spool = NULL;
	(void)close(r.rd);
	CHECK_INT(pipe(client), 0);
	(void)fcntl(r.keep, F_SETFL, O_NONBLOCK);
	for (size_t i = 0; i < 40; i++) {
		pid = fork();
		if (!pid)
			supervise(&r, client[1], false);
		stream(&r, client[0], 1000 + i * i * 731 % 900000, &next, &total, &seen);
		CHECK_INT(kill(pid, SIGKILL), 0);
		CHECK(waitpid(pid, &st, 0) == pid);
	}
	pid = fork();
	if (!pid)
		supervise(&r, client[1], true);
	(void)close(client[1]);
	/* Nothing more is written, and the last one leaves when all of it is read. */
	keep = r.keep;
	r.keep = -1;
	stream(&r, client[0], SIZE_MAX, &next, &total, &seen);
	r.keep = keep;
	CHECK_INT((size_t)seen * 4, total);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK_INT(st, 0);
	CHECK(honest(&r, &words));
	CHECK(words <= seen);
	(void)close(client[0]);
	rig_wipe(&r);
}
