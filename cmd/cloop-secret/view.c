/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a payload opens on this host. */
#include "secret.h"
#include "base/mem.h"
#include "policy/secret/secret_inventory.h"
#include "sys/repos.h"

#include <string.h>

static int match_repos(const struct store_secret *r, const struct seal_buf *payload,
	const struct sec_constraints *c, struct cl_err *e)
{
	cleanup_buf struct cl_buf root = CL_BUF_INIT;
	cleanup_strv struct cl_strv names = CL_STRV_INIT, paths = CL_STRV_INIT,
				    chosen = CL_STRV_INIT;

	if (sec_local_root((const char *)payload->p, payload->len, &root, e))
		return -1;
	/* On another host it may well be there. */
	if (sys_repos(root.p, &names, &paths, NULL, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	return sec_local_select(&c->list[SEC_REPOS], &names, r->name, &chosen, e);
}

/* A payload that cannot be opened now is judged by the lease. */
static int match_env(struct keyed *k, const struct store_secret *r, const struct sec_constraints *c,
	struct cl_err *e)
{
	cleanup_seal struct seal_buf payload = SEAL_BUF_INIT;
	struct cl_err ignored;

	if (!c->list[SEC_ENV_KEYS].n || secret_open(k, r, &payload, &ignored))
		return 0;
	return sec_env_has(
		&c->list[SEC_ENV_KEYS], r->name, (const char *)payload.p, payload.len, e);
}

int secret_matches(struct keyed *k, const struct store_secret *r, enum sec_kind kind,
	const struct sec_constraints *c, struct cl_err *e)
{
	cleanup_seal struct seal_buf payload = SEAL_BUF_INIT;
	cleanup_devices struct sec_devices devices = SEC_DEVICES_INIT, some = SEC_DEVICES_INIT;
	cleanup_interfaces struct sec_interfaces all = SEC_INTERFACES_INIT,
						 few = SEC_INTERFACES_INIT;
	const char *text;

	if (kind == SEC_ENV)
		return match_env(k, r, c, e);
	if (kind != SEC_LOCAL_REPO && kind != SEC_HOST_DEVICE && kind != SEC_HOST_INTERFACE)
		return 0;
	if (secret_open(k, r, &payload, e))
		return -1;
	text = (const char *)payload.p;
	if (kind == SEC_LOCAL_REPO)
		return match_repos(r, &payload, c, e);
	if (kind == SEC_HOST_DEVICE)
		return sec_devices_parse(text, payload.len, &devices, e) ||
				       sec_devices_select(&devices, &c->list[SEC_DEVICES],
					       c->writable, r->name, &some, e)
			       ? -1
			       : 0;
	return sec_interfaces_parse(text, payload.len, &all,
		       e) || sec_interfaces_select(&all, &c->list[SEC_INTERFACES], r->name, &few, e)
		       ? -1
		       : 0;
}
