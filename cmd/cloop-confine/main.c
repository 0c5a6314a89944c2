/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "confine.h"

int main(int argc, char **argv)
{
	return cl_main(&confine_spec, argc, argv);
}
