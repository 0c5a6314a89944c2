/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* One line from the terminal, not shown. */
static int ask(int tty, const char *prompt, struct seal_buf *out, struct cl_err *e)
{
	struct termios was, quiet;
	char c;

	if (seal_buf_make(out, SEAL_ROOT_MAX, e))
		return -1;
	if (tcgetattr(tty, &was))
		return cl_fail_sys(e, CL_EOS, errno, "cannot ask on the terminal");
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	(void)tcsetattr(tty, TCSAFLUSH, &quiet);
	(void)dprintf(tty, "%s: ", prompt);
	while (out->len < out->cap && read(tty, &c, 1) == 1 && c != '\n')
		out->p[out->len++] = (unsigned char)c;
	(void)tcsetattr(tty, TCSAFLUSH, &was);
	(void)dprintf(tty, "\n");
	return 0;
}

static int ask_twice(int tty, bool twice, struct seal_buf *out, struct cl_err *e)
{
	cleanup_seal struct seal_buf again = SEAL_BUF_INIT;

	if (ask(tty, "Passphrase", out, e) || (twice && ask(tty, "Once more", &again, e)))
		return -1;
	if (twice && (again.len != out->len || !seal_same(again.p, out->p, out->len)))
		return cl_fail(e, CL_EDATA, "the two passphrases differ");
	return 0;
}

int key_passphrase(struct cl_ctx *c, bool twice, struct seal_buf *out, struct cl_err *e)
{
	const char *file = cl_str_or(c, "passphrase-file", "-");
	cleanup_fd int tty = -1;

	if (!strcmp(file, "-") && isatty(STDIN_FILENO))
		tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (tty >= 0 ? ask_twice(tty, twice, out, e) : seal_read_file(file, SEAL_ROOT_MAX, out, e))
		return -1;
	if (out->len && out->p[out->len - 1] == '\n')
		out->p[--out->len] = '\0';
	if (out->len && out->p[out->len - 1] == '\r')
		out->p[--out->len] = '\0';
	if (!out->len) {
		(void)cl_fail(e, CL_EDATA, "the passphrase is empty");
		return cl_fix(e, "give it on standard input or with --passphrase-file FILE");
	}
	return 0;
}
