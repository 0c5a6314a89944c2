/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses, ranges and endpoints: what is accepted prints, and reads back as itself. */
#include "policy/addr.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pol_addr a, a2;
	struct pol_prefix p, p2;
	struct pol_endpoint q, q2;
	struct cl_err e;
	char *s = malloc(size + 1), text[POL_ENDPOINT_TEXT];

	must(s != NULL);
	memcpy(s, data, size);
	s[size] = '\0';
	if (!pol_addr_parse(s, "x", &a, &e)) {
		pol_addr_text(&a, text);
		must(!pol_addr_parse(text, "x", &a2, &e) && !pol_addr_cmp(&a, &a2));
	}
	if (!pol_prefix_parse(s, true, "x", &p, &e)) {
		pol_prefix_text(&p, text);
		must(pol_prefix_valid(&p) && !pol_prefix_parse(text, false, "x", &p2, &e));
		must(!pol_prefix_cmp(&p, &p2) && pol_prefix_holds(&p, &p2));
		must(pol_prefix_has(&p, &p.addr));
		(void)pol_prefix_unmap(&p);
		must(pol_prefix_valid(&p));
	}
	if (!pol_endpoint_parse(s, 53, "x", &q, &e)) {
		pol_endpoint_text(&q, text);
		must(!pol_endpoint_parse(text, 0, "x", &q2, &e));
		must(!pol_addr_cmp(&q.addr, &q2.addr) && q.port == q2.port);
	}
	free(s);
	return 0;
}
