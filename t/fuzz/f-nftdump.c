/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel's dump of a table as bytes, decoded. What is made of a ruleset then is f-verify's:
 * that takes a thousand times as long, and the decoder has to see many inputs.
 */
#include "fuzz_nft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_op(const struct vf_op *op)
{
	must(op->from < VF_REGS && op->to < VF_REGS);
	must((op->kind != VF_LOOKUP && op->kind != VF_UNKNOWN) || op->name);
	must(op->kind != VF_VERDICT || op->what <= VF_CONTINUE);
	must((op->kind != VF_CMP && op->kind != VF_RANGE && op->kind != VF_BITWISE) ||
		op->len <= sizeof(op->a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_ruleset struct vf_ruleset r = VF_RULESET_INIT;

	if (size > 65536)
		return 0;
	fuzz_decode(data, size, &r);
	for (size_t i = 0; i < r.nchains; i++) {
		must(r.chains[i].name && vf_chain(&r, r.chains[i].name) == &r.chains[i]);
		for (size_t k = 0; k < r.chains[i].n; k++)
			for (size_t m = 0; m < r.chains[i].v[k].n; m++)
				look_at_op(&r.chains[i].v[k].v[m]);
	}
	for (size_t i = 0; i < r.nsets; i++)
		must(r.sets[i].name && vf_set(&r, r.sets[i].name) == &r.sets[i]);
	must(nft_dump_same(&r, &r));
	return 0;
}
