/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/registry.h"
#include "base/mem.h"
#include "sys/proc.h"
#include "work/part.h"
#include "work/paths.h"
#include "work/registry_cache.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM "cloop-registry"
/* It bounds itself; this is for one that does not. */
#define RESOLVE_MS  90000
#define COSIGN_MOST 10

json_t *work_registry_reach(const struct cfg *c)
{
	static const char *const names[] = {
		"auth_file", "certs_dir", "cosign", "plain_http", "proxy"};
	json_t *o = json_object();

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		cleanup_free char *path = cl_asprintf("sandbox.registry.%s", names[i]);
		const struct cfg_value *v = cfg_value(c, path);

		if (v && v->value && !json_is_null(v->value))
			(void)json_object_set(o, names[i], v->value);
	}
	return o;
}

static int ask(
	char *verb, const json_t *request, int64_t timeout_ms, json_t **out, struct cl_err *e)
{
	cleanup_free char *text = cl_json_text(request);
	char *argv[] = {(char *)(uintptr_t)PROGRAM, verb, (char *)(uintptr_t) "--json", NULL};
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	work_engine_env(&env);
	r.spawn.envp = env.v;
	r.timeout_ms = timeout_ms;
	return work_part_ask(&r, argv, verb, text, out, e);
}

static json_t *request_of(const json_t *reach, const char *reference)
{
	json_t *o = json_pack("{s:o}", "reference", cl_json_string(reference));

	if (reach)
		(void)json_object_set_new(o, "reach", json_deep_copy(reach));
	return o;
}

int work_registry_resolve(
	const json_t *reach, const char *reference, json_t **out, struct cl_err *e)
{
	json_t *o = request_of(reach, reference);
	char verb[] = "resolve";
	int rc = ask(verb, o, RESOLVE_MS, out, e);

	json_decref(o);
	return rc;
}

/* ---- signatures ---- */

static json_t *texts(const struct cl_strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, cl_json_string(v->v[i]));
	return a;
}

static json_t *identities(const struct ip_policy *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->nidentities; i++)
		(void)json_array_append_new(a,
			json_pack("{s:o, s:o}", "issuer", cl_json_string(p->identities[i].issuer),
				"subject_regexp", cl_json_string(p->identities[i].subject_regexp)));
	return a;
}

/* Two minutes for every question that cosign may be asked (facts/executors.md 2.3). */
static int64_t patience(const struct ip_policy *p, const struct cl_strv *digests)
{
	int64_t n = (int64_t)((p->keys.n + p->nidentities) * digests->n);

	return RESOLVE_MS + (n < COSIGN_MOST ? n : COSIGN_MOST) * 120000;
}

int work_registry_verify(const json_t *reach, const struct ip_policy *policy,
	const char *repository, const struct cl_strv *digests, const char *cache, json_t **out,
	struct cl_err *e)
{
	cleanup_free char *key = registry_cache_key(policy, repository, digests);
	char verb[] = "verify";
	json_t *o;
	int rc;

	*out = cache ? registry_cache_find(cache, key) : NULL;
	if (*out)
		return json_object_set_new(*out, "cached", json_true());
	o = request_of(reach, repository);
	(void)json_object_set_new(o, "digests", texts(digests));
	(void)json_object_set_new(o, "keys", texts(&policy->keys));
	(void)json_object_set_new(o, "identities", identities(policy));
	rc = ask(verb, o, patience(policy, digests), out, e);
	json_decref(o);
	if (rc && strcmp(cl_err_slug(e), "image_signature") != 0)
		(void)cl_wrap(e, "the signature that the policy asks for cannot be checked");
	if (rc)
		return -1;
	if (cache)
		registry_cache_keep(cache, key, *out);
	return json_object_set_new(*out, "cached", json_false());
}
