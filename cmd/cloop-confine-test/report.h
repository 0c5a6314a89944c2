/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_CONFINE_REPORT_H
#define CLOOP_CONFINE_REPORT_H

#include "attempt.h"

#include <sys/types.h>

#define MAX_ATTEMPTS 512

struct tried {
	const char *family;
	const struct attempt *attempt;
	struct result *result;
	pid_t pid; /* 0: not running */
};

/* Each prints on standard output and returns the exit status. */
int report_tap(const struct tried *v, size_t n, bool strict);
int report_json(const struct tried *v, size_t n, bool strict);
int report_list(const struct tried *v, size_t n, bool json);
int report_usage(const char *arg);

#endif
