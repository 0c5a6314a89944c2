/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/hardware.h"
#include "unit.h"

/* Debian's account and group 1 are "daemon" (base-passwd). */
static void check_fix(bool block, gid_t gid, unsigned mode, const char *fix)
{
	const struct sys_device node = {
		.node = {.block = block}, .host = {.uid = 0, .gid = gid, .mode = mode}};
	const struct sec_user who = {.uid = 1, .gid = 2};
	struct sec_inside in;
	struct cl_err e;

	CHECK(hardware_inside(&node, "/dev/it", SEC_RW, &who, &in, &e) == -1);
	CHECK_STR(e.fix, fix);
}

void test_let_in__by_the_group_of_the_node_or_by_itself(void)
{
	check_fix(false, 1, 0660, "usermod -aG daemon daemon");
	check_fix(false, 1, 0600, "chown 1 /dev/it");
	check_fix(false, 0, 0660, "chown 1 /dev/it");
	/* Nobody is told to open all disks to an account for a part of one. */
	check_fix(true, 1, 0660, "chown 1 /dev/it");
}
