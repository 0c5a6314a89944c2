/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "drill_cmd.h"

int main(int argc, char **argv)
{
	return cl_main(&drill_spec, argc, argv);
}
