/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must hold for any document that either reader takes, and for any that it refuses. */
#ifndef T_FUZZ_DOC_H
#define T_FUZZ_DOC_H

#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A refusal says where and what to do, in text that any terminal can show. */
static inline void check_refusal(const struct cl_err *e)
{
	assert(e->code == CL_EDATA && e->msg[0] && e->file[0]);
	assert(cl_utf8_valid(e->msg, strlen(e->msg)) && cl_utf8_valid(e->fix, strlen(e->fix)));
	assert(!strpbrk(e->msg, "\n\r\x1b\x7f"));
}

/* Each value is asked for in every type; its place lies inside the text. */
static inline void visit(struct cl_doc *d, const json_t *parent, const char *key, size_t index)
{
	unsigned line = 0, column = 0;
	const char *text = NULL;
	json_t *sub = NULL;
	bool b = false;
	int64_t n = 0;
	double f = 0;
	struct cl_err e;
	size_t len;

	cl_doc_where(d, parent, key, index, false, &line, &column);
	/* What is missing at the end of a text without a newline stands on the line after it. */
	assert(line && column);
	assert(cl_doc_line(d, line, &text, &len) || cl_doc_line(d, line - 1, &text, &len));
	text = NULL;
	if (!key) {
		(void)cl_doc_str_at(d, parent, index, &text, &e);
		(void)cl_doc_int_at(d, parent, index, -5, 5, &n, &e);
		return;
	}
	if (cl_doc_str(d, parent, key, &text, &e))
		check_refusal(&e);
	if (cl_doc_int(d, parent, key, -5, 5, &n, &e))
		check_refusal(&e);
	if (cl_doc_bool(d, parent, key, &b, &e))
		check_refusal(&e);
	if (cl_doc_double(d, parent, key, &f, &e))
		check_refusal(&e);
	if (cl_doc_map(d, parent, key, &sub, &e))
		check_refusal(&e);
	if (cl_doc_list(d, parent, key, &sub, &e))
		check_refusal(&e);
	assert(n >= -5 && n <= 5);
}

static inline void walk(struct cl_doc *d, json_t *j)
{
	static const char *const known[] = {"memory", "cpu"};
	const char *key;
	struct cl_err e;
	json_t *v;
	size_t i;

	if (cl_doc_closed(d, j, "", known, 2, &e))
		check_refusal(&e);
	json_object_foreach (j, key, v) {
		visit(d, j, key, 0);
		walk(d, v);
	}
	json_array_foreach (j, i, v) {
		visit(d, j, NULL, i);
		walk(d, v);
	}
}

static inline char *read_again(const char *text, enum cl_doc_kind kind)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;
	int rc = cl_doc_parse(&d, kind, "again", text, strlen(text), NULL, &e);

	return !rc && d.root ? cl_json_text(d.root) : NULL;
}

static inline void fuzz_doc(enum cl_doc_kind kind, const uint8_t *data, size_t size)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *text = NULL, *again = NULL;
	struct cl_err e;

	if (cl_doc_parse(&d, kind, "input", (const char *)data, size, NULL, &e)) {
		check_refusal(&e);
		return;
	}
	if (!d.root)
		return;
	walk(&d, d.root);
	text = cl_json_text(d.root);
	if (!json_is_object(d.root) && !json_is_array(d.root))
		return;
	again = read_again(text, CL_DOC_JSON);
	assert(again && !strcmp(again, text));
}

#endif
