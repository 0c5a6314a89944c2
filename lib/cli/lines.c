/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/lines.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE 65536

/* The bytes that were read and not yet given; `skip`: up to the next end, for they are too many. */
struct reader {
	const struct cl_lines *l;
	char *buf;
	size_t have;
	bool skip;
};

static int give(struct reader *r, char *text, size_t len, struct cl_err *e)
{
	bool skip = r->skip;

	r->skip = false;
	if (skip)
		return 0;
	if (len > CL_LINE_MAX)
		len = CL_LINE_MAX + 1;
	text[len] = '\0';
	return r->l->line(r->l->arg, text, len, e);
}

static int give_lines(struct reader *r, struct cl_err *e)
{
	char *at = r->buf, *end = r->buf + r->have, *nl;

	while ((nl = memchr(at, '\n', (size_t)(end - at)))) {
		if (give(r, at, (size_t)(nl - at), e))
			return -1;
		at = nl + 1;
	}
	r->have = (size_t)(end - at);
	memmove(r->buf, at, r->have);
	if (r->have <= CL_LINE_MAX)
		return 0;
	/* Enough to see that it is too long. */
	if (give(r, r->buf, r->have, e))
		return -1;
	r->skip = true;
	r->have = 0;
	return 0;
}

int cl_each_line(int fd, const struct cl_lines *l, struct cl_err *e)
{
	cleanup_free char *buf = cl_malloc(READ_SIZE + 1);
	struct reader r = {l, buf, 0, false};

	for (;;) {
		ssize_t n = read(fd, buf + r.have, READ_SIZE - r.have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", l->name);
		if (!n)
			break;
		r.have += (size_t)n;
		if (give_lines(&r, e) || l->wait(l->arg, e))
			return -1;
	}
	if (r.have && give(&r, buf, r.have, e))
		return -1;
	return l->wait(l->arg, e);
}

int cl_open_lines(const char *path, struct cl_err *e)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", path) : fd;
}
