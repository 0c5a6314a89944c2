/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"
#include "base/mem.h"
#include "base/doc.h"
#include "base/err_json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cl_take_json(json_t *j)
{
	cleanup_free char *s = cl_json_text(j);

	(void)puts(s);
	json_decref(j);
}

static void __attribute__((format(printf, 3, 0)))
talk(const struct cl_ctx *c, const char *prefix, const char *fmt, va_list ap)
{
	char text[2048];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	cl_mask(text, "\n");
	(void)fprintf(stderr, "%s: %s%s\n", c->spec->name, prefix, text);
}

void cl_say(const struct cl_ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	talk(c, "", fmt, ap);
	va_end(ap);
}

void cl_warn(const struct cl_ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	talk(c, "warning: ", fmt, ap);
	va_end(ap);
}

void cl_err_print(const char *who, bool json, const struct cl_err *e)
{
	if (json) {
		json_t *j = cl_err_json(e);
		cleanup_free char *s = cl_json_text(j);

		json_decref(j);
		(void)fprintf(stderr, "%s\n", s);
		return;
	}
	(void)fprintf(stderr, "%s: ", who);
	if (e->file[0] && e->line)
		(void)fprintf(stderr, "%s:%u:%u: ", e->file, e->line, e->column);
	(void)fprintf(stderr, "%s\n", e->msg);
	if (e->fix[0])
		(void)fprintf(stderr, "  fix: %s\n", e->fix);
}

int cl_read_fd(int fd, const char *name, size_t max, struct cl_buf *out, struct cl_err *e)
{
	size_t start = out->len;

	for (;;) {
		size_t room = max - (out->len - start) + 1;
		ssize_t n;

		if (room > 65536)
			room = 65536;
		n = read(fd, cl_buf_reserve(out, room), room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot read '%s'", name);
		if (!n)
			break;
		out->len += (size_t)n;
		if (out->len - start > max) {
			(void)cl_fail(e, CL_EDATA, "'%s' is larger than the %zu bytes allowed",
				name, max);
			(void)cl_fix(e, "make it smaller, or name another file");
			return cl_at(e, name, 0, 0);
		}
	}
	out->p[out->len] = '\0';
	return 0;
}

static int not_a_file(const char *path, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "'%s' is a directory", path);
	return cl_fix(e, "name a file, or '-' for standard input");
}

int cl_read_file(const char *path, size_t max, struct cl_buf *out, struct cl_err *e)
{
	cleanup_fd int fd = -1;
	struct stat st;

	if (!strcmp(path, "-"))
		return cl_read_fd(STDIN_FILENO, "standard input", max, out, e);
	/* O_NONBLOCK: opening a FIFO that nobody writes must not hang. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", path);
		return cl_fix(e, "name a file that exists, or '-' for standard input");
	}
	if (fd < 0)
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", path);
	if (fstat(fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", path);
	if (S_ISDIR(st.st_mode))
		return not_a_file(path, e);
	if (S_ISFIFO(st.st_mode))
		(void)fcntl(fd, F_SETFL, 0);
	return cl_read_fd(fd, path, max, out, e);
}

bool cl_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no && *no);
}

void cl_table_init(struct cl_table *t, size_t columns)
{
	*t = (struct cl_table){CL_STRV_INIT, columns};
}

void cl_table_add(struct cl_table *t, const char *cell)
{
	cl_strv_add(&t->cells, cell);
	/* Cells quote what others wrote: names, paths, labels. */
	cl_mask(t->cells.v[t->cells.n - 1], "");
}

/* Characters, not bytes: close enough to columns for names and numbers. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void cl_table_print(const struct cl_table *t, FILE *out)
{
	size_t *widest = cl_calloc(t->columns, sizeof(*widest)), gap = 0;

	for (size_t i = 0; i < t->cells.n; i++)
		if (width(t->cells.v[i]) > widest[i % t->columns])
			widest[i % t->columns] = width(t->cells.v[i]);
	/* The gap before a cell is only printed with it: no blanks at the end of a line. */
	for (size_t i = 0; i < t->cells.n; i++) {
		size_t col = i % t->columns, w = width(t->cells.v[i]);

		if (w) {
			(void)fprintf(out, "%*s%s", (int)gap, "", t->cells.v[i]);
			gap = 0;
		}
		gap += widest[col] - w + 2;
		if (col + 1 == t->columns) {
			(void)fputc('\n', out);
			gap = 0;
		}
	}
	free(widest);
}

void cl_table_release(struct cl_table *t)
{
	cl_strv_release(&t->cells);
}

/*
 * Asked once, by cl_main: in a chroot the link names a path that is not there as soon as the
 * process has a mount namespace of its own, for its executable stays on a mount of the old one.
 */
static char exe_dir[PATH_MAX];

void cl_find_exe(void)
{
	ssize_t n = readlink("/proc/self/exe", exe_dir, sizeof(exe_dir) - 1);
	char *slash;

	exe_dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe_dir, '/');
	if (slash)
		*slash = '\0';
}

char *cl_libexec_dir(void)
{
	if (!*exe_dir)
		cl_find_exe();
	return cl_strdup(*exe_dir ? exe_dir : ".");
}

char *cl_sibling(const char *name)
{
	cleanup_free char *dir = cl_libexec_dir();

	return cl_asprintf("%s/%s", dir, name);
}
