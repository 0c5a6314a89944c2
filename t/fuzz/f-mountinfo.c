/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mount table: whatever is accepted can be asked, and a point that it lists is found. */
#include "base/buf.h"
#include "sys/mountinfo.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	cleanup_strv struct cl_strv below = CL_STRV_INIT;
	struct cl_err e;

	if (mountinfo_parse((const char *)data, size, &m, &e))
		return 0;
	mountinfo_below(&m, "/", &below);
	for (size_t i = 0; i < below.n && i < 16; i++)
		if (!mountinfo_at(&m, below.v[i]))
			abort();
	return 0;
}
