/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run.h"

int main(int argc, char **argv)
{
	return cl_main(&run_spec, argc, argv);
}
