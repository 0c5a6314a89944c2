/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The YAML reader: what it takes it finds again, and prints as JSON that both readers take. */
#include "fuzz_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_doc(CL_DOC_YAML, data, size);
	return 0;
}
