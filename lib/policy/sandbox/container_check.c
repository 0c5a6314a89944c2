/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request may not hold: facts/executors.md 6.2 (refusals while building), 6.4. */
#include "policy/sandbox/container.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/addr.h"
#include "policy/sandbox/extra_args.h"
#include "policy/place/runtime_name.h"

#include <string.h>

bool ct_path_ok(const char *path)
{
	size_t n = strlen(path);

	if (*path != '/' || n > 4096 || strstr(path, "//") || strchr(path, ':') ||
		!cl_utf8_valid(path, n))
		return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	if (n > 1 && path[n - 1] == '/')
		return false;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		if ((len == 1 && p[1] == '.') || (len == 2 && p[1] == '.' && p[2] == '.'))
			return false;
	}
	return true;
}

/* path is dir or below it. */
static bool within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static int check_image(const char *image, struct cl_err *e)
{
	if (image && *image && *image != '-' && strlen(image) <= 512 &&
		cl_all_in(image, CL_ALNUM "._/:@-"))
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%.80s' is not an image reference", image ? image : "");
	cl_rule(e, "reference-syntax");
	return cl_fix(e, "name an image such as ghcr.io/acme/tools:1.79");
}

static int check_identity(const struct ct_request *r, struct cl_err *e)
{
	for (const char *const *c = r->caps; c && *c && !r->writable_root; c++)
		if (strcmp(*c, "NET_RAW") != 0)
			return cl_fail(e, CL_EBUG, "capability %s is for setup builds alone", *c);
	if (r->writable_root && (r->workspace || r->nlabels || r->nenv))
		return cl_fail(e, CL_EBUG,
			"a setup build has no workspace, and its labels and "
			"variables would be committed");
	if (r->rootless) {
		if (r->engine == CT_PODMAN)
			return 0;
		return cl_fail(e, CL_EBUG, "only podman runs without root");
	}
	if (r->uid == 0 && !r->allow_root) {
		(void)cl_fail(e, CL_EREFUSED,
			"the sandbox would run as root: the project directory is owned by uid 0");
		cl_constraint(e, "user");
		return cl_fix(e, "give the directory to an unprivileged user (chown), or set "
				 "allow_root_user: true "
				 "on this executor");
	}
	if (r->gid == 0 && !r->allow_root) {
		(void)cl_fail(e, CL_EREFUSED, "the sandbox would run with the group root (gid 0)");
		cl_constraint(e, "user");
		return cl_fix(e, "give the directory to the user's own group (chgrp)");
	}
	return 0;
}

static int check_mount(const struct ct_mount *m, struct cl_err *e)
{
	static const char other[] = "take another target, such as /data";

	if (!m->source || !ct_path_ok(m->source)) {
		(void)cl_fail(e, CL_EDATA, "mount source '%.200s' cannot be given to an engine",
			m->source ? m->source : "");
		return cl_fix(e, "name an absolute path without ':', ',' and control characters");
	}
	if (!m->target || !ct_path_ok(m->target) || !strcmp(m->target, "/")) {
		(void)cl_fail(e, CL_EDATA, "mount target '%.200s' is not a clean absolute path",
			m->target ? m->target : "");
		return cl_fix(e, "write an absolute path without '.', '..', ':' and ','");
	}
	if (!strcmp(m->target, CT_WORKSPACE)) {
		(void)cl_fail(e, CL_EDATA, "a mount may not hide " CT_WORKSPACE);
		return cl_fix(e, other);
	}
	if (within(m->target, CT_INIT_DIR)) {
		(void)cl_fail(e, CL_EDATA, "mount target '%.200s' is cloop's own place", m->target);
		return cl_fix(e, other);
	}
	if (m->label && *m->label && strcmp(m->label, "z") != 0 && strcmp(m->label, "Z") != 0) {
		(void)cl_fail(e, CL_ECONFIG, "SELinux label '%.20s' is neither z nor Z", m->label);
		return cl_fix(e, "set selinux_label to z or Z, or leave it out");
	}
	return 0;
}

static int check_mounts(const struct ct_request *r, struct cl_err *e)
{
	if (r->alone ? !ct_path_ok(r->alone) || r->init_dir || r->ninit_args || r->writable_root
		     : !r->init_dir || !ct_path_ok(r->init_dir))
		return cl_fail(e, CL_EBUG, "no directory with cloop-init was given");
	if (r->workspace) {
		const struct ct_mount work = {
			.source = r->workspace, .target = "/w", .label = r->workspace_label};

		if (check_mount(&work, e))
			return cl_wrap(e, "workspace");
	}
	for (size_t i = 0; i < r->nmounts; i++) {
		if (check_mount(&r->mounts[i], e))
			return -1;
		for (size_t k = 0; k < i; k++) {
			if (strcmp(r->mounts[k].target, r->mounts[i].target) != 0)
				continue;
			(void)cl_fail(e, CL_EDATA, "two mounts share the target '%.200s'",
				r->mounts[i].target);
			return cl_fix(e, "give each mount a target of its own");
		}
	}
	return 0;
}

static int check_device(const struct ct_device *d, struct cl_err *e)
{
	if (!d->source || !ct_path_ok(d->source) || !d->access ||
		(strcmp(d->access, "r") != 0 && strcmp(d->access, "rw") != 0 &&
			strcmp(d->access, "rwm") != 0))
		return cl_fail(e, CL_EBUG, "device '%.200s' cannot be given to an engine with '%s'",
			d->source ? d->source : "", d->access ? d->access : "");
	if (d->target && ct_path_ok(d->target) && cl_starts(d->target, "/dev/"))
		return 0;
	(void)cl_fail(e, CL_EDATA, "device target '%.200s' is not a clean path below /dev",
		d->target ? d->target : "");
	return cl_fix(e, "write a path such as /dev/ttyUSB0");
}

static int check_devices(const struct ct_request *r, struct cl_err *e)
{
	if (r->ndevices && (r->rootless || rn_kernel_isolated(r->oci_runtime))) {
		(void)cl_fail(e, CL_EREFUSED, "%s cannot give a sandbox a device of the host",
			r->rootless ? "an engine without root" : r->oci_runtime);
		(void)cl_constraint(e, "devices");
		return cl_fix(e, "use a container executor of root's under runc or crun");
	}
	for (size_t i = 0; i < r->ndevices; i++) {
		if (check_device(&r->devices[i], e))
			return -1;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(r->devices[k].target, r->devices[i].target)) {
				(void)cl_fail(e, CL_EDATA, "two devices share the target '%.200s'",
					r->devices[i].target);
				return cl_fix(e, "give each device a target of its own");
			}
	}
	return 0;
}

int ct_network_check(const char *network, struct cl_err *e)
{
	/* Words that an engine takes for something else than one of its networks. */
	static const char *const words[] = {
		"host", "private", "slirp4netns", "pasta", "default", "ns", "container", "pod"};
	bool bad = !network || strlen(network) > 128 || *network == '-' ||
		   !cl_all_in(network, CL_ALNUM "_.-");

	for (size_t i = 0; !bad && i < CL_ARRAY_LEN(words); i++)
		bad = !strcmp(network, words[i]);
	if (!bad)
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "network '%.140s' is not one a sandbox may join",
		network ? network : "");
	return cl_fix(e,
		"use none, bridge, or the name of a network made with the engine; a sandbox "
		"never shares the host's or another container's network");
}

/* Exactly "name:addr" (one colon, so no IPv6), no blanks. */
static int check_add_host(const char *entry, struct cl_err *e)
{
	const char *colon = strchr(entry, ':');
	struct pol_addr a;

	if (colon && colon != entry && !strchr(colon + 1, ':') && colon - entry <= 253 &&
		strspn(entry, CL_ALNUM "._-") == (size_t)(colon - entry) && *entry != '-' &&
		!pol_addr_parse(colon + 1, "allow_hosts", &a, e))
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "host entry '%.120s' is not NAME:IPV4", entry);
	return cl_fix(e, "write it as registry.internal:10.0.0.5");
}

static int check_network(const struct ct_request *r, struct cl_err *e)
{
	struct pol_addr a;

	if (r->net == CT_NET_NAMESPACE) {
		if (r->engine != CT_PODMAN || r->rootless)
			return cl_fail(e, CL_EBUG, "a prepared namespace needs podman as root");
		if (!r->network || !ct_path_ok(r->network))
			return cl_fail(e, CL_EBUG, "the namespace has no path");
	} else if (r->net == CT_NET_NAMED && ct_network_check(r->network, e)) {
		return -1;
	}
	if (r->own_names && (r->nadd_hosts || r->ndns))
		return cl_fail(e, CL_EBUG, "names and resolvers belong in the mounted files");
	if (r->net == CT_NET_NONE && r->nadd_hosts) {
		(void)cl_fail(
			e, CL_ECONFIG, "allow_hosts names hosts, but the sandbox has no network");
		return cl_fix(e, "remove allow_hosts, or set a network for this executor");
	}
	for (size_t i = 0; i < r->nadd_hosts; i++)
		if (check_add_host(r->add_hosts[i], e))
			return -1;
	for (size_t i = 0; i < r->ndns; i++)
		if (pol_addr_parse(r->dns[i], "resolver", &a, e))
			return -1;
	for (size_t i = 0; i < r->ngroups; i++)
		if (!r->groups[i]) {
			(void)cl_fail(e, CL_EDATA, "a supplementary group of 0 is root's");
			return cl_fix(e, "leave group 0 out");
		}
	if (r->hostname && (strlen(r->hostname) > 63 || *r->hostname == '-' ||
				   !cl_all_in(r->hostname, CL_ALNUM "-."))) {
		(void)cl_fail(e, CL_EDATA, "'%.80s' is not a host name", r->hostname);
		return cl_fix(e, "use 1 to 63 letters, digits, '-' and '.', not '-' first");
	}
	return 0;
}

static int check_data(const struct ct_request *r, struct cl_err *e)
{
	for (size_t i = 0; i < r->nlabels; i++)
		if (!ct_label_key_ok(r->labels[i].key)) {
			(void)cl_fail(e, CL_EDATA, "'%.140s' is not a label", r->labels[i].key);
			return cl_fix(e, "use letters, digits, '.', '_' and '-' in a label's name");
		}
	for (size_t i = 0; i < r->nenv; i++) {
		cleanup_free char *name = cl_strndup(r->env[i], strcspn(r->env[i], "="));

		if (!ct_env_name_ok(name)) {
			(void)cl_fail(e, CL_EDATA, "'%.140s' is not the name of a variable", name);
			return cl_fix(e, "use letters, digits and '_', no digit first");
		}
		if (!strchr(r->env[i], '=')) {
			(void)cl_fail(e, CL_EDATA, "variable '%s' has no value", name);
			return cl_fix(e, "write %s=VALUE", name);
		}
		if (!ct_env_harmless(name))
			return cl_fail(e, CL_EBUG,
				"variable '%s' must not pass through the engine: cloop-init sets "
				"it",
				name);
	}
	return 0;
}

/* Flags on the list that only one of the engines has. */
static int check_extra(const struct ct_request *r, struct cl_err *e)
{
	static const struct {
		const char *flag;
		enum ct_engine only;
	} single[] = {{"--tz", CT_PODMAN}, {"--domainname", CT_DOCKER}};
	cleanup_strv struct cl_strv args = CL_STRV_INIT;

	for (size_t i = 0; i < r->nextra; i++)
		cl_strv_add(&args, r->extra_args[i]);
	if (px_extra_args_check(&args, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(single); i++) {
		if (single[i].only == r->engine ||
			!ct_extra_value(r->extra_args, r->nextra, single[i].flag))
			continue;
		(void)cl_fail(e, CL_ECONFIG, "extra_args: %s has no '%s'",
			ct_engine_name(r->engine), single[i].flag);
		return cl_fix(e, "remove it, or use %s", ct_engine_name(single[i].only));
	}
	return 0;
}

static int check_client(const struct ct_request *r, struct cl_err *e)
{
	const char *const paths[] = {r->cidfile, r->pidfile, r->conmon_pidfile, r->cgroup_parent,
		r->seccomp, r->tmp_dir};

	if (!r->name || !ct_name_ok(r->name))
		return cl_fail(
			e, CL_EBUG, "'%.140s' is not a container name", r->name ? r->name : "");
	if (r->oci_runtime && rn_check(r->oci_runtime, e))
		return -1;
	if (!r->nargv || !*r->argv[0]) {
		(void)cl_fail(e, CL_EDATA, "there is no command to run");
		return cl_fix(e, "name the program to run after '--'");
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(paths); i++)
		if (paths[i] && !ct_path_ok(paths[i]))
			return cl_fail(e, CL_EBUG, "'%.200s' is not a clean path", paths[i]);
	if (r->engine == CT_DOCKER && (r->pidfile || r->conmon_pidfile || r->preserve_fds))
		return cl_fail(e, CL_EBUG, "docker has no conmon and passes no descriptors");
	if (r->engine == CT_DOCKER && r->mode != CT_ATTACHED)
		return cl_fail(e, CL_EBUG, "docker runs attached: it tells a status no other way");
	if (r->cpu_milli < 0 || r->memory_mb < 0 || r->memory_slack_mb < 0 || r->pids < -1)
		return cl_fail(e, CL_EBUG, "a limit is negative");
	return 0;
}

int ct_request_check(const struct ct_request *r, struct cl_err *e)
{
	return check_client(r, e) || check_image(r->image, e) || check_identity(r, e) ||
			       check_network(r, e) || check_mounts(r, e) || check_devices(r, e) ||
			       check_data(r, e) || check_extra(r, e)
		       ? -1
		       : 0;
}
