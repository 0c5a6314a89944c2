/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which kernel serves a sandbox: evidence read inside (cloop-isolation-probe) is held against the
 * kernel of the executing machine and against what the runtime's name claims. Guide "The name is
 * checked: isolation evidence", facts/executors.md 7. Pure.
 *
 * A false "vm" would run on the host's kernel what must stay off it, so whatever cannot be shown
 * is unknown: a hypervisor's flag or vendor alone shows nothing, since hosts are virtual machines
 * themselves.
 */
#ifndef POLICY_ISOLATION_H
#define POLICY_ISOLATION_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ISO_MAX_EVIDENCE 65536 /* bytes; an honest probe prints 1500 */
#define ISO_NONCE_MAX    64    /* hex digits */
#define ISO_TEXT         600   /* of /proc/version and the like */
#define ISO_AGENT_MIN    26    /* protocol from which a device's agent can be asked */

/* What a probe found; text that was not read is "". */
struct iso_evidence {
	char nonce[ISO_NONCE_MAX + 1];
	char release[80], version[80], machine[80]; /* uname(2) */
	char proc_version[ISO_TEXT], boot_id[40];
	char no_boot_id[80]; /* why it was not read */
	int64_t uptime_ms;   /* -1: not read */
	int hypervisor;      /* CPUID's flag; -1: not read */
	char hypervisor_vendor[20], dmi_vendor[ISO_TEXT], dmi_product[ISO_TEXT];
	int gvisor_boot_log; /* -1: not read */
};

/*
 * Reads text[0..len) as the probe prints it. CL_EDATA for anything else: other keys, types,
 * versions, shapes, and more than ISO_MAX_EVIDENCE bytes.
 */
int iso_evidence_read(
	const char *name, const char *text, size_t len, struct iso_evidence *out, struct cl_err *e);

/* In order of strength, but for the first. */
enum iso_verdict { ISO_UNKNOWN, ISO_HOST_KERNEL, ISO_USERSPACE_KERNEL, ISO_VM, ISO_NVERDICTS };
enum iso_standing {
	ISO_UNVERIFIED,
	ISO_VERIFIED,
	ISO_CONTRADICTED,
	ISO_UNCLAIMED, /* the runtime's name claims nothing beyond a container */
	ISO_NSTANDINGS
};
const char *iso_verdict_name(enum iso_verdict v);   /* "host-kernel"; static */
const char *iso_standing_name(enum iso_standing s); /* "contradicted"; static */
/* The reverse; false for another text. */
bool iso_verdict_of(const char *name, enum iso_verdict *out);
bool iso_standing_of(const char *name, enum iso_standing *out);
/* What a runtime's name claims: ISO_VM, ISO_USERSPACE_KERNEL, or ISO_UNKNOWN for nothing. */
enum iso_verdict iso_claim(const char *runtime);

struct iso_question {
	const char *runtime;                  /* as declared; NULL or "": the engine's default */
	const struct iso_evidence *sandbox;   /* NULL: the probe could not run */
	const char *failure;                  /* then: why */
	const struct iso_evidence *reference; /* the executing machine's kernel; NULL: none */
	const char *engine_release; /* the kernel that the engine says it runs on; "": unknown */
	bool engine_asked;          /* it was to say so: unknown is as good as another machine's */
	int64_t agent_protocol;     /* of the device's agent; 0: no agent is involved */
};

struct iso_answer {
	enum iso_verdict verdict, claim;
	enum iso_standing standing;
	bool kept;        /* the probe told nothing: an earlier verdict stands */
	char reason[600]; /* fit for a terminal */
	char fix[200];    /* "": nothing to do */
};

/*
 * `earlier` (NULL: none) is what stood before: an attempt that could not run, or could not tell,
 * leaves its verdict and standing as they were, so that breaking the probe clears no contradiction.
 */
void iso_classify(
	const struct iso_question *q, const struct iso_answer *earlier, struct iso_answer *out);

/* {"runtime","verdict","claim","standing","kept","reason","fix"}; owned. */
json_t *iso_answer_json(const struct iso_answer *a, const char *runtime);
/* The same as lines for people; added to out. */
void iso_answer_text(const struct iso_answer *a, const char *runtime, struct cl_buf *out);

#endif
