/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What only the kernel that serves this process can answer, as one line of JSON: the evidence
 * that cloop-probe(1) judges. It is bound read-only into any sandbox and run there alone, so it is
 * static, without the library, with old system calls only, and takes nothing from the image: no
 * environment, no file but those of procfs and sysfs, and those only where the file system under
 * the name is really that one.
 *
 *   cloop-isolation-probe [--nonce HEX]
 *
 * Each fact is read in a child, which a seccomp filter, a limit or a hanging file system may end:
 * the next child goes on behind the fact that ended it. Where no child can be made, the facts are
 * read by this process. A fact that could not be read is null, and `unread` says why.
 */
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FACT_SECONDS 5

static struct evidence local;

/* The fact at ev->at ended its reader. */
static void note_end(struct evidence *ev, int status)
{
	enum fact f = (enum fact)ev->at;

	if (f >= NFACTS)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		unread(ev, f, "no answer within 5 seconds");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		unread(ev, f, "a seccomp filter ends who asks");
	else
		unread(ev, f, "the reader was ended");
	ev->at++;
}

static void read_on(struct evidence *ev)
{
	for (; ev->at < NFACTS; ev->at++)
		read_fact(ev, (enum fact)ev->at);
}

/* True when a child has read on; it may have been ended half-way. */
static bool in_child(struct evidence *ev)
{
	pid_t pid = fork(), got;
	int status = 0;

	if (pid < 0)
		return false;
	if (!pid) {
		(void)alarm(FACT_SECONDS);
		read_on(ev);
		_exit(0);
	}
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	note_end(ev, status);
	return true;
}

static struct evidence *gather(void)
{
	struct evidence *ev =
		mmap(NULL, sizeof(*ev), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGCHLD, SIG_DFL);
	if (ev == MAP_FAILED) {
		read_on(&local);
		return &local;
	}
	while (ev->at < NFACTS && in_child(ev))
		;
	read_on(ev);
	return ev;
}

/* At most 64 hex digits, which come back in the answer: it is of this run. */
static bool nonce_ok(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return n && n <= 64 && !s[n];
}

int main(int argc, char **argv)
{
	static struct text out;
	const char *nonce = "";

	if (argc == 3 && !strcmp(argv[1], "--nonce") && nonce_ok(argv[2]))
		nonce = argv[2];
	else if (argc > 1)
		return say_usage(argv[1]);
	write_evidence(gather(), nonce, &out);
	for (size_t at = 0; at < out.len;) {
		ssize_t n = write(1, out.p + at, out.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 71;
		at += (size_t)n;
	}
	return 0;
}
