/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "executor.h"

int main(int argc, char **argv)
{
	return cl_main(&executor_spec, argc, argv);
}
