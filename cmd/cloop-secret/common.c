/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <string.h>

/* How credentials begin that people paste by mistake. */
static const char *const tokens[] = {"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "sk-",
	"xox", "xapp-", "AKIA", "ASIA", "AIza", "eyJ", "cloop_", "clet1", "clac1", "-----BEGIN"};

#define SAID 12

char *secret_said(const char *typed)
{
	char *said;

	for (size_t i = 0; i < CL_ARRAY_LEN(tokens); i++)
		if (cl_starts(typed, tokens[i]))
			return cl_strdup("[redacted]");
	if (strlen(typed) <= SAID)
		return cl_strdup(typed);
	said = cl_asprintf("%.*s…", (int)cl_utf8_cut(typed, strlen(typed), SAID), typed);
	return said;
}

static int not_there(struct keyed *k, const char *ref, struct cl_err *e)
{
	cleanup_tombstone struct store_tombstone t = {0};
	cleanup_free char *said = secret_said(ref);
	char when[32];
	bool found;

	if (store_tombstone_find(k->store, ref, &t, &found, e))
		return -1;
	if (!found) {
		(void)cl_fail(e, CL_ENOTFOUND, "there is no secret '%s'", said);
		return cl_fix(e, "cloop secret list");
	}
	cl_format_time(t.deleted_at / 1000, when);
	(void)cl_fail(e, CL_ENOTFOUND, "the secret '%s' (%s) was deleted on %s by %s%s%s", t.name,
		t.kind, when, t.deleted_by, *t.reason ? ": " : "", t.reason);
	return cl_fix(e, "store it anew: cloop secret mint %s --kind %s", t.name, t.kind);
}

int secret_find(struct keyed *k, const char *ref, struct store_secret *out, struct cl_err *e)
{
	bool found;

	if (store_secret_find(k->store, ref, out, &found, e))
		return -1;
	return found ? 0 : not_there(k, ref, e);
}

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
