/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change of a policy in print: for people, for machines, for a pull request. */
#ifndef CMD_EGRESS_REPORT_H
#define CMD_EGRESS_REPORT_H

#include "policy/egress/change.h"

#include <jansson.h>

/* What one side allows and the other does not, with who is asked for the rules. */
struct report {
	const struct change *change;
	const struct change_side *before, *after;
	const char *was, *is; /* before the two answers: "was", "and is" */
	size_t limit;         /* ranges shown of a group; 0: all */
};

/* "newly allowed: 256 IPv4 addresses (512 destinations)", then a paragraph a group. */
void report_text(const struct report *r, const char *title, struct cl_buf *out);
/* The same as a table of GitHub's Markdown below a heading. */
void report_markdown(const struct report *r, const char *title, struct cl_buf *out);
/* {ipv4:{addresses, destinations}, ipv6:{...}, groups:[...]}; owned. */
json_t *report_json(const struct report *r);

/* "256 IPv4 addresses (512 destinations) and 2^64 IPv6 addresses", or "nothing". */
void report_counts(const struct change *c, struct cl_buf *out);
/* Text as Markdown shows it, whatever is in it. */
void report_escape(const char *text, struct cl_buf *out);

#endif
