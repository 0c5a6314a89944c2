/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who opens a device in a sandbox, by the accounts of this host: a file of its own, since a program
 * that is linked statically has no way to ask for them.
 */
#include "work/hardware.h"
#include "base/mem.h"
#include "base/text.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#define GROUPS_MAX 65536

static gid_t group_of(uid_t uid, gid_t gid)
{
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (gid)
		return gid;
	if (!getpwuid_r(uid, &pw, buf, sizeof(buf), &found) && found && found->pw_gid)
		return found->pw_gid;
	return (gid_t)uid;
}

/* An account that has no name has no groups. */
static size_t groups_of(uid_t uid, gid_t gid, gid_t **out)
{
	struct passwd pw, *found = NULL;
	char buf[16384];
	int n = 64;

	*out = NULL;
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) || !found)
		return 0;
	for (;;) {
		int room = n;

		*out = cl_realloc(*out, (size_t)room * sizeof(**out));
		if (getgrouplist(pw.pw_name, gid, *out, &n) >= 0)
			return (size_t)n;
		if (n <= room || n > GROUPS_MAX)
			return 0;
	}
}

void hardware_user(uid_t uid, gid_t gid, struct sec_user *who, gid_t **groups)
{
	*who = (struct sec_user){.uid = uid, .gid = group_of(uid, gid)};
	who->ngroups = groups_of(uid, who->gid, groups);
	who->groups = *groups;
}

/*
 * What lets that user open it. A group is joined by name, and only by an account that has one; not for
 * a part of a disk, whose group opens every disk.
 */
static int let_in(const char *source, const struct sys_device *node, uid_t uid, struct cl_err *e)
{
	const struct sec_inside *host = &node->host;
	struct passwd pw, *account = NULL;
	struct group gr, *group = NULL;
	cleanup_free char *path = NULL;
	char buf[16384], members[16384];

	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &account))
		account = NULL;
	if (!node->node.block && host->gid && host->mode & 0060 && account &&
		!getgrgid_r(host->gid, &gr, members, sizeof(members), &group) && group)
		return cl_fix(e, "usermod -aG %s %s", group->gr_name, account->pw_name);
	path = cl_shell_word(source);
	return cl_fix(e, "chown %u %s", (unsigned)uid, path);
}

int hardware_inside(const struct sys_device *node, const char *source, enum sec_access access,
	const struct sec_user *who, struct sec_inside *in, struct cl_err *e)
{
	const struct sec_inside *host = &node->host;

	sec_node_inside(host, access, who, in);
	if (in->reads || in->writes)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"'%s' is %u:%u with mode %04o, and the sandbox's user %u could not open it", source,
		host->uid, host->gid, host->mode, (unsigned)who->uid);
	return let_in(source, node, who->uid, e);
}
