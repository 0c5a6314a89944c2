/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader without a tree against the one with: both take the same texts, and find the
 * same values in them. What is quoted reads back.
 */
#include "base/doc.h"
#include "base/json_text.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 16

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void quoted(const char *text)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	json_t *j;

	cl_json_quote(&b, text);
	j = json_loads(b.p, JSON_DECODE_ANY, NULL);
	must(j && !strcmp(json_string_value(j), text));
	json_decref(j);
}

/* Reads one value that must be j. */
static void same(struct cl_scan *s, const json_t *j)
{
	bool first = true, more, yes;
	const char *text;
	struct cl_err e;
	int64_t n;

	switch (json_typeof(j)) {
	case JSON_OBJECT:
		must(!cl_scan_open(s, '{', "x", &e));
		while (!cl_scan_key(s, &first, &text, &e) && text)
			same(s, json_object_get(j, text));
		must(!text);
		return;
	case JSON_ARRAY:
		must(!cl_scan_open(s, '[', "x", &e));
		for (size_t i = 0; i < json_array_size(j); i++) {
			must(!cl_scan_item(s, &first, &more, &e) && more);
			same(s, json_array_get(j, i));
		}
		must(!cl_scan_item(s, &first, &more, &e) && !more);
		return;
	case JSON_STRING:
		must(!cl_scan_string(s, "x", &text, &e) && !strcmp(text, json_string_value(j)));
		quoted(text);
		return;
	case JSON_INTEGER:
		must(!cl_scan_int(s, "x", INT64_MIN, INT64_MAX, &n, &e) &&
			n == json_integer_value(j));
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		must(!cl_scan_bool(s, "x", &yes, &e) && yes == json_is_true(j));
		return;
	case JSON_REAL:
	case JSON_NULL:
		must(!cl_scan_skip(s, &e));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_scan struct cl_scan s = CL_SCAN_INIT, again = CL_SCAN_INIT;
	struct cl_doc_limits l = {.depth = DEPTH};
	cleanup_free char *a = cl_strndup((const char *)data, size),
			  *b = cl_strndup((const char *)data, size);
	struct cl_err e, e2;
	int tree = cl_doc_parse(&d, CL_DOC_JSON, "f", a, size, &l, &e), text;

	cl_scan_start(&s, "f", a, size, DEPTH);
	text = cl_scan_skip(&s, &e2) || cl_scan_end(&s, &e2) ? -1 : 0;
	/* Twice the same key, and numbers that no machine word holds, are for the caller. */
	if (tree)
		must(text || strstr(e.msg, "duplicate") || strstr(e.msg, "big") ||
			strstr(e.msg, "real") || !strchr("{[", a[strspn(a, " \t\r\n")]) ||
			strstr(e.msg, "holds more"));
	else
		must(!text);
	if (!tree) {
		cl_scan_start(&again, "f", b, size, DEPTH);
		same(&again, d.root);
		must(!cl_scan_end(&again, &e2));
	}
	return 0;
}
