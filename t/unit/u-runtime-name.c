/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/runtime_name.h"
#include "unit.h"

void test_names__vectors(void)
{
	FILE *f = fopen(T_CASES "/runtime-name/names.tsv", "r");
	char line[256], *name, *v, *k;
	int rows = 0;

	CHECK(f != NULL);
	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		name = line;
		v = strchr(line, '\t');
		k = v ? strchr(v + 1, '\t') : NULL;
		if (!k) {
			UNIT_FAIL("bad row: %s", line);
			continue;
		}
		*v++ = '\0';
		*k++ = '\0';
		for (char *p = name; *p; p++)
			if (*p == '~')
				*p = ' ';
		if (rn_virtualized(name) != (*v == '1') || rn_kernel_isolated(name) != (*k == '1'))
			UNIT_FAIL("'%s' is judged wrong", name);
		if (rn_userspace_kernel(name) != (*k == '1' && *v == '0'))
			UNIT_FAIL("'%s': userspace kernel judged wrong", name);
		rows++;
	}
	if (f)
		(void)fclose(f);
	CHECK_INT(rows, 36);
	CHECK(!rn_kernel_isolated(NULL));
}

void test_check__shape(void)
{
	static const char *const good[] = {"runc", "io.containerd.kata.v2", "a", "x_y-z.1",
		"1234567890123456789012345678901234567890123456789012345678901234"};
	static const char *const bad[] = {"", "-runc", "/usr/bin/runc", "a\\b", "a b", "a/b",
		" runc", "r\nc", "run\xc3\xa7",
		"12345678901234567890123456789012345678901234567890123456789012345"};
	struct cl_err e;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK_INT(rn_check(good[i], &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_INT(rn_check(bad[i], &e), -1);
		CHECK_INT(e.code, CL_ECONFIG);
		CHECK_HAS(e.fix, "never a path");
	}
}
