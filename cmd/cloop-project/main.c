/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "project.h"

int main(int argc, char **argv)
{
	return cl_main(&project_spec, argc, argv);
}
