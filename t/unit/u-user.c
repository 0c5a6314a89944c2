/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of users are those that the C library knows, though it is not asked. */
#include "unit.h"
#include "base/mem.h"
#include "sys/user.h"

#include <pwd.h>
#include <stdlib.h>

void test_user__names(void)
{
	static const uid_t ids[] = {0, 1, 33, 65534, 4294967294u, 54321};

	for (size_t i = 0; i < CL_ARRAY_LEN(ids); i++) {
		const struct passwd *pw = getpwuid(ids[i]);
		cleanup_free char *name = sys_user_name(ids[i]);

		CHECK(!name == !pw);
		if (name && pw)
			CHECK_STR(name, pw->pw_name);
	}
}
