/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a workload ended, and what an engine's complaint means. */
#include "unit.h"
#include "base/mem.h"
#include "policy/sandbox/container.h"

void test_end__codes(void)
{
	static const struct {
		int code;
		bool oom;
		enum ct_state state;
		int signal;
	} rows[] = {{0, false, CT_EXITED, 0}, {1, false, CT_EXITED, 0}, {124, false, CT_EXITED, 0},
		{125, false, CT_FAILED, 0}, {126, false, CT_FAILED, 0}, {127, false, CT_FAILED, 0},
		{128, false, CT_EXITED, 0}, {129, false, CT_KILLED, 1}, {130, false, CT_KILLED, 2},
		{137, false, CT_KILLED, 9}, {143, false, CT_KILLED, 15},
		{164, false, CT_KILLED, 36}, {165, false, CT_EXITED, 0}, {255, false, CT_EXITED, 0},
		{-1, false, CT_FAILED, 0}, {137, true, CT_KILLED, 9}, {1, true, CT_KILLED, 0}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		struct ct_end end = ct_exit(rows[i].code, rows[i].oom);

		if (end.state != rows[i].state || end.signal != rows[i].signal ||
			end.code != rows[i].code)
			UNIT_FAIL("%d: %s, signal %d", rows[i].code, ct_state_name(end.state),
				end.signal);
		CHECK(end.meaning != NULL);
	}
	CHECK_STR(ct_exit(137, true).meaning, "the memory limit");
}

/* t/cases/container/stderr.tsv: kind, engine, what the engine wrote. */
void test_trouble__what_engines_say(void)
{
	static const char *const kinds[] = {[CT_OTHER] = "other",
		[CT_NO_IMAGE] = "image",
		[CT_PERMISSION] = "permission",
		[CT_NO_DAEMON] = "daemon",
		[CT_NAME_TAKEN] = "name",
		[CT_CGROUP] = "cgroup",
		[CT_CGROUP_MIX] = "cgroup-mix",
		[CT_NO_RUNTIME] = "runtime",
		[CT_NO_COMMAND] = "command",
		[CT_NO_CONTAINER] = "gone",
		[CT_NO_NETWORK] = "network",
		[CT_RLIMIT] = "rlimit"};
	FILE *f = fopen(T_CASES "/container/stderr.tsv", "r");
	char line[2048];
	int rows = 0;

	CHECK(f != NULL);
	while (f && fgets(line, sizeof(line), f)) {
		char *engine, *text;
		struct cl_err e;
		enum ct_trouble k;

		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		engine = strchr(line, '\t');
		text = engine ? strchr(engine + 1, '\t') : NULL;
		if (!text) {
			UNIT_FAIL("bad row: %s", line);
			continue;
		}
		*engine++ = *text++ = '\0';
		cl_err_init(&e);
		k = ct_classify(!strcmp(engine, "docker") ? CT_DOCKER : CT_PODMAN,
			"start the sandbox", 125, text, "ghcr.io/acme/x:1", &e);
		if (strcmp(kinds[k], line) != 0)
			UNIT_FAIL("'%s' is %s, not %s", text, kinds[k], line);
		CHECK_HAS(e.msg, "cannot start the sandbox");
		CHECK(!strstr(e.msg, "Error:"));
		if (k == CT_NO_IMAGE)
			CHECK_HAS(e.fix, "pull ghcr.io/acme/x:1");
		rows++;
	}
	if (f)
		(void)fclose(f);
	CHECK(rows > 20);
}

void test_trouble__hostile_text(void)
{
	struct cl_err e;
	char big[4000];

	CHECK_INT(ct_classify(CT_PODMAN, "x", 1, "", NULL, &e), CT_OTHER);
	CHECK_HAS(e.msg, "(no message)");
	CHECK_INT(ct_classify(CT_PODMAN, "x", 1, "\n\n  \n", NULL, &e), CT_OTHER);
	(void)ct_classify(CT_PODMAN, "x", 1, "a\x1b[31mred\nsecond", NULL, &e);
	CHECK(!strchr(e.msg, '\x1b'));
	CHECK(!strstr(e.msg, "second"));
	memset(big, 'y', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	(void)ct_classify(CT_DOCKER, "x", 1, big, NULL, &e);
	CHECK(strlen(e.msg) < 600);
}

/* localhost/ is what was made here: no registry has it. */
void test_trouble__an_image_of_this_machine_is_not_pulled(void)
{
	static const char text[] = "Error: localhost/acme:1: image not known";
	struct cl_err e;

	CHECK_INT(ct_classify(CT_PODMAN, "look", 125, text, "localhost/acme:1", &e), CT_NO_IMAGE);
	CHECK(!strstr(e.fix, "pull"));
	CHECK_HAS(e.fix, "podman build -t localhost/acme:1 DIR");
	CHECK_HAS(e.fix, "podman tag IMAGE localhost/acme:1");
	CHECK_INT(ct_classify(CT_DOCKER, "look", 1, text, "localhost.example/a", &e), CT_NO_IMAGE);
	CHECK_HAS(e.fix, "docker pull localhost.example/a");
}
