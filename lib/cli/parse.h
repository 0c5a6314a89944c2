/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of a command line by its table, and the table's own check. */
#ifndef CL_CLI_PARSE_H
#define CL_CLI_PARSE_H

#include "cli/cli.h"

struct cl_given {
	const struct cl_opt *opt;
	char *text; /* owned; NULL for a flag */
	int64_t number;
};

/* Options every verb takes. */
extern const struct cl_opt cl_shared_opts[];

/* What the command line asks for besides a verb. */
enum cl_ask { CL_ASK_RUN, CL_ASK_HELP, CL_ASK_SPEC, CL_ASK_VERSION };

/*
 * Fills c from argv (which it borrows). *ask says whether help or the table's JSON was
 * asked for; then verb may be NULL. CL_EUSAGE otherwise. Release c in any case.
 */
int cl_parse(struct cl_ctx *c, const struct cl_spec *spec, int argc, char **argv, enum cl_ask *ask,
	struct cl_err *e);
void cl_ctx_release(struct cl_ctx *c);

/* Aborts with a message when a table contradicts itself; run by debug builds and t/. */
void cl_spec_check(const struct cl_spec *spec);

/* Help text for a verb, or for the command when verb is NULL. */
void cl_help(const struct cl_spec *spec, const struct cl_verb *verb, FILE *out);
/* "cloop egress firewall [options] FILE..." without a newline; owned. */
char *cl_synopsis(const struct cl_spec *spec, const struct cl_verb *verb);
/* The table as JSON (--cl-spec); owned. */
json_t *cl_spec_json(const struct cl_spec *spec);
/* The exit statuses of a verb with the shared ones, in order; *out owned by the caller. */
size_t cl_exits(
	const struct cl_spec *spec, const struct cl_verb *verb, struct cl_exit *out, size_t max);
/* The name people type: "cloop egress" for "cloop-egress". */
char *cl_typed_name(const struct cl_spec *spec);
const char *const *cl_complete_names(void);

#endif
