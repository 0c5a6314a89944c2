/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vectors as data: t/cases/AREA/NAME.tsv, one case a line, tabs between the fields, '#'
 * starts a comment line. `\t`, `\n`, `\r`, `\\` and `\xHH` stand for bytes in a field.
 */
#ifndef T_UNIT_TSV_H
#define T_UNIT_TSV_H

#include "unit.h"

#define TSV_FIELDS 8

struct tsv_row {
	char *field[TSV_FIELDS]; /* "" where the line has fewer */
	size_t len[TSV_FIELDS];  /* a field may hold NUL */
	int n;
	int line;
};

static inline int tsv_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Replaces the escapes of a field in place and returns how many bytes are left. */
static inline size_t tsv_unescape(char *s)
{
	char *out = s, *start = s;

	for (; *s; s++) {
		if (*s != '\\' || !s[1]) {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == 'x' && tsv_hex(s[1]) >= 0 && tsv_hex(s[2]) >= 0) {
			*out++ = (char)(tsv_hex(s[1]) * 16 + tsv_hex(s[2]));
			s += 2;
		} else {
			*out++ = (char)(*s == 't'   ? '\t'
					: *s == 'n' ? '\n'
					: *s == 'r' ? '\r'
						    : *s);
		}
	}
	*out = '\0';
	return (size_t)(out - start);
}

/* Calls fn for each row of T_CASES/name; a file that is missing or empty is a failure. */
static inline void tsv_each(const char *name, void (*fn)(const struct tsv_row *r))
{
	static char empty[1];
	char path[512], line[8192];
	int no = 0, rows = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", T_CASES, name);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		struct tsv_row r = {.line = ++no};
		char *save = line;

		line[strcspn(line, "\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		for (int i = 0; i < TSV_FIELDS; i++) {
			r.field[i] = save ? strsep(&save, "\t") : empty;
			r.n += r.field[i] != empty;
			r.len[i] = tsv_unescape(r.field[i]);
		}
		rows++;
		fn(&r);
	}
	if (f)
		(void)fclose(f);
	if (!rows)
		UNIT_FAIL("%s: no cases", path);
}

/* UNIT_FAIL with the file's line in front. */
#define TSV_FAIL(r, ...)                               \
	do {                                           \
		printf("# case line %d\n", (r)->line); \
		UNIT_FAIL(__VA_ARGS__);                \
	} while (0)

#endif
