/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the JSON and the YAML reader share with doc.c; nobody else includes this. */
#ifndef CL_BASE_DOC_INTERNAL_H
#define CL_BASE_DOC_INTERNAL_H

#include "base/doc.h"

/* Where parent[key] or parent[index] stands, and a plain scalar's text as written. */
struct cl_doc_pos {
	const json_t *parent;
	const char *key; /* owned by the tree, or NULL for a list's value */
	size_t index;
	unsigned key_line, key_column, line, column;
	char *raw; /* YAML scalars only */
	bool plain;
};

struct cl_doc_pos *cl_doc_pos_add(
	struct cl_doc *d, const json_t *parent, const char *key, size_t index);

/* Bytes of the line break at p, or 0: YAML knows more of them than JSON (1.2, 5.4). */
size_t cl_doc_break(const struct cl_doc *d, const char *p);
/* Line and column, in characters from 1, of byte `at` of the text. */
void cl_doc_place(const struct cl_doc *d, size_t at, unsigned *line, unsigned *column);
/* What a message quotes of a text: at most 80 bytes; owned. */
char *cl_doc_excerpt(const char *text);

int cl_doc_parse_json(struct cl_doc *d, const struct cl_doc_limits *l, struct cl_err *e);
int cl_doc_parse_yaml(struct cl_doc *d, const struct cl_doc_limits *l, struct cl_err *e);
/* Fills the positions of a JSON document by walking its text beside the tree. */
void cl_doc_locate_json(struct cl_doc *d);

#endif
