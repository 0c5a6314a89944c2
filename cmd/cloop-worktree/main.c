/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worktree_cmd.h"

int main(int argc, char **argv)
{
	return cl_main(&worktree_spec, argc, argv);
}
