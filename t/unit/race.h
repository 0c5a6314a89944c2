/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many processes that do one thing at the same moment. */
#ifndef T_RACE_H
#define T_RACE_H

#include "unit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs fn(0..many-1), each in a process, let go together; how many return 1. 2: it failed. */
static int race(int many, int (*fn)(int n))
{
	int gate[2], winners = 0;
	char c;

	if (pipe(gate))
		abort();
	for (int i = 0; i < many; i++) {
		if (fork())
			continue;
		(void)close(gate[1]);
		(void)!read(gate[0], &c, 1);
		_exit(fn(i));
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int i = 0; i < many; i++) {
		int st;

		(void)wait(&st);
		if (!WIFEXITED(st) || WEXITSTATUS(st) > 1)
			UNIT_FAIL("a process failed: %x", st);
		winners += WIFEXITED(st) && WEXITSTATUS(st) == 1;
	}
	return winners;
}

#endif
