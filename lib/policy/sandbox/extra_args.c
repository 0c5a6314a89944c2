/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/sandbox/extra_args.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

const char *const px_extra_args[] = {"--annotation", "--blkio-weight", "--cpu-shares",
	"--cpuset-cpus", "--cpuset-mems", "--dns-option", "--dns-search", "--domainname",
	"--hostname", "--memory-reservation", "--oom-score-adj", "--shm-size", "--stop-signal",
	"--stop-timeout", "--tz", "--ulimit", NULL};

static size_t count(void)
{
	size_t n = 0;

	while (px_extra_args[n])
		n++;
	return n;
}

static int not_allowed(const char *name, struct cl_err *e)
{
	const char *near = cl_nearest(name, px_extra_args, count());
	cleanup_free char *all = cl_join(px_extra_args, count(), " ");

	(void)cl_fail(
		e, CL_EDATA, "the engine flag '%s' is not one that a sandbox may be given", name);
	if (near && strcmp(near, name) != 0)
		return cl_fix(e, "did you mean '%s'? Allowed are: %s", near, all);
	return cl_fix(e, "allowed are: %s", all);
}

/*
 * Annotations that steer a runtime or the engine (crun(1), podman-run(1), Kata): a
 * flag by another name.
 */
static const char *const steering[] = {"run.oci.", "io.podman.", "io.katacontainers.",
	"io.kubernetes.", "io.container.", "org.systemd.", "org.criu.", "dev.gvisor.", "module."};

static bool steers(const char *annotation)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(steering); i++)
		if (cl_starts(annotation, steering[i]))
			return true;
	return false;
}

/*
 * podman reads the value as a record of CSV (RFC 4180), each field of which is an annotation: one
 * may begin behind every comma and every quote.
 */
static int check_annotation(const char *arg, struct cl_err *e)
{
	const char *value = strchr(arg, '=') + 1;

	if (!cl_starts(arg, "--annotation="))
		return 0;
	for (const char *p = value; *p; p++) {
		if ((p > value && p[-1] != ',' && p[-1] != '"') || !steers(p))
			continue;
		(void)cl_fail(e, CL_EDATA, "the annotation '%s' steers the runtime", p);
		return cl_fix(e, "leave it out: annotations may only describe");
	}
	return 0;
}

int px_extra_arg_check(const char *arg, struct cl_err *e)
{
	size_t len = strcspn(arg, "=");
	cleanup_free char *name = cl_strndup(arg, len);
	bool known = false;

	for (const char *p = arg; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			(void)cl_fail(
				e, CL_EDATA, "the engine flag '%s' has a control character", arg);
			return cl_fix(e, "write it on one line, without tabs");
		}
	for (size_t i = 0; px_extra_args[i]; i++)
		known = known || !strcmp(px_extra_args[i], name);
	/* Looked up exactly, so "-v/etc:/x", "-dit" and " --net=host" are all just unknown. */
	if (!known)
		return not_allowed(name, e);
	if (arg[len] != '=' || !arg[len + 1]) {
		(void)cl_fail(e, CL_EDATA, "the engine flag '%s' has no value", name);
		return cl_fix(e, "write it as one entry: \"%s=VALUE\"", name);
	}
	return check_annotation(arg, e);
}

int px_extra_args_check(const struct cl_strv *args, struct cl_err *e)
{
	if (args->n > PX_EXTRA_ARGS_MAX) {
		(void)cl_fail(e, CL_EDATA, "%zu engine flags are more than the %d allowed", args->n,
			PX_EXTRA_ARGS_MAX);
		return cl_fix(e, "take some out of extra_args");
	}
	for (size_t i = 0; i < args->n; i++)
		if (px_extra_arg_check(args->v[i], e))
			return cl_wrap(e, "entry %zu", i + 1);
	return 0;
}
