/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cloop-forge says, of which there may be nothing. */
#include "unit.h"
#include "work/forge.h"

#include <string.h>

/* There is none beside a unit test: it cannot be started, and has said nothing. */
void test_forge__who_says_nothing_is_not_read(void)
{
	struct keyed k = KEYED_INIT;
	const struct forge_end end = {.base_url = "https://api.invalid", .token = "t", .len = 1};
	struct cl_err e = {0};
	bool gone = true;

	CHECK_INT(forge_token_destroy(&k, &end, &gone, &e), -1);
	CHECK(!gone);
	CHECK(strstr(e.msg, "cloop-forge"));
}
