/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_node.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"

#include <stdio.h>
#include <string.h>

/* Numbers that stand for one thing for good: Documentation/admin-guide/devices.txt. */
static const struct {
	unsigned major;
	int minor; /* -1: all */
	const char *why;
} numbers[] = {
	{1, 1, SEC_NODE_MEMORY},    /* mem */
	{1, 2, SEC_NODE_MEMORY},    /* kmem */
	{1, 4, SEC_NODE_MEMORY},    /* port */
	{1, 6, SEC_NODE_MEMORY},    /* core */
	{1, 12, SEC_NODE_MEMORY},   /* oldmem */
	{1, 11, SEC_NODE_KERNEL},   /* kmsg */
	{10, 144, SEC_NODE_MEMORY}, /* nvram */
	{10, 231, SEC_NODE_KERNEL}, /* snapshot */
	{10, 234, SEC_NODE_DISKS},  /* btrfs-control */
	{10, 236, SEC_NODE_DISKS},  /* mapper/control */
	{10, 237, SEC_NODE_DISKS},  /* loop-control */
	{21, -1, SEC_NODE_DISK},    /* sg */
	{90, -1, SEC_NODE_DISK},    /* mtd */
	{162, -1, SEC_NODE_DISKS},  /* raw */
	{202, -1, SEC_NODE_MEMORY}, /* cpu/N/msr */
	{203, -1, SEC_NODE_MEMORY}, /* cpu/N/cpuid */
};

static const struct {
	const char *subsystem, *why;
} subsystems[] = {
	{"msr", SEC_NODE_MEMORY},
	{"cpuid", SEC_NODE_MEMORY},
	{"scsi_generic", SEC_NODE_DISK},
	{"bsg", SEC_NODE_DISKS},
	{"raw", SEC_NODE_DISKS},
	{"mtd", SEC_NODE_DISK},
	{"nvme", SEC_NODE_DISK},
	{"nvme-generic", SEC_NODE_DISK},
	{"nvme-subsystem", SEC_NODE_DISK},
};

const char *sec_node_forbidden(const struct sec_node *n)
{
	cleanup_free char *named = cl_asprintf("/dev/%s", n->kernel);
	const char *why = sec_device_forbidden(n->path);

	if (!why && *n->kernel)
		why = sec_device_forbidden(named);
	if (why)
		return why;
	if (n->block)
		return n->partition ? NULL : SEC_NODE_DISK;
	for (size_t i = 0; i < CL_ARRAY_LEN(numbers); i++)
		if (n->major == numbers[i].major &&
			(numbers[i].minor < 0 || n->minor == (unsigned)numbers[i].minor))
			return numbers[i].why;
	for (size_t i = 0; i < CL_ARRAY_LEN(subsystems); i++)
		if (!strcmp(n->subsystem, subsystems[i].subsystem))
			return subsystems[i].why;
	return NULL;
}

/* What a runtime puts into every /dev (the OCI runtime specification, Default Devices). */
static const struct {
	const char *target;
	unsigned major, minor;
} standing[] = {
	{"/dev/null", 1, 3},
	{"/dev/zero", 1, 5},
	{"/dev/full", 1, 7},
	{"/dev/random", 1, 8},
	{"/dev/urandom", 1, 9},
	{"/dev/tty", 5, 0},
};
static const char *const mounted[] = {"/dev/pts", "/dev/ptmx", "/dev/shm", "/dev/mqueue", "/dev/fd",
	"/dev/console", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/core", "/dev/hugepages"};

const char *sec_target_taken(const char *target, const struct sec_node *n, bool *own)
{
	*own = false;
	for (size_t i = 0; i < CL_ARRAY_LEN(standing); i++) {
		if (strcmp(target, standing[i].target) != 0)
			continue;
		*own = !n->block && n->major == standing[i].major && n->minor == standing[i].minor;
		return *own ? NULL : "is a device that every sandbox has";
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(mounted); i++) {
		size_t len = strlen(mounted[i]);

		if (!strncmp(target, mounted[i], len) && (!target[len] || target[len] == '/'))
			return "is the sandbox's own";
	}
	return NULL;
}

bool sec_node_is_tun(const struct sec_node *n)
{
	return !n->block && n->major == 10 && n->minor == 200;
}

const char *sec_tun_name(const char *target)
{
	const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;

	if (!strcmp(name, "tun"))
		return "tun0";
	/* These two are every sandbox's own. */
	return strcmp(name, "lo") != 0 && strcmp(name, "eth0") != 0 && sec_ifname_ok(name) ? name
											   : NULL;
}

#define NOBODY 65534

static bool member(const struct sec_user *who, uint32_t gid)
{
	bool is = gid && gid == who->gid;

	for (size_t i = 0; gid && !is && i < who->ngroups; i++)
		is = who->groups[i] == gid;
	return is;
}

void sec_node_inside(const struct sec_inside *host, enum sec_access access,
	const struct sec_user *who, struct sec_inside *out)
{
	unsigned bits, mine;
	bool grouped = member(who, host->gid);

	*out = (struct sec_inside){.uid = host->uid, .gid = host->gid};
	bits = host->mode & (access == SEC_R ? 0444 : 0666);
	if (host->uid == who->uid && access == SEC_R) {
		/* An owner can change the mode again: it becomes another's, and the user's by group. */
		out->uid = who->uid ? 0 : NOBODY;
		out->gid = who->gid;
		bits = (bits >> 3 & 0040) | (bits & 0004);
		mine = bits >> 3;
	} else if (host->uid == who->uid) {
		mine = bits >> 6;
	} else if (grouped) {
		mine = bits >> 3;
		out->group = host->gid != who->gid ? host->gid : 0;
	} else {
		mine = bits;
	}
	out->mode = bits;
	out->reads = mine & 4;
	out->writes = mine & 2;
}
