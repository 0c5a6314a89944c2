/* SPDX-License-Identifier: GPL-3.0-or-later */
/* .cloop/sandbox.yaml: whatever parses must normalise to a spec that parses to the same. */
#include "base/buf.h"
#include "base/mem.h"
#include "policy/sandbox/sandbox.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct cl_doc *d, struct sb_spec *s)
{
	cleanup_doc struct cl_doc again = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec t = SB_SPEC_INIT;
	struct sb_need need[SB_NEEDS_MAX];
	char a[65], b[65];
	struct sb_limits l;
	struct cl_err e;
	char *text;
	json_t *j;

	sb_hash(s, a);
	sb_limits_of(s, &l);
	if (sb_needs(s, need) > SB_NEEDS_MAX)
		abort();
	sb_sense(d, s);
	json_decref(sb_notes_json(s));
	j = sb_json(s);
	text = cl_json_text(j);
	json_decref(j);
	/* Escapes can make the JSON larger than a file may be. */
	if (strlen(text) <= SB_MAX_BYTES) {
		if (sb_read("again", text, strlen(text), &again, &t, &e))
			abort();
		sb_hash(&t, b);
		if (strcmp(a, b) != 0 || sb_asks_nothing(s) != sb_asks_nothing(&t))
			abort();
	}
	free(text);
	for (size_t i = 0; i < s->setup.n; i++) {
		cleanup_strv struct cl_strv words = CL_STRV_INIT;

		sb_setup_words(s->setup.v[i], &words);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct cl_err e;

	if (!sb_read("fuzz", (const char *)data, size, &d, &s, &e))
		use(&d, &s);
	else if (!*e.msg || !*cl_err_slug(&e))
		abort();
	return 0;
}
