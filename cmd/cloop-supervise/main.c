/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "supervise.h"

int main(int argc, char **argv)
{
	return cl_main(&supervise_spec, argc, argv);
}
