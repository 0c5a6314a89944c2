/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/PID/stat, whose second field is whatever the process likes. */
#include "sys/clock.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sys_proc_stat st = {0};
	struct cl_err e;

	if (!sys_parse_proc_stat((const char *)data, size, &st, &e) && (st.pid < 0 || !st.state))
		abort();
	return 0;
}
