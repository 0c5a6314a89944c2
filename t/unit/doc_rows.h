/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row of t/cases: a document and what the reader must make of it. */
#ifndef T_UNIT_DOC_ROWS_H
#define T_UNIT_DOC_ROWS_H

#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "tsv.h"

/* Parses and compares with "line:column" and a piece, "nothing", or the tree's JSON. */
static inline void doc_row(const struct tsv_row *r, enum cl_doc_kind kind, const char *text,
	size_t len, const char *want, const char *piece)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *got = NULL;
	struct cl_err e;

	if (cl_doc_parse(&d, kind, "f.txt", text, len, NULL, &e)) {
		got = cl_asprintf("%u:%u", e.line, e.column);
		if (strcmp(got, want) != 0 || !strstr(e.msg, piece) || e.code != CL_EDATA)
			TSV_FAIL(r, "%s %s (want %s %s)", got, e.msg, want, piece);
		if (!e.fix[0] || strcmp(e.file, "f.txt") != 0 ||
			!cl_utf8_valid(e.msg, strlen(e.msg)))
			TSV_FAIL(r, "no fix, no file, or no text: %s", e.msg);
		return;
	}
	got = d.root ? cl_json_text(d.root) : cl_strdup("nothing");
	if (strcmp(got, want) != 0)
		TSV_FAIL(r, "%s (want %s)", got, want);
}

#endif
