/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/engine/engine.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Nothing else of the caller's environment: not its proxies, not its secrets, and not what
   systemd says of a unit (podman would then leave conmon in the unit's cgroup). */
const char *const engine_env_names[] = {"HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME",
	"XDG_CONFIG_HOME", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
	"CONTAINERS_REGISTRIES_CONF", "DOCKER_HOST", NULL};

void engine_release(struct engine *en)
{
	free(en->path);
	cl_strv_release(&en->env);
	*en = ENGINE_INIT;
}

/* The value of NAME in a list of NAME=VALUE, or NULL. */
static const char *env_value(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

const char *engine_env(const struct engine *en, const char *name)
{
	return en->env.n ? env_value(en->env.v, name) : NULL;
}

static void take_env(enum ct_engine kind, char *const *envp, struct cl_strv *out)
{
	cl_strv_add(out, "PATH=" SYS_PATH);
	/* Somebody's client settings may name another daemon, or proxies (with their passwords)
	   that docker's client then sets inside every container. Below /proc nobody can make
	   the folder, the client itself neither. */
	if (kind == CT_DOCKER)
		cl_strv_add(out, "DOCKER_CONFIG=/proc/cloop-has-none");
	for (const char *const *n = engine_env_names; *n; n++) {
		const char *v = env_value(envp, *n);

		if (v && *v)
			cl_strv_addf(out, "%s=%s", *n, v);
		else if (!strcmp(*n, "HOME"))
			cl_strv_add(out, geteuid() ? "HOME=/" : "HOME=/root");
	}
}

/* *kind from a program's base name. */
static bool kind_of(const char *program, enum ct_engine *kind)
{
	const char *slash = strrchr(program, '/');
	const char *base = slash ? slash + 1 : program;

	for (int k = CT_PODMAN; k <= CT_DOCKER; k++) {
		if (strcmp(base, ct_engine_name((enum ct_engine)k)) != 0)
			continue;
		*kind = (enum ct_engine)k;
		return true;
	}
	return false;
}

static int no_engine(const char *want, struct cl_err *e)
{
	if (want)
		(void)cl_fail(e, CL_EUNAVAIL, "container engine '%.200s' is not installed", want);
	else
		(void)cl_fail(e, CL_EUNAVAIL,
			"no container engine: neither podman nor docker is "
			"installed");
	cl_slug(e, "no_engine");
	return cl_fix(
		e, "apt-get install %s", want && strstr(want, "docker") ? "docker.io" : "podman");
}

int engine_find(const char *want, char *const *envp, struct engine *out, struct cl_err *e)
{
	const char *host;

	if (want && (!*want || !strcmp(want, "auto")))
		want = NULL;
	if (want && (!kind_of(want, &out->kind) || (strchr(want, '/') && *want != '/'))) {
		(void)cl_fail(
			e, CL_ECONFIG, "'%.200s' is no container engine that cloop knows", want);
		return cl_fix(e, "set runtime to podman or docker");
	}
	if (want) {
		out->path = sys_find_program(want);
	} else {
		for (int k = CT_PODMAN; k <= CT_DOCKER && !out->path; k++) {
			out->kind = (enum ct_engine)k;
			out->path = sys_find_program(ct_engine_name(out->kind));
		}
	}
	if (!out->path)
		return no_engine(want, e);
	take_env(out->kind, envp, &out->env);
	out->rootless = out->kind == CT_PODMAN && geteuid() != 0;
	host = engine_env(out, "DOCKER_HOST");
	if (out->kind == CT_DOCKER && host && !cl_starts(host, "unix://")) {
		(void)cl_fail(e, CL_ECONFIG,
			"DOCKER_HOST '%.200s' is not a socket of this machine: a project directory "
			"here cannot be bound there",
			host);
		return cl_fix(e, "unset DOCKER_HOST, or run a hub on that machine");
	}
	return 0;
}

static uint64_t hard_limit(__rlimit_resource_t resource)
{
	struct rlimit rl;

	return getrlimit(resource, &rl) || rl.rlim_max == RLIM_INFINITY ? 0 : rl.rlim_max;
}

void engine_hard_limits(uint64_t *nofile, uint64_t *nproc)
{
	cleanup_fd int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
	char text[24] = "";
	uint64_t pids;

	*nofile = hard_limit(RLIMIT_NOFILE);
	*nproc = hard_limit(RLIMIT_NPROC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return;
	pids = strtoull(text, NULL, 10);
	if (*nproc && pids && *nproc > pids)
		*nproc = pids;
}

int engine_run(
	const struct engine *en, const char *const *args, struct sys_run *r, struct cl_err *e)
{
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;

	cl_strv_add(&argv, ct_engine_name(en->kind));
	for (; *args; args++)
		cl_strv_add(&argv, *args);
	r->spawn.path = en->path;
	r->spawn.argv = argv.v;
	r->spawn.envp = en->env.v;
	r->spawn.cwd = ENGINE_CWD;
	return sys_run(r, e);
}

int engine_call(const struct engine *en, const char *what, const char *image,
	const char *const *args, int64_t timeout_ms, struct cl_buf *out, struct cl_err *e)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.timeout_ms = timeout_ms;
	/* A container that the call starts may hold its output: end them together. */
	r.spawn.new_session = true;
	if (engine_run(en, args, &r, e))
		return cl_wrap(e, "cannot %s", what);
	if (r.status) {
		(void)ct_classify(en->kind, what, r.status, r.err.p, image, e);
		return -1;
	}
	if (out)
		cl_buf_add(out, r.out.p, r.out.len);
	return 0;
}

int engine_version(const struct engine *en, char **version, struct cl_err *e)
{
	const char *const args[] = {"--version", NULL};
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	const char *p;

	if (engine_call(en, "ask for its version", NULL, args, ENGINE_ASK_MS, &out, e))
		return -1;
	if (en->kind == CT_DOCKER && cl_starts(out.p, "podman")) {
		(void)cl_fail(e, CL_ECONFIG, "'%s' is podman under docker's name", en->path);
		return cl_fix(e, "set runtime: podman");
	}
	/* "podman version 4.3.1", "Docker version 28.2.2, build e6534b4" */
	p = strstr(out.p, "version ");
	p = p ? p + strlen("version ") : out.p;
	*version = cl_strndup(p, strcspn(p, ", \r\n"));
	return 0;
}

/* Text of obj.a.b, or "". */
static char *text_at(const json_t *obj, const char *a, const char *b)
{
	const json_t *j = json_object_get(obj, a);
	const char *s;

	if (b)
		j = json_object_get(j, b);
	s = json_string_value(j);
	return cl_strdup(s ? s : "");
}

static bool names_stores(json_t *options)
{
	const char *key;
	json_t *v;

	json_object_foreach (options, key, v)
		if (strstr(key, "imagestore"))
			return true;
	return false;
}

static void podman_info(const json_t *j, struct engine_info *out)
{
	const json_t *host = json_object_get(j, "host"), *store = json_object_get(j, "store");

	out->version = text_at(j, "version", "Version");
	out->cgroup_version = text_at(host, "cgroupVersion", NULL);
	out->cgroup_driver = text_at(host, "cgroupManager", NULL);
	out->host = text_at(host, "hostname", NULL);
	out->default_runtime = text_at(host, "ociRuntime", "name");
	out->kernel = text_at(host, "kernel", NULL);
	out->runtime_path = text_at(host, "ociRuntime", "path");
	out->store = text_at(store, "graphRoot", NULL);
	out->storage_driver = text_at(store, "graphDriverName", NULL);
	out->storage_config = text_at(store, "configFile", NULL);
	out->extra_stores = names_stores(json_object_get(store, "graphOptions"));
	out->selinux =
		json_is_true(json_object_get(json_object_get(host, "security"), "selinuxEnabled"));
	out->rootless =
		json_is_true(json_object_get(json_object_get(host, "security"), "rootless"));
}

static void docker_info(const json_t *j, const char *runtime, struct engine_info *out)
{
	json_t *runtimes = json_object_get(j, "Runtimes"), *v;
	json_t *security = json_object_get(j, "SecurityOptions");
	const char *key;
	size_t i;

	out->version = text_at(j, "ServerVersion", NULL);
	out->cgroup_version =
		cl_asprintf("v%s", json_string_value(json_object_get(j, "CgroupVersion"))
					   ? json_string_value(json_object_get(j, "CgroupVersion"))
					   : "1");
	out->cgroup_driver = text_at(j, "CgroupDriver", NULL);
	out->host = text_at(j, "Name", NULL);
	out->default_runtime = text_at(j, "DefaultRuntime", NULL);
	out->kernel = text_at(j, "KernelVersion", NULL);
	out->runtime_path = text_at(
		json_object_get(runtimes, runtime ? runtime : out->default_runtime), "path", NULL);
	out->store = text_at(j, "DockerRootDir", NULL);
	out->storage_driver = text_at(j, "Driver", NULL);
	out->storage_config = cl_strdup("");
	out->runtimes_known = json_is_object(runtimes);
	json_object_foreach (runtimes, key, v)
		cl_strv_add(&out->runtimes, key);
	cl_strv_sort(&out->runtimes);
	json_array_foreach (security, i, v) {
		const char *s = json_string_value(v);

		out->selinux |= s && strstr(s, "name=selinux");
		out->rootless |= s && strstr(s, "name=rootless");
	}
}

void engine_info_release(struct engine_info *i)
{
	free(i->version);
	free(i->cgroup_version);
	free(i->cgroup_driver);
	free(i->store);
	free(i->storage_driver);
	free(i->storage_config);
	free(i->host);
	free(i->default_runtime);
	free(i->kernel);
	free(i->runtime_path);
	cl_strv_release(&i->runtimes);
	*i = ENGINE_INFO_INIT;
}

int engine_info(const struct engine *en, struct engine_info *out, struct cl_err *e)
{
	return engine_info_of(en, NULL, out, e);
}

int engine_info_of(
	const struct engine *en, const char *oci_runtime, struct engine_info *out, struct cl_err *e)
{
	const char *runtime = oci_runtime && *oci_runtime ? oci_runtime : NULL;
	cleanup_free char *flag = runtime ? cl_asprintf("--runtime=%s", runtime) : NULL;
	const char *const plain[] = {"info", "--format", "json", NULL};
	const char *const with[] = {flag, "info", "--format", "json", NULL};
	const char *const *podman = runtime ? with : plain;
	const char *const docker[] = {"info", "--format", "{{json .}}", NULL};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (engine_call(en, "ask about the engine", NULL, en->kind == CT_DOCKER ? docker : podman,
		    ENGINE_ASK_MS, &text, e))
		return -1;
	if (cl_doc_parse(&d, CL_DOC_JSON, en->path, text.p, text.len, NULL, e))
		return cl_wrap(e, "'%s info' is not what it used to be", en->path);
	if (en->kind == CT_DOCKER)
		docker_info(d.root, runtime, out);
	else
		podman_info(d.root, out);
	/* docker's client answers with status 0 even when no daemon does. */
	if (!*out->store) {
		(void)cl_fail(e, CL_EUNAVAIL, "the engine '%s' does not answer", en->path);
		return cl_fix(e, "start it: systemctl start %s", ct_engine_name(en->kind));
	}
	return 0;
}
