/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: store-handle STATE.DB HANDLE live|ended [NAME=VALUE...] : a row of a workload by hand,
 * in a state file that is made when it is not there. Without HANDLE only the file is made.
 * NAME: project, network, table, netns, bridge, address, address6, started, runtime; run=ID with egress=JSON
 * adds the run that it is of; noted=DIR writes below DIR, its runtime folders, what a driver does.
 */
#include "base/mem.h"
#include "store/run.h"
#include "sys/path.h"
#include "work/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char somewhere[] = "/p", no_argv[] = "[]", shell[] = "sh", container[] = "container";

/* The value of NAME=VALUE behind the first three arguments, or NULL. */
static char *value(char **argv, const char *name)
{
	size_t len = strlen(name);

	for (char **a = argv + 4; *a; a++)
		if (!strncmp(*a, name, len) && (*a)[len] == '=')
			return *a + len + 1;
	return NULL;
}

static int add_run(struct store *s, char **argv, const struct store_handle *h, struct cl_err *e)
{
	struct store_run r = STORE_RUN_INIT;

	if (!h->run_id)
		return 0;
	r.id = h->run_id;
	r.project = h->project;
	r.executor_id = h->executor_id;
	r.argv = no_argv;
	r.harness = shell;
	r.created_at = 1;
	r.egress = value(argv, "egress");
	if (store_run_insert(s, &r, e))
		return -1;
	return strcmp(argv[3], "live") != 0
		       ? 0
		       : store_run_started(s, r.id, h->id, 2, &(bool){false}, e);
}

static int note(char **argv, const struct store_handle *h, struct cl_err *e)
{
	cleanup_free char *dir = cl_asprintf("%s/w/%s", value(argv, "noted"), h->id);
	cleanup_free char *hub = cl_strdup(argv[1]);
	cleanup_eg_stack struct eg_stack stack = EG_STACK_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *egress = value(argv, "egress");

	/* DIR/.cloop/state.db */
	for (int i = 0; i < 2; i++)
		*strrchr(hub, '/') = '\0';
	if (sys_mkdirs(dir, 0700, e))
		return -1;
	if (egress && (cl_doc_parse(&d, CL_DOC_JSON, "egress", egress, strlen(egress), NULL, e) ||
			      eg_stack_read(&d, d.root, &stack, e)))
		return -1;
	return standing_write(value(argv, "noted"), hub, h, h->bridge ? h->bridge : "",
		egress ? &stack : NULL, e);
}

int main(int argc, char **argv)
{
	struct store_handle h = STORE_HANDLE_INIT;
	struct store *s = NULL;
	struct cl_err e;
	bool won = false;
	int rc;

	if (argc < 2)
		return 64;
	rc = store_open(argv[1], STORE_CREATE, &s, &e);
	if (!rc && argc > 3) {
		h.id = argv[2];
		h.executor_id = container;
		h.driver = container;
		h.project = value(argv, "project") ? value(argv, "project") : somewhere;
		h.run_id = value(argv, "run");
		h.network = value(argv, "network");
		h.nft_table = value(argv, "table");
		h.netns = value(argv, "netns");
		h.bridge = value(argv, "bridge");
		h.runtime_dir = value(argv, "runtime");
		h.address = value(argv, "address");
		h.address6 = value(argv, "address6");
		h.started_at =
			value(argv, "started") ? strtoll(value(argv, "started"), NULL, 10) : 1;
		rc = add_run(s, argv, &h, &e) || store_handle_insert(s, &h, &e) ||
				     (value(argv, "noted") && note(argv, &h, &e))
			     ? -1
			     : 0;
		if (!rc && !strcmp(argv[3], "ended"))
			rc = store_handle_end(s, argv[2], 2, &won, &e);
	}
	store_close(s);
	if (rc)
		(void)fprintf(stderr, "store-handle: %s\n", e.msg);
	return rc ? 1 : 0;
}
