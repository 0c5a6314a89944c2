/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices, firmware and cgroups below /sys. */
#include "attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of the files DIR/NAME/text that can be opened for writing. */
static void any_write(struct result *r, const char *dir, const char *file)
{
	DIR *d = opendir(dir);
	const struct dirent *de;
	char path[600];

	if (!d) {
		held_errno(r);
		return;
	}
	held(r, "there is none that can be written");
	while (r->outcome == HELD && (de = readdir(d))) {
		int fd;

		if (de->d_name[0] == '.' && strcmp(de->d_name, ".") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/%s", dir, de->d_name, file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		reached(r, "%s can be written", path);
		(void)close(fd);
	}
	(void)closedir(d);
}

static void cgroup_file(struct result *r, const struct attempt *a)
{
	any_write(r, "/sys/fs/cgroup", a->text);
}

static void cgroup_child(struct result *r, const struct attempt *a)
{
	DIR *d = opendir("/sys/fs/cgroup");
	const struct dirent *de;
	char path[600];

	(void)a;
	if (!d) {
		held_errno(r);
		return;
	}
	held(r, "none can be made");
	while (r->outcome == HELD && (de = readdir(d))) {
		struct stat st;

		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", de->d_name);
		if (!strcmp(de->d_name, "..") || stat(path, &st) || !S_ISDIR(st.st_mode) ||
			own_layer(dirfd(d)))
			continue;
		(void)strncat(path, "/cloop-confine", sizeof(path) - strlen(path) - 1);
		if (mkdir(path, 0700))
			continue;
		(void)rmdir(path);
		reached(r, "%s could be made", path);
	}
	(void)closedir(d);
}

static void block_write(struct result *r, const struct attempt *a)
{
	any_write(r, "/sys/block", a->text);
}

static void module_write(struct result *r, const struct attempt *a)
{
	any_write(r, "/sys/module", a->text);
}

#define WRITE(name, path, proves)                        \
	{                                                \
		name, proves, try_open_write, path, 0, 0 \
	}

const struct attempt attempts_sys[] = {
	{"release-agent", "no program of ours runs when a cgroup empties", cgroup_file,
		"release_agent", 0, 0},
	{"cgroup-procs", "no process leaves its cgroup", cgroup_file, "cgroup.procs", 0, 0},
	{"device-rules", "the device rules of our cgroup stand", cgroup_file, "devices.allow", 0,
		0},
	{"memory-limit", "the memory limit of our cgroup stands", cgroup_file,
		"memory.limit_in_bytes", 0, 0},
	{"cgroup-child", "no cgroup is made", cgroup_child, NULL, 0, 0},
	WRITE("uevent-helper", "/sys/kernel/uevent_helper", "no program of ours handles uevents"),
	WRITE("power-state", "/sys/power/state", "the host cannot be put to sleep"),
	WRITE("hugepages", "/sys/kernel/mm/transparent_hugepage/enabled",
		"the host's memory settings stand"),
	WRITE("ksm", "/sys/kernel/mm/ksm/run", "page sharing stays as it is"),
	WRITE("cpu-offline", "/sys/devices/system/cpu/cpu1/online",
		"the host's processors stay on"),
	WRITE("pci-rescan", "/sys/bus/pci/rescan", "the host's buses stay as they are"),
	WRITE("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		"the host's clock source stays"),
	WRITE("vt-blank", "/sys/class/graphics/fbcon/rotate_all", "the host's console stays"),
	{"block-queue", "the host's disks stay as they are", block_write, "queue/scheduler", 0, 0},
	{"module-parameters", "parameters of kernel modules stand", module_write, "uevent", 0, 0},
	{"debugfs", "the kernel's debug files are hidden", try_list, "/sys/kernel/debug", 0, 0},
	{"tracing", "the kernel's tracing files are hidden", try_list, "/sys/kernel/tracing", 0, 0},
	{"securityfs", "the security modules' files are hidden", try_list, "/sys/kernel/security",
		0, 0},
	{"firmware", "the firmware's tables are hidden", try_list, "/sys/firmware", 0, 0},
	{"efivars", "the firmware's variables are hidden", try_list, "/sys/firmware/efi/efivars", 0,
		0},
	{0},
};
