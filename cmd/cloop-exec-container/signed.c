/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who signed the image: as the policy asks, and for cloop's own images whoever chose them. */
#include "prepare.h"
#include "base/mem.h"
#include "work/provenance.h"
#include "work/registry.h"

#include <stdlib.h>
#include <string.h>

/* One of the image's digests that a signature may be over: of the name, or the one that was named. */
static bool counts(const struct ir_ref *want, const struct ir_ref *have)
{
	if (strncmp(have->digest, "sha256:", 7) != 0)
		return false;
	if (*want->digest)
		return !strcmp(have->digest, want->digest);
	return !strcmp(have->registry, want->registry) &&
	       !strcmp(have->repository, want->repository);
}

static void find_digests(const struct judged *j, const struct engine_image *im, struct cl_strv *out)
{
	struct ir_ref have;
	struct cl_err e;

	for (size_t i = 0; i < im->repo_digests.n && out->n < 16; i++)
		if (!ir_parse(im->repo_digests.v[i], &have, &e) && counts(&j->d.ref, &have))
			cl_strv_add(out, have.digest);
	cl_strv_uniq(out);
}

static int unsigned_image(struct judged *j, const char *fix, const char *why, struct cl_err *e)
{
	ip_refuse(&j->d, IP_RULE_SIGNATURE, fix, "image '%.200s': %.450s", j->d.ref.original, why);
	return ip_decision_err(&j->d, e);
}

/* The digest that is signed is the one to record. */
static void pin(struct prepared *p, const char *name, const json_t *signature)
{
	free(p->image.pinned);
	p->image.pinned =
		cl_asprintf("%s@%s", name, json_string_value(json_object_get(signature, "digest")));
}

static bool same_image(const json_t *answer, const struct prepared *p)
{
	const char *id = json_string_value(json_object_get(answer, "image_id"));

	return id && *id && !strcmp(id, p->image.id);
}

/*
 * An image that was built and pushed from here has another digest at its registry, which compresses
 * its layers, and the store does not know it until it pulls. Where the registry's image has the very
 * configuration that is here, and with it the digests of all layers, it is the same image.
 */
static void find_pushed(struct work_spec *s, const struct prepared *p, const struct judged *j,
	const struct cl_strv *known, struct cl_strv *out)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	const char *of_index, *of_image;
	json_t *answer = NULL;
	struct cl_err ignored;

	if (*j->d.ref.digest || !*j->d.ref.registry)
		return;
	ir_text(&j->d.ref, &name);
	if (work_registry_resolve(s->image_registry, name.p, &answer, &ignored))
		return;
	of_index = json_string_value(json_object_get(answer, "digest"));
	of_image =
		json_string_value(json_object_get(json_object_get(answer, "platform"), "digest"));
	if (same_image(answer, p)) {
		if (of_index && !cl_strv_has(known, of_index))
			cl_strv_add(out, of_index);
		if (of_image && !cl_strv_has(known, of_image))
			cl_strv_add(out, of_image);
	}
	json_decref(answer);
}

/*
 * A signature is over a digest, never over a tag: so what is asked about is what the store has, and
 * where the tag points by now does not matter.
 */
static int by_policy(struct work_spec *s, struct prepared *p, struct judged *j,
	const struct cl_strv *digests, struct cl_err *e)
{
	cleanup_strv struct cl_strv pushed = CL_STRV_INIT;
	cleanup_free char *name = NULL, *fix = NULL;
	struct cl_err why, second;

	if (!j->d.needs_signature)
		return 0;
	name = cl_asprintf("%s/%s", j->d.ref.registry, j->d.ref.repository);
	if (digests->n && !work_registry_verify(s->image_registry, &j->policy, name, digests,
				  p->cache, &p->signature, &why)) {
		pin(p, name, p->signature);
		return 0;
	}
	/* A registry that could not be asked is not asked for more. */
	if (!digests->n || !strcmp(cl_err_slug(&why), "image_signature"))
		find_pushed(s, p, j, digests, &pushed);
	if (pushed.n && !work_registry_verify(s->image_registry, &j->policy, name, &pushed,
				p->cache, &p->signature, &second)) {
		pin(p, name, p->signature);
		return 0;
	}
	if (pushed.n)
		return unsigned_image(j, second.fix, second.msg, e);
	if (digests->n)
		return unsigned_image(j, why.fix, why.msg, e);
	fix = cl_asprintf("push it to %s, sign it there by its digest, and pull it: %s pull %.200s",
		j->d.ref.registry, ct_engine_name(p->engine.kind), j->d.ref.original);
	return unsigned_image(j, fix,
		"the policy asks for a signature, and the local store has no digest of its "
		"registry that one could be over",
		e);
}

/* What the policy asked for besides stands beside it; the digest is one that both know. */
static int by_publisher(struct work_spec *s, struct prepared *p, struct judged *j,
	const struct cl_strv *digests, struct cl_err *e)
{
	const struct own_image *own = own_image_find(&j->d.ref);
	const struct provenance_ask ask = {.reach = s->image_registry,
		.own = own,
		.reference = s->image,
		.digests = digests,
		.cache = p->cache,
		.required = s->provenance_required};
	cleanup_free char *name = NULL, *warning = NULL;
	json_t *signature = NULL;

	if (!own)
		return 0;
	if (provenance_check(&ask, &signature, &warning, e))
		return -1;
	if (warning)
		cl_strv_add(&p->warnings, warning);
	if (!signature)
		return 0;
	name = cl_asprintf("%s/%s", own->registry, own->repository);
	pin(p, name, signature);
	json_decref(p->signature);
	p->signature = signature;
	return 0;
}

int prepare_verify(struct work_spec *s, struct prepared *p, struct judged *j, struct cl_err *e)
{
	cleanup_strv struct cl_strv digests = CL_STRV_INIT, signed_one = CL_STRV_INIT;
	const char *digest;

	find_digests(j, &p->image, &digests);
	if (by_policy(s, p, j, &digests, e))
		return -1;
	digest = json_string_value(json_object_get(p->signature, "digest"));
	if (digest)
		cl_strv_add(&signed_one, digest);
	return by_publisher(s, p, j, digest ? &signed_one : &digests, e);
}
