/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What becomes of a run that nobody has said the end of (guide "The restart sweep", verdict table
 * for stale sessions). Pure. It errs towards leaving alone: closing one whose workload lives
 * lets two workloads into one project, leaving one open makes a drain wait.
 */
#ifndef POLICY_SESSION_H
#define POLICY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/* What is known of its workload. */
enum ses_handle {
	SES_NO_HANDLE, /* it never got one */
	SES_LIVE,      /* its driver's ledger has it */
	SES_ENDED,     /* the ledger says that it is over */
	SES_NO_ANSWER  /* whoever knows could not be asked */
};

struct ses_facts {
	bool registered; /* its executor is configured */
	bool starting;   /* it never said that it runs */
	enum ses_handle handle;
	int64_t created_at, ended_at; /* of the run, of the handle; Unix milliseconds, 0 unknown */
	int64_t now;
};

enum ses_verdict { SES_KEEP, SES_FAIL };

/* How long a start may take, and a supervisor to write down an end. Milliseconds. */
#define SES_STARTING_MS (5 * 60 * 1000LL)
#define SES_SETTLING_MS (60 * 1000LL)

/* The first row of the table that fits; *why is a clause for people, static. */
enum ses_verdict ses_judge(const struct ses_facts *f, const char **why);

#endif
