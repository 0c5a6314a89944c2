/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/keyed.h"

#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "sys/user.h"
#include "work/ctx.h"
#include "work/key_pass.h"
#include "work/known.h"
#include "work/public.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void keyed_release(struct keyed *k)
{
	known_drop(k->known);
	seal_ring_free(k->ring);
	seal_root_release(&k->root);
	store_close(k->store);
	hub_release(&k->hub);
	cfg_release(&k->cfg);
	free(k->env_file);
	*k = KEYED_INIT;
}

static void name_actor(struct keyed *k)
{
	cleanup_free char *user = sys_user_name(geteuid());

	if (user)
		(void)snprintf(k->actor, sizeof(k->actor), "cli:%s", user);
	else
		(void)snprintf(k->actor, sizeof(k->actor), "cli:uid:%u", geteuid());
}

int keyed_without(const struct cl_ctx *c, enum store_mode mode, struct keyed *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *env_file = getenv("CLOOP_SECRET_KEY_FILE"); /* lint: allow */

	if (seal_process(e) || hub_store_from_ctx(c, mode, &out->hub, &out->store, e) ||
		hub_config(&out->hub, geteuid(), &d, &out->cfg, e))
		return -1;
	out->env_file = env_file && *env_file ? cl_strdup(env_file) : NULL;
	out->now = sys_now_ms();
	name_actor(out);
	return 0;
}

/* Bootstrap wrote one beside .cloop, and nothing names it. */
static void point_at_key(const struct keyed *k, struct cl_err *e)
{
	cleanup_free char *file = cl_asprintf("%s/" HUB_KEY_FILE, k->hub.dir);

	if (!access(file, F_OK))
		(void)cl_fix(e, "export CLOOP_SECRET_KEY_FILE='%s'", file);
}

int keyed_root(struct keyed *k, struct cl_err *e)
{
	const char *text;
	cleanup_seal struct seal_buf passed = SEAL_BUF_INIT;
	struct seal_ask ask = {
		.env_file = k->env_file,
		.config_file = k->cfg.key_file,
		.uid = geteuid(),
	};
	bool got;
	int rc = key_pass_env(&text, e) || key_pass_read(&passed, &got, e) ? -1 : 0;

	ask.env_key = text;
	if (!rc && got && text)
		rc = cl_fail(e, CL_ECONFIG, "CLOOP_SECRET_KEY and " KEY_PASS_ENV " are both set");
	if (!rc && got)
		ask.env_key = (const char *)passed.p;
	if (!rc)
		rc = seal_root_find(&ask, &k->root, e);
	if (rc && !ask.env_key && !ask.env_file && !ask.config_file)
		point_at_key(k, e);

	/* Neither a child nor /proc/PID/environ has it after this. */
	key_pass_env_wipe();
	return rc;
}

int keyed_public(struct keyed *k, unsigned char out[SEAL_KEY], bool *known, struct cl_err *e)
{
	if (!k->public_known && work_public(k->hub.dir, k->public_key, &k->public_known, e))
		return -1;
	*known = k->public_known;
	memcpy(out, k->public_key, SEAL_KEY);
	return 0;
}

int keyed_signer(struct keyed *k, struct seal_signer *out, struct cl_err *e)
{
	unsigned char known[SEAL_KEY];
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0644};
	const struct seal_who who = keyed_who(k);
	char text[2 * SEAL_KEY + 2];
	cleanup_fd int dir = -1;
	bool have, made;

	if (keyed_public(k, known, &have, e) ||
		seal_ring_signer(k->ring, have ? known : NULL, &who, out, &made, e))
		return -1;
	if (have)
		return 0;
	dir = work_open_inner(k->hub.dir, e);
	cl_hex(out->public_key, SEAL_KEY, text);
	text[2 * SEAL_KEY] = '\n';
	return dir < 0 || sys_write_atomic(dir, WORK_PUBLIC_FILE, text, sizeof(text) - 1, &owner, e)
		       ? -1
		       : 0;
}

struct seal_who keyed_who(const struct keyed *k)
{
	return (struct seal_who){k->actor, k->now};
}

int keyed_open(const struct cl_ctx *c, struct keyed *out, struct cl_err *e)
{
	struct seal_who who;

	if (keyed_without(c, STORE_RW, out, e) || keyed_root(out, e))
		return -1;
	who = keyed_who(out);
	return seal_ring_open(out->store, &out->root, &who, &out->ring, e);
}

static struct store_audit_row row_of(
	const struct keyed *k, const char *action, const char *entity, const char *id)
{
	return (struct store_audit_row){.actor = k->actor,
		.action = action,
		.entity = entity,
		.entity_id = id,
		.project = ""};
}

int keyed_audit(struct keyed *k, const char *action, const char *entity, const char *id,
	json_t *take_detail, struct cl_err *e)
{
	json_t *detail = take_detail ? take_detail : json_object();
	struct store_audit_row row = row_of(k, action, entity, id);
	int rc;

	if (!json_object_get(detail, "decision"))
		(void)json_object_set_new(detail, "decision", json_string("allow"));
	row.detail = detail;
	rc = store_audit_add(k->store, k->now, &row, e);
	json_decref(detail);
	return rc;
}

int keyed_audit_text(struct keyed *k, const char *action, const char *entity, const char *id,
	const char *detail, struct cl_err *e)
{
	const struct store_audit_row row = row_of(k, action, entity, id);

	return store_audit_add_text(k->store, k->now, &row, detail, e);
}
