/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel's dump of a table as bytes: interpreted, and held to a policy. The bytes themselves
 * are f-nftdump's. How far a ruleset is followed is bounded, for most inputs closely: what the
 * rest of it would cost is better spent on other rulesets.
 */
#include "fuzz_nft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rules that are looked at: of one input in 64 most of what there is. */
#define NEAR 100
#define FAR  3000

/* The same for the same bytes. */
static uint64_t limit_of(const uint8_t *data, size_t size)
{
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ data[i]) * 16777619u;
	return sum % 64 ? NEAR : FAR;
}

static void print(const struct vf_report *r)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	json_t *j = vf_report_json(r);

	for (size_t i = 0; i < r->nnotes; i++)
		vf_note_text(&r->notes[i], &text);
	for (size_t i = 0; i < r->n; i++) {
		const struct vf_difference *d = &r->v[i];

		must(d->want != d->got && d->to.n > 0);
		for (int k = 0; k < VF_DIMS; k++)
			must(d->cells[k] != 0);
		vf_difference_text(r, i, &text);
	}
	must(j && json_is_object(j));
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint16_t port = 443;
	static struct eg_rule rules[] = {
		{.verdict = EG_DROP, .prefix = {{4, {10}}, 8}, .reason = "private"},
		{.verdict = EG_ALLOW,
			.prefix = {{4, {9, 9, 9, 9}}, 32},
			.proto = EG_PROTO_UDP,
			.reason = "DNS"},
		{.verdict = EG_ALLOW,
			.prefix = {{4, {0}}, 0},
			.proto = EG_PROTO_TCP,
			.ports = &port,
			.nports = 1,
			.reason = "public Internet",
			.internet = true},
	};
	static const struct eg_policy policy = {.rules = rules, .nrules = CL_ARRAY_LEN(rules)};
	const struct vf_want w = {
		.bridge = "br0", .policy = &policy, .limit = limit_of(data, size)};
	cleanup_ruleset struct vf_ruleset r = VF_RULESET_INIT;
	cleanup_report struct vf_report report = VF_REPORT_INIT;

	if (size > 65536)
		return 0;
	fuzz_decode(data, size, &r);
	must(vf_verify(&r, &w, &report) == (!report.n && !report.nnotes));
	print(&report);
	return 0;
}
