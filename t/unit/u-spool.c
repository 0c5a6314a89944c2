/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "work/control.h"
#include "work/spool_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
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
	/* The mark of the end, the padding, and some of what is in the record. */
	CHECK_INT(truncate(seg, st.st_size - 62), 0);
	CHECK_INT(read_all(dir, 0, &first, &last), 1);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "again", 5, 1), 2);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 2);
	wipe(dir);
}

/* Killed while a new segment had its name and no mark, and something was passing by. */
void test_spool__a_segment_without_a_mark(void)
{
	char *dir = folder();
	cleanup_free char *seg = cl_asprintf("%s/0000000000000002.seg", dir);
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;

	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "one", 3, 1), 1);
	spool_begin(s);
	spool_close(s);
	CHECK_INT(close(open(seg, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "three", 5, 1), 3);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 2);
	CHECK_INT(last, 3);
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

/* A segment that is written over in place costs no file, and its old bytes are no records. */
void test_spool__segments_are_used_again(void)
{
	char *dir = folder();
	static char block[16000];
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;

	CHECK_INT(spool_open(dir, 1 << 20, &s, &e), 0);
	for (int i = 0; i < 500; i++) {
		cleanup_free char *cmd =
			cl_asprintf("[ $(ls '%s' | wc -l) -le %u ]", dir, SPOOL_SEGMENTS);

		CHECK_INT(spool_append(s, SPOOL_STDOUT, block, sizeof(block), 1), i + 1);
		if (i % 50 == 0)
			CHECK_INT(system(cmd), 0); /* lint: allow */
	}
	/* The first record of the newest segment, whatever stood behind it. */
	for (uint64_t seq = 501; read_all(dir, 0, &first, &last) && seq < 600; seq++) {
		CHECK_INT(last, seq - 1);
		CHECK_INT(spool_append(s, SPOOL_STDOUT, "x", 1, 1), seq);
	}
	spool_close(s);
	CHECK_INT(spool_open(dir, 1 << 20, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "x", 1, 1), 600);
	spool_close(s);
	wipe(dir);
}

/*
 * What a workload wrote once stands behind the newest record of a segment that is used again,
 * and may look like one.
 */
void test_spool__old_bytes_are_never_records(void)
{
	char *dir = folder();
	static struct spool_header forged[1600];
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(forged); i++) {
		forged[i] = (struct spool_header){SPOOL_MAGIC, 0, 1 << 20, 1, SPOOL_NOTE, 0};
		forged[i].check = spool_header_check(&forged[i]);
	}
	CHECK_INT(spool_open(dir, 1 << 20, &s, &e), 0);
	for (uint64_t seq = 1; seq <= 100; seq++)
		CHECK_INT(spool_append(s, SPOOL_STDOUT, forged, sizeof(forged), 1), seq);
	/* Empty records are as long as a forged one, so the next header is always in its place. */
	for (uint64_t seq = 101; seq <= 5000; seq++) {
		if (seq % 3 == 0) {
			spool_begin(s);
			spool_cancel(s);
		}
		CHECK_INT(spool_append(s, SPOOL_STDOUT, "", 0, 1), seq);
		if (seq % 250)
			continue;
		(void)read_all(dir, 0, &first, &last);
		CHECK_INT(last, seq);
		spool_close(s);
		CHECK_INT(spool_open(dir, 1 << 20, &s, &e), 0);
	}
	spool_close(s);
	wipe(dir);
}

struct race {
	const char *dir;
	atomic_bool over;
};

#define RACE_RECORDS 6000

static void *race_writer(void *arg)
{
	struct race *r = arg;
	static char block[9000];
	struct spool *s = NULL;
	struct cl_err e;

	if (!spool_open(r->dir, 1 << 18, &s, &e))
		for (unsigned i = 1; i <= RACE_RECORDS; i++) {
			memset(block, (int)(i % 251), sizeof(block));
			(void)spool_append(s, SPOOL_STDOUT, block, i % sizeof(block), i);
		}
	spool_close(s);
	atomic_store(&r->over, true);
	return NULL;
}

/* The writer laps the reader again and again: numbers rise, and no record is of two halves. */
void test_spool__a_reader_that_is_lapped(void)
{
	char *dir = folder();
	struct race race = {.dir = dir};
	struct spool_reader *r = NULL;
	struct spool_record rec;
	uint64_t last = 0;
	pthread_t thread;
	struct cl_err e;
	bool got, over;

	CHECK_INT(pthread_create(&thread, NULL, race_writer, &race), 0);
	CHECK_INT(spool_reader_open(dir, 0, &r, &e), 0);
	do {
		over = atomic_load(&race.over);
		for (;;) {
			CHECK_INT(spool_next(r, &rec, &got, &e), 0);
			if (!got)
				break;
			CHECK(rec.seq > last);
			last = rec.seq;
			CHECK_INT(rec.time_ms, last);
			CHECK_INT(rec.len, last % 9000);
			for (size_t i = 0; i < rec.len; i++)
				if ((unsigned char)rec.data[i] != last % 251)
					CHECK_INT((unsigned char)rec.data[i], last % 251);
		}
	} while (!over);
	CHECK_INT(last, RACE_RECORDS);
	CHECK_INT(pthread_join(thread, NULL), 0);
	spool_reader_close(r);
	wipe(dir);
}

void test_spool__what_passed_by_unseen_is_a_gap(void)
{
	char *dir = folder();
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	CHECK(write(fds[1], "onetwo!", 7) == 7);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	spool_begin(s);
	CHECK_INT(spool_append_pipe(s, SPOOL_STDOUT, fds[0], 3, 1), 1);
	spool_begin(s);
	spool_begin(s);
	CHECK_INT(spool_append(s, SPOOL_STDERR, "other", 5, 1), 2);
	CHECK_INT(spool_append_pipe(s, SPOOL_STDOUT, fds[0], 3, 1), 3);
	/* One is still passing when the writer dies. */
	spool_close(s);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	spool_close(s); /* and so does the next one, before it has written anything */
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "x", 1, 1), 5);
	spool_close(s);
	/* Nothing is. */
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	spool_begin(s);
	spool_cancel(s);
	spool_close(s);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "y", 1, 1), 6);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 5);
	CHECK_INT(last, 6);
	(void)close(fds[0]);
	(void)close(fds[1]);
	wipe(dir);
}

/* As on a full disk: the chunk is lost, its number is not used again, the pipe is empty. */
void test_spool__no_space_takes_all_of_the_pipe(void)
{
	struct rlimit before, small = {4096, RLIM_INFINITY};
	static char block[20000];
	char *dir = folder();
	struct spool *s = NULL;
	uint64_t first, last;
	struct cl_err e;
	int fds[2];

	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(pipe(fds), 0);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_INT(spool_open(dir, 0, &s, &e), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, "a", 1, 1), 1);
	CHECK(write(fds[1], block, sizeof(block)) == (ssize_t)sizeof(block));
	CHECK(write(fds[1], "b", 1) == 1);
	small.rlim_max = before.rlim_max;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_INT(spool_append(s, SPOOL_STDOUT, block, sizeof(block), 1), 0);
	spool_begin(s);
	CHECK_INT(spool_append_pipe(s, SPOOL_STDOUT, fds[0], sizeof(block), 1), 0);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
	spool_begin(s);
	CHECK_INT(spool_append_pipe(s, SPOOL_STDOUT, fds[0], 1, 1), 4);
	spool_close(s);
	CHECK_INT(read_all(dir, 0, &first, &last), 2);
	CHECK_INT(last, 4);
	(void)close(fds[0]);
	(void)close(fds[1]);
	wipe(dir);
}

void test_control__one_that_hangs_is_given_up(void)
{
	char *dir = folder();
	cleanup_free char *path = cl_asprintf("%s/sock", dir);
	json_t *msg = json_pack("{s:s}", "op", "status");
	struct cl_err e;
	int srv;

	CHECK_INT(control_listen(path, &srv, &e), 0);
	CHECK_INT(control_ask_within(path, msg, 20, &e), -1);
	CHECK_INT(e.code, CL_EBUSY);
	CHECK_STR(e.msg, "the supervisor gave no answer in 20 ms");
	(void)close(srv);
	CHECK_INT(control_ask_within(path, msg, 20, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	json_decref(msg);
	wipe(dir);
}

void test_control__a_folder_of_somebody_elses_is_not_asked(void)
{
	char *dir = folder();
	cleanup_free char *path = cl_asprintf("%s/sock", dir);
	struct cl_err e;
	int srv = -1, cli = -1;

	CHECK_INT(control_listen(path, &srv, &e), 0);
	CHECK_INT(chmod(dir, 0770), 0);
	CHECK_INT(control_connect(path, &cli, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_HAS(e.msg, "mode 0770, where no supervisor of ours is");
	CHECK_INT(chmod(dir, 0700), 0);
	if (!geteuid()) {
		CHECK_INT(chown(dir, 65534, 65534), 0);
		CHECK_INT(control_connect(path, &cli, &e), -1);
		CHECK_HAS(e.msg, "a directory of uid 65534");
		CHECK_INT(chown(dir, 0, 0), 0);
	}
	CHECK_INT(control_connect(path, &cli, &e), 0);
	(void)close(cli);
	(void)close(srv);
	wipe(dir);
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
