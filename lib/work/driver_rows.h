/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of a driver's table of verbs (cloop-exec(7)) that drivers of ours share: one wording each.
 * PROGRAM is the command as it is typed, "exec-local".
 */
#ifndef CL_WORK_DRIVER_ROWS_H
#define CL_WORK_DRIVER_ROWS_H

#include "cli/cli.h"
#include "work/verbs.h"

/* clang-format off */
/* What a verb about an executor reads, as an example pipes it to the verb. */
#define DRIVER_EXAMPLE(program, verb, why, run) \
	{"echo '{\"executor\":{\"enabled\":true},\"hub\":\"/var/lib/cloop\"}' | cloop " program " " verb, why, run}

#define DRIVER_EXITS_PREFLIGHT {1, "a finding is fatal: nothing would start"}
#define DRIVER_EXITS_START     {1, "refused; the message names the constraint"}

#define DRIVER_ROW_CAPABILITIES(examples_, run_) \
	{.name = "capabilities", .summary = "say what this executor can do", \
		.examples = (examples_), .run = (run_)}
#define DRIVER_ROW_PREFLIGHT(exits_, examples_, run_) \
	{.name = "preflight", .summary = "look for everything that would stop a run", \
		.exits = (exits_), .examples = (examples_), .run = (run_)}
#define DRIVER_ROW_START(exits_, examples_, run_) \
	{.name = "start", .summary = "start a workload and print its handle", \
		.exits = (exits_), .examples = (examples_), .run = (run_)}
/* What is asked of a workload that is there: status, wait, logs, signal. */
#define DRIVER_ROWS_WATCH(logs_examples_) \
	{.name = "status", .summary = "say whether a workload runs, or how it ended", \
		.run = work_verb_status}, \
	{.name = "wait", .summary = "wait until a workload has ended, then say how", \
		.run = work_verb_wait}, \
	{.name = "logs", .summary = "print the kept output of a workload", \
		.examples = (logs_examples_), .run = work_verb_logs}, \
	{.name = "signal", .summary = "send interrupt, terminate or kill to a workload", \
		.run = work_verb_signal}
#define DRIVER_ROW_ADOPT(run_) \
	{.name = "adopt", .summary = "give a workload whose supervisor died a new one", \
		.run = (run_)}
/* clang-format on */

#endif
