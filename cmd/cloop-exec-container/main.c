/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"

extern const struct cl_spec exec_container_spec;

int main(int argc, char **argv)
{
	return cl_main(&exec_container_spec, argc, argv);
}
