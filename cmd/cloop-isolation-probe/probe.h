/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts, in the order in which they are read and printed; see main.c. */
#ifndef CLOOP_ISOLATION_PROBE_H
#define CLOOP_ISOLATION_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact {
	FACT_UNAME,
	FACT_UPTIME,
	FACT_HYPERVISOR,
	FACT_PROC_VERSION,
	FACT_BOOT_ID,
	FACT_DMI_VENDOR,
	FACT_DMI_PRODUCT,
	FACT_BOOT_LOG, /* last: of all of them a filter ends this one's reader most likely */
	NFACTS
};

#define FACT_TEXT 512

/* Shared with the readers. Zero is "not read". */
struct evidence {
	volatile unsigned at; /* the fact that is being read */
	char sysname[72], release[72], version[72], machine[72];
	int64_t uptime_ms;
	bool hypervisor;
	char hypervisor_vendor[16];
	char proc_version[FACT_TEXT], boot_id[FACT_TEXT], dmi_vendor[FACT_TEXT],
		dmi_product[FACT_TEXT];
	bool sentry_log;
	bool read[NFACTS];
	char why[NFACTS][64]; /* when not read */
};

/* facts.c */
void read_fact(struct evidence *ev, enum fact f);
/* The fact could not be read. */
void unread(struct evidence *ev, enum fact f, const char *why);

/* write.c: a bounded text; what does not fit is dropped, and cannot be with these facts. */
struct text {
	char p[24576];
	size_t len;
};
/* One line of JSON. */
void write_evidence(const struct evidence *ev, const char *nonce, struct text *out);
/* A wrong command line, or --help: what is to be typed. Returns the status. */
int say_usage(const char *arg);

#endif
