/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

int main(int argc, char **argv)
{
	return cl_main(&secret_spec, argc, argv);
}
