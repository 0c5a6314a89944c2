/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "probe.h"

#include <stdio.h>
#include <string.h>

static void add(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (n > sizeof(t->p) - t->len)
		return;
	memcpy(t->p + t->len, s, n);
	t->len += n;
}

/* Bytes beyond ASCII become '?': none of these texts has them unless somebody plays. */
static void add_string(struct text *t, const char *s)
{
	char c[8];

	add(t, "\"");
	for (; *s; s++) {
		unsigned char b = (unsigned char)*s;

		if (b < 0x20)
			(void)snprintf(c, sizeof(c), "\\u%04x", b);
		else if (b >= 0x7f)
			(void)snprintf(c, sizeof(c), "?");
		else if (b == '"' || b == '\\')
			(void)snprintf(c, sizeof(c), "\\%c", b);
		else
			(void)snprintf(c, sizeof(c), "%c", b);
		add(t, c);
	}
	add(t, "\"");
}

static void key(struct text *t, const char *name)
{
	add(t, t->p[t->len - 1] == '{' ? "\"" : ",\"");
	add(t, name);
	add(t, "\":");
}

static void text_or_null(struct text *t, const char *name, bool read, const char *s)
{
	key(t, name);
	if (read)
		add_string(t, s);
	else
		add(t, "null");
}

static void bool_or_null(struct text *t, const char *name, bool read, bool yes)
{
	key(t, name);
	add(t, !read ? "null" : yes ? "true" : "false");
}

static void write_uname(const struct evidence *ev, struct text *t)
{
	key(t, "uname");
	if (!ev->read[FACT_UNAME]) {
		add(t, "null");
		return;
	}
	add(t, "{");
	text_or_null(t, "sysname", true, ev->sysname);
	text_or_null(t, "release", true, ev->release);
	text_or_null(t, "version", true, ev->version);
	text_or_null(t, "machine", true, ev->machine);
	add(t, "}");
}

static void write_unread(const struct evidence *ev, struct text *t)
{
	static const char *const names[NFACTS] = {[FACT_UNAME] = "uname",
		[FACT_UPTIME] = "uptime_ms",
		[FACT_HYPERVISOR] = "hypervisor_flag",
		[FACT_PROC_VERSION] = "proc_version",
		[FACT_BOOT_ID] = "boot_id",
		[FACT_DMI_VENDOR] = "dmi_vendor",
		[FACT_DMI_PRODUCT] = "dmi_product",
		[FACT_BOOT_LOG] = "gvisor_boot_log"};

	key(t, "unread");
	add(t, "{");
	for (int f = 0; f < NFACTS; f++)
		if (!ev->read[f])
			text_or_null(t, names[f], true, ev->why[f]);
	add(t, "}");
}

void write_evidence(const struct evidence *ev, const char *nonce, struct text *t)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%lld", (long long)ev->uptime_ms);
	add(t, "{");
	key(t, "evidence");
	add(t, "1");
	text_or_null(t, "nonce", *nonce, nonce);
	write_uname(ev, t);
	text_or_null(t, "proc_version", ev->read[FACT_PROC_VERSION], ev->proc_version);
	text_or_null(t, "boot_id", ev->read[FACT_BOOT_ID], ev->boot_id);
	key(t, "uptime_ms");
	add(t, ev->read[FACT_UPTIME] ? number : "null");
	bool_or_null(t, "hypervisor_flag", ev->read[FACT_HYPERVISOR], ev->hypervisor);
	text_or_null(t, "hypervisor_vendor", ev->read[FACT_HYPERVISOR] && ev->hypervisor,
		ev->hypervisor_vendor);
	text_or_null(t, "dmi_vendor", ev->read[FACT_DMI_VENDOR], ev->dmi_vendor);
	text_or_null(t, "dmi_product", ev->read[FACT_DMI_PRODUCT], ev->dmi_product);
	bool_or_null(t, "gvisor_boot_log", ev->read[FACT_BOOT_LOG], ev->sentry_log);
	write_unread(ev, t);
	add(t, "}\n");
}

int say_usage(const char *arg)
{
	static const char usage[] =
		"usage: cloop-isolation-probe [--nonce HEX]\n"
		"Prints what only the kernel that serves this process can answer, as JSON;\n"
		"'cloop probe classify' judges it.\n";

	if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
		(void)fputs(usage, stdout);
		return fflush(stdout) ? 71 : 0;
	}
	(void)fprintf(
		stderr, "cloop-isolation-probe: '%s' is not understood\n  fix: %s", arg, usage);
	return 64;
}
