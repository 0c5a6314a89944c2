/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this process is, and could become. */
#include "attempt.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* uid 0 is the host's where the user namespace is the host's. */
static bool host_users(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned inside = 1, outside = 1, n = 0;
	bool all = f && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3 && !inside && !outside &&
		   n == 4294967295U;

	if (f)
		(void)fclose(f);
	return all;
}

static void is_root(struct result *r, const struct attempt *a)
{
	bool root = a->number ? !getegid() : !geteuid();

	if (root && host_users() && !sentry_kernel())
		reached(r, "%s", a->text);
	else
		held(r, root ? "it is nobody on the host" : "it is not");
}

static void become_user(struct result *r, const struct attempt *a)
{
	(void)a;
	if (!geteuid())
		skipped(r, "it is root already");
	else if (setresuid(0, 0, 0))
		held_errno(r);
	else
		reached(r, "this process became root");
}

static void become_group(struct result *r, const struct attempt *a)
{
	(void)a;
	if (!getegid())
		skipped(r, "it has the group already");
	else if (setresgid(0, 0, 0))
		held_errno(r);
	else
		reached(r, "this process got root's group");
}

static void groups(struct result *r, const struct attempt *a)
{
	gid_t g = 0;

	(void)a;
	if (setgroups(1, &g))
		held_errno(r);
	else
		reached(r, "groups can be chosen");
}

static void new_privileges(struct result *r, const struct attempt *a)
{
	(void)a;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		held(r, "no_new_privs is set");
	else
		reached(r, "setuid programs give their rights: no_new_privs is not set");
}

static void filter(struct result *r, const struct attempt *a)
{
	unsigned long long mode = 0;

	(void)a;
	if (!status_number("Seccomp", 10, &mode))
		held(r, "the kernel does not say");
	else if (mode == 2)
		held(r, "a filter is on");
	else
		reached(r, "every system call is allowed: there is no filter");
}

/* Neither had nor to be had, whatever a file's capabilities say. */
static void capability(struct result *r, const struct attempt *a)
{
	unsigned long long effective = 0;

	if (status_number("CapEff", 16, &effective) && effective >> a->number & 1)
		reached(r, "this process has CAP_%s", a->text);
	else if (prctl(PR_CAPBSET_READ, a->number, 0, 0, 0) == 1)
		reached(r, "CAP_%s is in the bounding set", a->text);
	else
		held(r, "neither had nor to be had");
}

#define CAP(name, number, proves)                                \
	{                                                        \
		"cap-" name, proves, capability, name, number, 0 \
	}

const struct attempt attempts_rights[] = {
	{"root-user", "this process is not the host's root", is_root, "this is the host's root", 0,
		0},
	{"root-group", "nor has it root's group", is_root, "this has the group of the host's root",
		1, 0},
	{"setuid", "it cannot become root", become_user, NULL, 0, 0},
	{"setgid", "nor get root's group", become_group, NULL, 0, 0},
	{"setgroups", "nor choose its groups", groups, NULL, 0, SURFACE},
	{"no-new-privs", "no setuid program gives it rights", new_privileges, NULL, 0, SURFACE},
	{"seccomp", "a filter decides on its system calls", filter, NULL, 0, SURFACE},
	CAP("DAC_OVERRIDE", 1, "permissions of files hold"),
	CAP("DAC_READ_SEARCH", 2, "files are not opened by number"),
	CAP("SETUID", 7, "users are not changed"),
	CAP("SETPCAP", 8, "capabilities are not handed on"),
	CAP("NET_ADMIN", 12, "networks and filters are not changed"),
	CAP("NET_RAW", 13, "no packets are forged"),
	CAP("SYS_MODULE", 16, "no code gets into the kernel"),
	CAP("SYS_RAWIO", 17, "no hardware is reached"),
	CAP("SYS_CHROOT", 18, "no root is changed"),
	CAP("SYS_PTRACE", 19, "no process of others is traced"),
	CAP("SYS_ADMIN", 21, "nothing is mounted or joined"),
	CAP("SYS_BOOT", 22, "the host is not restarted"),
	CAP("SYS_TIME", 25, "the clock is not set"),
	CAP("MKNOD", 27, "no device node is made"),
	CAP("AUDIT_CONTROL", 30, "the host's audit is not changed"),
	CAP("MAC_ADMIN", 33, "the host's access policy is not changed"),
	CAP("SYSLOG", 34, "the kernel's log is not read"),
	CAP("PERFMON", 38, "the kernel is not measured"),
	CAP("BPF", 39, "no program runs in the kernel"),
	{0},
};
