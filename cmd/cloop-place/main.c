/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place_cmd.h"

int main(int argc, char **argv)
{
	return cl_main(&place_spec, argc, argv);
}
