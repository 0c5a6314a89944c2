/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cloop-confine-test: tries to get out of the sandbox that it runs in. Static, without the library, and with
 * nothing of the image: it can be put into any sandbox, cloop's or another tool's.
 *
 *   cloop-confine-test [--json] [--strict] [--list] [NAME...]
 *
 * NAME is a family ("mounts") or one attempt ("mounts.mount-proc"). TAP version 13, or one JSON object.
 * Status 0: every attempt failed; 1: one got out; 64: wrong command line; 71: it could not be run.
 */
#include "attempt.h"
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ABREAST 8 /* attempts at a time: most of them wait */
#define SECONDS 10

static const struct family families[] = {
	{"paths", attempts_paths},
	{"proc", attempts_proc},
	{"sys", attempts_sys},
	{"mounts", attempts_mounts},
	{"namespaces", attempts_namespaces},
	{"devices", attempts_devices},
	{"processes", attempts_processes},
	{"kernel", attempts_kernel},
	{"rights", attempts_rights},
	{"sockets", attempts_sockets},
	{"egress", attempts_egress},
	{"services", attempts_services},
	{"later", attempts_later},
};

static struct tried all[MAX_ATTEMPTS];
static size_t n_all;

static bool wanted(const char *family, const char *name, char **names)
{
	char full[96];

	if (!*names)
		return true;
	(void)snprintf(full, sizeof(full), "%s.%s", family, name);
	for (; *names; names++)
		if (!strcmp(*names, family) || !strcmp(*names, full))
			return true;
	return false;
}

static void gather(char **names)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (const struct attempt *a = families[i].attempts; a->name; a++)
			if (wanted(families[i].name, a->name, names) && n_all < MAX_ATTEMPTS)
				all[n_all++] = (struct tried){families[i].name, a, NULL, 0};
}

/* The first name of nothing, or NULL: what was asked for and not tried must not look held. */
static const char *unknown(char **names)
{
	for (; *names; names++) {
		char *one[] = {*names, NULL};
		bool found = false;

		for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
			for (const struct attempt *a = families[i].attempts; a->name; a++)
				found = found || wanted(families[i].name, a->name, one);
		if (!found)
			return *names;
	}
	return NULL;
}

/* What a child that ended before its attempt knew says: somebody stopped it. */
static void settle(struct tried *t, int status)
{
	struct result *r = t->result;

	if (r->outcome == PENDING && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		held(r, "no answer");
	else if (r->outcome == PENDING && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		held(r, "a filter ends who tries");
	else if (r->outcome == PENDING)
		held(r, "who tries is ended");
	/* Another kernel than the host's answered. */
	if (r->outcome == REACHED && t->attempt->flags & SURFACE && sentry_kernel())
		held(r, "gVisor's Sentry answers it, not the host");
}

static void child(struct tried *t)
{
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(SECONDS);
	t->attempt->try(t->result, t->attempt);
	_exit(0);
}

static struct tried *of_pid(pid_t pid)
{
	for (size_t i = 0; i < n_all; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

/* Waits for one of them; false when there is none. */
static bool reap(void)
{
	int status;
	pid_t pid;
	struct tried *t;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return false;
	t = of_pid(pid);
	if (t) {
		t->pid = 0;
		settle(t, status);
	}
	return true;
}

static int run_all(void)
{
	size_t running = 0;
	struct result *results = mmap(NULL, (n_all + 1) * sizeof(*results), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (results == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < n_all; i++) {
		pid_t pid;

		all[i].result = &results[i];
		while (running >= ABREAST && reap())
			running--;
		while ((pid = fork()) < 0 && running && reap())
			running--;
		if (pid < 0)
			return -1;
		if (!pid)
			child(&all[i]);
		all[i].pid = pid;
		running++;
	}
	while (reap())
		;
	return 0;
}

int main(int argc, char **argv)
{
	bool json = false, strict = false, list = false;
	int i;

	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--strict"))
			strict = true;
		else if (!strcmp(argv[i], "--list"))
			list = true;
		else
			return report_usage(argv[i]);
	}
	if (unknown(argv + i))
		return report_usage(unknown(argv + i));
	gather(argv + i);
	if (list)
		return report_list(all, n_all, json);
	(void)signal(SIGPIPE, SIG_IGN);
	if (run_all()) {
		(void)fprintf(
			stderr, "cloop-confine-test: cannot make a process: %s\n", strerror(errno));
		return 71;
	}
	return json ? report_json(all, n_all, strict) : report_tap(all, n_all, strict);
}
