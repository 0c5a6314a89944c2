/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: ct-argv print|exec [KEY=VALUE...] -- COMMAND [ARG...]
 * A request for a sandbox by hand: prints the engine's argv, a line an argument, or becomes
 * the engine. Keys are members of struct ct_request; mount=SOURCE:TARGET[:ro], label=K=V,
 * env=K=V, extra=--FLAG=VALUE, cap=NAME and init=WORD may be given again.
 */
#include "policy/sandbox/container.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 16
static struct ct_request r = {.mode = CT_ATTACHED, .uid = 1000, .gid = 1000};
static struct ct_mount mounts[MANY];
static struct ct_label labels[MANY];
static const char *env[MANY], *extra[MANY], *init[MANY], *caps[MANY + 1];
static size_t ncaps;

static const struct {
	const char *key;
	const char **text;
} texts[] = {{"name", &r.name}, {"oci_runtime", &r.oci_runtime}, {"cidfile", &r.cidfile},
	{"pidfile", &r.pidfile}, {"conmon_pidfile", &r.conmon_pidfile},
	{"cgroup_parent", &r.cgroup_parent}, {"seccomp", &r.seccomp}, {"network", &r.network},
	{"hostname", &r.hostname}, {"workspace", &r.workspace},
	{"workspace_label", &r.workspace_label}, {"tmp_dir", &r.tmp_dir}, {"init_dir", &r.init_dir},
	{"alone", &r.alone}, {"image", &r.image}};

static const struct {
	const char *key;
	int64_t *number;
} numbers[] = {{"cpu_milli", &r.cpu_milli}, {"memory_mb", &r.memory_mb},
	{"memory_slack_mb", &r.memory_slack_mb}, {"pids", &r.pids}, {"timeout_s", &r.timeout_s}};

static void mount(char *v)
{
	struct ct_mount *m = &mounts[r.nmounts++ % MANY];
	char *save = NULL, *mode;

	m->source = strtok_r(v, ":", &save);
	m->target = strtok_r(NULL, ":", &save);
	mode = strtok_r(NULL, ":", &save);
	m->read_only = mode && !strcmp(mode, "ro");
}

static void label(char *v)
{
	char *eq = strchr(v, '=');

	if (!eq)
		return;
	*eq = '\0';
	labels[r.nlabels++ % MANY] = (struct ct_label){v, eq + 1};
}

/* Members that are neither text nor a 64-bit number. */
static int other(const char *key, char *v)
{
	if (!strcmp(key, "engine"))
		r.engine = strcmp(v, "docker") ? CT_PODMAN : CT_DOCKER;
	else if (!strcmp(key, "mode"))
		r.mode = strcmp(v, "detached") ? CT_ATTACHED : CT_DETACHED;
	else if (!strcmp(key, "net"))
		r.net = !strcmp(v, "ns") ? CT_NET_NAMESPACE : CT_NET_NAMED;
	else if (!strcmp(key, "uid"))
		r.uid = (uint32_t)strtoul(v, NULL, 10);
	else if (!strcmp(key, "gid"))
		r.gid = (uint32_t)strtoul(v, NULL, 10);
	else if (!strcmp(key, "preserve_fds"))
		r.preserve_fds = (unsigned)strtoul(v, NULL, 10);
	else if (!strcmp(key, "hard_nofile"))
		r.hard_nofile = strtoull(v, NULL, 10);
	else if (!strcmp(key, "hard_nproc"))
		r.hard_nproc = strtoull(v, NULL, 10);
	else if (!strcmp(key, "allow_root"))
		r.allow_root = *v == '1';
	else if (!strcmp(key, "writable_root"))
		r.writable_root = *v == '1';
	else if (!strcmp(key, "own_names"))
		r.own_names = *v == '1';
	else if (!strcmp(key, "rootless"))
		r.rootless = *v == '1';
	else if (!strcmp(key, "mount"))
		mount(v);
	else if (!strcmp(key, "label"))
		label(v);
	else if (!strcmp(key, "env"))
		env[r.nenv++ % MANY] = v;
	else if (!strcmp(key, "extra"))
		extra[r.nextra++ % MANY] = v;
	else if (!strcmp(key, "init"))
		init[r.ninit_args++ % MANY] = v;
	else if (!strcmp(key, "cap"))
		caps[ncaps++ % MANY] = v;
	else
		return -1;
	return 0;
}

static int set(char *word)
{
	char *v = strchr(word, '=');
	struct cl_err e;

	if (!v)
		return -1;
	*v++ = '\0';
	for (size_t i = 0; i < CL_ARRAY_LEN(texts); i++)
		if (!strcmp(texts[i].key, word)) {
			*texts[i].text = v;
			return 0;
		}
	for (size_t i = 0; i < CL_ARRAY_LEN(numbers); i++)
		if (!strcmp(numbers[i].key, word))
			return cl_parse_i64(v, INT64_MIN, INT64_MAX, word, numbers[i].number, &e);
	return other(word, v);
}

int main(int argc, char **argv)
{
	cleanup_strv struct cl_strv out = CL_STRV_INIT;
	struct cl_err e;
	int i;

	for (i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (set(argv[i])) {
			(void)fprintf(stderr, "ct-argv: what is '%s'?\n", argv[i]);
			return 64;
		}
	r.mounts = mounts;
	r.labels = labels;
	r.env = env;
	r.extra_args = extra;
	r.init_args = init;
	r.caps = caps;
	if (i < argc) {
		r.argv = (const char *const *)argv + i + 1;
		r.nargv = (size_t)(argc - i - 1);
	}
	cl_err_init(&e);
	if (ct_argv(&r, &out, &e)) {
		(void)fprintf(stderr, "%s\nfix: %s\n", e.msg, e.fix);
		return 1;
	}
	if (argc > 1 && !strcmp(argv[1], "exec")) {
		(void)execvp(out.v[0], out.v);
		return 127;
	}
	for (size_t k = 0; k < out.n; k++)
		(void)puts(out.v[k]);
	return 0;
}
