/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/isolation.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* gVisor, pkg/sentry/kernel: what uname(2) and /proc/version say in every release. */
#define SENTRY_BUILD "#1 SMP Sun Jan 10 15:06:54 PST 2016"

static const char *const verdicts[] = {[ISO_UNKNOWN] = "unknown",
	[ISO_HOST_KERNEL] = "host-kernel",
	[ISO_USERSPACE_KERNEL] = "userspace-kernel",
	[ISO_VM] = "vm"};
static const char *const standings[] = {[ISO_UNVERIFIED] = "unverified",
	[ISO_VERIFIED] = "verified",
	[ISO_CONTRADICTED] = "contradicted",
	[ISO_UNCLAIMED] = "unclaimed"};

const char *iso_verdict_name(enum iso_verdict v)
{
	return verdicts[v];
}

const char *iso_standing_name(enum iso_standing s)
{
	return standings[s];
}

bool iso_verdict_of(const char *name, enum iso_verdict *out)
{
	for (unsigned i = 0; i < ISO_NVERDICTS; i++) {
		if (strcmp(verdicts[i], name) != 0)
			continue;
		*out = (enum iso_verdict)i;
		return true;
	}
	return false;
}

bool iso_standing_of(const char *name, enum iso_standing *out)
{
	for (unsigned i = 0; i < ISO_NSTANDINGS; i++) {
		if (strcmp(standings[i], name) != 0)
			continue;
		*out = (enum iso_standing)i;
		return true;
	}
	return false;
}

enum iso_verdict iso_claim(const char *runtime)
{
	if (rn_virtualized(runtime))
		return ISO_VM;
	return rn_userspace_kernel(runtime) ? ISO_USERSPACE_KERNEL : ISO_UNKNOWN;
}

/* ---- the verdict ---- */

static bool __attribute__((format(printf, 2, 3))) say(struct iso_answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(a->reason, sizeof(a->reason), fmt, ap);
	va_end(ap);
	cl_mask(a->reason, "");
	return true;
}

/* A virtual machine monitor's own name; a cloud's is on every host that is rented there. */
static bool names_monitor(const struct iso_evidence *s)
{
	static const char *const monitors[] = {
		"QEMU", "Cloud Hypervisor", "Firecracker", "Dragonball", "StratoVirt", "ACRN"};

	for (size_t i = 0; i < CL_ARRAY_LEN(monitors); i++)
		if (strstr(s->dmi_vendor, monitors[i]) || strstr(s->dmi_product, monitors[i]))
			return true;
	return false;
}

static bool own_boot_id(const struct iso_question *q)
{
	return *q->sandbox->boot_id && q->reference && *q->reference->boot_id &&
	       strcmp(q->sandbox->boot_id, q->reference->boot_id) != 0;
}

/* Each rule that holds sets verdict and reason; the first decides. */
static bool cannot_run(const struct iso_question *q, struct iso_answer *a)
{
	if (q->agent_protocol && q->agent_protocol < ISO_AGENT_MIN) {
		(void)snprintf(a->fix, sizeof(a->fix),
			"upgrade the device's agent to protocol v%d or later", ISO_AGENT_MIN);
		return say(a, "the agent speaks protocol v%lld, which cannot be asked for evidence",
			(long long)q->agent_protocol);
	}
	if (q->sandbox)
		return false;
	return say(a, "the probe gave no evidence: %s",
		q->failure && *q->failure ? q->failure : "it printed nothing");
}

/* A boot ID is made by the kernel when it boots and by no other: this settles it. */
static bool same_boot(const struct iso_question *q, struct iso_answer *a)
{
	const char *id = q->sandbox->boot_id;

	if (!*id || !q->reference || strcmp(id, q->reference->boot_id) != 0)
		return false;
	a->verdict = ISO_HOST_KERNEL;
	return say(a, "its boot ID is the executing machine's own: %s, Linux %s", id,
		q->sandbox->release);
}

/*
 * The log alone would not do where the boot ID is unknown: whoever may write to a host's log
 * could have put the words there.
 */
static bool sentry(const struct iso_question *q, struct iso_answer *a)
{
	const struct iso_evidence *s = q->sandbox;
	bool build = !strcmp(s->version, SENTRY_BUILD) || strstr(s->proc_version, SENTRY_BUILD);

	if (!build && !(s->gvisor_boot_log == 1 && own_boot_id(q)))
		return false;
	a->verdict = ISO_USERSPACE_KERNEL;
	return say(a, "gVisor's Sentry answers its system calls: Linux %s %s%s", s->release,
		s->version, s->gvisor_boot_log == 1 ? ", and the Sentry's boot log" : "");
}

static bool no_boot_id(const struct iso_question *q, struct iso_answer *a)
{
	if (*q->sandbox->boot_id)
		return false;
	return say(a, "no boot ID could be read inside%s%s, and nothing else settles it",
		*q->sandbox->no_boot_id ? ": " : "", q->sandbox->no_boot_id);
}

static bool no_reference(const struct iso_question *q, struct iso_answer *a)
{
	if (!q->reference || !*q->reference->boot_id)
		return say(a, "there is no kernel of the executing machine to compare it with");
	if ((!q->engine_release || !*q->engine_release) && q->engine_asked)
		return say(a, "the engine does not say which kernel it runs on, so nothing shows "
			      "that the "
			      "machine it was compared with is the engine's");
	if (!q->engine_release || !*q->engine_release ||
		!strcmp(q->engine_release, q->reference->release))
		return false;
	return say(a,
		"the engine runs on Linux %s and the machine it was compared with on %s: they are "
		"not the same machine",
		q->engine_release, q->reference->release);
}

/* A machine that serves a sandbox boots after the one it runs on. */
static bool not_younger(const struct iso_question *q, struct iso_answer *a)
{
	int64_t up = q->sandbox->uptime_ms, ref = q->reference->uptime_ms;

	if (up < 0 || ref < 0)
		return say(a, "how long its kernel has been up could not be read");
	if (up < ref)
		return false;
	return say(a,
		"its kernel has been up for %lld s and the one it was compared with for %lld s: "
		"that is not the machine its runtime runs on",
		(long long)(up / 1000), (long long)(ref / 1000));
}

static bool machine(const struct iso_question *q, struct iso_answer *a)
{
	const struct iso_evidence *s = q->sandbox;

	if (s->hypervisor != 1 && !names_monitor(s))
		return say(a, "its boot ID is its own, but nothing shows a hypervisor");
	a->verdict = ISO_VM;
	return say(a,
		"a kernel of its own (Linux %s, boot ID %s, up for %lld s) behind a hypervisor%s%s",
		s->release, s->boot_id, (long long)(s->uptime_ms / 1000),
		*s->hypervisor_vendor ? ": " : "", s->hypervisor_vendor);
}

/* ---- the standing ---- */

static enum iso_standing standing(enum iso_verdict verdict, enum iso_verdict claim)
{
	if (verdict == ISO_UNKNOWN)
		return ISO_UNVERIFIED;
	if (claim == ISO_UNKNOWN)
		return ISO_UNCLAIMED;
	return verdict >= claim ? ISO_VERIFIED : ISO_CONTRADICTED;
}

static void advise(struct iso_answer *a, const char *runtime)
{
	if (*a->fix || a->standing == ISO_VERIFIED || a->standing == ISO_UNCLAIMED)
		return;
	if (a->standing == ISO_CONTRADICTED)
		(void)snprintf(a->fix, sizeof(a->fix),
			"find out what the engine runs under the name '%.64s', mend it, and probe "
			"again",
			runtime);
	else
		(void)snprintf(
			a->fix, sizeof(a->fix), "%s", "run the probe again where it can run");
}

void iso_classify(
	const struct iso_question *q, const struct iso_answer *earlier, struct iso_answer *out)
{
	static bool (*const rules[])(const struct iso_question *, struct iso_answer *) = {
		cannot_run, same_boot, sentry, no_boot_id, no_reference, not_younger, machine};
	const char *runtime = q->runtime ? q->runtime : "";
	size_t i = 0;

	*out = (struct iso_answer){.claim = iso_claim(runtime)};
	while (!rules[i](q, out))
		i++;
	if (out->verdict == ISO_UNKNOWN && earlier) {
		out->kept = true;
		out->verdict = earlier->verdict;
	}
	out->standing = standing(out->verdict, out->claim);
	advise(out, runtime);
}

/* ---- answers ---- */

static const char *claim_name(const struct iso_answer *a)
{
	return a->claim == ISO_UNKNOWN ? "none" : verdicts[a->claim];
}

json_t *iso_answer_json(const struct iso_answer *a, const char *runtime)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "runtime", runtime, "verdict",
		verdicts[a->verdict], "claim", claim_name(a), "standing", standings[a->standing],
		"kept", a->kept, "reason", a->reason, "fix", a->fix);
}

void iso_answer_text(const struct iso_answer *a, const char *runtime, struct cl_buf *out)
{
	cl_buf_addf(out, "%s: %s", *runtime ? runtime : "the engine's default runtime",
		standings[a->standing]);
	if (a->claim != ISO_UNKNOWN)
		cl_buf_addf(out, " (claims %s)", verdicts[a->claim]);
	cl_buf_addf(out, "\n  verdict: %s%s\n  because: %s\n", verdicts[a->verdict],
		a->kept ? ", as it was found before" : "", a->reason);
	if (*a->fix)
		cl_buf_addf(out, "  fix: %s\n", a->fix);
}
