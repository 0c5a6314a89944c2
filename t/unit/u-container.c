/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/addr.h"
#include "policy/sandbox/container.h"

static const char *const argv_true[] = {"/bin/true"};
static const struct ct_label labels[] = {{"cloop.project", "api"}, {"cloop.managed", "true"}};

static struct ct_request plain(void)
{
	return (struct ct_request){.engine = CT_PODMAN,
		.mode = CT_DETACHED,
		.name = "cloop-api-0123456789ab",
		.uid = 1000,
		.gid = 1001,
		.workspace = "/srv/api",
		.init_dir = "/run/cloop/stage",
		.image = "sha256:00",
		.argv = argv_true,
		.nargv = 1};
}

/* The argv as one line, and where an argument stands (-1: nowhere). */
static char *line_of(const struct ct_request *r)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	struct cl_err e;

	if (ct_argv(r, &v, &e)) {
		UNIT_FAIL("refused: %s", e.msg);
		return cl_strdup("");
	}
	return cl_join((const char *const *)v.v, v.n, " ");
}

static void refused(const struct ct_request *r, const char *with)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	struct cl_err e;

	cl_err_init(&e);
	if (!ct_argv(r, &v, &e))
		UNIT_FAIL("not refused: %s", with);
	else
		CHECK_HAS(e.msg, with);
	CHECK_INT(v.n, 0);
}

void test_argv__everything_in_order(void)
{
	struct ct_request r = plain();
	const char *const env[] = {"HOME=/workspace", "CLOOP_RUN_ID=run_1"};
	const char *const extra[] = {"--shm-size=32m", "--stop-signal=INT"};
	const char *const init[] = {"--env", "/.cloop/env", "--stdin-fd", "3"};
	const char *const argv[] = {"sh", "-c", "echo --privileged"};
	const struct ct_mount mounts[] = {{.source = "/stage/hosts",
						  .target = "/etc/hosts",
						  .read_only = true,
						  .noexec = true},
		{.source = "/stage/m0", .target = "/cache", .label = "z"}};
	const uint32_t groups[] = {20};
	cleanup_free char *line = NULL;

	r.oci_runtime = "runc";
	r.cidfile = "/run/cloop/h/cid";
	r.pidfile = "/run/cloop/h/pid";
	r.conmon_pidfile = "/run/cloop/h/conmon";
	r.preserve_fds = 4;
	r.cgroup_parent = "/cloop/c-0123456789ab";
	r.seccomp = "/usr/share/cloop/seccomp/strict.json";
	r.net = CT_NET_NAMESPACE;
	r.network = "/run/cloop/netns/c-0123456789ab";
	r.own_names = true;
	r.hostname = "sandbox";
	r.groups = groups;
	r.ngroups = 1;
	r.cpu_milli = 1500;
	r.memory_mb = 2048;
	r.memory_slack_mb = 1;
	r.pids = 256;
	r.hard_nofile = 20000;
	r.hard_nproc = 4096;
	r.timeout_s = 3660;
	r.workspace_label = "Z";
	r.mounts = mounts;
	r.nmounts = 2;
	r.labels = labels;
	r.nlabels = 2;
	r.env = env;
	r.nenv = 2;
	r.extra_args = extra;
	r.nextra = 2;
	r.init_args = init;
	r.ninit_args = 4;
	r.argv = argv;
	r.nargv = 3;
	line = line_of(&r);
	CHECK_STR(line,
		"podman --cgroup-manager=cgroupfs --log-level=error run --detach --rm --pull=never "
		"--name=cloop-api-0123456789ab --log-driver=passthrough --cidfile=/run/cloop/h/cid "
		"--pidfile=/run/cloop/h/pid --conmon-pidfile=/run/cloop/h/conmon --preserve-fds=4 "
		"--cgroup-parent=/cloop/c-0123456789ab --runtime=runc --cap-drop=ALL "
		"--security-opt=no-new-privileges "
		"--security-opt=seccomp=/usr/share/cloop/seccomp/strict.json --read-only "
		"--read-only-tmpfs=false --ipc=private --cgroupns=private --no-healthcheck "
		"--pid=private --uts=private --systemd=false --http-proxy=false "
		"--image-volume=ignore "
		"--tmpfs=/tmp:rw,nosuid,nodev,exec,size=512m,mode=1777 --user=1000:1001 "
		"--network=ns:/run/cloop/netns/c-0123456789ab --dns=none --no-hosts "
		"--hostname=sandbox "
		"--group-add=20 --cpus=1.5 --memory=2049m --memory-swap=2049m --pids-limit=256 "
		"--ulimit=nofile=1024:20000 --ulimit=nproc=4096:4096 --ulimit=core=0:0 "
		"--timeout=3660 "
		"--workdir=/workspace --volume=/srv/api:/workspace:Z "
		"--volume=/run/cloop/stage:/.cloop:ro,Z "
		"--volume=/stage/hosts:/etc/hosts:ro,noexec,nosuid,nodev,Z "
		"--volume=/stage/m0:/cache:z --label=cloop.managed=true --label=cloop.project=api "
		"--env=HOME=/workspace --env=CLOOP_RUN_ID=run_1 --entrypoint=/.cloop/init "
		"--shm-size=32m --stop-signal=INT -- sha256:00 --env /.cloop/env --stdin-fd 3 -- "
		"sh -c "
		"echo --privileged");
}

void test_argv__least(void)
{
	struct ct_request r = plain();
	cleanup_free char *line = line_of(&r);

	CHECK_STR(line,
		"podman --log-level=error run --detach --rm --pull=never "
		"--name=cloop-api-0123456789ab --log-driver=passthrough --cap-drop=ALL "
		"--security-opt=no-new-privileges --read-only --read-only-tmpfs=false "
		"--ipc=private "
		"--cgroupns=private --no-healthcheck --pid=private --uts=private --systemd=false "
		"--http-proxy=false --image-volume=ignore "
		"--tmpfs=/tmp:rw,nosuid,nodev,exec,size=512m,mode=1777 --user=1000:1001 "
		"--network=none --pids-limit=1024 --ulimit=nofile=1024:524288 --ulimit=core=0:0 "
		"--workdir=/workspace "
		"--volume=/srv/api:/workspace --volume=/run/cloop/stage:/.cloop:ro "
		"--entrypoint=/.cloop/init -- sha256:00 -- /bin/true");
}

void test_argv__docker_has_its_own_words(void)
{
	struct ct_request r = plain();
	const struct ct_mount m = {.source = "/stage/hosts",
		.target = "/etc/hosts",
		.read_only = true,
		.noexec = true};
	cleanup_free char *line = NULL;

	r.engine = CT_DOCKER;
	r.mode = CT_ATTACHED;
	r.own_names = true;
	r.net = CT_NET_NAMED;
	r.network = "cloop-sbx-a";
	r.tmp_dir = "/stage/tmp";
	r.timeout_s = 60;
	r.mounts = &m;
	r.nmounts = 1;
	line = line_of(&r);
	CHECK_STR(line,
		"docker --log-level=error run --interactive --rm --pull=never "
		"--name=cloop-api-0123456789ab --log-driver=none --cap-drop=ALL "
		"--security-opt=no-new-privileges --read-only --ipc=private --cgroupns=private "
		"--no-healthcheck --user=1000:1001 --network=cloop-sbx-a --dns=0.0.0.0 "
		"--pids-limit=1024 --ulimit=nofile=1024:524288 --ulimit=core=0:0 "
		"--workdir=/workspace "
		"--volume=/srv/api:/workspace --volume=/run/cloop/stage:/.cloop:ro "
		"--volume=/stage/tmp:/tmp --volume=/stage/hosts:/etc/hosts:ro "
		"--entrypoint=/.cloop/init -- sha256:00 -- "
		"/bin/true");
}

void test_argv__rootless_keeps_the_id(void)
{
	struct ct_request r = plain();
	cleanup_free char *line = NULL;

	r.rootless = true;
	r.uid = 0;
	line = line_of(&r);
	CHECK_HAS(line, " --userns=keep-id ");
	CHECK(!strstr(line, "--user="));
}

void test_argv__setup_build(void)
{
	struct ct_request r = plain();
	const char *const caps[] = {"CHOWN", "SETUID", NULL};
	cleanup_free char *line = NULL;

	r.writable_root = true;
	r.allow_root = true;
	r.uid = r.gid = 0;
	r.caps = caps;
	r.workspace = NULL;
	line = line_of(&r);
	CHECK(!strstr(line, "--read-only"));
	CHECK(!strstr(line, "--rm"));
	CHECK(!strstr(line, "/workspace"));
	CHECK_HAS(line, "--cap-drop=ALL --cap-add=CHOWN --cap-add=SETUID ");
	CHECK_HAS(line, " --user=0:0 ");
	CHECK_HAS(line, " --workdir=/ ");
	/* Not as entrypoint: a commit would keep it. */
	CHECK_HAS(line, " -- sha256:00 /.cloop/init -- /bin/true");
	CHECK(!strstr(line, "--entrypoint"));
	r.labels = labels;
	r.nlabels = 1;
	refused(&r, "would be committed");
	r.nlabels = 0;
	r.writable_root = false;
	refused(&r, "capability CHOWN");
}

void test_build__key(void)
{
	const char *const steps[] = {"apt-get update", "make"}, *const joined[] = {
									"apt-get update\nmake"};
	char key[CT_BUILD_KEY_LEN], other[CT_BUILD_KEY_LEN];

	ct_build_key("sha256:ab", "x@sha256:cd", steps, 2, key);
	CHECK_STR(key, "ce1df4bcacab3b33");
	ct_build_key("sha256:ab", "x@sha256:cd", joined, 1, other);
	CHECK(strcmp(key, other) != 0);
	ct_build_key("sha256:ab", "", steps, 2, other);
	CHECK(strcmp(key, other) != 0);
}

void test_argv__names_and_resolvers(void)
{
	struct ct_request r = plain();
	const char *const hosts[] = {"registry.internal:10.0.0.5"};
	const char *const dns[] = {"1.1.1.1", "2606:4700::1111"};
	const char *const extra[] = {
		"--dns-search=a.example", "--hostname=box", "--dns-option=ndots:1"};
	cleanup_free char *line = NULL, *own = NULL;

	r.net = CT_NET_NAMED;
	r.network = "bridge";
	r.add_hosts = hosts;
	r.nadd_hosts = 1;
	r.dns = dns;
	r.ndns = 2;
	r.hostname = "sandbox";
	r.extra_args = extra;
	r.nextra = 3;
	line = line_of(&r);
	CHECK_HAS(line, "--network=bridge --add-host=registry.internal:10.0.0.5 --dns=1.1.1.1 "
			"--dns=2606:4700::1111 --pids-limit");
	CHECK_HAS(line, "--dns-search=a.example --hostname=box --dns-option=ndots:1 -- ");
	/* Where the files are ours these flags would be refused by the engine. */
	r.nadd_hosts = r.ndns = 0;
	r.own_names = true;
	own = line_of(&r);
	CHECK(!strstr(own, "--dns-search"));
	CHECK(!strstr(own, "--dns-option"));
	CHECK_HAS(own, "--hostname=box");
	CHECK(!strstr(own, "--hostname=sandbox"));
}

void test_argv__dockers_own_resolver_is_cut_off(void)
{
	cleanup_free char *named = NULL, *none = NULL;
	struct ct_request r = plain();

	r.engine = CT_DOCKER;
	r.mode = CT_ATTACHED;
	r.own_names = true;
	none = line_of(&r);
	CHECK(!strstr(none, "--dns"));
	r.net = CT_NET_NAMED;
	r.network = "cloop-sbx-a";
	named = line_of(&r);
	CHECK_HAS(named, "--network=cloop-sbx-a --dns=0.0.0.0 ");
}

void test_argv__an_operators_ulimit_wins(void)
{
	struct ct_request r = plain();
	const char *const extra[] = {"--ulimit=nofile=64:64"};
	cleanup_free char *line = NULL;

	r.extra_args = extra;
	r.nextra = 1;
	r.hard_nproc = 7;
	line = line_of(&r);
	CHECK(!strstr(line, "nofile=1024"));
	CHECK_HAS(line, "--ulimit=nproc=7:7");
	CHECK_HAS(line, "--ulimit=nofile=64:64 -- ");
}

void test_refusals__client(void)
{
	struct ct_request r = plain();
	const char *const empty[] = {""};
	static const char *const names[] = {"", "-x", ".x", "_x", "a b", "a/b", "a:b", "a\n"};
	static const char *const images[] = {
		"", "-v", "--privileged", "a b", "a\nb", "a;b", "\xc3\xa9"};

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		r.name = names[i];
		refused(&r, "is not a container name");
	}
	r = plain();
	for (size_t i = 0; i < CL_ARRAY_LEN(images); i++) {
		r.image = images[i];
		refused(&r, "is not an image reference");
	}
	r = plain();
	r.nargv = 0;
	refused(&r, "no command");
	r.argv = empty;
	r.nargv = 1;
	refused(&r, "no command");
	r = plain();
	r.oci_runtime = "/usr/bin/evil";
	refused(&r, "is not the name of a runtime");
	r = plain();
	r.engine = CT_DOCKER;
	refused(&r, "docker runs attached");
	r.mode = CT_ATTACHED;
	r.preserve_fds = 3;
	refused(&r, "passes no descriptors");
	r = plain();
	r.memory_mb = -1;
	refused(&r, "negative");
	r = plain();
	r.seccomp = "relative.json";
	refused(&r, "not a clean path");
}

void test_refusals__user(void)
{
	struct ct_request r = plain();
	cleanup_free char *line = NULL;

	r.uid = 0;
	refused(&r, "owned by uid 0");
	r.uid = 1000;
	r.gid = 0;
	refused(&r, "gid 0");
	r.allow_root = true;
	r.uid = 0;
	line = line_of(&r);
	CHECK_HAS(line, "--user=0:0");
	r = plain();
	r.engine = CT_DOCKER;
	r.mode = CT_ATTACHED;
	r.rootless = true;
	refused(&r, "only podman");
}

void test_refusals__network(void)
{
	static const char *const bad[] = {"host", "container:abc", "ns:/run/x", "slirp4netns",
		"pasta", "private", "default", "-x", "", "a b", "a,b", "pasta:x"};
	static const char *const hosts[] = {"a", "a:", ":1.2.3.4", "a:1.2.3.4:5", "a:::1",
		"a b:1.2.3.4", "a:1.2.3", "a:host-gateway", "a:1.2.3.4 ", "-a:1.2.3.4"};
	struct ct_request r = plain();
	const char *one;
	const uint32_t zero = 0;

	r.net = CT_NET_NAMED;
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		r.network = bad[i];
		refused(&r, "is not one a sandbox may join");
	}
	r.network = "bridge";
	r.add_hosts = &one;
	r.nadd_hosts = 1;
	for (size_t i = 0; i < CL_ARRAY_LEN(hosts); i++) {
		one = hosts[i];
		refused(&r, "is not NAME:IPV4");
	}
	one = "a:1.2.3.4";
	r.own_names = true;
	refused(&r, "mounted files");
	r.own_names = false;
	r.net = CT_NET_NONE;
	refused(&r, "has no network");
	r = plain();
	r.groups = &zero;
	r.ngroups = 1;
	refused(&r, "group of 0");
	r = plain();
	r.hostname = "-x";
	refused(&r, "is not a host name");
	r = plain();
	r.net = CT_NET_NAMESPACE;
	r.network = "/run/../x";
	refused(&r, "no path");
}

void test_refusals__mounts(void)
{
	static const char *const bad[] = {"", "rel", "/a:ro", "/a:b:rw", "/a/../b", "/a/./b",
		"/a//b", "/a/", "/a\nb", "/a\x7f", "/..", "/a/..", "/\xff"};
	struct ct_request r = plain();
	struct ct_mount m[2] = {{.source = "/a", .target = "/t"}, {.source = "/b", .target = "/t"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		CHECK(!ct_path_ok(bad[i]));
		r.workspace = bad[i];
		refused(&r, "cannot be given to an engine");
	}
	CHECK(ct_path_ok("/"));
	CHECK(ct_path_ok("/a/..b/c.."));
	r = plain();
	r.mounts = m;
	r.nmounts = 2;
	refused(&r, "two mounts");
	r.nmounts = 1;
	m[0].target = "/workspace";
	refused(&r, "may not hide");
	m[0].target = "/.cloop/init";
	refused(&r, "cloop's own place");
	m[0].target = "/.cloop";
	refused(&r, "cloop's own place");
	m[0].target = "/";
	refused(&r, "clean absolute path");
	m[0].target = "/t";
	m[0].label = "z,rw";
	refused(&r, "neither z nor Z");
	m[0].label = "";
	r.init_dir = NULL;
	refused(&r, "cloop-init");
}

void test_argv__a_program_alone(void)
{
	const struct ct_mount m = {.source = "/usr/lib/p", .target = CT_PROBE, .read_only = true};
	const char *const init[] = {"--env", "/.cloop/env"};
	struct ct_request r = plain();
	cleanup_free char *line = NULL;

	r.alone = CT_PROBE;
	refused(&r, "cloop-init");
	r.init_dir = NULL;
	r.mounts = &m;
	r.nmounts = 1;
	line = line_of(&r);
	CHECK_HAS(line, "--volume=/usr/lib/p:" CT_PROBE ":ro");
	CHECK_HAS(line, "--entrypoint=" CT_PROBE " -- sha256:00 /bin/true");
	CHECK(!strstr(line, CT_INIT_DIR "/") && !strstr(line, CT_INIT_DIR ":"));
	CHECK_HAS(line, "--read-only");
	CHECK_HAS(line, "--cap-drop=ALL");
	r.init_args = init;
	r.ninit_args = 2;
	refused(&r, "cloop-init");
	r.ninit_args = 0;
	r.writable_root = true;
	r.workspace = NULL;
	refused(&r, "cloop-init");
	r.writable_root = false;
	r.alone = "probe";
	refused(&r, "cloop-init");
}

void test_refusals__data(void)
{
	struct ct_request r = plain();
	struct ct_label l = {"", "v"};
	const char *env, *extra;
	static const char *const keys[] = {"", "-a", "a b", "a=b", "a\n"};

	r.labels = &l;
	r.nlabels = 1;
	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++) {
		l.key = keys[i];
		refused(&r, "is not a label");
	}
	r = plain();
	r.env = &env;
	r.nenv = 1;
	env = "HOME";
	refused(&r, "has no value");
	env = "1A=b";
	refused(&r, "is not the name of a variable");
	env = "=b";
	refused(&r, "is not the name of a variable");
	env = "GITHUB_TOKEN=t0psecret";
	refused(&r, "must not pass through the engine");
	r = plain();
	r.extra_args = &extra;
	r.nextra = 1;
	extra = "--privileged";
	refused(&r, "--privileged");
	extra = "-v/etc:/x";
	refused(&r, "-v");
	extra = "--domainname=x";
	refused(&r, "podman has no '--domainname'");
}

void test_env__what_may_be_seen(void)
{
	static const char *const yes[] = {"PATH", "HOME", "TERM", "LANG", "TZ", "CLOOP_RUN_ID",
		"CLOOP_LEASE_DIR", "CLOOP_LOCAL_REPOS"};
	static const char *const no[] = {"", "path", "GIT_CONFIG_GLOBAL", "CLOOP_SECRET_KEY",
		"CLOOP_API_TOKEN", "HTTPS_PROXY", "CLOOP_PROXY", "CLOOP_MODEL_URL", "LD_PRELOAD",
		"CLOOP"};

	for (size_t i = 0; i < CL_ARRAY_LEN(yes); i++)
		if (!ct_env_harmless(yes[i]))
			UNIT_FAIL("%s is not taken", yes[i]);
	for (size_t i = 0; i < CL_ARRAY_LEN(no); i++)
		if (ct_env_harmless(no[i]))
			UNIT_FAIL("%s is taken", no[i]);
}

void test_names__slug_and_handle(void)
{
	static const struct {
		const char *project, *slug;
	} rows[] = {{"/srv/projects/api", "api"}, {"/srv/My Project!!", "my-project"},
		{"/", "project"}, {"", "project"}, {"/srv/---", "project"}, {"/srv/x/", "x"},
		{"/srv/a..b__c", "a-b-c"}, {"/srv/\xc3\xa9t\xc3\xa9", "t"}, {"Caps-9", "caps-9"},
		{"/x/abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz012345"},
		{"/x/abcdefghijklmnopqrstuvwxyz01234-6789", "abcdefghijklmnopqrstuvwxyz01234"}};
	char slug[33];
	cleanup_free char *name = ct_name("/srv/My Project", "c-0123456789ab");

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		ct_slug(rows[i].project, slug);
		CHECK_STR(slug, rows[i].slug);
	}
	CHECK_STR(name, "cloop-my-project-0123456789ab");
	CHECK(ct_name_ok(name));
	CHECK(ct_handle_ok("c-0123456789ab"));
	CHECK(!ct_handle_ok("c-0123456789aB"));
	CHECK(!ct_handle_ok("c-0123456789abc"));
	CHECK(!ct_handle_ok("0123456789abcd"));
	CHECK(!ct_handle_ok(""));
}

void test_names__labels(void)
{
	char longer[400];
	cleanup_free char *cut = NULL, *ctl = ct_label_value("a\nb\r\x01");
	cleanup_free char *key = ct_label_spec_key("team/x y\n");

	memset(longer, 'x', sizeof(longer));
	longer[255] = (char)0xc3;
	longer[256] = (char)0xa9;
	longer[399] = '\0';
	cut = ct_label_value(longer);
	CHECK_INT(strlen(cut), 255);
	CHECK_STR(ctl, "a_b__");
	CHECK_STR(key, "cloop.spec.team_x_y_");
	CHECK(ct_label_key_ok(key));
}

void test_amounts__pids(void)
{
	CHECK_INT(ct_pids_limit(0, NULL), 1024);
	CHECK_INT(ct_pids_limit(30, "runc"), 30);
	CHECK_INT(ct_pids_limit(-1, "runsc"), -1);
	CHECK_INT(ct_pids_limit(30, "runsc"), 572);
	CHECK_INT(ct_pids_limit(0, "runsc"), 2560);
}

void test_amounts(void)
{
	static const struct {
		int64_t milli;
		const char *text;
	} rows[] = {{1000, "1"}, {1500, "1.5"}, {250, "0.25"}, {1, "0.001"}, {1024000, "1024"},
		{10, "0.01"}, {1230, "1.23"}};
	char text[32];

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		ct_cpus(rows[i].milli, text);
		CHECK_STR(text, rows[i].text);
	}
	CHECK_INT(ct_tmp_mb(0), 512);
	CHECK_INT(ct_tmp_mb(4096), 512);
	CHECK_INT(ct_tmp_mb(1024), 512);
	CHECK_INT(ct_tmp_mb(512), 256);
	CHECK_INT(ct_tmp_mb(64), 32);
	CHECK_INT(ct_tmp_mb(1), 1);
}

void test_files__names(void)
{
	const char *const hosts[] = {"a.internal:10.0.0.1", "broken"};
	struct pol_endpoint r[2] = {{{4, {1, 1, 1, 1}}, 53}, {{4, {9, 9, 9, 9}}, 5353}};
	cleanup_buf struct cl_buf b = CL_BUF_INIT, c = CL_BUF_INIT;

	ct_hosts_file("box", hosts, 2, &b);
	CHECK_STR(b.p, "127.0.0.1\tlocalhost box\n::1\tlocalhost\n10.0.0.1\ta.internal\n");
	ct_resolv_file(r, 2, &c);
	CHECK_STR(c.p, "# written by cloop\nnameserver 1.1.1.1\noptions edns0\n");
}
