/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blocked --trace: refused packets as they come. The rules that hand them over stand only as
 * long as this runs: taken out at its end, or by a sweep, or with the next rules of the network.
 */
#include "blocked.h"
#include "base/mem.h"
#include "base/num.h"
#include "policy/egress/packet.h"
#include "sys/clock.h"
#include "sys/nft/nft_trace.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS 1000 /* how often runs that are new are looked for */

/* A sandbox in scope, as long as it lives. */
struct traced {
	struct store_blocked row; /* without what a packet says; owned */
	char *table;
	struct pol_addr sources[2];
};

struct trace {
	struct cl_ctx *c;
	const struct blocked_scope *scope;
	struct nft_tracer self;
	uint16_t group;
	struct nft_log log;
	struct blocked_reader reader;
	struct traced *v;
	size_t n, cap;
	struct cl_strv tables; /* in which we have rules */
	uint64_t told;         /* of log.missed */
	bool dumb;             /* nobody reads what we print */
};

static void clear(struct trace *t)
{
	struct store_blocked_list rows = STORE_BLOCKED_INIT;

	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].table);
		rows.v = cl_grow(rows.v, &rows.cap, rows.n + 1, sizeof(*rows.v));
		rows.v[rows.n++] = t->v[i].row;
	}
	store_blocked_release(&rows);
	t->n = 0;
}

static int add_live(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct trace *t = arg;
	struct traced x = {.table = NULL};

	(void)e;
	if (!blocked_in_scope(t->scope, h) || !h->nft_table ||
		!blocked_sources(h, t->scope->run_base, x.sources))
		return 0;
	x.table = cl_strdup(h->nft_table);
	x.row = (struct store_blocked){.handle_id = cl_strdup(h->id),
		.run_id = cl_strdup_null(h->run_id),
		.project = cl_strdup(h->project),
		.executor_id = cl_strdup(h->executor_id)};
	t->v = cl_grow(t->v, &t->cap, t->n + 1, sizeof(*t->v));
	t->v[t->n++] = x;
	return 0;
}

/* The sources of our scope in one table; without a scope, all of it. */
static int put_rules(struct trace *t, const char *table, struct cl_err *e)
{
	cleanup_free struct pol_addr *sources = cl_calloc(2 * t->n + 1, sizeof(*sources));
	size_t n = 0;

	for (size_t i = 0; i < t->n && (t->scope->run.id || t->scope->project); i++)
		for (size_t k = 0; k < 2; k++)
			if (!strcmp(t->v[i].table, table) && t->v[i].sources[k].family)
				sources[n++] = t->v[i].sources[k];
	if (nft_trace_put(table, &t->self, t->group, sources, n, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	if (!cl_strv_has(&t->tables, table))
		cl_strv_add(&t->tables, table);
	return 0;
}

/* Who is in scope now, and rules for each that lacks them: a start replaces its table. */
static int look(struct trace *t, struct cl_err *e)
{
	clear(t);
	if (store_handle_each(t->scope->store, NULL, false, add_live, t, e))
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (put_rules(t, t->v[i].table, e))
			return -1;
	return 0;
}

static void show(struct trace *t, const struct store_blocked *row)
{
	cleanup_meaning struct blocked_meaning m = {0};
	cleanup_free char *text = NULL;
	char at[32];

	blocked_explain(&t->reader, row, &m);
	if (t->c->json) {
		cl_take_json(blocked_json(row, &m, true));
	} else {
		cl_format_time(row->last_at / 1000, at);
		text = blocked_text(&m);
		(void)printf("%s  %s  %s\n", at, row->run_id ? row->run_id : row->handle_id, text);
	}
	t->dumb = fflush(stdout) != 0;
}

static void on_packet(const struct nft_log_packet *p, void *arg)
{
	struct trace *t = arg;
	struct pol_addr source;
	struct eg_packet k;

	if (!eg_packet_read(p->bytes, p->len, &source, &k))
		return;
	for (size_t i = 0; i < t->n && !t->dumb; i++) {
		char from[POL_ADDR_TEXT], to[POL_ADDR_TEXT];
		struct store_blocked row = t->v[i].row;

		if (pol_addr_cmp(&source, &t->v[i].sources[source.family == 6]) != 0)
			continue;
		pol_addr_text(&source, from);
		pol_addr_text(&k.dest, to);
		row.source = from;
		row.destination = to;
		row.proto = k.proto;
		row.port = k.port;
		row.packets = 1;
		row.bytes = (int64_t)eg_packet_length(p->bytes, p->len);
		row.first_at = row.last_at = sys_now_ms();
		show(t, &row);
		return;
	}
}

static int open_signals(struct cl_err *e)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return cl_fail_sys(e, CL_EOS, errno, "cannot block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot read signals") : fd;
}

static void say_missed(struct trace *t)
{
	if (t->log.missed == t->told)
		return;
	cl_say(t->c, "%llu packets came too fast and are not shown",
		(unsigned long long)(t->log.missed - t->told));
	t->told = t->log.missed;
}

static int follow(struct trace *t, int sigfd, struct cl_err *e)
{
	int64_t next = 0;

	for (;;) {
		struct pollfd fds[2] = {{nft_log_fd(&t->log), POLLIN, 0}, {sigfd, POLLIN, 0}};
		int64_t now = sys_mono_ms();

		if (now >= next) {
			if (look(t, e))
				return -1;
			say_missed(t);
			next = now + LOOK_MS;
		}
		if (poll(fds, 2, (int)(next > now ? next - now : 0)) < 0 && errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot wait");
		if (fds[1].revents)
			return 0;
		if (fds[0].revents && nft_log_read(&t->log, on_packet, t, e))
			return -1;
		if (t->dumb)
			return 0;
	}
}

static void take_out(struct trace *t)
{
	struct cl_err e;

	for (size_t i = 0; i < t->tables.n; i++)
		if (nft_trace_drop(t->tables.v[i], &t->self, &e))
			cl_warn(t->c, "%s", e.msg);
}

int egress_trace(struct cl_ctx *c, const struct blocked_scope *scope, struct cl_err *e)
{
	struct trace t = {.c = c,
		.scope = scope,
		.group = (uint16_t)cl_int(c, "group", NFT_TRACE_GROUP),
		.log = NFT_LOG_INIT,
		.reader = BLOCKED_READER_INIT};
	cleanup_fd int sigfd = open_signals(e);
	int rc;

	t.reader.store = scope->store;
	if (sigfd < 0)
		return -1;
	rc = nft_tracer_self(&t.self, e) || nft_log_open(&t.log, t.group, e);
	if (!rc) {
		cl_say(c, "following; Ctrl-C ends it");
		rc = follow(&t, sigfd, e);
		take_out(&t);
		say_missed(&t);
	}
	nft_log_close(&t.log);
	blocked_reader_release(&t.reader);
	clear(&t);
	free(t.v);
	cl_strv_release(&t.tables);
	return rc ? -1 : 0;
}
