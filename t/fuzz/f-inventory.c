/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inventories of devices and interfaces: what is read keeps its promises, a project's choice only
 * takes away, and what a node is called by itself is forbidden as it is in an inventory.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_node.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void pick(const struct sec_devices *all)
{
	cleanup_devices struct sec_devices some = SEC_DEVICES_INIT;
	cleanup_strv struct cl_strv star = CL_STRV_INIT, names = CL_STRV_INIT;
	struct cl_err e;

	cl_strv_add(&star, "*");
	if (sec_devices_select(all, &star, false, "s", &some, &e)) {
		must(all->n > 16);
		return;
	}
	must(some.n == all->n);
	for (size_t i = 0; i < some.n; i++) {
		must(some.v[i].access == SEC_R);
		must(!i || strcmp(some.v[i - 1].name, some.v[i].name) < 0);
	}
	cl_strv_add(&names, all->v[0].name);
	cl_strv_add(&names, "no such name");
	sec_devices_keep(&some, &names);
	must(some.n == 1 && !strcmp(some.v[0].name, all->v[0].name));
}

static void devices(const char *text, size_t len)
{
	cleanup_devices struct sec_devices d = SEC_DEVICES_INIT;
	struct cl_err e;

	if (sec_devices_parse(text, len, &d, &e)) {
		must(e.code == CL_EDATA && e.msg[0]);
		return;
	}
	must(d.n >= 1 && d.n <= SEC_INVENTORY_LINES);
	for (size_t i = 0; i < d.n; i++) {
		const struct sec_node n = {
			.path = d.v[i].source, .kernel = "", .subsystem = "", .major = 188};
		bool own;

		must(cl_starts(d.v[i].source, "/dev/") && cl_starts(d.v[i].target, "/dev/"));
		must(!strstr(d.v[i].source, "/../") && !strchr(d.v[i].source, ':'));
		must(!sec_node_forbidden(&n));
		(void)sec_target_taken(d.v[i].target, &n, &own);
		must(!own);
	}
	pick(&d);
}

static void interfaces(const char *text, size_t len)
{
	cleanup_interfaces struct sec_interfaces s = SEC_INTERFACES_INIT;
	cleanup_strv struct cl_strv none = CL_STRV_INIT;
	struct cl_err e;

	if (sec_interfaces_parse(text, len, &s, &e)) {
		must(e.code == CL_EDATA && e.msg[0]);
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		must(strlen(s.v[i].source) <= 15 && strlen(s.v[i].target) <= 15);
	sec_interfaces_keep(&s, &none);
	must(s.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = cl_malloc(size + 1);

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	devices(text, size);
	interfaces(text, size);
	return 0;
}
