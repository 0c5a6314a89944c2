/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What people ask of an egress policy: ADDR:PORT[/PROTO], an IPv6 address in brackets, the
 * protocol tcp (unless named), udp or any. Read and written without a copy where they are
 * asked by the million: dotted quads are taken apart here, everything else by addr.h.
 */
#ifndef CL_POLICY_QUESTION_H
#define CL_POLICY_QUESTION_H

#include "policy/egress/egress.h"

struct eg_question {
	struct pol_endpoint to;
	enum eg_proto proto;
};

/* The longest question that can be one; longer text is refused unread. */
#define EG_QUESTION_MAX  128
#define EG_QUESTION_TEXT (POL_ENDPOINT_TEXT + 8)

/*
 * Reads all of text[0..len), which holds no blanks. Port 0 goes with "any" only. CL_EDATA;
 * `what` starts the message: "--check", "line 7".
 */
int eg_question_parse(
	const char *text, size_t len, const char *what, struct eg_question *out, struct cl_err *e);
/*
 * "10.0.0.1:443/tcp" into out, with a NUL; returns its length. *addr_at and *addr_len: the
 * address in it, without brackets.
 */
size_t eg_question_text(
	const struct eg_question *q, char out[EG_QUESTION_TEXT], size_t *addr_at, size_t *addr_len);

#endif
