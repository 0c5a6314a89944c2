/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: storetool write FILE COUNT : COUNT transactions of an audit and a journal row each;
 *                                     a line with the row's number after each commit
 *        storetool check FILE       : integrity and audit chain; prints how many rows each has
 */
#include "base/doc.h"
#include "store/audit.h"
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct cl_err *e)
{
	(void)fprintf(stderr, "storetool: %s\n", e->msg);
	return 1;
}

static int write_row(struct store *s, int number, struct cl_err *e)
{
	const struct store_audit_row row = {.actor = "uid:0", .action = "test.row"};
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s, &t, e) || store_audit_add(s, number, &row, e) ||
		store_journal_add(s, number, "/srv/p", NULL, "test", "a row", NULL, e))
		return -1;
	return store_commit(&t, e);
}

static int write_rows(const char *path, int count)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;

	if (store_open(path, STORE_CREATE, &s, &e))
		return fail(&e);
	for (int i = 1; i <= count; i++) {
		if (write_row(s, i, &e))
			return fail(&e);
		(void)printf("%d\n", i);
		(void)fflush(stdout);
	}
	return 0;
}

static int count_row(const struct store_journal *j, void *arg, struct cl_err *e)
{
	(void)j;
	(void)e;
	++*(int64_t *)arg;
	return 0;
}

static int check(const char *path)
{
	cleanup_store struct store *s = NULL;
	cleanup_strv struct cl_strv flaws = CL_STRV_INIT;
	struct store_chain chain;
	int64_t journal = 0;
	struct cl_err e;

	if (store_open(path, STORE_RW, &s, &e) || store_check(s, &flaws, &e) ||
		store_audit_verify(s, 0, NULL, &chain, &e) ||
		store_journal_each(s, NULL, NULL, 0, 0, count_row, &journal, &e))
		return fail(&e);
	for (size_t i = 0; i < flaws.n; i++)
		(void)fprintf(stderr, "storetool: flaw: %s\n", flaws.v[i]);
	if (chain.broken)
		(void)fprintf(stderr, "storetool: chain: %s\n", chain.why);
	(void)printf("%lld %lld\n", (long long)chain.rows, (long long)journal);
	return flaws.n || chain.broken;
}

int main(int argc, char **argv)
{
	cl_json_init();
	if (argc == 4 && !strcmp(argv[1], "write"))
		return write_rows(argv[2], (int)strtol(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "check"))
		return check(argv[2]);
	(void)fprintf(stderr, "usage: storetool write FILE COUNT | check FILE\n");
	return 2;
}
