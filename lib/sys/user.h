/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the machine's users and groups. */
#ifndef CL_SYS_USER_H
#define CL_SYS_USER_H

#include <sys/types.h>

/*
 * The login name of a user, owned; NULL: there is none. /etc/passwd is asked first, then
 * getent(1), which knows whatever other sources nsswitch.conf(5) names. Nothing of those is loaded
 * into this process: it may be linked statically, may hold a key, and has no time for them.
 */
char *sys_user_name(uid_t uid);
/* The name of a group likewise, from /etc/group; however many members it has. */
char *sys_group_name(gid_t gid);

#endif
