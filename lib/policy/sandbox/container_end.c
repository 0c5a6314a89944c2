/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an exit status means, and what an engine's complaint means. */
#include "policy/sandbox/container.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *ct_state_name(enum ct_state s)
{
	switch (s) {
	case CT_EXITED:
		return "exited";
	case CT_FAILED:
		return "failed";
	case CT_KILLED:
		break;
	}
	return "killed";
}

/* facts/executors.md 6.10; the first row that holds the code wins. */
static const struct {
	int from, to;
	enum ct_state state;
	const char *meaning;
} ends[] = {
	{-1, -1, CT_FAILED, "vanished: nobody saw its end"},
	{0, 0, CT_EXITED, ""},
	{125, 125, CT_FAILED, "the engine could not run it"},
	{126, 126, CT_FAILED, "the command is not executable"},
	{127, 127, CT_FAILED, "the command was not found in the image"},
	{137, 137, CT_KILLED, "SIGKILL: a timeout, a stop or the memory limit"},
	{143, 143, CT_KILLED, "SIGTERM"},
	{129, 164, CT_KILLED, "a signal"},
};

struct ct_end ct_exit(int code, bool oom)
{
	struct ct_end end = {.state = CT_EXITED, .code = code, .oom = oom, .meaning = ""};

	if (oom) {
		end.state = CT_KILLED;
		end.signal = code > 128 ? code - 128 : 0;
		end.meaning = "the memory limit";
		return end;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(ends); i++) {
		if (code < ends[i].from || code > ends[i].to)
			continue;
		end.state = ends[i].state;
		end.meaning = ends[i].meaning;
		if (end.state == CT_KILLED)
			end.signal = code - 128;
		break;
	}
	return end;
}

/*
 * Words of podman 4 and 5, docker 20 to 28 and runc, crun and runsc beneath them; the
 * first row with a match wins, so the narrow ones stand first. Lower case.
 */
static const struct {
	const char *text, *and;
	enum ct_trouble kind;
} words[] = {
	{"is already in use", NULL, CT_NAME_TAKEN},
	{"image not known", NULL, CT_NO_IMAGE},
	{"no such image", NULL, CT_NO_IMAGE},
	{"unable to find image", NULL, CT_NO_IMAGE},
	{"permission denied", "connect to the docker daemon", CT_PERMISSION},
	{"cannot connect to the docker daemon", NULL, CT_NO_DAEMON},
	{"is the docker daemon running", NULL, CT_NO_DAEMON},
	{"cannot connect to podman", NULL, CT_NO_DAEMON},
	{"connection refused", NULL, CT_NO_DAEMON},
	{"setting rlimit", NULL, CT_RLIMIT},
	{"setrlimit", NULL, CT_RLIMIT},
	{"network namespace path", NULL, CT_NO_NETWORK},
	{"network ", "not found", CT_NO_NETWORK},
	{"no container with name or id", NULL, CT_NO_CONTAINER},
	{"no such container", NULL, CT_NO_CONTAINER},
	{"container not known", NULL, CT_NO_CONTAINER},
	{"can only kill running", NULL, CT_NO_CONTAINER},
	{"is not running", NULL, CT_NO_CONTAINER},
	{"container state improper", NULL, CT_NO_CONTAINER},
	{"oci runtime \"", "not found", CT_NO_RUNTIME},
	{"unknown or invalid runtime name", NULL, CT_NO_RUNTIME},
	{"unknown runtime specified", NULL, CT_NO_RUNTIME},
	{"command that was not found", NULL, CT_NO_COMMAND},
	{"executable file not found", NULL, CT_NO_COMMAND},
	{"exec: \"", "no such file or directory", CT_NO_COMMAND},
	{"exec: \"", "permission denied", CT_NO_COMMAND},
	{"memory limit", NULL, CT_CGROUP},
	{"range of cpus", NULL, CT_CGROUP},
	{"cpus are not available", NULL, CT_CGROUP},
	{"cgroups in hybrid mode", NULL, CT_CGROUP_MIX},
	{"cgroup", NULL, CT_CGROUP},
	{"permission denied", NULL, CT_PERMISSION},
	{"operation not permitted", NULL, CT_PERMISSION},
};

enum ct_trouble ct_trouble_of(const char *stderr_text)
{
	cleanup_free char *low = cl_strdup(stderr_text);

	cl_lower(low);
	for (size_t i = 0; i < CL_ARRAY_LEN(words); i++)
		if (strstr(low, words[i].text) && (!words[i].and || strstr(low, words[i].and)))
			return words[i].kind;
	return CT_OTHER;
}

/* The first line that says something, without the engine's own "Error:" in front. */
static char *first_line(const char *text)
{
	static const char *const before[] = {
		"Error response from daemon: ", "Error: ", "docker: ", "error: "};
	size_t len;
	char *line;

	text += strspn(text, " \t\r\n");
	for (size_t i = 0; i < CL_ARRAY_LEN(before) * 2; i++)
		if (cl_starts(text, before[i % CL_ARRAY_LEN(before)]))
			text += strlen(before[i % CL_ARRAY_LEN(before)]);
	len = strcspn(text, "\r\n");
	line = cl_strndup(text, cl_utf8_cut(text, len, 400));
	if (!*line) {
		free(line);
		return cl_strdup("(no message)");
	}
	for (char *p = line; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return line;
}

/* What is looked up on this machine alone cannot be pulled from anywhere. */
static int no_image(const char *name, const char *image, struct cl_err *e)
{
	if (!image)
		return cl_fix(e, "nothing is pulled at start: pull the image with %s", name);
	if (cl_starts(image, "localhost/"))
		return cl_fix(e,
			"localhost/ is made on this machine: %s build -t %s DIR, or %s tag IMAGE "
			"%s",
			name, image, name, image);
	return cl_fix(e, "nothing is pulled at start: %s pull %s", name, image);
}

static int fix_for(enum ct_trouble kind, enum ct_engine engine, const char *image, struct cl_err *e)
{
	const char *name = ct_engine_name(engine);

	switch (kind) {
	case CT_NO_IMAGE:
		return no_image(name, image, e);
	case CT_PERMISSION:
		return cl_fix(
			e, engine == CT_DOCKER
				   ? "run as root, or join the group that owns docker's socket"
				   : "run as root; check that the paths can be read and that no "
				     "security "
				     "module refuses");
	case CT_NO_DAEMON:
		return cl_fix(e, engine == CT_DOCKER ? "start it: systemctl start docker"
						     : "start it: systemctl start podman.socket");
	case CT_NAME_TAKEN:
		return cl_fix(e, "a workload of that name was left behind: cloop sweep");
	case CT_CGROUP:
		return cl_fix(e, "raise the limit that was named, or let the engine use cgroups");
	case CT_CGROUP_MIX:
		return cl_fix(e,
			"set oci_runtime: runc for this executor, or boot with one version of "
			"cgroups (systemd.unified_cgroup_hierarchy=1)");
	case CT_NO_RUNTIME:
		return cl_fix(e, engine == CT_DOCKER
					 ? "register the runtime in /etc/docker/daemon.json"
					 : "register the runtime under [engine.runtimes] in "
					   "containers.conf");
	case CT_NO_COMMAND:
		return cl_fix(e, "name a program that the image has");
	case CT_NO_NETWORK:
		return cl_fix(e, "make it with %s network create, or set another network", name);
	case CT_RLIMIT:
		return cl_fix(
			e, "default_ulimits of the engine are above this machine's hard limits");
	case CT_NO_CONTAINER:
		return cl_fix(e, "it is gone already: 'cloop sweep' settles what it left");
	case CT_OTHER:
		break;
	}
	return cl_fix(
		e, "look at what '%s info' says, and try what %s was to do by hand", name, name);
}

enum ct_trouble ct_classify(enum ct_engine engine, const char *what, int status,
	const char *stderr_text, const char *image, struct cl_err *e)
{
	static const enum cl_code codes[] = {[CT_OTHER] = CL_EUNAVAIL,
		[CT_NO_IMAGE] = CL_EUNAVAIL,
		[CT_PERMISSION] = CL_EDENIED,
		[CT_NO_DAEMON] = CL_EUNAVAIL,
		[CT_NAME_TAKEN] = CL_EBUSY,
		[CT_CGROUP] = CL_EUNAVAIL,
		[CT_CGROUP_MIX] = CL_EUNAVAIL,
		[CT_NO_RUNTIME] = CL_ECONFIG,
		[CT_NO_COMMAND] = CL_ENOTFOUND,
		[CT_NO_CONTAINER] = CL_ENOTFOUND,
		[CT_NO_NETWORK] = CL_ECONFIG,
		[CT_RLIMIT] = CL_EUNAVAIL};
	enum ct_trouble kind = ct_trouble_of(stderr_text);
	cleanup_free char *line = first_line(stderr_text);

	if (kind == CT_NO_IMAGE && image)
		(void)cl_fail(e, codes[kind], "cannot %s: image '%s' is not in %s's local store",
			what, image, ct_engine_name(engine));
	else
		(void)cl_fail(e, codes[kind], "cannot %s: %s says (status %d): %s", what,
			ct_engine_name(engine), status, line);
	(void)fix_for(kind, engine, image, e);
	return kind;
}
