/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes below a directory that stands for "/": what they lead to, and what a sysfs tells of them. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/device.h"
#include "sys/path.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char top[64];
static int root = -1;

static void setup(void)
{
	struct cl_err e;
	char dev[80];

	(void)snprintf(top, sizeof(top), "/tmp/u-device-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
	(void)snprintf(dev, sizeof(dev), "%s/dev", top);
	CHECK_INT(sys_mkdirs(dev, 0755, &e), 0);
	root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0);
}

static void teardown(void)
{
	struct cl_err e;

	(void)close(root);
	root = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(sys_rmtree(root, top + sizeof("/tmp"), &e), 0);
	(void)close(root);
}

/* The directories that a path below the tree needs. */
static char *place(const char *path)
{
	char *whole = cl_asprintf("%s%s", top, path), *slash = strrchr(whole, '/');
	struct cl_err e;

	*slash = '\0';
	CHECK_INT(sys_mkdirs(whole, 0755, &e), 0);
	*slash = '/';
	return whole;
}

static void put(const char *path, const char *text, size_t len)
{
	cleanup_free char *whole = place(path);
	cleanup_fd int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK_INT(write(fd, text, len), (long long)len);
}

static void node(const char *path, mode_t type, unsigned major, unsigned minor)
{
	cleanup_free char *whole = place(path);

	CHECK_INT(mknod(whole, type | 0640, makedev(major, minor)), 0);
	CHECK_INT(chmod(whole, 0640), 0);
}

static void link_to(const char *path, const char *to)
{
	cleanup_free char *whole = place(path);

	CHECK_INT(symlink(to, whole), 0);
}

/* "c 188:0 /dev/ttyUSB0 ttyUSB0 tty part" or "refused: ..."; owned. */
static char *found(const char *path)
{
	cleanup_device struct sys_device d = SYS_DEVICE_INIT;
	struct cl_err e;

	if (sys_device_find(root, path, &d, &e))
		return cl_asprintf("%s: %s", cl_err_kind(&e), e.msg);
	return cl_asprintf("%c %u:%u %s %s %s%s", d.node.block ? 'b' : 'c', d.node.major,
		d.node.minor, d.node.path, d.node.kernel, d.node.subsystem,
		d.node.partition ? " part" : "");
}

static void check(const char *path, const char *want)
{
	cleanup_free char *got = found(path);

	if (*want == '~')
		CHECK_HAS(got, want + 1);
	else
		CHECK_STR(got, want);
}

/* The files of t/cases/usb are records of udev's database: P: the path in /sys, E: its facts. */
static void plant(const struct cl_strv *lines, size_t from, size_t to)
{
	const char *path = "", *name = "", *major = "", *minor = "", *subsystem = "";
	cleanup_free char *dir = NULL, *event = NULL, *up = NULL, *uevent = NULL, *dev = NULL;
	cleanup_free char *number = NULL, *sub = NULL;

	for (size_t i = from; i < to; i++) {
		const char *l = lines->v[i];

		path = cl_starts(l, "P: ") ? l + 3 : path;
		name = cl_starts(l, "E: DEVNAME=/dev/") ? l + 16 : name;
		major = cl_starts(l, "E: MAJOR=") ? l + 9 : major;
		minor = cl_starts(l, "E: MINOR=") ? l + 9 : minor;
		subsystem = cl_starts(l, "E: SUBSYSTEM=") ? l + 13 : subsystem;
	}
	if (!*major || !*name)
		return;
	dir = cl_asprintf("/sys%s", path);
	event = cl_asprintf("MAJOR=%s\nMINOR=%s\nDEVNAME=%s\n", major, minor, name);
	uevent = cl_asprintf("%s/uevent", dir);
	put(uevent, event, strlen(event));
	sub = cl_asprintf("%s/subsystem", dir);
	up = cl_asprintf("../../../../class/%s", subsystem);
	link_to(sub, up);
	number = cl_asprintf("/sys/dev/char/%s:%s", major, minor);
	free(up);
	up = cl_asprintf("../../%s", path + 1);
	link_to(number, up);
	dev = cl_asprintf("/dev/%s", name);
	node(dev, S_IFCHR, (unsigned)strtoul(major, NULL, 10), (unsigned)strtoul(minor, NULL, 10));
	for (size_t i = from; i < to; i++) {
		cleanup_free char *by = NULL, *to_dev = NULL;

		if (!cl_starts(lines->v[i], "S: serial/by-"))
			continue;
		by = cl_asprintf("/dev/%s", lines->v[i] + 3);
		to_dev = cl_asprintf("../../%s", name);
		link_to(by, to_dev);
	}
}

static void plant_file(const char *name)
{
	cleanup_free char *path = cl_asprintf("%s/usb/%s", T_CASES, name);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;
	struct cl_err e;
	size_t from = 0;

	CHECK_INT(sys_read_small(AT_FDCWD, path, 65536, &text, &e), 0);
	cl_split(text.p, '\n', &lines);
	for (size_t i = 0; i <= lines.n; i++)
		if (i == lines.n || !*lines.v[i]) {
			plant(&lines, from, i);
			from = i + 1;
		}
}

void test_device__usb_trees(void)
{
	if (geteuid())
		return;
	setup();
	plant_file("04-cdc-acm-composite-modem.udev.txt");
	plant_file("02-ftdi-ft232r-serial.udev.txt");
	check("/dev/ttyACM1", "c 166:1 /dev/ttyACM1 ttyACM1 tty");
	check("/dev/serial/by-id/usb-Altair_Semiconductor_ALT1250_IoT_V1.00-if02",
		"c 166:1 /dev/ttyACM1 ttyACM1 tty");
	check("/dev/serial/by-path/platform-fd500000.pcie-pci-0000:01:00.0-usb-0:1.3:1.2",
		"c 166:1 /dev/ttyACM1 ttyACM1 tty");
	check("/dev/ttyS0", "c 4:64 /dev/ttyS0 ttyS0 tty");
	check("/dev/ttyUSB0", "c 188:0 /dev/ttyUSB0 ttyUSB0 tty");
	check("/dev/ttyUSB1", "~not_found: '/dev/ttyUSB1' does not exist");
	teardown();
}

void test_device__only_nodes_below_dev(void)
{
	if (geteuid())
		return;
	setup();
	node("/dev/a", S_IFCHR, 1, 3);
	node("/srv/a", S_IFCHR, 1, 1);
	put("/dev/file", "x", 1);
	put("/dev/dir/file", "x", 1);
	link_to("/dev/abs", "/dev/a");
	link_to("/dev/out", "../srv/a");
	link_to("/dev/far", "/srv/a");
	link_to("/dev/up", "../../../../../dev/a");
	link_to("/dev/loop", "loop");
	link_to("/dev/gone", "nothing");
	link_to("/dev/magic", "/proc/self/fd/0");
	check("/dev/a", "c 1:3 /dev/a  ");
	/* Nothing is above the root: an absolute link and one that climbs stay in the tree. */
	check("/dev/abs", "c 1:3 /dev/a  ");
	check("/dev/up", "c 1:3 /dev/a  ");
	check("/dev/out", "~refused: '/dev/out' leads to '/srv/a', which is not below /dev");
	check("/dev/far", "~which is not below /dev");
	check("/dev/file", "~is no device node");
	check("/dev/dir", "~is no device node");
	check("/dev/loop", "~refused");
	check("/dev/gone", "~does not exist");
	check("/dev/magic", "~does not exist");
	check("/dev/a/b", "~cannot open");
	teardown();
}

void test_device__partitions_and_hostile_records(void)
{
	cleanup_buf struct cl_buf huge = CL_BUF_INIT;

	if (geteuid())
		return;
	setup();
	put("/sys/devices/d/sda/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n", 27);
	put("/sys/devices/d/sda/sda1/uevent", "MAJOR=8\nDEVNAME=sda1", 20);
	put("/sys/devices/d/sda/sda1/partition", "1\n", 2);
	link_to("/sys/dev/block/8:0", "../../devices/d/sda");
	link_to("/sys/dev/block/8:1", "../../devices/d/sda/sda1");
	node("/dev/x", S_IFBLK, 8, 0);
	node("/dev/y", S_IFBLK, 8, 1);
	node("/dev/z", S_IFBLK, 8, 2);
	node("/dev/\xff\n", S_IFCHR, 8, 1);
	check("/dev/x", "b 8:0 /dev/x sda ");
	check("/dev/y", "b 8:1 /dev/y sda1  part");
	check("/dev/z", "b 8:2 /dev/z  ");
	/* A character device is no partition, whatever has its number among blocks. */
	check("/dev/\xff\n", "c 8:1 /dev/\xff\n  ");
	/* An empty record, one without its line, one with bytes, one that has no end. */
	put("/sys/devices/d/sda/uevent", "", 0);
	check("/dev/x", "b 8:0 /dev/x  ");
	put("/sys/devices/d/sda/uevent", "XDEVNAME=q\nDEVNAME=\n", 20);
	check("/dev/x", "b 8:0 /dev/x  ");
	put("/sys/devices/d/sda/uevent", "DEVNAME=\xff\xfe/\n", 12);
	check("/dev/x", "b 8:0 /dev/x \xff\xfe/ ");
	for (int i = 0; i < 70000; i++)
		cl_buf_addc(&huge, 'a');
	put("/sys/devices/d/sda/uevent", huge.p, huge.len);
	check("/dev/x", "b 8:0 /dev/x  ");
	teardown();
}

void test_device__same_is_kind_and_number(void)
{
	const struct sys_device a = {.node = {.major = 188, .minor = 0}};
	struct sys_device b = a;

	CHECK(sys_device_same(&a, &b));
	b.node.minor = 1;
	CHECK(!sys_device_same(&a, &b));
	b = a;
	b.node.block = true;
	CHECK(!sys_device_same(&a, &b));
}
