/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "probe_cmd.h"

int main(int argc, char **argv)
{
	return cl_main(&probe_spec, argc, argv);
}
