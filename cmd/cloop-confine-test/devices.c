/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Device nodes: those that are there, and those that can be made. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void node(struct result *r, const struct attempt *a)
{
	int fd = open(a->text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		held_errno(r);
	else
		reached(r, "%s could be opened", a->text);
}

/* Makes a node in a folder of ours and opens it. */
static void make(struct result *r, mode_t type, dev_t dev, const char *what)
{
	static const char *const dirs[] = {"/tmp", "/dev/shm", "/workspace", "/dev", "."};
	char path[64];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/.cloop-confine-%d", dirs[i], (int)getpid());
		if (mknod(path, type | 0600, dev)) {
			held_errno(r);
			continue;
		}
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0)
			reached(r, "a node of %s was made and opened", what);
		else
			held_errno(r);
		(void)unlink(path);
		if (fd >= 0)
			return;
	}
}

/* The number is major << 8 | minor. */
static void make_char(struct result *r, const struct attempt *a)
{
	make(r, S_IFCHR, makedev((unsigned)a->number >> 8, (unsigned)a->number & 0xff), a->text);
}

/* Each disk that the kernel lists. */
static void make_disks(struct result *r, const struct attempt *a)
{
	FILE *f = fopen("/proc/partitions", "re");
	unsigned major, minor;
	char line[256], name[64];

	(void)a;
	skipped(r, "no disk is listed");
	while (f && r->outcome != REACHED && fgets(line, sizeof(line), f))
		if (sscanf(line, "%u %u %*u %63s", &major, &minor, name) == 3)
			make(r, S_IFBLK, makedev(major, minor), name);
	if (f)
		(void)fclose(f);
}

#define NODE(name, path, proves)               \
	{                                      \
		name, proves, node, path, 0, 0 \
	}

const struct attempt attempts_devices[] = {
	NODE("mem", "/dev/mem", "physical memory is out of reach"),
	NODE("kmem", "/dev/kmem", "kernel memory is out of reach"),
	NODE("port", "/dev/port", "I/O ports are out of reach"),
	NODE("kmsg", "/dev/kmsg", "the kernel's log is out of reach"),
	NODE("sda", "/dev/sda", "the first SCSI disk is out of reach"),
	NODE("vda", "/dev/vda", "the first virtual disk is out of reach"),
	NODE("xvda", "/dev/xvda", "the first Xen disk is out of reach"),
	NODE("nvme", "/dev/nvme0n1", "the first NVMe disk is out of reach"),
	NODE("dm", "/dev/dm-0", "the first mapped disk is out of reach"),
	NODE("mapper", "/dev/mapper/control", "no disk is mapped"),
	NODE("loop", "/dev/loop0", "the first loop device is out of reach"),
	NODE("loop-control", "/dev/loop-control", "no loop device is made"),
	NODE("nbd", "/dev/nbd0", "no network block device is attached"),
	NODE("btrfs", "/dev/btrfs-control", "no disk is added to a file system"),
	NODE("kvm", "/dev/kvm", "no virtual machine is started"),
	NODE("vhost-net", "/dev/vhost-net", "the kernel serves no queue of ours"),
	NODE("vhost-vsock", "/dev/vhost-vsock", "no virtual socket is served"),
	NODE("vfio", "/dev/vfio/vfio", "no device is taken for a virtual machine"),
	{"tun", "no tunnel device is made", node, "/dev/net/tun", 0, SURFACE},
	{"fuse", "no file system is served", node, "/dev/fuse", 0, SURFACE},
	NODE("uinput", "/dev/uinput", "nothing is typed on the host"),
	NODE("uhid", "/dev/uhid", "no input device is made"),
	NODE("input", "/dev/input/event0", "nothing that is typed on the host is read"),
	NODE("console", "/dev/tty0", "the host's console is out of reach"),
	NODE("vcs", "/dev/vcs1", "the host's screen is out of reach"),
	NODE("dri", "/dev/dri/card0", "the host's graphics card is out of reach"),
	NODE("framebuffer", "/dev/fb0", "the host's framebuffer is out of reach"),
	NODE("rtc", "/dev/rtc0", "the host's clock is out of reach"),
	NODE("msr", "/dev/cpu/0/msr", "processor registers are out of reach"),
	NODE("hwrng", "/dev/hwrng", "the host's random device is out of reach"),
	NODE("tpm", "/dev/tpm0", "the host's TPM is out of reach"),
	NODE("snapshot", "/dev/snapshot", "no memory image is read"),
	NODE("userfaultfd", "/dev/userfaultfd", "page faults are not ours to delay"),
	{"make-mem", "no node of physical memory is made", make_char, "/dev/mem", 0x101, 0},
	{"make-kmsg", "no node of the kernel's log is made", make_char, "/dev/kmsg", 0x10b, 0},
	{"make-tty0", "no node of the host's console is made", make_char, "/dev/tty0", 0x400, 0},
	{"make-disk", "no node of a disk is made", make_disks, NULL, 0, 0},
	{0},
};
