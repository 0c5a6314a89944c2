/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a configuration: it is refused whole or has a meaning that can be shown. */
#include "base/mem.h"
#include "policy/config/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	const struct cfg_executor *x;
	struct cl_err e;
	json_t *j;

	if (cl_doc_parse(&d, CL_DOC_YAML, "fuzz", (const char *)data, size, NULL, &e) ||
		cfg_read(&d, &c, &e))
		return 0;
	cl_doc_release(&d);
	j = cfg_json(&c);
	free(cl_json_text(j));
	json_decref(j);
	for (size_t i = 0; i < c.nexecutors; i++)
		if (!c.executors[i].id || !c.executors[i].network || !c.executors[i].image ||
			!c.executors[i].defaults.v[SB_PIDS])
			abort();
	if (!cfg_executor(&c, NULL, &x, &e) && (x->disabled_reason || !x->enabled))
		abort();
	return 0;
}
