/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

int main(int argc, char **argv)
{
	return cl_main(&exec_local_spec, argc, argv);
}
