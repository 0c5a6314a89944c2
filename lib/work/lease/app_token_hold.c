/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens as the holder of a lease has them, and their end from there. */
#include "work/lease/app_token.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "sys/proc.h"
#include "work/paths.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_FILE_MAX 8192
#define END_MS         60000

void app_slots_release(struct app_slots *s)
{
	for (size_t i = 0; i < s->n; i++) {
		store_app_token_release(&s->v[i].row);
		free(s->v[i].is);
		seal_buf_release(&s->v[i].token);
		seal_buf_release(&s->v[i].before);
	}
	free(s->v);
	*s = APP_SLOTS_INIT;
}

static int add_slot(const struct store_app_token *t, void *arg, struct cl_err *e)
{
	struct app_slots *s = arg;

	(void)e;
	s->v = cl_grow(s->v, &s->cap, s->n + 1, sizeof(*s->v));
	s->v[s->n] = (struct app_slot){0};
	s->v[s->n++].row = store_app_token_copy(t);
	return 0;
}

int app_slots_find(struct store *s, const char *lease_id, struct app_slots *out, struct cl_err *e)
{
	return store_app_token_each(s, lease_id, add_slot, out, e);
}

/* A file of the lease: its first line. What cannot be read is none. */
static void read_one(int lease, const char *folder, const char *name, struct seal_buf *out)
{
	cleanup_fd int dir = openat(lease, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_fd int fd =
		dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct cl_err ignored;

	if (fd < 0)
		return;
	if (seal_read_fd(fd, name, TOKEN_FILE_MAX, out, &ignored)) {
		seal_buf_release(out);
		return;
	}
	out->len = strcspn((const char *)out->p, "\r\n");
	out->p[out->len] = '\0';
}

void app_slots_read(struct app_slots *s, const struct rundir *rd)
{
	cleanup_fd int lease = open(rd->lease, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	for (size_t i = 0; lease >= 0 && i < s->n; i++) {
		struct app_slot *v = &s->v[i];
		char sum[CL_SHA256_HEX];

		if (strchr(v->row.file, '/'))
			continue;
		read_one(lease, "files", v->row.file, &v->token);
		cl_sha256_hex(v->token.p ? (const char *)v->token.p : "", v->token.len, sum);
		/* One whose delivery failed is not there: what is, is the one before it. */
		if (v->token.p && strcmp(sum, v->row.sum) != 0) {
			if (v->row.spare)
				v->before = v->token;
			else
				seal_buf_release(&v->token);
			v->token = SEAL_BUF_INIT;
		} else if (v->row.spare) {
			read_one(lease, "spare", v->row.file, &v->before);
		}
	}
}

static const struct lease_file *file_of(const struct lease *l, const struct store_app_token *row)
{
	for (size_t i = 0; i < l->nitems; i++)
		for (size_t k = 0; k < l->items[i].nfiles; k++)
			if (!strcmp(l->items[i].grant_id, row->grant_id) &&
				!strcmp(l->items[i].files[k].name, row->file))
				return &l->items[i].files[k];
	return NULL;
}

void app_slots_fill(struct app_slots *s, const struct lease *l)
{
	for (size_t i = 0; i < s->n; i++) {
		struct app_slot *v = &s->v[i];
		const struct lease_file *f = v->token.len ? NULL : file_of(l, &v->row);
		struct cl_err ignored;

		if (f)
			(void)seal_buf_copy(
				&v->token, f->data.p, strcspn(f->data.p, "\r\n"), &ignored);
	}
}

void app_slots_take(struct store *s, const char *lease_id, const struct rundir *rd,
	const struct lease *l, struct app_slots *out)
{
	struct cl_err ignored;

	if (app_slots_find(s, lease_id, out, &ignored))
		return;
	app_slots_read(out, rd);
	if (l)
		app_slots_fill(out, l);
}

/* One line of JSON, a line with the token, a line with the one before it. */
static int end_request(const struct app_slot *v, const char *lease_id, const char *reason,
	struct seal_buf *out, struct cl_err *e)
{
	json_t *o = json_pack("{s:s, s:s, s:s}", "lease_id", lease_id, "grant_id", v->row.grant_id,
		"reason", reason);
	cleanup_free char *line = cl_json_text(o);
	size_t n = strlen(line);

	json_decref(o);
	if (seal_buf_make(out, n + v->token.len + v->before.len + 3, e))
		return -1;
	memcpy(out->p, line, n);
	out->p[n++] = '\n';
	if (v->token.len)
		memcpy(out->p + n, v->token.p, v->token.len);
	n += v->token.len;
	out->p[n++] = '\n';
	if (v->before.len)
		memcpy(out->p + n, v->before.p, v->before.len);
	n += v->before.len;
	out->p[n++] = '\n';
	out->len = n;
	return 0;
}

static int end_slot(const struct lease_ask *ask, const char *lease_id, const struct app_slot *v,
	const char *reason, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-secret"), *dir = cl_strdup(ask->hub_dir);
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	struct sys_pass key;
	char *argv[] = {(char *)(uintptr_t) "cloop-secret", (char *)(uintptr_t) "-C", dir,
		(char *)(uintptr_t) "drop", (char *)(uintptr_t) "--json", NULL};
	cleanup_seal struct seal_buf in = SEAL_BUF_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	if (end_request(v, lease_id, reason, &in, e))
		return -1;
	lease_ask_env(ask, &env, &key, &r.spawn);
	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.new_session = true;
	r.input = in.p;
	r.input_len = in.len;
	r.timeout_ms = END_MS;
	if (sys_run(&r, e))
		return -1;
	return r.status ? cl_fail(e, CL_EUNAVAIL, "a token was not destroyed") : 0;
}

void app_slots_end(const struct lease_ask *ask, const char *lease_id, const struct app_slots *s,
	const char *reason, size_t *failed)
{
	struct cl_err ignored; /* the audit trail has it */

	*failed = 0;
	for (size_t i = 0; i < s->n; i++)
		*failed += end_slot(ask, lease_id, &s->v[i], reason, &ignored) != 0;
}
