/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"
#include "base/mem.h"
#include "base/text.h"
#include "seal/escrow.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int live_key(const struct store_key *k, void *arg, struct cl_err *e)
{
	struct cl_strv *keys = arg;

	(void)e;
	if (strcmp(k->state, "retired") != 0)
		cl_strv_add(keys, k->id);
	return 0;
}

/* The directory of a path, and the name in it. */
static int open_parent(const char *path, const char **name, struct cl_err *e)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir =
		slash ? cl_strndup(path, (size_t)(slash - path) + 1) : cl_strdup(".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*name = slash ? slash + 1 : path;
	if (fd < 0)
		(void)cl_fail_sys(
			e, errno == EACCES ? CL_EDENIED : CL_EOS, errno, "cannot make '%s'", path);
	return fd;
}

/*
 * A new file that only its owner reads; what stands there already stays. Whole or not there: half a
 * key would be taken for a passphrase, and keep the whole one from being written.
 */
static int write_new(const char *path, const void *p, size_t len, struct cl_err *e)
{
	const struct sys_owner ours = {(uid_t)-1, (gid_t)-1, 0600};
	const char *name;
	cleanup_fd int dir = open_parent(path, &name, e);

	if (dir < 0)
		return -1;
	if (!*name) {
		(void)cl_fail(e, CL_EUSAGE, "'%s' names a directory, not a file", path);
		return cl_fix(e, "name a file that is not there yet");
	}
	if (!sys_write_new(dir, name, p, len, &ours, e))
		return 0;
	return e->sys == EEXIST ? cl_fix(e, "name a file that is not there yet") : -1;
}

static int put_escrow(struct cl_ctx *c, const struct cl_buf *text, struct cl_err *e)
{
	const char *out = cl_str(c, "out");

	if (out)
		return write_new(out, text->p, text->len, e);
	(void)fputs(text->p, stdout);
	return 0;
}

int key_escrow_export(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_escrow struct seal_escrow x = SEAL_ESCROW_INIT;
	cleanup_seal struct seal_buf pass = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	const char *out = cl_str(c, "out");
	json_t *keys = NULL;

	/* Opened whole: a key that does not open this hub is no escrow of it. */
	if (keyed_open(c, &k, e) || key_passphrase(c, true, &pass, e))
		return -1;
	x.hub = cl_strdup(k.hub.id);
	x.created_at = k.now / 1000;
	if (store_key_each(k.store, live_key, &x.keys, e) ||
		seal_escrow_make(&x, &k.root, &pass, &text, e) || put_escrow(c, &text, e))
		return -1;
	keys = json_pack("{s:s?}", "file", out);
	if (keyed_audit(&k, "sealing_key.escrow_export", "hub", k.hub.id, keys, e))
		return -1;
	if (!out)
		return 0;
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:I}", "file", out, "hub", k.hub.id, "keys",
			(json_int_t)x.keys.n));
	else
		(void)printf(
			"✓ sealed the root key of %s into %s\n  see that it opens: cloop hub key "
			"escrow import %s --check\n",
			k.hub.id, out, out);
	return 0;
}

/* What the registry says of the key that came back. */
struct fits {
	struct seal_ring *ring;
	size_t live, opens;
};

static int fit(const struct store_key *row, void *arg, struct cl_err *e)
{
	struct fits *f = arg;
	bool yes;

	if (!strcmp(row->state, "retired"))
		return 0;
	if (seal_ring_opens(f->ring, row->id, &yes, e))
		return -1;
	f->live++;
	f->opens += yes;
	return 0;
}

static int check_fit(struct keyed *k, const char *file, struct fits *f, struct cl_err *e)
{
	f->ring = k->ring;
	if (store_key_each(k->store, fit, f, e))
		return -1;
	if (f->opens == f->live)
		return 0;
	(void)cl_fail(e, CL_ECONFIG,
		"'%s' opens %zu of the %zu keys of this hub: it is another "
		"hub's, or another root key",
		file, f->opens, f->live);
	(void)cl_slug(e, "key_wrong");
	return cl_fix(e, "import it on the hub that it names, or with that hub's state.db");
}

/* The key as the file has it already; *there false: no such file. */
static int same_as(const char *path, const struct seal_root *root, bool *there, struct cl_err *e)
{
	cleanup_root struct seal_root old = SEAL_ROOT_INIT;

	*there = !access(path, F_OK);
	if (!*there)
		return 0;
	if (seal_root_file(path, geteuid(), &old, e))
		return -1;
	if (old.raw == root->raw && old.key.len == root->key.len &&
		seal_same(old.key.p, root->key.p, old.key.len))
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "'%s' is there and holds another key", path);
	return cl_fix(e, "move it away, or name another file with --out");
}

/* Where the key goes: never below a .cloop, by the directory that it really is. */
static int check_place(const char *path, struct cl_err *e)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir =
		slash ? cl_strndup(path, (size_t)(slash - path) + 1) : cl_strdup(".");
	cleanup_free char *real = NULL;
	cleanup_strv struct cl_strv parts = CL_STRV_INIT;
	cleanup_fd int fd = sys_resolve_dir(dir, &real, e);

	if (fd < 0)
		return -1;
	cl_split(real, '/', &parts);
	if (!cl_strv_has(&parts, ".cloop"))
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "'%s' would lie inside .cloop, beside what it seals", path);
	(void)cl_slug(e, "key_inside_hub");
	return cl_fix(e, "name a file beside .cloop with --out");
}

static int restore(const char *path, const struct seal_root *root, bool *made, struct cl_err *e)
{
	cleanup_seal struct seal_buf text = SEAL_BUF_INIT;
	bool there;

	*made = false;
	if (check_place(path, e) || same_as(path, root, &there, e))
		return -1;
	if (there)
		return 0;
	*made = true;
	return seal_root_text(root, &text, e) || write_new(path, text.p, text.len, e) ? -1 : 0;
}

static int settle(struct cl_ctx *c, struct keyed *k, const struct seal_escrow *x,
	const struct fits *f, struct cl_err *e)
{
	const char *path = cl_str_or(c, "out", k->env_file ? k->env_file : k->cfg.key_file);
	bool check = cl_flag(c, "check"), made = false;

	if (!check && !path) {
		(void)cl_fail(e, CL_ECONFIG,
			"where the key goes is not known: there is no "
			"secrets.key_file");
		return cl_fix(e, "name a file with --out, and then in the configuration");
	}
	if (!check && restore(path, &k->root, &made, e))
		return -1;
	if (made && keyed_audit(k, "sealing_key.escrow_import", "hub", k->hub.id,
			    json_pack("{s:s, s:s}", "file", path, "from_hub", x->hub), e))
		return -1;
	if (c->json) {
		cl_take_json(json_pack("{s:s, s:I, s:I, s:s?, s:b}", "hub", x->hub, "live_keys",
			(json_int_t)f->live, "opens", (json_int_t)f->opens, "file",
			check ? NULL : path, "written", made));
		return 0;
	}
	(void)printf("✓ it opens, and is the root key of %s: %zu of %zu keys\n", x->hub, f->opens,
		f->live);
	if (!check)
		(void)printf("  %s %s\n", made ? "wrote" : "kept", path);
	return 0;
}

int key_escrow_import(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_escrow struct seal_escrow x = SEAL_ESCROW_INIT;
	cleanup_seal struct seal_buf pass = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	const char *file = cl_operand(c, 0);
	struct fits f = {0};
	char source[SEAL_ROOT_SOURCE];

	(void)snprintf(source, sizeof(source), "'%s'", file);
	if (cl_read_file(file, SEAL_ESCROW_MAX, &text, e) ||
		seal_escrow_parse(file, text.p, text.len, &x, e) ||
		keyed_without(c, cl_flag(c, "check") ? STORE_RO : STORE_RW, &k, e) ||
		key_passphrase(c, false, &pass, e) ||
		seal_escrow_open(&x, &pass, source, &k.root, e))
		return -1;
	seal_ring_peek(k.store, &k.root, &k.ring);
	return check_fit(&k, file, &f, e) ? -1 : settle(c, &k, &x, &f, e);
}
