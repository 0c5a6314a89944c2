/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "sys/id.h"
#include "sys/repos.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mint {
	struct keyed k;
	const char *name;
	char *owner;
	enum sec_kind kind;
	struct seal_buf given;
	struct cl_buf payload; /* as it is sealed */
	char id[32];
};

/* A payload on the command line is in the shell's history and the process table already. */
static int value_is_public(enum sec_kind kind, struct cl_err *e)
{
	if (kind == SEC_LOCAL_REPO || kind == SEC_HOST_DEVICE || kind == SEC_HOST_INTERFACE)
		return 0;
	(void)cl_fail(e, CL_EUSAGE,
		"what is minted as %s is a credential, and --value has put it in the shell's "
		"history and the process table",
		sec_kinds[kind].name);
	return cl_fix(e,
		"replace it where it was issued, then give the new one on standard input or "
		"with --file");
}

static int read_given(struct cl_ctx *c, struct mint *m, struct cl_err *e)
{
	const char *file = cl_str(c, "file"), *value = cl_str(c, "value");
	cleanup_free char *host = cl_shell_word(cl_str_or(c, "github-host", ""));

	if (value && value_is_public(m->kind, e))
		return -1;
	if (!file && value)
		return seal_buf_copy(&m->given, value, strlen(value), e);
	if ((!file || !strcmp(file, "-")) && isatty(STDIN_FILENO)) {
		(void)cl_fail(e, CL_EUSAGE,
			"standard input is a terminal, which would show what is "
			"typed");
		return cl_fix(e,
			"name a file with --file, or type it unseen: read -rs V; printf %%s \"$V\" "
			"| "
			"cloop secret mint %s --kind %s%s%s; unset V",
			m->name, sec_kinds[m->kind].name,
			cl_given(c, "github-host") ? " --github-host " : "",
			cl_given(c, "github-host") ? host : "");
	}
	return seal_read_file(file ? file : "-", SEC_PAYLOAD_MAX, &m->given, e);
}

/* Checked again by whoever lends it: a path that leads nowhere now was mistyped. */
static int look_at_root(struct cl_ctx *c, const struct mint *m, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT, paths = CL_STRV_INIT;

	if (m->kind != SEC_LOCAL_REPO)
		return 0;
	if (sys_repos(m->payload.p, &names, &paths, NULL, e))
		return cl_fix(e,
			"name a directory of this host that git repositories are in: cloop "
			"secret mint %s --kind local_repo --value DIR",
			m->name);
	if (!names.n)
		cl_warn(c, "there is no git repository in '%s' now", m->payload.p);
	return 0;
}

/* What is sealed: checked, and for another server than github.com bound to it. */
static int check_payload(struct cl_ctx *c, struct mint *m, struct cl_err *e)
{
	cleanup_buf struct cl_buf joined = CL_BUF_SECRET;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	const char *host = cl_str(c, "github-host"), *text = (const char *)m->given.p;
	size_t len = m->given.len;

	if (host && m->kind != SEC_GITHUB_PAT)
		return cl_usage(c, e, "--github-host is for github_pat, and this is %s",
			sec_kinds[m->kind].name);
	if (host) {
		if (sec_github_pat_join(text, len, host, &joined, e))
			return -1;
		text = joined.p;
		len = joined.len;
	}
	if (sec_payload_check(m->kind, text, len, &m->payload, &notes, e))
		return -1;
	for (size_t i = 0; i < notes.n; i++)
		cl_warn(c, "%s", notes.v[i]);
	return look_at_root(c, m, e);
}

static int check_owner(struct cl_ctx *c, struct mint *m, struct cl_err *e)
{
	const char *owner = cl_str_or(c, "owner", "");

	m->owner = cl_trim_dup(owner);
	if (!*m->owner)
		return *owner ? cl_usage(c, e, "--owner is blank") : 0;
	if (sec_typed_check("--owner", owner, e))
		return -1;
	if (cl_starts(m->owner, "sub:"))
		return 0;
	if (!strchr(m->owner, '@') || strpbrk(m->owner, " \t\r\n"))
		return cl_usage(
			c, e, "--owner '%s' is neither an e-mail address nor sub:ID", m->owner);
	cl_lower(m->owner);
	return 0;
}

static json_t *about(const struct mint *m)
{
	return json_pack("{s:s, s:s, s:s}", "secret_id", m->id, "secret_name", m->name, "kind",
		sec_kinds[m->kind].name);
}

static char *metadata_of(const struct cl_ctx *c)
{
	const char *host = cl_str(c, "github-host");
	json_t *o = json_object();
	char *text;

	if (host)
		(void)json_object_set_new(o, "host", cl_json_string(host));
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

/* One try; STORE_MOVED when the primary changed between sealing and inserting. */
static int put(struct cl_ctx *c, struct mint *m, enum store_put *how, struct cl_err *e)
{
	cleanup_secret_row struct store_secret row = STORE_SECRET_INIT;
	cleanup_sealed_row struct store_sealed sealed = {0};
	cleanup_txn struct store_txn t = {0};

	if (seal_ring_seal(
		    m->k.ring, STORE_SECRETS, m->id, m->payload.p, m->payload.len, &sealed, e))
		return -1;
	row.id = cl_strdup(m->id);
	row.kind = cl_strdup(sec_kinds[m->kind].name);
	row.name = cl_strdup(m->name);
	row.key_id = cl_steal(&sealed.key_id);
	row.wrapped = cl_steal(&sealed.wrapped);
	row.sealed = cl_steal(&sealed.sealed);
	row.metadata = metadata_of(c);
	row.owner = cl_strdup(m->owner);
	row.created_at = m->k.now;
	row.created_by = cl_strdup(m->k.actor);
	if (store_begin(m->k.store, &t, e) || store_secret_insert(m->k.store, &row, how, e))
		return -1;
	if (*how != STORE_PUT)
		return 0;
	return keyed_audit(&m->k, "secret.mint", "secret", m->id, about(m), e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}

static int put_until_done(struct cl_ctx *c, struct mint *m, struct cl_err *e)
{
	enum store_put how = STORE_MOVED;

	/* Drawn before sealing: the envelope is bound to it. */
	if (sys_new_id("sec_", 24, m->id, sizeof(m->id), e))
		return -1;
	for (int n = 0; n < 10 && how == STORE_MOVED; n++)
		if (put(c, m, &how, e))
			return -1;
	if (how == STORE_PUT)
		return 0;
	if (how == STORE_MOVED)
		return cl_fail(e, CL_EBUSY, "the keys rotate too fast; try again");
	(void)cl_fail(e, CL_EREFUSED, "there is a secret '%s' already", m->name);
	(void)cl_slug(e, "name_taken");
	return cl_fix(e, "take another name, or: cloop secret delete %s", m->name);
}

static int mint(struct cl_ctx *c, struct mint *m, struct cl_err *e)
{
	if (sec_kind_parse(cl_str_or(c, "kind", "env"), &m->kind, e) ||
		sec_name_check(m->name, e) || check_owner(c, m, e))
		return secret_deny(&m->k, "secret.mint", "", NULL, e);
	if (read_given(c, m, e) || check_payload(c, m, e) || put_until_done(c, m, e)) {
		m->id[0] = '\0';
		return secret_deny(&m->k, "secret.mint", "", about(m), e);
	}
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:s}", "id", m->id, "name", m->name, "kind",
			sec_kinds[m->kind].name));
	else
		(void)printf(
			"✓ minted %s (%s) as %s\n  no grant yet — nothing can use it until you "
			"run 'cloop secret grant'\n",
			m->name, sec_kinds[m->kind].name, m->id);
	return 0;
}

int cmd_secret_mint(struct cl_ctx *c, struct cl_err *e)
{
	struct mint m = {.k = KEYED_INIT, .name = cl_operand(c, 0), .payload = CL_BUF_SECRET};
	int rc = keyed_open(c, &m.k, e) ? -1 : mint(c, &m, e);

	seal_buf_release(&m.given);
	cl_buf_release(&m.payload);
	keyed_release(&m.k);
	free(m.owner);
	return rc;
}
