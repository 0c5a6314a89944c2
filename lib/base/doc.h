/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A parsed document: JSON (RFC 8259) or YAML (1.2 core schema, DECISIONS S1) becomes
 * one jansson tree, and a place in the text can be named for every value, so that an
 * error says file, line and column. Duplicate keys, NUL bytes and text that is not
 * UTF-8 are refused in both; YAML anchors, aliases, tags, merge keys, non-scalar keys
 * and further documents too.
 */
#ifndef CL_BASE_DOC_H
#define CL_BASE_DOC_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cl_doc_kind { CL_DOC_JSON, CL_DOC_YAML };

/* Caps of one parse; 0 takes the default in brackets. */
struct cl_doc_limits {
	size_t max_bytes; /* [1 MiB] */
	unsigned depth;   /* [32] nesting of mappings and lists */
	size_t nodes;     /* [65536] values in all */
};

struct cl_doc_pos; /* where one value stands; internal */

struct cl_doc {
	enum cl_doc_kind kind;
	char *name;   /* file name for messages */
	json_t *root; /* NULL: an empty YAML document */
	char *text;   /* a copy, NUL-terminated, for excerpts */
	size_t len;
	struct cl_doc_pos *pos;
	size_t npos, pos_cap;
	bool sorted; /* pos is */
};
#define CL_DOC_INIT ((struct cl_doc){0})

void cl_doc_release(struct cl_doc *d);
#define cleanup_doc __attribute__((cleanup(cl_doc_release)))

/* Releases a document that held a secret: its text and its strings are wiped first. */
void cl_doc_release_secret(struct cl_doc *d);
#define cleanup_secret_doc __attribute__((cleanup(cl_doc_release_secret)))
/* Wipes every string value of a tree, in place; for one that nobody else holds. */
void cl_json_wipe(json_t *j);

/*
 * Parses text[0..len). `name` is the file for messages ("-" for standard input).
 * CL_EDATA with file, line and column set. *d must be CL_DOC_INIT; release it
 * whatever is returned.
 */
int cl_doc_parse(struct cl_doc *d, enum cl_doc_kind kind, const char *name, const char *text,
	size_t len, const struct cl_doc_limits *limits, struct cl_err *e);

/*
 * Where obj[key] or arr[index] stands. `at_key` asks for the key itself. Lines and
 * columns start at 1 and count characters; 0 when the place is not known.
 */
void cl_doc_where(struct cl_doc *d, const json_t *parent, const char *key, size_t index,
	bool at_key, unsigned *line, unsigned *column);

/*
 * Fails with `code` at obj[key] (or at arr[index] when key is NULL); the message is
 * "<fmt>". Returns -1.
 */
int cl_doc_fail(struct cl_doc *d, const json_t *parent, const char *key, size_t index,
	enum cl_code code, struct cl_err *e, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/*
 * Refuses a key of obj that is not in known[0..n): CL_EDATA at the key, with the
 * nearest known key in the remediation. `where` names the mapping in the message
 * ("resources"), "" for the top level. A NULL obj passes; one that is no mapping is
 * CL_EDATA.
 */
int cl_doc_closed(struct cl_doc *d, json_t *obj, const char *where, const char *const *known,
	size_t n, struct cl_err *e);

/*
 * Typed reading of obj[key]. An absent key or a null leaves *out as it is and
 * returns 0. Another type is CL_EDATA at the value: a YAML scalar is read as the
 * type the caller declares (an unquoted 512 is the string "512"; a quoted one is no
 * number; yes and no are no booleans). Strings and lists stay owned by the document.
 */
int cl_doc_bool(struct cl_doc *d, const json_t *obj, const char *key, bool *out, struct cl_err *e);
int cl_doc_int(struct cl_doc *d, const json_t *obj, const char *key, int64_t min, int64_t max,
	int64_t *out, struct cl_err *e);
int cl_doc_double(
	struct cl_doc *d, const json_t *obj, const char *key, double *out, struct cl_err *e);
int cl_doc_str(
	struct cl_doc *d, const json_t *obj, const char *key, const char **out, struct cl_err *e);
int cl_doc_map(
	struct cl_doc *d, const json_t *obj, const char *key, json_t **out, struct cl_err *e);
int cl_doc_list(
	struct cl_doc *d, const json_t *obj, const char *key, json_t **out, struct cl_err *e);
/* The same for the index-th value of a list. */
int cl_doc_str_at(
	struct cl_doc *d, const json_t *arr, size_t index, const char **out, struct cl_err *e);
int cl_doc_int_at(struct cl_doc *d, const json_t *arr, size_t index, int64_t min, int64_t max,
	int64_t *out, struct cl_err *e);
/* A list of strings at obj[key], added to *out. More than max (0: any) is CL_EDATA. */
int cl_doc_strv(struct cl_doc *d, const json_t *obj, const char *key, size_t max,
	struct cl_strv *out, struct cl_err *e);
/* True when obj has the key with a value that is not null. */
bool cl_doc_has(const json_t *obj, const char *key);

/* Line `line` of the text without its end, for an excerpt: *out[0..*len). False: none. */
bool cl_doc_line(const struct cl_doc *d, unsigned line, const char **out, size_t *len);

/*
 * A JSON string of any text, owned: bytes that are not UTF-8, which jansson refuses, become
 * U+FFFD. For names that came from a file system or another process.
 */
json_t *cl_json_string(const char *s);

/*
 * Makes jansson abort when memory runs out, as all else here does: what it could not build
 * would else be missing without a word. Once, first thing in a main.
 */
void cl_json_init(void);

/*
 * JSON text of a tree: one line, keys sorted, numbers as short as they read back; owned.
 * Aborts when memory runs out or j is NULL.
 */
char *cl_json_text(const json_t *j);

#endif
