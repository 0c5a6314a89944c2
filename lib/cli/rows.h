/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of a command's table of environment and files (struct cl_text) that several commands
 * share: one wording each. HUB stands for the hub's directory.
 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

/* clang-format off */
#define CL_ROW_ENV_DIR {"CLOOP_DIR", "the hub's directory, as -C"}

/* Everything that says which hub a command works for (work/ctx.h). */
#define CL_ROWS_ENV_HUB \
	CL_ROW_ENV_DIR, \
	{"CLOOP_HUBS", "another file for the caller's list of hubs"}, \
	{"XDG_CONFIG_HOME", "where the list of hubs of a user other than root is, below cloop"}, \
	{"XDG_STATE_HOME", "where the hub of a user other than root is, below cloop"}, \
	{"HOME", "stands in for the two above"}

/* Where a command that holds the root key finds it (work/keyed.h). */
#define CL_ROWS_ENV_KEY \
	{"CLOOP_SECRET_KEY_FILE", "file of the root key, instead of secrets.key_file"}, \
	{"CLOOP_SECRET_KEY", "the root key itself, where there is no file"}, \
	{"CLOOP_SECRET_KEY_FD", "instead of that, the number of an open descriptor that has it"}

#define CL_ROW_ENV_RUN_DIR \
	{"CLOOP_RUN_DIR", "where live workloads have their sockets and pipes, instead of /run/cloop"}

#define CL_ROW_FILE_CONFIG {"HUB/.cloop/config.yaml", "the hub's configuration"}
#define CL_ROW_FILE_STATE {"HUB/.cloop/state.db", "runs, journal, counters and audit trail"}
#define CL_ROW_FILE_KEY {"HUB/cloop-secret-key", "the root key, as bootstrap makes it"}
#define CL_ROW_FILE_SANDBOX \
	{".cloop/sandbox.yaml", "what the project asks of its sandbox; it can only take access away"}
/* clang-format on */

#endif
