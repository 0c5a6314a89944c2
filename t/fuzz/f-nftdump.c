/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kernel's dump of a table as bytes: decoded, interpreted and held to a policy. */
#include "base/mem.h"
#include "sys/nft_dump.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TABLE "t1"

static void must(int yes)
{
	if (!yes)
		abort();
}

static void decode(const uint8_t *data, size_t size, struct vf_ruleset *out)
{
	/* As recv(2) has it: aligned, and nothing behind the end. */
	cleanup_free void *buf = cl_malloc(size + 1);
	const struct nlmsghdr *h = buf;
	int left = (int)size;

	memcpy(buf, data, size);
	/* libmnl takes a length of more than 2^31 for a negative one. */
	for (; mnl_nlmsg_ok(h, left) && h->nlmsg_len <= size; h = mnl_nlmsg_next(h, &left))
		nft_decode(h, NFPROTO_INET, TABLE, out);
	for (size_t i = 0; i < out->nsets; i++) {
		const struct vf_set *s = &out->sets[i];

		vf_settle(&out->sets[i]);
		for (size_t k = 0; k < s->n; k++)
			must(s->v[k].lo <= s->v[k].hi && (!k || s->v[k - 1].hi < s->v[k].lo));
	}
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
	const struct vf_want w = {.bridge = "br0", .policy = &policy, .limit = 3000};
	cleanup_ruleset struct vf_ruleset r = VF_RULESET_INIT;
	cleanup_report struct vf_report report = VF_REPORT_INIT;

	if (size > 65536)
		return 0;
	decode(data, size, &r);
	must(vf_verify(&r, &w, &report) == (!report.n && !report.nnotes));
	print(&report);
	return 0;
}
