/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/id.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int sys_new_id(const char *prefix, size_t hex, char *out, size_t size, struct cl_err *e)
{
	unsigned char raw[32];
	size_t n = hex / 2, len = strlen(prefix), got = 0;

	if (n > sizeof(raw) || len + hex + 1 > size)
		return cl_fail(e, CL_EBUG, "no room for an id of %zu digits", hex);
	while (got < n) {
		ssize_t r = getrandom(raw + got, n - got, 0);

		if (r < 0 && errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot get random bytes");
		got += r > 0 ? (size_t)r : 0;
	}
	memcpy(out, prefix, len);
	cl_hex(raw, n, out + len);
	return 0;
}
