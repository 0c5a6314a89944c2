/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

void secret_print_of(const struct store_secret *r, char out[SEC_FINGERPRINT])
{
	sec_fingerprint(r->sealed, strlen(r->sealed), out);
}

/* Characters of a reason that a line has room for. */
#define REASON 60

char *secret_unguarded(const struct store_grant *g)
{
	json_t *word = g->unguarded ? json_loads(g->unguarded, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *reason = json_string_value(json_object_get(word, "reason"));
	const char *by = json_string_value(json_object_get(word, "by"));
	cleanup_free char *all = cl_masked(reason ? reason : "");
	size_t n = strlen(all), cut = cl_utf8_cut(all, n, REASON);
	char *out = reason && by ? cl_asprintf("%.*s%s (%s)", (int)cut, all, cut < n ? "…" : "", by)
				 : NULL;

	json_decref(word);
	return out;
}
