/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Evidence out of a sandbox: whatever it says, the host's boot ID is the host's kernel, nothing is
 * a virtual machine without a boot ID of its own, and what comes back is fit for a terminal.
 */
#include "policy/place/isolation.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

static void fit(const char *s)
{
	must(cl_utf8_valid(s, strlen(s)) && !strpbrk(s, "\n\r\x1b\x7f"));
}

static void judge(const struct iso_evidence *s, const struct iso_evidence *reference)
{
	static const char *const runtimes[] = {"", "runsc", "kata"};
	struct iso_answer a;

	for (size_t i = 0; i < 3; i++) {
		const struct iso_question q = {
			.runtime = runtimes[i], .sandbox = s, .reference = reference};

		iso_classify(&q, NULL, &a);
		fit(a.reason);
		must(*a.reason != '\0');
		if (!strcmp(s->boot_id, reference->boot_id))
			must(a.verdict == ISO_HOST_KERNEL && a.standing != ISO_VERIFIED);
		if (a.verdict == ISO_VM)
			must(*s->boot_id && s->uptime_ms < reference->uptime_ms);
		json_decref(iso_answer_json(&a, runtimes[i]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_evidence host = {.boot_id = "8332a934-d156-45d4-97c1-74cf9d0dc6f7",
		.uptime_ms = 86400000,
		.hypervisor = 1};
	struct iso_evidence s;
	struct cl_err e;

	if (iso_evidence_read("input", (const char *)data, size, &s, &e)) {
		must(e.code == CL_EDATA && e.fix[0]);
		fit(e.msg);
		return 0;
	}
	fit(s.release);
	fit(s.proc_version);
	fit(s.no_boot_id);
	judge(&s, &host);
	return 0;
}
