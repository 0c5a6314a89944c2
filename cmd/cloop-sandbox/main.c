/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox_cmd.h"

int main(int argc, char **argv)
{
	return cl_main(&sandbox_spec, argc, argv);
}
