/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: store-handle STATE.DB HANDLE live|ended : a row of a workload by hand, in a state
 * file that is made when it is not there. Without HANDLE only the file is made.
 */
#include "store/run.h"

#include <stdio.h>
#include <string.h>

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
		h.executor_id = (char[]){"container"};
		h.driver = (char[]){"container"};
		h.project = (char[]){"/p"};
		h.started_at = 1;
		rc = store_handle_insert(s, &h, &e);
		if (!rc && !strcmp(argv[3], "ended"))
			rc = store_handle_end(s, argv[2], 2, &won, &e);
	}
	store_close(s);
	if (rc)
		(void)fprintf(stderr, "store-handle: %s\n", e.msg);
	return rc ? 1 : 0;
}
