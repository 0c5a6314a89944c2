/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the verbs of cloop-place share. */
#ifndef CLOOP_PLACE_CMD_H
#define CLOOP_PLACE_CMD_H

#include "cli/cli.h"
#include "policy/place/place.h"

extern const struct cl_spec place_spec;
int place_choose(struct cl_ctx *c, struct cl_err *e);
int place_why(struct cl_ctx *c, struct cl_err *e);

/* A request with its answer. */
struct place_ask {
	struct cl_buf text;
	struct pl_request request;
	struct pl_query query;
	struct pl_result result;
	struct pl_fixes fixes; /* of a refusal */
};
#define PLACE_ASK_INIT                           \
	((struct place_ask){.text = CL_BUF_INIT, \
		.request = PL_REQUEST_INIT,      \
		.result = PL_RESULT_INIT,        \
		.fixes = PL_FIXES_INIT})
void place_ask_release(struct place_ask *a);
#define cleanup_place_ask __attribute__((cleanup(place_ask_release)))

/* Reads the request (the file that --request names, else standard input) and answers it. */
int place_answer(struct cl_ctx *c, struct place_ask *a, struct cl_err *e);
/* The candidate of that id; CL_ENOTFOUND with the nearest one. */
int place_find(const struct place_ask *a, const char *id, size_t *which, struct cl_err *e);

#endif
