/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep.h"

int main(int argc, char **argv)
{
	return cl_main(&sweep_spec, argc, argv);
}
