/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/root.h"

#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void seal_root_release(struct seal_root *r)
{
	seal_buf_release(&r->key);
	*r = SEAL_ROOT_INIT;
}

static int missing(struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG,
		"CLOOP_SECRET_KEY is not set, and no key file is named: not by "
		"CLOOP_SECRET_KEY_FILE, not by secrets.key_file");
	(void)cl_slug(e, "key_missing");
	return cl_fix(e, "export CLOOP_SECRET_KEY_FILE=FILE, with the file that "
			 "'cloop hub bootstrap' wrote beside .cloop");
}

int seal_root_parse(
	const void *text, size_t len, const char *source, struct seal_root *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf bytes = CL_BUF_SECRET;

	if (!len) {
		(void)cl_fail(e, CL_ECONFIG, "the root key of %s is empty", source);
		(void)cl_slug(e, "key_empty");
		if (!strcmp(source, "CLOOP_SECRET_KEY"))
			return cl_fix(e, "unset CLOOP_SECRET_KEY, and name the key's file: "
					 "export CLOOP_SECRET_KEY_FILE=FILE");
		return cl_fix(
			e, "put the key back from its escrow: cloop hub key escrow import FILE");
	}
	(void)snprintf(out->source, sizeof(out->source), "%s", source);
	out->raw = len == SEAL_ROOT_TEXT && cl_b64_decode(CL_B64_URL, text, len, false, &bytes) &&
		   bytes.len == SEAL_KEY;
	return out->raw ? seal_buf_copy(&out->key, bytes.p, bytes.len, e)
			: seal_buf_copy(&out->key, text, len, e);
}

/* Below a .cloop directory a key would lie beside what it seals, and go where backups of it go. */
static int not_inside(int fd, const char *path, struct cl_err *e)
{
	cleanup_free char *beside = NULL, *from = NULL, *to = NULL, *file = NULL, *name = NULL;
	char proc[40], real[PATH_MAX];
	const char *hub;
	ssize_t n;

	/* The kernel has it without links already (proc_pid_fd(5)). */
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, real, sizeof(real) - 1);
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot resolve '%s'", path);
	real[n] = '\0';
	hub = strstr(real, "/.cloop/");
	if (!hub)
		return 0;
	(void)cl_fail(
		e, CL_ECONFIG, "the key file '%s' lies inside .cloop, beside what it seals", real);
	(void)cl_slug(e, "key_inside_hub");
	beside = cl_strndup(real, (size_t)(hub + 1 - real));
	file = cl_asprintf("%s%s", beside, strrchr(real, '/') + 1);
	from = cl_shell_word(real);
	to = cl_shell_word(beside);
	name = cl_shell_word(file);
	return cl_fix(e, "mv -n %s %s && export CLOOP_SECRET_KEY_FILE=%s", from, to, name);
}

static int judge(int fd, const char *path, uid_t uid, struct cl_err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode)) {
		(void)cl_fail(e, CL_ECONFIG, "the key file '%s' is no regular file", path);
		(void)cl_slug(e, "key_missing");
		return cl_fix(e, "name the file itself");
	}
	if (st.st_uid && st.st_uid != uid) {
		(void)cl_fail(e, CL_ECONFIG,
			"the key file '%s' belongs to uid %u, neither root nor the caller (uid %u)",
			path, st.st_uid, uid);
		(void)cl_slug(e, "key_owner");
		return cl_fix(e, "chown %u '%s'", uid, path);
	}
	if ((st.st_mode & 07777) != 0400 && (st.st_mode & 07777) != 0600) {
		(void)cl_fail(e, CL_ECONFIG, "the key file '%s' has mode %04o, not 0400 or 0600%s",
			path, st.st_mode & 07777,
			st.st_mode & 0044 ? ": others may have read it" : "");
		(void)cl_slug(e, "key_mode");
		return cl_fix(e, "chmod 0600 '%s'", path);
	}
	return not_inside(fd, path, e);
}

static int not_opened(const char *path, int why, struct cl_err *e)
{
	(void)cl_fail_sys(e, why == EACCES ? CL_EDENIED : CL_ECONFIG, why,
		"cannot open the key file '%s'", path);
	(void)cl_slug(e, "key_missing");
	if (why == EACCES)
		return cl_fix(e, "run this as root, or as the account that owns the hub");
	return cl_fix(e,
		"see how the path is spelt (CLOOP_SECRET_KEY_FILE, secrets.key_file); a key "
		"that is lost comes back from its escrow: cloop hub key escrow import FILE");
}

int seal_root_file(const char *path, uid_t uid, struct seal_root *out, struct cl_err *e)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup_seal struct seal_buf text = SEAL_BUF_INIT;
	char source[SEAL_ROOT_SOURCE];
	size_t len;

	if (fd < 0)
		return not_opened(path, errno, e);
	if (judge(fd, path, uid, e) || seal_read_fd(fd, path, SEAL_ROOT_MAX, &text, e))
		return -1;
	len = text.len;
	/* An editor's or echo's line end is no part of a key. */
	if (len && text.p[len - 1] == '\n')
		len--;
	if (len && text.p[len - 1] == '\r')
		len--;
	(void)snprintf(source, sizeof(source), "'%s'", path);
	return seal_root_parse(text.p, len, source, out, e);
}

static bool same_root(const struct seal_root *a, const struct seal_root *b)
{
	return a->raw == b->raw && a->key.len == b->key.len &&
	       seal_same(a->key.p, b->key.p, a->key.len);
}

int seal_root_find(const struct seal_ask *ask, struct seal_root *out, struct cl_err *e)
{
	const char *file = ask->env_file && *ask->env_file ? ask->env_file : ask->config_file;
	cleanup_root struct seal_root given = SEAL_ROOT_INIT;

	if (file && *file) {
		if (seal_root_file(file, ask->uid, out, e))
			return -1;
		if (!ask->env_key)
			return 0;
		if (seal_root_parse(
			    ask->env_key, strlen(ask->env_key), "CLOOP_SECRET_KEY", &given, e))
			return -1;
		if (same_root(out, &given))
			return 0;
		(void)cl_fail(e, CL_ECONFIG,
			"CLOOP_SECRET_KEY and the key file '%s' hold two "
			"different keys",
			file);
		(void)cl_slug(e, "key_differs");
		return cl_fix(e, "unset CLOOP_SECRET_KEY; the file is enough");
	}
	if (!ask->env_key)
		return missing(e);
	return seal_root_parse(ask->env_key, strlen(ask->env_key), "CLOOP_SECRET_KEY", out, e);
}

int seal_root_text(const struct seal_root *r, struct seal_buf *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	if (!r->raw)
		return seal_buf_copy(out, r->key.p, r->key.len, e);
	cl_b64_encode(CL_B64_URL, r->key.p, r->key.len, &text);
	return seal_buf_copy(out, text.p, text.len, e);
}

const char *seal_root_method(const struct seal_root *r)
{
	return r->raw ? "hkdf" : "scrypt";
}

int seal_root_derive(const struct seal_root *r, const char *id, const unsigned char salt[SEAL_SALT],
	unsigned char out[SEAL_KEY], struct cl_err *e)
{
	cleanup_free char *info = cl_asprintf("cloop-kek-v1:%s", id);

	if (!r->raw)
		return seal_scrypt(r->key.p, r->key.len, salt, SEAL_SALT, SEAL_SCRYPT_N,
			SEAL_SCRYPT_R, SEAL_SCRYPT_P, out, e);
	seal_hkdf(r->key.p, r->key.len, salt, SEAL_SALT, info, strlen(info), out);
	return 0;
}
