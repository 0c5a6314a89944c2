/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"

int main(int argc, char **argv)
{
	return cl_main(&runs_spec, argc, argv);
}
