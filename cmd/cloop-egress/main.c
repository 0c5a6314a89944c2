/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "egress.h"

int main(int argc, char **argv)
{
	return cl_main(&egress_spec, argc, argv);
}
