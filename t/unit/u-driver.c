/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A driver that is somebody else's: what was judged is what runs. */
#include "base/mem.h"
#include "unit.h"
#include "work/driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the link leads once the library has resolved it; NULL: it stays. */
static const char *swap_link, *swap_to;

/* In place of the C library's: somebody exchanges the link as soon as it was followed. */
char *realpath(const char *restrict path, char *restrict resolved)
{
	char *(*real)(const char *, char *);
	void *at = dlsym(RTLD_NEXT, "realpath");
	char *out;

	memcpy(&real, &at, sizeof(real));
	out = real(path, resolved);
	if (swap_link) {
		if (unlink(swap_link) || symlink(swap_to, swap_link))
			abort();
		swap_link = NULL;
	}
	return out;
}

static void driver(const char *path, const char *who, uid_t uid)
{
	FILE *f = fopen(path, "we");

	if (!f)
		abort();
	(void)fprintf(f, "#!/bin/sh\necho '{\"who\": \"%s\"}'\n", who);
	(void)fclose(f);
	if (chmod(path, 0755) || chown(path, uid, uid))
		abort();
}

void test_driver__what_was_judged_runs(void)
{
	char dir[] = "/tmp/u-driver-XXXXXX";
	cleanup_free char *good = NULL, *evil = NULL, *link = NULL;
	json_t *out = NULL, *in = json_object();
	struct cl_err e;

	if (geteuid()) {
		json_decref(in);
		return;
	}
	CHECK(mkdtemp(dir));
	good = cl_asprintf("%s/good", dir);
	evil = cl_asprintf("%s/evil", dir);
	link = cl_asprintf("%s/link", dir);
	driver(good, "good", 0);
	driver(evil, "evil", 1000);
	CHECK_INT(symlink(good, link), 0);
	swap_link = link;
	swap_to = evil;
	CHECK_INT(work_driver(link, "capabilities", in, &out, &e), 0);
	CHECK_STR(json_string_value(json_object_get(out, "who")), "good");
	json_decref(out);
	/* It has been exchanged, and is judged as what it is now. */
	CHECK(!swap_link);
	CHECK_INT(work_driver(link, "capabilities", in, &out, &e), -1);
	CHECK_INT(e.code, CL_EDENIED);
	json_decref(in);
	(void)unlink(link);
	(void)unlink(good);
	(void)unlink(evil);
	(void)rmdir(dir);
}
