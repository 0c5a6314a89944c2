/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/registry_cache.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "sys/engine/image.h"
#include "sys/path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME     "signatures.json"
#define HOUR_MS  ((int64_t)3600000)
#define ENTRIES  512
#define FILE_MAX ((size_t)2 << 20)
#define KEY_MAX  ((size_t)64 << 10)

char *registry_cache_key(
	const struct ip_policy *p, const char *repository, const struct cl_strv *digests)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	char fingerprint[17], hex[CL_SHA256_HEX];

	ip_policy_fingerprint(p, fingerprint);
	for (size_t i = 0; i < p->keys.n; i++) {
		cleanup_buf struct cl_buf pem = CL_BUF_INIT;
		struct cl_err e;

		if (cl_read_file(p->keys.v[i], KEY_MAX, &pem, &e))
			cl_buf_reset(&pem);
		cl_sha256_hex(pem.p, pem.len, hex);
		cl_buf_addf(&b, "%s\n", hex);
	}
	for (size_t i = 0; i < digests->n; i++)
		cl_buf_addf(&b, "%s\n", digests->v[i]);
	cl_sha256_hex(b.p, b.len, hex);
	return cl_asprintf("%s|%s|%s", fingerprint, repository, hex);
}

/* The kept answers; an empty mapping for a file that is none. */
static json_t *load(int dir)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const struct cl_doc_limits limits = {.max_bytes = FILE_MAX};
	struct cl_err e;

	if (sys_read_small(dir, NAME, FILE_MAX, &text, &e) ||
		cl_doc_parse(&d, CL_DOC_JSON, NAME, text.p, text.len, &limits, &e) ||
		!json_is_object(d.root))
		return json_object();
	return json_incref(d.root);
}

/* A clock that went back makes an answer of the future, which holds no longer either. */
static bool fresh(const json_t *entry)
{
	int64_t age = sys_now_ms() - json_integer_value(json_object_get(entry, "at"));

	return json_is_integer(json_object_get(entry, "at")) && age >= 0 && age < HOUR_MS;
}

json_t *registry_cache_find(const char *dir, const char *key)
{
	cleanup_fd int fd = engine_cache_open(dir);
	json_t *all, *entry, *answer = NULL;

	if (fd < 0)
		return NULL;
	all = load(fd);
	entry = json_object_get(all, key);
	if (fresh(entry) && json_is_object(json_object_get(entry, "answer")))
		answer = json_deep_copy(json_object_get(entry, "answer"));
	json_decref(all);
	return answer;
}

void registry_cache_keep(const char *dir, const char *key, const json_t *answer)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	cleanup_fd int fd = engine_cache_open(dir);
	cleanup_free char *text = NULL;
	json_t *all;
	struct cl_err e;

	if (fd < 0)
		return;
	all = load(fd);
	if (json_object_size(all) >= ENTRIES)
		(void)json_object_clear(all);
	(void)json_object_set_new(all, key,
		json_pack("{s:I, s:o}", "at", (json_int_t)sys_now_ms(), "answer",
			json_deep_copy(answer)));
	text = cl_json_text(all);
	json_decref(all);
	(void)sys_write_atomic(fd, NAME, text, strlen(text), &owner, &e);
}
