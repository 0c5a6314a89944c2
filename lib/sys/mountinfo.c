/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/mountinfo.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Undoes the kernel's mangle_path: a backslash and three octal digits are one byte. */
static void decode(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && octal(s[2]) && octal(s[3]) &&
			(s[1] != '0' || s[2] != '0' || s[3] != '0')) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Cuts the next word off *p; NULL at the end. Empty words exist: a source may be "". */
static char *next_word(char **p)
{
	char *word = *p;

	if (!word)
		return NULL;
	*p = strchr(word, ' ');
	if (*p)
		*(*p)++ = '\0';
	return word;
}

static bool number(const char *text, uint64_t max, uint64_t *out)
{
	struct cl_err ignored;

	return text && !cl_parse_u64(text, 0, max, "field", out, &ignored);
}

static bool device(char *text, struct mountinfo_line *m)
{
	char *colon = text ? strchr(text, ':') : NULL;
	uint64_t major, minor;

	if (!colon)
		return false;
	*colon = '\0';
	if (!number(text, UINT32_MAX, &major) || !number(colon + 1, UINT32_MAX, &minor))
		return false;
	m->major = (unsigned)major;
	m->minor = (unsigned)minor;
	return true;
}

static char *decoded(const char *word)
{
	char *copy = cl_strdup(word);

	decode(copy);
	return copy;
}

/* id parent major:minor root point options [optional...] - type source super_options */
static bool parse_line(char *line, struct mountinfo_line *m)
{
	bool ok = number(next_word(&line), UINT64_MAX, &m->id) &&
		  number(next_word(&line), UINT64_MAX, &m->parent) && device(next_word(&line), m);
	const char *root = next_word(&line), *point = next_word(&line), *word;
	const char *type, *source;

	(void)next_word(&line);
	do
		word = next_word(&line);
	while (word && strcmp(word, "-"));
	type = next_word(&line);
	source = next_word(&line);
	if (!ok || !source || *point != '/')
		return false;
	m->root = decoded(root);
	m->point = decoded(point);
	m->type = decoded(type);
	m->source = decoded(source);
	m->super_options = cl_strdup(line ? line : "");
	return true;
}

int mountinfo_parse(const char *text, size_t len, struct mountinfo *out, struct cl_err *e)
{
	unsigned number_of_line = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		cleanup_free char *line = cl_strndup(text, n);
		struct mountinfo_line m = {0};

		number_of_line++;
		if (memchr(line, '\0', n) || !parse_line(line, &m)) {
			(void)cl_fail(e, CL_EDATA, "the mount table has a line of another form");
			return cl_at(e, "mountinfo", number_of_line, 0);
		}
		out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
		out->v[out->n++] = m;
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	return 0;
}

int mountinfo_read(struct mountinfo *out, struct cl_err *e)
{
	static const char path[] = "/proc/self/mountinfo";
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 || (n < 0 && fd >= 0 && errno == EINTR)) {
		char *at = cl_buf_reserve(&text, 65536);

		n = read(fd, at, 65536);
		if (n > 0)
			text.len += (size_t)n;
	}
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", path);
	return mountinfo_parse(text.p, text.len, out, e);
}

void mountinfo_release(struct mountinfo *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].root);
		free(m->v[i].point);
		free(m->v[i].type);
		free(m->v[i].source);
		free(m->v[i].super_options);
	}
	free(m->v);
	*m = MOUNTINFO_INIT;
}

void mountinfo_below(const struct mountinfo *m, const char *path, struct cl_strv *points)
{
	size_t len = strcmp(path, "/") ? strlen(path) : 0;

	for (size_t i = 0; i < m->n; i++) {
		const char *p = m->v[i].point;

		if (!strncmp(p, path, len) && p[len] == '/' && p[len + 1])
			cl_strv_add(points, p);
	}
	cl_strv_sort(points);
}

const struct mountinfo_line *mountinfo_at(const struct mountinfo *m, const char *point)
{
	const struct mountinfo_line *top = NULL;

	/* Whatever the order of the lines: what covers a mount has it as parent. At most n
	 * steps, as a broken table could go round in circles. */
	for (size_t step = 0; step < m->n; step++) {
		const struct mountinfo_line *next = NULL;

		for (size_t i = 0; i < m->n; i++)
			if (!strcmp(m->v[i].point, point) && (!top || m->v[i].parent == top->id) &&
				&m->v[i] != top)
				next = &m->v[i];
		if (!next)
			break;
		top = next;
	}
	return top;
}
