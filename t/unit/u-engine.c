/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine side against an engine that is a script: what it answers is decided here, so
 * that every answer an engine could give, broken ones too, can be given.
 */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/engine/engine.h"
#include "sys/engine/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void write_file(const char *name, mode_t mode, const char *text)
{
	cleanup_free char *path = cl_asprintf("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	if (fd >= 0)
		(void)close(fd);
	(void)chmod(path, mode);
}

/* An engine whose answers are files: "$0" prints out.<first words>, or fails with err, or first
 * with once. */
static void fake(const char *name, struct engine *en)
{
	const char *script = "#!/bin/sh\n"
			     "d=$(dirname \"$0\"); echo \"$*\" >> $d/calls\n"
			     "[ -e $d/once ] && { cat $d/once >&2; rm $d/once; exit 125; }\n"
			     "f=$d/out.$1; [ -e $d/out.$1.$2 ] && f=$d/out.$1.$2\n"
			     "[ -e \"$f\" ] && cat \"$f\"\n"
			     "[ -e $d/env ] && env > $d/env\n"
			     "[ -e $d/err ] && cat $d/err >&2\n"
			     "exit $(cat $d/status 2>/dev/null || echo 0)\n";
	char *envp[] = {(char *)"HOME=/home/x", (char *)"SECRET=1", (char *)"INVOCATION_ID=2",
		(char *)"CONTAINERS_CONF=/c", (char *)"DOCKER_HOST=unix:///s",
		(char *)"XDG_DATA_HOME=", NULL};
	cleanup_free char *path = NULL;
	struct cl_err e;

	(void)snprintf(dir, sizeof(dir), "/tmp/u-engine.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	write_file(name, 0700, script);
	path = cl_asprintf("%s/%s", dir, name);
	if (engine_find(path, envp, en, &e))
		UNIT_FAIL("not found: %s", e.msg);
}

static char *slurp(const char *name)
{
	cleanup_free char *path = cl_asprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	char *text = cl_calloc(1, 65536);

	if (f) {
		(void)!fread(text, 1, 65535, f);
		(void)fclose(f);
	}
	return text;
}

static void end(struct engine *en)
{
	cleanup_free char *rm = cl_asprintf("%s", dir);
	char *const argv[] = {(char *)"rm", (char *)"-rf", rm, NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	struct cl_err e;
	pid_t pid;
	int st;

	engine_release(en);
	s.path = "rm";
	s.argv = argv;
	if (!sys_spawn(&s, &pid, &e))
		(void)sys_wait(pid, &st, &e);
}

void test_find__names(void)
{
	static const char *const bad[] = {"nerdctl", "/bin/sh", "podman;rm", "./podman", "Podman"};
	char *const remote[] = {(char *)"DOCKER_HOST=tcp://build:2375", NULL};
	struct engine en = ENGINE_INIT;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		CHECK_INT(engine_find(bad[i], NULL, &en, &e), -1);
		CHECK_INT(e.code, CL_ECONFIG);
		engine_release(&en);
	}
	CHECK_INT(engine_find("/no/such/podman", NULL, &en, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_STR(cl_err_slug(&e), "no_engine");
	engine_release(&en);
	fake("docker", &en);
	engine_release(&en);
	{
		cleanup_free char *path = cl_asprintf("%s/docker", dir);

		CHECK_INT(engine_find(path, remote, &en, &e), -1);
		CHECK_HAS(e.msg, "tcp://build:2375");
	}
	end(&en);
}

void test_run__closed_environment(void)
{
	const char *const args[] = {"ps", NULL};
	struct engine en = ENGINE_INIT;
	cleanup_free char *env = NULL;
	struct cl_err e;

	fake("podman", &en);
	write_file("env", 0600, "");
	CHECK_INT(engine_call(&en, "try", NULL, args, 5000, NULL, &e), 0);
	env = slurp("env");
	CHECK_HAS(env, "HOME=/home/x\n");
	CHECK_HAS(env, "CONTAINERS_CONF=/c\n");
	CHECK(!strstr(env, "DOCKER_CONFIG"));
	CHECK(!strstr(env, "SECRET"));
	CHECK(!strstr(env, "INVOCATION_ID"));
	CHECK(!strstr(env, "XDG_DATA_HOME"));
	CHECK_STR(engine_env(&en, "CONTAINERS_CONF"), "/c");
	CHECK(engine_env(&en, "XDG_DATA_HOME") == NULL);
	end(&en);
}

void test_version__forms(void)
{
	struct engine en = ENGINE_INIT;
	char *v = NULL;
	struct cl_err e;

	fake("docker", &en);
	write_file("out.--version", 0600, "Docker version 28.2.2, build e6534b4\n");
	CHECK_INT(engine_version(&en, &v, &e), 0);
	CHECK_STR(v, "28.2.2");
	free(v);
	write_file("out.--version", 0600, "podman version 4.3.1\n");
	CHECK_INT(engine_version(&en, &v, &e), -1);
	CHECK_HAS(e.fix, "runtime: podman");
	end(&en);
}

void test_info__podman_and_broken(void)
{
	struct engine en = ENGINE_INIT;
	struct engine_info i = ENGINE_INFO_INIT;
	struct cl_err e;

	fake("podman", &en);
	write_file("out.info", 0600,
		"{\"host\":{\"cgroupVersion\":\"v2\",\"cgroupManager\":\"systemd\",\"hostname\":"
		"\"h\","
		"\"ociRuntime\":{\"name\":\"crun\"},\"security\":{\"selinuxEnabled\":true}},"
		"\"store\":{\"graphRoot\":\"/g\",\"graphDriverName\":\"overlay\",\"configFile\":\"/"
		"s\","
		"\"graphOptions\":{\"overlay.additionalImageStores\":\"x\",\"overlay.imagestore\":"
		"\"/y\"}},"
		"\"version\":{\"Version\":\"5.0\"}}");
	CHECK_INT(engine_info(&en, &i, &e), 0);
	CHECK_STR(i.cgroup_version, "v2");
	CHECK_STR(i.cgroup_driver, "systemd");
	CHECK_STR(i.default_runtime, "crun");
	CHECK_STR(i.store, "/g");
	CHECK_STR(i.storage_config, "/s");
	CHECK_STR(i.version, "5.0");
	CHECK(i.selinux && i.extra_stores && !i.runtimes_known);
	engine_info_release(&i);
	write_file("out.info", 0600, "{}");
	CHECK_INT(engine_info(&en, &i, &e), -1);
	CHECK_HAS(e.msg, "does not answer");
	engine_info_release(&i);
	write_file("out.info", 0600, "{\"host\":");
	CHECK_INT(engine_info(&en, &i, &e), -1);
	CHECK_HAS(e.msg, "is not what it used to be");
	write_file("out.info", 0600, "[1,2]");
	CHECK_INT(engine_info(&en, &i, &e), -1);
	engine_info_release(&i);
	write_file("status", 0600, "125");
	write_file("err", 0600, "Error: storage: permission denied\n");
	CHECK_INT(engine_info(&en, &i, &e), -1);
	CHECK_INT(e.code, CL_EDENIED);
	engine_info_release(&i);
	end(&en);
}

void test_info__docker(void)
{
	struct engine en = ENGINE_INIT;
	struct engine_info i = ENGINE_INFO_INIT;
	struct cl_err e;

	fake("docker", &en);
	write_file("out.info", 0600,
		"{\"ServerVersion\":\"20.10\",\"CgroupVersion\":\"1\",\"CgroupDriver\":"
		"\"cgroupfs\","
		"\"DockerRootDir\":\"/var/lib/docker\",\"Driver\":\"overlay2\",\"Name\":\"h\","
		"\"DefaultRuntime\":\"runc\",\"Runtimes\":{\"runsc\":{},\"runc\":{}},"
		"\"SecurityOptions\":[\"name=seccomp,profile=default\",\"name=selinux\"]}");
	CHECK_INT(engine_info(&en, &i, &e), 0);
	CHECK_STR(i.cgroup_version, "v1");
	CHECK(i.runtimes_known && i.selinux && !i.rootless);
	CHECK_INT(i.runtimes.n, 2);
	CHECK_STR(i.runtimes.v[0], "runc");
	engine_info_release(&i);
	end(&en);
}

void test_containers__both_engines(void)
{
	struct engine_containers c = ENGINE_CONTAINERS_INIT;
	struct engine en = ENGINE_INIT;
	struct cl_err e;

	fake("podman", &en);
	write_file("out.ps", 0600,
		"[{\"Id\":\"a\",\"Names\":[\"cloop-a\"],\"State\":\"running\",\"Labels\":{\"k\":"
		"\"a,b=c\"},"
		"\"StartedAt\":100,\"ExitedAt\":-62135596800},"
		"{\"Id\":\"b\",\"Names\":[\"other\"],\"State\":\"running\",\"Labels\":null},"
		"{\"Id\":\"c\",\"Names\":[\"cloop-c\"],\"State\":\"Storage\",\"Labels\":null},"
		"{\"Id\":\"d\",\"Names\":null}, 7]");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), 0);
	CHECK_INT(c.n, 2);
	if (c.n == 2) {
		CHECK_STR(c.v[0].name, "cloop-a");
		CHECK_STR(engine_container_label(&c.v[0], "k"), "a,b=c");
		CHECK_INT(c.v[0].started_at, 100);
		CHECK_INT(c.v[0].exited_at, 0);
		CHECK_STR(c.v[1].status, "storage");
		CHECK(engine_container_label(&c.v[1], "k") == NULL);
	}
	engine_containers_release(&c);
	write_file("out.ps", 0600, "{}");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), -1);
	engine_containers_release(&c);
	end(&en);

	fake("docker", &en);
	write_file("out.ps", 0600, "");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), 0);
	CHECK_INT(c.n, 0);
	write_file("out.ps", 0600, "aaa\nbbb\n");
	write_file("out.inspect", 0600,
		"[{\"Id\":\"aaa\",\"Name\":\"/"
		"cloop-a\",\"State\":{\"Status\":\"exited\",\"StartedAt\":"
		"\"2026-11-29T21:57:17.530510109Z\",\"FinishedAt\":\"0001-01-01T00:00:00Z\"},"
		"\"Config\":{\"Labels\":{\"z\":\"a,b=c\"}}},{\"Id\":\"bbb\",\"Name\":\"/"
		"x-cloop-b\"}]");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), 0);
	CHECK_INT(c.n, 1);
	if (c.n) {
		CHECK_STR(engine_container_label(&c.v[0], "z"), "a,b=c");
		CHECK_INT(c.v[0].started_at, 1795989437);
		CHECK_INT(c.v[0].exited_at, 0);
	}
	engine_containers_release(&c);
	end(&en);
}

/* podman fails as a whole when one of those that it lists goes meanwhile. */
void test_containers__one_goes_while_it_lists(void)
{
	struct engine_containers c = ENGINE_CONTAINERS_INIT;
	struct engine en = ENGINE_INIT;
	struct cl_err e;

	fake("podman", &en);
	write_file(
		"out.ps", 0600, "[{\"Id\":\"a\",\"Names\":[\"cloop-a\"],\"State\":\"running\"}]");
	write_file("once", 0600,
		"Error: determining buildah container for container b: container not known\n");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), 0);
	CHECK_INT(c.n, 1);
	engine_containers_release(&c);
	write_file("once", 0600, "Error: boom\n");
	CHECK_INT(engine_containers(&en, "cloop-", &c, &e), -1);
	CHECK_HAS(e.msg, "boom");
	end(&en);
}

void test_remove__again_until_gone(void)
{
	struct engine en = ENGINE_INIT;
	cleanup_free char *calls = NULL;
	struct cl_err e;

	/* Always there, never removed: three attempts, then the engine's own words. */
	fake("podman", &en);
	write_file("status", 0600, "0");
	CHECK_INT(engine_remove(&en, "cloop-x", &e), 0);
	end(&en);
	fake("podman", &en);
	write_file("err", 0600, "Error: cannot remove container: container state weird\n");
	write_file("status", 0600, "2");
	CHECK_INT(engine_remove(&en, "cloop-x", &e), -1);
	CHECK_HAS(e.msg, "state weird");
	calls = slurp("calls");
	CHECK_HAS(calls, "rm --force --time=0 --volumes cloop-x\n");
	write_file("err", 0600,
		"Error: no container with name or ID \"cloop-x\" found: no such container\n");
	CHECK_INT(engine_remove(&en, "cloop-x", &e), 0);
	CHECK_INT(engine_signal(&en, "cloop-x", "KILL", &e), 0);
	write_file("err", 0600, "Error: boom\n");
	CHECK_INT(engine_signal(&en, "cloop-x", "KILL", &e), -1);
	end(&en);
}

static const char image_json[] =
	"[{\"Id\":\"00aa\",\"RepoDigests\":[\"quay.io/x/y@sha256:"
	"1111111111111111111111111111111111111111111111111111111111111111\","
	"\"ghcr.io/acme/"
	"t@sha256:2222222222222222222222222222222222222222222222222222222222222222\"],"
	"\"Config\":{\"Entrypoint\":[\"\"],\"Cmd\":[\"/bin/"
	"sh\"],\"User\":\"app\",\"WorkingDir\":\"/w\","
	"\"Env\":[\"A=b\"],\"Labels\":{\"org.cloop.harnesses\":\" Claude, cloop\\tgit\"},"
	"\"Volumes\":{\"/data\":{}}},\"GraphDriver\":{\"Data\":{\"UpperDir\":\"/no/such\"}}}]";

void test_image__inspect_and_judge(void)
{
	struct engine_image im = ENGINE_IMAGE_INIT, back = ENGINE_IMAGE_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct engine en = ENGINE_INIT;
	cleanup_free char *text = NULL, *again = NULL;
	json_t *j;
	struct cl_err e;

	fake("podman", &en);
	write_file("out.image", 0600, image_json);
	CHECK_INT(engine_image_inspect(&en, "ghcr.io/acme/t:1", &im, &e), 0);
	CHECK_STR(im.id, "sha256:00aa");
	CHECK_HAS(im.pinned, "ghcr.io/acme/t@sha256:2222");
	CHECK_INT(im.entrypoint.n, 0);
	CHECK_STR(im.user, "app");
	CHECK_INT(im.tmp_mode, -1);
	CHECK_INT(engine_image_check(&en, &im, &e), 0);
	CHECK_INT(engine_image_harness(&im, "claude", &e), 0);
	CHECK_INT(engine_image_harness(&im, "GIT", &e), 0);
	CHECK_INT(engine_image_harness(&im, "copilot", &e), -1);
	CHECK_STR(cl_err_slug(&e), "sandbox_image_lacks_harness");
	CHECK_HAS(e.msg, "claude, cloop, git");
	CHECK_HAS(e.fix, "cloop-harness-copilot");
	/* What the cache keeps is all of it. */
	j = engine_image_json(&im);
	text = cl_json_text(j);
	json_decref(j);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "c", text, strlen(text), NULL, &e), 0);
	CHECK_INT(engine_image_read(&d, d.root, &back, &e), 0);
	j = engine_image_json(&back);
	again = cl_json_text(j);
	json_decref(j);
	CHECK_STR(again, text);
	en.kind = CT_DOCKER;
	CHECK_INT(engine_image_check(&en, &im, &e), -1);
	CHECK_HAS(e.msg, "/data");
	cl_strv_add(&im.entrypoint, "/run.sh");
	CHECK_INT(engine_image_check(&en, &im, &e), -1);
	CHECK_HAS(e.msg, "ENTRYPOINT (/run.sh)");
	CHECK_STR(e.constraint, "image");
	engine_image_release(&im);
	engine_image_release(&back);
	CHECK_INT(engine_image_inspect(&en, "--format=x", &im, &e), -1);
	end(&en);
}

void test_image__missing_and_broken(void)
{
	static const char *const bad[] = {"", "[]", "{}", "[{}]", "[{\"Id\":7}]", "[[[", "[null]"};
	struct engine_image im = ENGINE_IMAGE_INIT;
	struct engine en = ENGINE_INIT;
	struct cl_err e;

	fake("podman", &en);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		write_file("out.image", 0600, bad[i]);
		CHECK_INT(engine_image_inspect(&en, "x:1", &im, &e), -1);
		engine_image_release(&im);
	}
	write_file("status", 0600, "125");
	write_file("err", 0600, "Error: inspecting object: x:1: image not known\n");
	CHECK_INT(engine_image_inspect(&en, "x:1", &im, &e), -1);
	CHECK_HAS(e.msg, "image 'x:1' is not in podman's local store");
	CHECK_HAS(e.fix, "podman pull x:1");
	engine_image_release(&im);
	end(&en);
}

/* The image as a podman says it whose store is `dir`; owned. */
static char *image_in_store(void)
{
	cleanup_free char *upper = cl_asprintf("%s/overlay/00aa/diff", dir);
	json_t *j = json_loads(image_json, 0, NULL);
	char *text;

	(void)json_object_set_new(json_array_get(j, 0), "GraphDriver",
		json_pack("{s:s, s:{s:s}}", "Name", "overlay", "Data", "UpperDir", upper));
	text = json_dumps(j, 0);
	json_decref(j);
	return text;
}

/* The cache: a store of ours, its index older than the clock's tick. */
void test_pin__cache_follows_the_index(void)
{
	struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct engine_image im = ENGINE_IMAGE_INIT;
	struct engine en = ENGINE_INIT;
	cleanup_free char *image = NULL, *cache = NULL, *index = NULL, *conf = NULL;
	bool cached = true;
	struct cl_err e;

	fake("podman", &en);
	image = image_in_store();
	cache = cl_asprintf("%s/cache", dir);
	index = cl_asprintf("%s/overlay-images", dir);
	(void)mkdir(index, 0700);
	write_file("out.image", 0600, image);
	write_file("overlay-images/images.json", 0600, "[{\"id\":\"00aa\"}]");
	(void)usleep(150000);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK_INT(cached, i > 0);
		CHECK_STR(im.id, "sha256:00aa");
		CHECK_STR(engine_image_label(&im, IMAGE_HARNESSES_LABEL), " Claude, cloop\tgit");
		engine_image_release(&im);
	}
	/* Another name is another question. */
	CHECK_INT(engine_image_pin(&en, "x:2", cache, &im, &cached, &e), 0);
	CHECK(!cached);
	engine_image_release(&im);
	/* The same size and times, rewritten in place: the change time gives it away. */
	write_file("overlay-images/images.json", 0600, "[{\"id\":\"00bb\"}]");
	free(index);
	index = cl_asprintf("%s/overlay-images/images.json", dir);
	(void)utimensat(AT_FDCWD, index, past, 0);
	CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
	CHECK(!cached);
	engine_image_release(&im);
	/* An index that does not hold the image is not the one that answers: never kept. */
	(void)usleep(150000);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK(!cached);
		engine_image_release(&im);
	}
	/* With a further store the index alone does not say what a name means. */
	write_file("overlay-images/images.json", 0600, "[{\"id\":\"00aa\"}]");
	write_file("storage.conf", 0600, "[storage.options]\nadditionalimagestores = [\n\"/x\"]\n");
	conf = cl_asprintf("CONTAINERS_STORAGE_CONF=%s/storage.conf", dir);
	cl_strv_add(&en.env, conf);
	(void)usleep(150000);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK(!cached);
		engine_image_release(&im);
	}
	write_file("storage.conf", 0600,
		"#additionalimagestores = [\"/x\"]\nadditionalimagestores = [\n]\n");
	(void)usleep(150000);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK_INT(cached, i > 0);
		engine_image_release(&im);
	}
	/* A directory others may write is no cache. */
	write_file("overlay-images/images.json", 0600, "[{\"id\":\"00aa\"}]");
	(void)usleep(150000);
	(void)chmod(cache, 0777);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK(!cached);
		engine_image_release(&im);
	}
	end(&en);
}

void test_pin__broken_cache_is_no_cache(void)
{
	static const char *const bad[] = {"", "{", "[]", "{}", "{\"key\":\"x\"}", "\xff\xff"};
	struct engine_image im = ENGINE_IMAGE_INIT;
	struct engine en = ENGINE_INIT;
	cleanup_free char *image = NULL, *cache = NULL, *index = NULL, *list = NULL, *name = NULL;
	bool cached = false;
	struct cl_err e;

	fake("podman", &en);
	image = image_in_store();
	cache = cl_asprintf("%s/cache", dir);
	index = cl_asprintf("%s/overlay-images", dir);
	(void)mkdir(index, 0700);
	write_file("out.image", 0600, image);
	write_file("overlay-images/images.json", 0600, "[{\"id\":\"00aa\"}]");
	(void)usleep(150000);
	CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
	engine_image_release(&im);
	{
		cleanup_free char *cmd = cl_asprintf("cd %s && ls cache/ > list", dir);
		char *const argv[] = {(char *)"sh", (char *)"-c", cmd, NULL};
		struct sys_spawn s = SYS_SPAWN_INIT;
		pid_t pid;
		int st;

		s.path = "sh";
		s.argv = argv;
		CHECK(!sys_spawn(&s, &pid, &e) && !sys_wait(pid, &st, &e));
	}
	list = slurp("list");
	list[strcspn(list, "\n")] = '\0';
	CHECK_HAS(list, "image-");
	name = cl_asprintf("cache/%s", list);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		write_file(name, 0600, bad[i]);
		CHECK_INT(engine_image_pin(&en, "x:1", cache, &im, &cached, &e), 0);
		CHECK(!cached);
		CHECK_STR(im.id, "sha256:00aa");
		engine_image_release(&im);
	}
	end(&en);
}
