/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mount tables as real machines have them, in t/cases/mountinfo. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/mountinfo.h"
#include "unit.h"

static void load(const char *name, struct mountinfo *m)
{
	cleanup_free char *path = cl_asprintf("%s/mountinfo/%s", T_CASES, name);
	char text[65536];
	FILE *f = fopen(path, "r");
	struct cl_err e;
	size_t n;

	CHECK(f != NULL);
	if (!f)
		return;
	n = fread(text, 1, sizeof(text), f);
	(void)fclose(f);
	CHECK_INT(mountinfo_parse(text, n, m, &e), 0);
}

static uint64_t id_at(const struct mountinfo *m, const char *point)
{
	const struct mountinfo_line *line = mountinfo_at(m, point);

	return line ? line->id : 0;
}

void test_table__laptop(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	bool text = false;

	load("01-laptop-autofs-cifs-usbfs.txt", &m);
	CHECK_INT(m.n, 21);
	CHECK_INT(id_at(&m, "/"), 20);
	CHECK_STR(mountinfo_at(&m, "/")->type, "ext3");
	CHECK_INT(id_at(&m, "/dev/hugepages"), 38); /* over an autofs */
	/* Super options are the file system's own text: no escapes there. */
	for (size_t i = 0; i < m.n; i++)
		text |= strstr(m.v[i].super_options, "\\bar") != NULL;
	CHECK(text);
}

void test_table__btrfs(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;

	load("02-btrfs-subvolumes.txt", &m);
	CHECK_INT(m.n, 8);
	CHECK_STR(mountinfo_at(&m, "/var/lib/containers")->root, "/containers");
}

void test_table__container(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	cleanup_strv struct cl_strv below = CL_STRV_INIT;

	load("03-docker-container-rshared-and-socket.txt", &m);
	CHECK_INT(m.n, 7);
	mountinfo_below(&m, "/etc", &below);
	CHECK(cl_strv_has(&below, "/etc/resolv.conf"));
	CHECK(!cl_strv_has(&below, "/var/lib/app"));
}

void test_table__escapes(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;

	load("04-gvisor-gofer-secret-volumes.txt", &m);
	CHECK_INT(m.n, 12);
	CHECK(mountinfo_at(&m, "/srv/my data") != NULL);
}

void test_table__covered(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;

	load("05-snap-namespace-hostfs.txt", &m);
	CHECK_INT(m.n, 29);
	CHECK_STR(mountinfo_at(&m, "/")->type, "squashfs");
	CHECK_INT(id_at(&m, "/tmp"), 358);
	CHECK_INT(id_at(&m, "/dev/pts"), 313);
	CHECK_INT(id_at(&m, "/var/lib/snapd/hostfs"), 591);
}

void test_table__namespaces(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;

	load("06-host-with-docker-netns.txt", &m);
	CHECK_INT(m.n, 5);
	CHECK_STR(mountinfo_at(&m, "/run/docker/netns/ef36004a6ef8")->root, "net:[4026533221]");
}

static int parse(const char *text, struct mountinfo *m, struct cl_err *e)
{
	return mountinfo_parse(text, strlen(text), m, e);
}

void test_line__forms(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	struct cl_err e;

	/* Optional fields, an empty source, no super options, no newline at the end. */
	CHECK_INT(parse("1 0 8:1 / / rw - ext4  rw\n"
			"2 1 0:5 / /a\\011b\\012c\\134040 rw shared:1 master:2 new:x - t\\040t "
			"s\\043",
			  &m, &e),
		0);
	CHECK_INT(m.n, 2);
	CHECK_STR(m.v[0].source, "");
	CHECK_STR(m.v[1].point, "/a\tb\nc\\040");
	CHECK_STR(m.v[1].type, "t t");
	CHECK_STR(m.v[1].source, "s#");
	CHECK_STR(m.v[1].super_options, "");
}

void test_line__broken(void)
{
	static const char *const bad[] = {"\n", "x 0 8:1 / / rw - ext4 a rw",
		"1 0 81 / / rw - e a rw", "1 0 8:x / / rw - e a rw",
		"1 0 8:1 / relative rw - e a rw", "1 0 8:1 / / rw ext4 a rw",
		"1 0 8:1 / / rw - ext4", "1 0 8:1", "-1 0 8:1 / / rw - ext4 a rw"};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
		cleanup_free char *text = cl_asprintf("1 0 8:1 / / rw - ext4 a rw\n%s\n", bad[i]);
		struct cl_err e;

		CHECK_INT(parse(text, &m, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
		CHECK_INT(e.line, 2);
	}
}

/* Below means below: not the point itself, not a name that only begins alike. */
void test_below__edges(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	cleanup_strv struct cl_strv p = CL_STRV_INIT, all = CL_STRV_INIT;
	struct cl_err e;

	CHECK_INT(parse("1 0 8:1 / / rw - e a rw\n2 1 8:1 / /srv rw - e a rw\n"
			"3 2 8:1 / /srv/a rw - e a rw\n4 1 8:1 / /srv2 rw - e a rw\n",
			  &m, &e),
		0);
	mountinfo_below(&m, "/srv", &p);
	CHECK_INT(p.n, 1);
	CHECK_STR(p.v[0], "/srv/a");
	mountinfo_below(&m, "/", &all);
	CHECK_INT(all.n, 3);
}

/* A table that goes round in circles ends. */
void test_at__circle(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	struct cl_err e;

	CHECK_INT(parse("1 2 8:1 / /a rw - e a rw\n2 1 8:1 / /a rw - e a rw\n", &m, &e), 0);
	CHECK(mountinfo_at(&m, "/a") != NULL);
	CHECK(!mountinfo_at(&m, "/b"));
}

void test_own__table(void)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	struct cl_err e;

	CHECK_INT(mountinfo_read(&m, &e), 0);
	CHECK(mountinfo_at(&m, "/proc") != NULL);
}
