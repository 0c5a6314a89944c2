/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of the pumps stand on: a folder, a FIFO that a workload writes to, and its log. */
#ifndef PUMP_RIG_H
#define PUMP_RIG_H

#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "work/pump.h"
#include "work/rundir.h"

#include <signal.h>
#include <sys/eventfd.h>
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

/* A workload's stdout of one test: its folder, its FIFO and its log. */
struct rig {
	char *dir, *log, *fifo;
	int rd, keep, notify;
	struct pump_log l;
};

static void rig_make(struct rig *r)
{
	struct cl_err e;

	*r = (struct rig){.dir = folder(), .notify = eventfd(0, EFD_CLOEXEC)};
	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_mutex_init(&r->l.lock, NULL);
	r->log = cl_asprintf("%s/log", r->dir);
	r->fifo = cl_asprintf("%s/f", r->dir);
	CHECK_INT(mkfifo(r->fifo, 0600), 0);
	CHECK_INT(rundir_open_fifo(r->fifo, &r->rd, &r->keep, &e), 0);
	CHECK_INT(spool_open(r->log, 0, &r->l.spool, &e), 0);
}

static void rig_wipe(struct rig *r)
{
	spool_close(r->l.spool);
	(void)close(r->keep);
	(void)close(r->notify);
	free(r->log);
	free(r->fifo);
	wipe(r->dir);
}

static void until_done(struct rig *r, struct pump *p)
{
	uint64_t n;

	pump_finish(p);
	do
		CHECK(read(r->notify, &n, sizeof(n)) == 8);
	while (!(pump_events(p) & PUMP_DONE));
}

/* All that the log has of the stream; *gaps numbers are missing. Owned. */
static struct cl_buf logged(const struct rig *r, uint64_t *gaps)
{
	struct spool_reader *reader = NULL;
	struct cl_buf b = CL_BUF_INIT;
	struct spool_record rec;
	uint64_t last = 0;
	struct cl_err e;
	bool got = true;

	*gaps = 0;
	CHECK_INT(spool_reader_open(r->log, 0, &reader, &e), 0);
	while (!spool_next(reader, &rec, &got, &e) && got) {
		*gaps += rec.seq - last - 1;
		last = rec.seq;
		cl_buf_add(&b, rec.data, rec.len);
	}
	spool_reader_close(reader);
	return b;
}

#endif
