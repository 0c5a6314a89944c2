/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/pump.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PUMP_CHUNK SPOOL_MAX_RECORD
#define PUMP_PIPE  (1 << 20) /* a client's pipe that was full: a sixth less time than 256 KiB */
#define PUMP_QUIET 250       /* ms after which whoever reads along is not kept waiting */

/* How a descriptor is written without ever blocking the thread for good. */
struct sink {
	int fd;
	bool socket;  /* MSG_DONTWAIT instead of a description of our own */
	bool careful; /* shared blocking description: at most PIPE_BUF after POLLOUT */
	bool splice;  /* takes pages of a pipe without a copy */
	bool pipe;    /* that may be made larger, once */
};

/* How a client's descriptor is read. */
struct source {
	int fd;
	bool socket; /* MSG_DONTWAIT instead of a description of our own */
};

struct pump {
	pthread_t thread;
	bool started;
	struct source from;
	int wake, notify;
	enum spool_stream stream;
	struct pump_log *log; /* NULL: an input pump */
	struct sink sink;     /* owned by the thread */
	int tap[2];           /* a pipe: the log's share of what the sink takes */
	pthread_mutex_t lock; /* guards next_*, attach_pending */
	int next_fd;
	char *next_replay;
	bool attach_pending;
	atomic_bool finish, stop;
	atomic_uint events;
	atomic_int error; /* errno of the write that failed */
	char *chunk;
	/* Taking secrets out; NULL: there are none. */
	pthread_mutex_t scrub_lock; /* guards scrub */
	struct scrub *scrub;
	struct cl_buf clean; /* what may leave */
	bool holds;          /* something is held back since it was last quiet */
	bool passing;        /* the log is told that bytes are neither there nor lost yet */
};

static void tell(struct pump *p, unsigned event)
{
	uint64_t one = 1;

	(void)atomic_fetch_or(&p->events, event);
	(void)!write(p->notify, &one, sizeof(one));
}

static void sink_close(struct sink *s)
{
	if (s->fd >= 0)
		(void)close(s->fd);
	*s = (struct sink){.fd = -1};
}

/*
 * O_NONBLOCK belongs to the description, which the client shares with its shell; so
 * pipes and terminals are opened again, sockets are asked per call, and files never
 * block. What can be none of these is written in pieces that fit after POLLOUT. What was
 * opened for reading alone (a stdout that was closed) is not given rights it did not have.
 */
static bool may(int fd, int mode)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && ((flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode);
}

static struct sink sink_open(int fd)
{
	struct sink s = {.fd = fd};
	char path[40];
	struct stat st;
	int own;

	if (fd < 0 || fstat(fd, &st) || !may(fd, O_WRONLY))
		return (struct sink){.fd = fd};
	s.pipe = S_ISFIFO(st.st_mode);
	s.splice = s.pipe || S_ISREG(st.st_mode) ||
		   (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)); /* /dev/null */
	if (S_ISSOCK(st.st_mode)) {
		s.socket = true;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (own >= 0) {
			(void)close(fd);
			s.fd = own;
		} else {
			s.careful = true;
		}
	}
	return s;
}

/*
 * The same for reading: others may share a stdin, and what poll() saw may be theirs by the
 * time of the read, which must not block the thread then.
 */
static struct source source_open(int fd)
{
	struct source s = {.fd = fd};
	char path[40];
	struct stat st;
	int own;

	if (fstat(fd, &st) || !may(fd, O_RDONLY))
		return s;
	s.socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return s;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		(void)close(fd);
		s.fd = own;
	}
	return s;
}

static ssize_t source_read(const struct source *s, char *buf, size_t len)
{
	return s->socket ? recv(s->fd, buf, len, MSG_DONTWAIT) : read(s->fd, buf, len);
}

static void drain_wake(struct pump *p)
{
	uint64_t n;

	(void)!read(p->wake, &n, sizeof(n));
}

/* True when the thread has to look up from what it waits for. */
static bool interrupted(struct pump *p)
{
	bool pending;

	(void)pthread_mutex_lock(&p->lock);
	pending = p->attach_pending;
	(void)pthread_mutex_unlock(&p->lock);
	return pending || atomic_load(&p->stop);
}

/* The sink failed with errno: whoever owned it is told. */
static void lose_sink(struct pump *p)
{
	atomic_store(&p->error, errno);
	sink_close(&p->sink);
	tell(p, PUMP_CLIENT_CLOSED);
}

/* Waits until the sink may take more. False when the pump is asked for something else. */
static bool sink_wait(struct pump *p)
{
	struct pollfd fds[2] = {{p->sink.fd, POLLOUT, 0}, {p->wake, POLLIN, 0}};

	(void)poll(fds, 2, -1);
	if (fds[1].revents)
		drain_wake(p);
	return !interrupted(p);
}

/* As much of it as the sink takes now; at most what surely fits where a write could block. */
static ssize_t sink_try(struct pump *p, const char *data, size_t len)
{
	struct pollfd ready = {p->sink.fd, POLLOUT, 0};

	if (p->sink.socket)
		return send(p->sink.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (!p->sink.careful)
		return write(p->sink.fd, data, len);
	if (poll(&ready, 1, 0) > 0 && (ready.revents & (POLLOUT | POLLERR)))
		return write(p->sink.fd, data, len > PIPE_BUF ? PIPE_BUF : len);
	errno = EAGAIN;
	return -1;
}

/* Writes all of it at the sink's pace. False when the sink is gone or the pump is asked. */
static bool sink_write(struct pump *p, const char *data, size_t len)
{
	while (len && p->sink.fd >= 0) {
		ssize_t n = sink_try(p, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!sink_wait(p))
				return false;
		} else if (errno != EINTR) {
			lose_sink(p);
		}
	}
	return len == 0;
}

/* Takes over the client that pump_attach left, and gives it what the log already holds. */
static void take_client(struct pump *p)
{
	struct spool_reader *r = NULL;
	struct spool_record rec;
	char *replay = NULL;
	struct cl_err e;
	bool got = true;
	int fd = -1;

	(void)pthread_mutex_lock(&p->lock);
	if (p->attach_pending) {
		fd = p->next_fd;
		replay = cl_steal(&p->next_replay);
		p->attach_pending = false;
		sink_close(&p->sink);
		p->sink = sink_open(fd);
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (replay && fd >= 0 && !spool_reader_open(replay, 0, &r, &e)) {
		while (!spool_next(r, &rec, &got, &e) && got)
			if (rec.stream == p->stream && !sink_write(p, rec.data, rec.len))
				break;
		spool_reader_close(r);
	}
	free(replay);
}

static void deliver(struct pump *p, const char *data, size_t len)
{
	if (p->log && p->log->spool) {
		(void)pthread_mutex_lock(&p->log->lock);
		for (size_t at = 0; at < len; at += SPOOL_MAX_RECORD)
			(void)spool_append(p->log->spool, p->stream, data + at,
				len - at < SPOOL_MAX_RECORD ? len - at : SPOOL_MAX_RECORD,
				sys_now_ms());
		(void)pthread_mutex_unlock(&p->log->lock);
	}
	/* A new client arriving mid-chunk gets the chunk by its replay of the log. */
	(void)sink_write(p, data, len);
}

/*
 * Bytes that need no look stay in the kernel's pages: from the workload's pipe to the sink, and
 * a share to the log. What has to be looked at, or goes where pages cannot, is carried.
 */
static bool passes(const struct pump *p)
{
	return !p->scrub && (p->sink.splice || p->sink.fd < 0) && p->log->spool && p->tap[0] >= 0;
}

/*
 * Hands some of `len` bytes at the head of the workload's pipe to `to`, and then to the log
 * what the tap has of them. Whatever kills us, each byte is in the workload's pipe still or
 * the client's already, and the log shows if it missed some. Nothing that others can make us
 * wait for is done under the lock, which the main loop takes too. Answers as splice(2).
 */
static ssize_t hand_over(struct pump *p, int to, size_t len)
{
	ssize_t n;
	int err;

	(void)pthread_mutex_lock(&p->log->lock);
	spool_begin(p->log->spool);
	(void)pthread_mutex_unlock(&p->log->lock);
	n = splice(p->from.fd, NULL, to, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	err = n < 0 ? errno : EIO;
	(void)pthread_mutex_lock(&p->log->lock);
	if (n > 0)
		(void)spool_append_pipe(
			p->log->spool, p->stream, p->tap[0], (size_t)n, sys_now_ms());
	else
		spool_cancel(p->log->spool);
	(void)pthread_mutex_unlock(&p->log->lock);
	errno = err;
	return n;
}

/* A pipe that was found full holds more from now on, which saves switches. */
static bool enlarge(struct pump *p)
{
	bool once = p->sink.pipe && fcntl(p->sink.fd, F_GETPIPE_SZ) < PUMP_PIPE;

	p->sink.pipe = false;
	return once && fcntl(p->sink.fd, F_SETPIPE_SZ, PUMP_PIPE) > 0;
}

/* One chunk from the workload's pipe to the sink and the log, as read(2) answers. */
static ssize_t pass(struct pump *p)
{
	ssize_t n;
	size_t left;

	if (p->sink.fd < 0)
		return hand_over(p, p->tap[1], PUMP_CHUNK);
	n = tee(p->from.fd, p->tap[1], PUMP_CHUNK, SPLICE_F_NONBLOCK);
	left = n > 0 ? (size_t)n : 0;
	while (left && p->sink.fd >= 0) {
		ssize_t went = hand_over(p, p->sink.fd, left);

		if (went > 0) {
			left -= (size_t)went;
		} else if (errno == EAGAIN) {
			if (!enlarge(p) && !sink_wait(p))
				break;
		} else if (errno == EINVAL) {
			p->sink.splice = false; /* a file opened to append, among others */
			break;
		} else if (errno != EINTR) {
			lose_sink(p);
		}
	}
	/* Still in the workload's pipe: it comes again. */
	while (left) {
		ssize_t gone = read(p->tap[0], p->chunk, left);

		if (gone <= 0)
			break;
		left -= (size_t)gone;
	}
	return n;
}

/* From here to the end of it, bytes that the log has not got may be lost with us. */
static void set_passing(struct pump *p, bool on)
{
	if (p->passing == on || !p->log->spool)
		return;
	p->passing = on;
	(void)pthread_mutex_lock(&p->log->lock);
	if (on)
		spool_begin(p->log->spool);
	else
		spool_cancel(p->log->spool);
	(void)pthread_mutex_unlock(&p->log->lock);
}

/* Hands on what `step` lets go of; what is held back is on its way still. */
static void let_go(struct pump *p, void (*step)(struct scrub *s, struct cl_buf *out))
{
	(void)pthread_mutex_lock(&p->scrub_lock);
	step(p->scrub, &p->clean);
	p->holds = false;
	(void)pthread_mutex_unlock(&p->scrub_lock);
	deliver(p, p->clean.p, p->clean.len);
	cl_buf_reset(&p->clean);
	set_passing(p, scrub_held(p->scrub) > 0);
}

static ssize_t carry(struct pump *p)
{
	struct pollfd ready = {p->from.fd, POLLIN, 0};
	ssize_t n;

	if (!poll(&ready, 1, 0)) {
		errno = EAGAIN;
		return -1;
	}
	set_passing(p, true);
	n = read(p->from.fd, p->chunk, PUMP_CHUNK);
	if (n > 0 && p->scrub) {
		(void)pthread_mutex_lock(&p->scrub_lock);
		scrub_feed(p->scrub, p->chunk, (size_t)n, &p->clean);
		p->holds = scrub_held(p->scrub) > 0;
		(void)pthread_mutex_unlock(&p->scrub_lock);
		deliver(p, p->clean.p, p->clean.len);
		cl_buf_reset(&p->clean);
	} else if (n > 0) {
		deliver(p, p->chunk, (size_t)n);
	}
	set_passing(p, p->scrub && scrub_held(p->scrub));
	return n;
}

static void *output_thread(void *arg)
{
	struct pump *p = arg;

	while (!atomic_load(&p->stop)) {
		struct pollfd fds[2] = {{p->from.fd, POLLIN, 0}, {p->wake, POLLIN, 0}};
		bool finish = atomic_load(&p->finish);
		ssize_t n;

		take_client(p);
		n = passes(p) ? pass(p) : carry(p);
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		/* The workload is over and its pipe is empty: there will be nothing more. */
		if (n == 0 || errno != EAGAIN || finish)
			break;
		if (!poll(fds, 2, p->holds ? PUMP_QUIET : -1))
			let_go(p, scrub_quiet);
		if (fds[1].revents)
			drain_wake(p);
	}
	if (p->scrub && !atomic_load(&p->stop))
		let_go(p, scrub_flush);
	set_passing(p, false);
	sink_close(&p->sink);
	tell(p, PUMP_DONE);
	return NULL;
}

static void *input_thread(void *arg)
{
	struct pump *p = arg;

	while (!atomic_load(&p->stop)) {
		struct pollfd fds[2] = {{p->from.fd, POLLIN, 0}, {p->wake, POLLIN, 0}};
		ssize_t n;

		(void)poll(fds, 2, -1);
		if (fds[1].revents)
			drain_wake(p);
		if (atomic_load(&p->stop) || !fds[0].revents)
			continue;
		n = source_read(&p->from, p->chunk, 65536);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0 || !sink_write(p, p->chunk, (size_t)n))
			break;
	}
	sink_close(&p->sink);
	tell(p, PUMP_DONE);
	return NULL;
}

static int start(struct pump *p, void *(*fn)(void *), struct pump **out, struct cl_err *e)
{
	int rc;

	p->chunk = cl_malloc(PUMP_CHUNK);
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = p->wake < 0 ? errno : pthread_create(&p->thread, NULL, fn, p);
	if (rc) {
		pump_free(p);
		return cl_fail_sys(e, CL_EOS, rc, "cannot start a thread");
	}
	p->started = true;
	*out = p;
	return 0;
}

static struct pump *make(int from, int notify)
{
	struct pump *p = cl_calloc(1, sizeof(*p));

	p->from.fd = from;
	p->notify = notify;
	p->next_fd = p->wake = p->sink.fd = p->tap[0] = p->tap[1] = -1;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_mutex_init(&p->scrub_lock, NULL);
	p->clean = CL_BUF_SECRET;
	return p;
}

int pump_output(int from, enum spool_stream stream, struct pump_log *log, int notify, int client,
	struct scrub *scrub, struct pump **out, struct cl_err *e)
{
	struct pump *p = make(from, notify);

	p->scrub = scrub;
	p->stream = stream;
	p->log = log;
	p->next_fd = client;
	p->attach_pending = client >= 0;
	/* Without it, every byte goes through our hands. */
	if (!pipe2(p->tap, O_CLOEXEC))
		(void)fcntl(p->tap[0], F_SETPIPE_SZ, PUMP_CHUNK);
	return start(p, output_thread, out, e);
}

int pump_input(int from, int to, int notify, struct pump **out, struct cl_err *e)
{
	struct pump *p = make(from, notify);

	p->from = source_open(from);
	/* The write end is ours alone, so it may be non-blocking. */
	(void)fcntl(to, F_SETFL, O_NONBLOCK);
	p->sink = (struct sink){.fd = to};
	return start(p, input_thread, out, e);
}

static void wake(struct pump *p)
{
	uint64_t one = 1;

	(void)!write(p->wake, &one, sizeof(one));
}

void pump_attach(struct pump *p, int fd, const char *replay_dir)
{
	(void)pthread_mutex_lock(&p->lock);
	if (p->attach_pending && p->next_fd >= 0)
		(void)close(p->next_fd);
	free(p->next_replay);
	p->next_fd = fd;
	p->next_replay = replay_dir ? cl_strdup(replay_dir) : NULL;
	p->attach_pending = true;
	(void)pthread_mutex_unlock(&p->lock);
	wake(p);
}

void pump_learn(struct pump *p, const char *value, size_t len)
{
	(void)pthread_mutex_lock(&p->scrub_lock);
	if (p->scrub)
		(void)scrub_add(p->scrub, value, len);
	(void)pthread_mutex_unlock(&p->scrub_lock);
}

void pump_finish(struct pump *p)
{
	atomic_store(&p->finish, true);
	wake(p);
}

int pump_error(struct pump *p)
{
	return atomic_load(&p->error);
}

unsigned pump_events(struct pump *p)
{
	return atomic_exchange(&p->events, 0);
}

void pump_free(struct pump *p)
{
	if (!p)
		return;
	atomic_store(&p->stop, true);
	if (p->started) {
		wake(p);
		(void)pthread_join(p->thread, NULL);
	}
	if (p->from.fd >= 0)
		(void)close(p->from.fd);
	if (p->attach_pending && p->next_fd >= 0)
		(void)close(p->next_fd);
	if (p->wake >= 0)
		(void)close(p->wake);
	for (int i = 0; i < 2; i++)
		if (p->tap[i] >= 0)
			(void)close(p->tap[i]);
	sink_close(&p->sink);
	(void)pthread_mutex_destroy(&p->lock);
	(void)pthread_mutex_destroy(&p->scrub_lock);
	free(p->next_replay);
	if (p->scrub)
		explicit_bzero(p->chunk, PUMP_CHUNK);
	scrub_free(p->scrub);
	cl_buf_release(&p->clean);
	free(p->chunk);
	free(p);
}
