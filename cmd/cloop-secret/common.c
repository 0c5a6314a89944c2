/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

#include <string.h>

void secret_print_of(const struct store_secret *r, char out[SEC_FINGERPRINT])
{
	sec_fingerprint(r->sealed, strlen(r->sealed), out);
}

int secret_deny(
	struct keyed *k, const char *action, const char *id, json_t *take_detail, struct cl_err *e)
{
	json_t *detail = take_detail ? take_detail : json_object();
	struct cl_err ignored;

	(void)json_object_set_new(detail, "decision", json_string("deny"));
	(void)json_object_set_new(detail, "reason", cl_json_string(e->msg));
	/* Best effort: the refusal stands, whatever becomes of the row. */
	(void)keyed_audit(k, action, "secret", id, detail, &ignored);
	return -1;
}
