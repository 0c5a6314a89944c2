/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: leasetool show < BYTES : a lease as it comes through a pipe, as JSON, values and all
 *        leasetool take HUB PROJECT EXECUTOR RUN : asks for one, as who runs a workload does
 *        leasetool renew HUB LEASE [PROJECT EXECUTOR RUN] : left out, as the store has them
 *        leasetool asked FILE LEASE : what its holder is asked to give up, as JSON
 *        leasetool answer FILE LEASE GRANT FILES [ERROR] : the holder's answer
 *        leasetool release FILE LEASE : the holder is over
 *        leasetool measure HUB COUNT GROUP : takes COUNT leases of /srv/app, GROUP a commit, by turns
 *            with commits of a bare SQLite file beside it; microseconds a lease and a commit
 * A refusal is {"error": ...} and status 1. cloop-secret must stand beside the executable.
 */
#include "base/doc.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "work/lease/lease_ask.h"
#include "work/lease/lease_wire.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static json_t *env_json(const struct lease_env *v, size_t n, json_t *all)
{
	for (size_t i = 0; i < n; i++)
		(void)json_object_set_new(all, v[i].name, json_string(v[i].value.p));
	return all;
}

static json_t *files_json(const struct lease_item *i)
{
	json_t *all = json_object();
	char mode[8];

	for (size_t n = 0; n < i->nfiles; n++) {
		(void)snprintf(mode, sizeof(mode), "%04o", i->files[n].mode);
		(void)json_object_set_new(all, i->files[n].name,
			json_pack("{s:s, s:s%}", "mode", mode, "data", i->files[n].data.p,
				i->files[n].data.len));
	}
	return all;
}

static json_t *item_json(const struct lease_item *i)
{
	json_t *mounts = json_array(), *devices = json_array(), *nets = json_array();

	for (size_t n = 0; n < i->nmounts; n++)
		(void)json_array_append_new(mounts,
			json_pack("{s:s, s:s, s:b}", "source", i->mounts[n].source, "target",
				i->mounts[n].target, "writable", i->mounts[n].writable));
	for (size_t n = 0; n < i->ndevices; n++)
		(void)json_array_append_new(
			devices, json_pack("{s:s, s:s, s:s}", "source", i->devices[n].source,
					 "target", i->devices[n].target, "access",
					 sec_access_name(i->devices[n].access)));
	for (size_t n = 0; n < i->ninterfaces; n++)
		(void)json_array_append_new(
			nets, json_pack("{s:s, s:s, s:s?, s:i, s:b}", "source",
				      i->interfaces[n].source, "target", i->interfaces[n].target,
				      "address", i->interfaces[n].address, "mtu",
				      (int)i->interfaces[n].mtu, "raw", i->interfaces[n].raw));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", i->name, "kind",
		sec_kinds[i->kind].name, "grant_id", i->grant_id, "env",
		env_json(i->env, i->nenv, json_object()), "files", files_json(i), "mounts", mounts,
		"devices", devices, "interfaces", nets);
}

static int print(const struct lease *l)
{
	json_t *items = json_array(), *redact = json_array(), *refused = json_array();

	for (size_t i = 0; i < l->nitems; i++)
		(void)json_array_append_new(items, item_json(&l->items[i]));
	for (size_t i = 0; i < l->nredact; i++)
		(void)json_array_append_new(redact, json_string(l->redact[i].p));
	for (size_t i = 0; i < l->nrefused; i++)
		(void)json_array_append_new(refused,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", l->refused[i].name,
				"grant_id", l->refused[i].grant_id, "code", l->refused[i].code,
				"reason", l->refused[i].reason, "fix", l->refused[i].fix));
	cl_take_json(json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o}", "id", l->id, "dir", l->dir,
		"expires_at", (json_int_t)l->expires_at, "env",
		env_json(l->env, l->nenv, json_object()), "items", items, "redact", redact,
		"refused", refused));
	return 0;
}

static int renew(
	const struct lease_ask *ask, int argc, char **argv, struct lease **l, struct cl_err *e)
{
	cleanup_free char *file = cl_asprintf("%s/.cloop/state.db", ask->hub_dir);
	cleanup_store struct store *s = NULL;
	cleanup_lease_row struct store_lease row = STORE_LEASE_INIT;
	struct lease_holder h;

	if (argc == 4 &&
		(store_open(file, STORE_RO, &s, e) || store_lease_get(s, argv[3], &row, e)))
		return -1;
	h = (struct lease_holder){row.run_id, row.project, row.executor_id};
	if (argc == 7)
		h = (struct lease_holder){argv[6], argv[4], argv[5]};
	return lease_ask_renew(ask, argv[3], &h, l, e);
}

static int run(int argc, char **argv, struct lease **l, struct cl_err *e)
{
	struct lease_request r = {0};
	const struct lease_ask ask = {.hub_dir = argc > 2 ? argv[2] : "."};
	struct seal_buf bytes = SEAL_BUF_INIT;

	if (argc == 2 && !strcmp(argv[1], "show"))
		return seal_read_fd(0, "-", LEASE_WIRE_MAX, &bytes, e) || lease_parse(&bytes, l, e)
			       ? -1
			       : 0;
	if ((argc == 4 || argc == 7) && !strcmp(argv[1], "renew"))
		return renew(&ask, argc, argv, l, e);
	if (argc != 6 || strcmp(argv[1], "take") != 0)
		return cl_fail(e, CL_EUSAGE, "usage: see the head of leasetool.c");
	r.project = argv[3];
	r.executor = argv[4];
	r.run_id = argv[5];
	return lease_ask_take(&ask, &r, l, e);
}

/* ---- a holder ---- */

static int asked(struct store *s, const char *id, struct cl_err *e)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	json_t *all = json_array();

	if (lease_take_backs(s, id, sys_now_ms(), &t, e)) {
		json_decref(all);
		return -1;
	}
	for (size_t i = 0; i < t.n; i++)
		(void)json_array_append_new(
			all, json_pack("{s:s, s:s, s:b}", "grant_id", t.v[i].grant_id, "name",
				     t.v[i].secret_name, "kill", t.v[i].kill));
	cl_take_json(json_pack("{s:b, s:o}", "over", t.over, "grants", all));
	return 0;
}

static int hold(int argc, char **argv, struct cl_err *e)
{
	cleanup_store struct store *s = NULL;
	const struct lease_actor who = {"holder", sys_now_ms()};
	struct lease_answer a = {.failed = argc == 7, .error = argc == 7 ? argv[6] : NULL};

	if (store_open(argv[2], STORE_RW, &s, e))
		return -1;
	if (!strcmp(argv[1], "asked"))
		return asked(s, argv[3], e);
	if (!strcmp(argv[1], "release"))
		return lease_release(s, &who, argv[3], "the workload has ended", e);
	a.files_removed = strtol(argv[5], NULL, 10);
	return lease_answer(s, &who, argv[3], argv[4], &a, e);
}

/* ---- how fast ---- */

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "leasetool: %s\n", what);
	exit(1);
}

static int64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static sqlite3_stmt *bare(const char *hub, sqlite3 **db)
{
	cleanup_free char *path = cl_asprintf("%s/bare.db", hub);
	sqlite3_stmt *st = NULL;

	must(!sqlite3_open(path, db) &&
			!sqlite3_exec(*db,
				"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				"CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
				NULL, NULL, NULL) &&
			!sqlite3_prepare_v2(*db,
				"INSERT INTO t (text) VALUES ('as long as an id and a name')", -1,
				&st, NULL),
		"no bare file");
	return st;
}

/* GROUP leases in one commit. */
static void take_group(struct keyed *k, int64_t group)
{
	const struct lease_request r = {.project = "/srv/app", .executor = "container"};
	cleanup_txn struct store_txn t = {0};
	struct cl_err e;

	must(!store_begin(k->store, &t, &e), "cannot begin");
	for (int64_t i = 0; i < group; i++) {
		cleanup_held struct lease *l = NULL;

		must(!lease_take(k, &r, &l, &e) && l->nitems == 1, "nothing was lent");
	}
	must(!store_commit(&t, &e), "cannot commit");
}

static int measure(const char *hub, int64_t count, int64_t group, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	const struct cl_ctx c = {.dir = hub};
	sqlite3 *db = NULL;
	sqlite3_stmt *st = bare(hub, &db);
	int64_t ours = 0, peer = 0, rounds = count / group;

	if (keyed_open(&c, &k, e))
		return -1;
	for (int64_t i = 0; i < rounds; i++) {
		int64_t at = now_us(), between;

		take_group(&k, group);
		between = now_us();
		must(sqlite3_step(st) == SQLITE_DONE && !sqlite3_reset(st), "no bare commit");
		ours += between - at;
		peer += now_us() - between;
	}
	cl_take_json(json_pack("{s:f, s:f, s:f}", "ours_us",
		(double)ours / (double)(rounds * group), "peer_us", (double)peer / (double)rounds,
		"ratio", (double)ours / (double)group / (double)peer));
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return 0;
}

int main(int argc, char **argv)
{
	cleanup_held struct lease *l = NULL;
	struct cl_err e;

	cl_find_exe();
	if (argc == 5 && !strcmp(argv[1], "measure")) {
		if (!measure(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), &e))
			return 0;
		cl_take_json(cl_err_json(&e));
		return 1;
	}
	if (argc > 3 && (!strcmp(argv[1], "asked") || !strcmp(argv[1], "release") ||
				(argc > 5 && !strcmp(argv[1], "answer")))) {
		if (!hold(argc, argv, &e))
			return 0;
		cl_take_json(cl_err_json(&e));
		return 1;
	}
	if (!run(argc, argv, &l, &e))
		return print(l);
	cl_take_json(cl_err_json(&e));
	return 1;
}
