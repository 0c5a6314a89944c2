/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON reader: what it takes it finds again, and prints as JSON that it takes again. */
#include "fuzz_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_doc(CL_DOC_JSON, data, size);
	return 0;
}
