/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request becomes argv. The order is facts/executors.md 6.2's; see container.h. */
#include "policy/sandbox/container.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/addr.h"
#include "policy/sandbox/extra_args.h"
#include "policy/place/runtime_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ct_engine_name(enum ct_engine k)
{
	return k == CT_DOCKER ? "docker" : "podman";
}

int64_t ct_pids_limit(int64_t pids, const char *oci_runtime)
{
	if (!pids)
		pids = CT_PIDS;
	return pids > 0 && rn_userspace_kernel(oci_runtime) ? 2 * pids + 512 : pids;
}

int64_t ct_tmp_mb(int64_t memory_mb)
{
	if (memory_mb > 0 && memory_mb / 2 < CT_TMP_MB)
		return memory_mb > 1 ? memory_mb / 2 : 1;
	return CT_TMP_MB;
}

void ct_cpus(int64_t milli, char out[32])
{
	size_t n;

	(void)snprintf(
		out, 32, "%lld.%03lld", (long long)(milli / 1000), (long long)(milli % 1000));
	n = strlen(out);
	while (out[n - 1] == '0')
		out[--n] = '\0';
	if (out[n - 1] == '.')
		out[n - 1] = '\0';
}

/* NULL when the entry is not the flag, else what stands behind its '='. */
static const char *value_of(const char *arg, const char *flag)
{
	size_t n = strlen(flag);

	return !strncmp(arg, flag, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

const char *ct_extra_value(const char *const *args, size_t n, const char *flag)
{
	while (n--)
		if (value_of(args[n], flag))
			return value_of(args[n], flag);
	return NULL;
}

/* True when the operator limits this resource: an engine refuses to be told twice. */
static bool extra_ulimit(const struct ct_request *r, const char *resource)
{
	for (size_t i = 0; i < r->nextra; i++) {
		const char *v = value_of(r->extra_args[i], "--ulimit");

		if (v && value_of(v, resource))
			return true;
	}
	return false;
}

static bool podman(const struct ct_request *r)
{
	return r->engine == CT_PODMAN;
}

/* The client, and how it runs. */
static void add_client(const struct ct_request *r, struct cl_strv *out)
{
	cl_strv_add(out, ct_engine_name(r->engine));
	if (podman(r)) {
		/* A parent cgroup is a path only to this manager; systemd's takes slices. */
		if (r->cgroup_parent)
			cl_strv_add(out, "--cgroup-manager=cgroupfs");
		cl_strv_add(out, "--log-level=error");
	} else {
		cl_strv_add(out, "--log-level=error");
	}
	cl_strv_add(out, "run");
	if (r->mode == CT_DETACHED)
		cl_strv_add(out, "--detach");
	else if (!podman(r))
		cl_strv_add(out, "--interactive");
	if (!r->writable_root)
		cl_strv_add(out, "--rm");
	cl_strv_add(out, "--pull=never");
	cl_strv_addf(out, "--name=%s", r->name);
	cl_strv_addf(out, "--log-driver=%s", podman(r) ? "passthrough" : "none");
	if (r->cidfile)
		cl_strv_addf(out, "--cidfile=%s", r->cidfile);
	if (r->pidfile)
		cl_strv_addf(out, "--pidfile=%s", r->pidfile);
	if (r->conmon_pidfile)
		cl_strv_addf(out, "--conmon-pidfile=%s", r->conmon_pidfile);
	if (r->preserve_fds)
		cl_strv_addf(out, "--preserve-fds=%u", r->preserve_fds);
	if (r->cgroup_parent)
		cl_strv_addf(out, "--cgroup-parent=%s", r->cgroup_parent);
}

/* What holds for every sandbox, whatever else was asked for or configured on the host. */
static void add_confinement(const struct ct_request *r, struct cl_strv *out)
{
	static const char *const both[] = {
		"--ipc=private", "--cgroupns=private", "--no-healthcheck"};
	/* The host's containers.conf may default these otherwise; volumes of the image would
	   be writable and outside the disk limit. */
	static const char *const podman_only[] = {"--pid=private", "--uts=private",
		"--systemd=false", "--http-proxy=false", "--image-volume=ignore"};

	if (r->oci_runtime)
		cl_strv_addf(out, "--runtime=%s", r->oci_runtime);
	cl_strv_add(out, "--cap-drop=ALL");
	for (const char *const *c = r->caps; c && *c; c++)
		cl_strv_addf(out, "--cap-add=%s", *c);
	cl_strv_add(out, "--security-opt=no-new-privileges");
	if (r->seccomp)
		cl_strv_addf(out, "--security-opt=seccomp=%s", r->seccomp);
	if (!r->writable_root)
		cl_strv_add(out, "--read-only");
	if (!r->writable_root && podman(r))
		cl_strv_add(out, "--read-only-tmpfs=false");
	for (size_t i = 0; i < CL_ARRAY_LEN(both); i++)
		cl_strv_add(out, both[i]);
	for (size_t i = 0; podman(r) && i < CL_ARRAY_LEN(podman_only); i++)
		cl_strv_add(out, podman_only[i]);
	if (!r->tmp_dir)
		cl_strv_addf(out, "--tmpfs=/tmp:rw,nosuid,nodev,exec,size=%lldm,mode=1777",
			(long long)ct_tmp_mb(r->memory_mb));
	if (r->rootless)
		cl_strv_add(out, "--userns=keep-id");
	else
		cl_strv_addf(out, "--user=%u:%u", r->uid, r->gid);
}

static void add_network(const struct ct_request *r, struct cl_strv *out)
{
	if (r->net == CT_NET_NAMESPACE)
		cl_strv_addf(out, "--network=ns:%s", r->network);
	else
		cl_strv_addf(out, "--network=%s", r->net == CT_NET_NONE ? "none" : r->network);
	for (size_t i = 0; i < r->nadd_hosts; i++)
		cl_strv_addf(out, "--add-host=%s", r->add_hosts[i]);
	for (size_t i = 0; r->net != CT_NET_NONE && i < r->ndns; i++)
		cl_strv_addf(out, "--dns=%s", r->dns[i]);
	/* Binds win over the engine's own files; this spares it the work, where it can be told. */
	if (r->own_names && podman(r)) {
		if (r->net != CT_NET_NONE)
			cl_strv_add(out, "--dns=none");
		cl_strv_add(out, "--no-hosts");
	}
	/* docker answers names inside the sandbox by itself, and would ask the host's own
	 * resolver for it, past the filter when that is on loopback. Nobody answers here. */
	if (r->own_names && !podman(r) && r->net == CT_NET_NAMED)
		cl_strv_add(out, "--dns=0.0.0.0");
	if (r->hostname && !ct_extra_value(r->extra_args, r->nextra, "--hostname"))
		cl_strv_addf(out, "--hostname=%s", r->hostname);
	for (size_t i = 0; i < r->ngroups; i++)
		cl_strv_addf(out, "--group-add=%u", r->groups[i]);
}

/* A limit above our own hard one makes the start fail without CAP_SYS_RESOURCE. */
static void add_ulimit(const struct ct_request *r, const char *name, uint64_t soft, uint64_t hard,
	struct cl_strv *out)
{
	if (!hard || extra_ulimit(r, name))
		return;
	cl_strv_addf(out, "--ulimit=%s=%llu:%llu", name,
		(unsigned long long)(soft && soft < hard ? soft : hard), (unsigned long long)hard);
}

static void add_limits(const struct ct_request *r, struct cl_strv *out)
{
	uint64_t nofile = r->hard_nofile;

	if (r->cpu_milli > 0) {
		char cpus[32];

		ct_cpus(r->cpu_milli, cpus);
		cl_strv_addf(out, "--cpus=%s", cpus);
	}
	if (r->memory_mb > 0) {
		long long mb = (long long)(r->memory_mb + r->memory_slack_mb);

		cl_strv_addf(out, "--memory=%lldm", mb);
		cl_strv_addf(out, "--memory-swap=%lldm", mb);
	}
	cl_strv_addf(out, "--pids-limit=%lld", (long long)ct_pids_limit(r->pids, r->oci_runtime));
	if (!nofile || nofile > CT_NOFILE_HARD)
		nofile = CT_NOFILE_HARD;
	add_ulimit(r, "nofile", CT_NOFILE, nofile, out);
	add_ulimit(r, "nproc", 0, r->hard_nproc, out);
	/* A core would hold the environment, and may go to a handler of the host's. */
	if (!extra_ulimit(r, "core"))
		cl_strv_add(out, "--ulimit=core=0:0");
	if (r->timeout_s > 0 && podman(r))
		cl_strv_addf(out, "--timeout=%lld", (long long)r->timeout_s);
}

/* A bind; only podman takes what else is said of it. */
static void add_volume(const struct ct_request *r, const struct ct_mount *m, const char *options,
	struct cl_strv *out)
{
	const char *label = m->label ? m->label : r->workspace_label;
	const char *const parts[] = {m->read_only ? "ro" : NULL,
		options && podman(r) ? options : NULL, label && *label ? label : NULL};
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char sep = ':';

	cl_buf_addf(&b, "--volume=%s:%s", m->source, m->target);
	for (size_t i = 0; i < CL_ARRAY_LEN(parts); i++) {
		if (!parts[i])
			continue;
		cl_buf_addf(&b, "%c%s", sep, parts[i]);
		sep = ',';
	}
	cl_strv_add(out, b.p);
}

static void add_mount(const struct ct_request *r, const struct ct_mount *m, struct cl_strv *out)
{
	add_volume(r, m,
		m->noexec    ? "noexec,nosuid,nodev"
		: m->guarded ? "exec,nosuid,nodev"
			     : NULL,
		out);
}

/*
 * podman reads this option's value as a record of CSV (RFC 4180): a comma in a target would begin
 * another device, of the host's own path.
 */
static void add_device(const struct ct_request *r, const struct ct_device *d, struct cl_strv *out)
{
	cleanup_free char *value = cl_asprintf("%s:%s:%s", d->source, d->target, d->access);
	cleanup_buf struct cl_buf field = CL_BUF_INIT;

	if (r->engine != CT_PODMAN || !strpbrk(value, ",\"")) {
		cl_strv_addf(out, "--device=%s", value);
		return;
	}
	for (const char *p = value; *p; p++)
		cl_buf_addf(&field, *p == '"' ? "\"\"" : "%c", *p);
	cl_strv_addf(out, "--device=\"%s\"", field.p);
}

static void add_mounts(const struct ct_request *r, struct cl_strv *out)
{
	const struct ct_mount work = {
		.source = r->workspace, .target = CT_WORKSPACE, .label = r->workspace_label};
	const struct ct_mount own = {
		.source = r->init_dir, .target = CT_INIT_DIR, .read_only = true};
	const struct ct_mount tmp = {.source = r->tmp_dir, .target = "/tmp"};

	cl_strv_addf(out, "--workdir=%s", r->workspace ? CT_WORKSPACE : "/");
	if (r->workspace)
		add_mount(r, &work, out);
	if (!r->alone)
		add_mount(r, &own, out);
	if (r->tmp_dir)
		add_volume(r, &tmp, "nosuid,nodev,exec", out);
	for (size_t i = 0; i < r->nmounts; i++)
		add_mount(r, &r->mounts[i], out);
	for (size_t i = 0; i < r->ndevices; i++)
		add_device(r, &r->devices[i], out);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct ct_label *)a)->key, ((const struct ct_label *)b)->key);
}

static void add_labels(const struct ct_request *r, struct cl_strv *out)
{
	cleanup_free struct ct_label *sorted = cl_calloc(r->nlabels + 1, sizeof(*sorted));

	for (size_t i = 0; i < r->nlabels; i++)
		sorted[i] = r->labels[i];
	qsort(sorted, r->nlabels, sizeof(*sorted), by_key);
	for (size_t i = 0; i < r->nlabels; i++) {
		cleanup_free char *value = ct_label_value(sorted[i].value);

		cl_strv_addf(out, "--label=%s=%s", sorted[i].key, value);
	}
}

/* Resolver settings of an operator have no place where the resolver file is ours. */
static bool dropped(const struct ct_request *r, const char *arg)
{
	return (r->own_names || r->net == CT_NET_NONE) &&
	       (value_of(arg, "--dns-search") || value_of(arg, "--dns-option"));
}

static void add_command(const struct ct_request *r, struct cl_strv *out)
{
	for (size_t i = 0; i < r->nenv; i++)
		cl_strv_addf(out, "--env=%s", r->env[i]);
	/* A commit would keep it, and one engine cannot take it back. */
	if (!r->writable_root)
		cl_strv_addf(out, "--entrypoint=%s", r->alone ? r->alone : CT_INIT);
	for (size_t i = 0; i < r->nextra; i++)
		if (!dropped(r, r->extra_args[i]))
			cl_strv_add(out, r->extra_args[i]);
	cl_strv_add(out, "--");
	cl_strv_add(out, r->image);
	if (r->writable_root)
		cl_strv_add(out, CT_INIT);
	for (size_t i = 0; i < r->ninit_args; i++)
		cl_strv_add(out, r->init_args[i]);
	if (!r->alone)
		cl_strv_add(out, "--");
	for (size_t i = 0; i < r->nargv; i++)
		cl_strv_add(out, r->argv[i]);
}

int ct_argv(const struct ct_request *r, struct cl_strv *out, struct cl_err *e)
{
	if (ct_request_check(r, e))
		return -1;
	add_client(r, out);
	add_confinement(r, out);
	add_network(r, out);
	add_limits(r, out);
	add_mounts(r, out);
	add_labels(r, out);
	add_command(r, out);
	return 0;
}
