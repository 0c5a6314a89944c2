/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hub.h"

int main(int argc, char **argv)
{
	return cl_main(&hub_spec, argc, argv);
}
