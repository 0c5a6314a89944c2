/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * image check --resolve: which digest a tag stands for, here and at its registry. A run takes what the
 * engine's store has and never pulls, so the store's digest is the one that a run would have; where
 * the registry has another by now, the tag has moved.
 */
#include "sandbox_cmd.h"
#include "base/mem.h"
#include "sys/engine/image.h"
#include "work/provenance.h"
#include "work/registry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGESTS_MAX 16 /* as many as are asked about */

void sbx_pin_release(struct sbx_pin *p)
{
	free(p->pinned);
	free(p->registry_error);
	free(p->signed_by);
	free(p->unproved);
	cl_strv_release(&p->digests);
	*p = SBX_PIN_INIT;
}

static void copy(char out[SBX_DIGEST], const char *from)
{
	size_t len = from ? strlen(from) : 0;

	len = len < SBX_DIGEST ? len : 0;
	memcpy(out, len ? from : "", len);
	out[len] = '\0';
}

/* One that a signature may be over: of the name, or the one that was named. */
static bool counts(const struct ir_ref *want, const struct ir_ref *have)
{
	return !strncmp(have->digest, "sha256:", 7) && !strcmp(have->registry, want->registry) &&
	       !strcmp(have->repository, want->repository) &&
	       (!*want->digest || !strcmp(have->digest, want->digest));
}

/* What the engine's store has under that very name; no engine and no image are no error. */
static void from_store(const struct sbx_pinner *q, const struct ir_ref *want, const char *name,
	struct sbx_pin *out)
{
	cleanup_engine struct engine en = ENGINE_INIT;
	cleanup_engine_image struct engine_image im = ENGINE_IMAGE_INIT;
	struct ir_ref have;
	struct cl_err e;

	if (engine_find(q->runtime, environ, &en, &e) || engine_image_inspect(&en, name, &im, &e))
		return;
	out->in_store = true;
	copy(out->id, im.id);
	for (size_t i = 0; i < im.repo_digests.n && out->digests.n < DIGESTS_MAX; i++)
		if (!ir_parse(im.repo_digests.v[i], &have, &e) && counts(want, &have))
			cl_strv_add(&out->digests, have.digest);
	if (!ir_parse(im.pinned, &have, &e) && cl_strv_has(&out->digests, have.digest))
		copy(out->store, have.digest);
}

/* *same: it is the image that the store has, whatever digest the store knows it by. */
static void from_registry(
	const struct sbx_pinner *q, const char *name, struct sbx_pin *out, bool *same)
{
	json_t *answer = NULL;
	const char *id;
	struct cl_err e;

	if (work_registry_resolve(q->reach, name, &answer, &e)) {
		out->registry_error = cl_asprintf("%s%s%s", e.msg, *e.fix ? "; " : "", e.fix);
		return;
	}
	copy(out->registry, json_string_value(json_object_get(answer, "digest")));
	copy(out->platform,
		json_string_value(json_object_get(json_object_get(answer, "platform"), "digest")));
	id = json_string_value(json_object_get(answer, "image_id"));
	*same = id && *id && !strcmp(id, out->id);
	json_decref(answer);
}

void sbx_pin(const struct sbx_pinner *q, const struct ir_ref *ref, struct sbx_pin *out)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT, pinned = CL_BUF_INIT;
	struct ir_ref is = *ref;
	bool same = false;

	/* Never tag and digest: what the digest says holds. */
	if (*ref->digest && *ref->registry)
		ir_canonical(ref, &name);
	else
		ir_text(ref, &name);
	from_store(q, ref, name.p, out);
	if (*ref->registry)
		from_registry(q, name.p, out, &same);
	else
		out->registry_error = cl_strdup("it names no registry to ask");
	/* An image that was pushed from here has another digest there, and is the same. */
	out->moved = !same && out->in_store && *out->registry &&
		     !cl_strv_has(&out->digests, out->registry) &&
		     !(*out->platform && cl_strv_has(&out->digests, out->platform));
	if (!out->digests.n && *out->registry)
		cl_strv_add(&out->digests, out->registry);
	copy(is.digest, *out->store ? out->store : out->registry);
	if (*is.digest && *is.registry) {
		ir_canonical(&is, &pinned);
		out->pinned = cl_buf_detach(&pinned);
	}
}

static void take_signed(struct sbx_pin *pin, const json_t *answer)
{
	free(pin->signed_by);
	pin->signed_by = cl_strdup_null(json_string_value(json_object_get(answer, "by")));
	free(pin->pinned);
	pin->pinned = cl_strdup_null(json_string_value(json_object_get(answer, "reference")));
}

int sbx_pin_prove(
	const struct sbx_pinner *q, const struct ir_ref *ref, struct sbx_pin *pin, struct cl_err *e)
{
	const struct provenance_ask ask = {.reach = q->reach,
		.own = own_image_find(ref),
		.reference = ref->original,
		.digests = &pin->digests,
		.required = q->provenance_required};
	json_t *answer = NULL;

	if (!ask.own)
		return 0;
	if (provenance_check(&ask, &answer, &pin->unproved, e))
		return -1;
	if (answer)
		take_signed(pin, answer);
	json_decref(answer);
	return 0;
}

int sbx_pin_verify(const struct sbx_pinner *q, const struct ip_policy *policy,
	const struct ir_ref *ref, struct sbx_pin *pin, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("%s/%s", ref->registry, ref->repository);
	json_t *answer = NULL;

	if (work_registry_verify(q->reach, policy, name, &pin->digests, NULL, &answer, e))
		return -1;
	take_signed(pin, answer);
	json_decref(answer);
	return 0;
}

static json_t *text_or_null(const char *s)
{
	return s && *s ? cl_json_string(s) : json_null();
}

json_t *sbx_pin_json(const struct sbx_pin *p)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "signed_by",
		text_or_null(p->signed_by), "unproved", text_or_null(p->unproved), "pinned",
		text_or_null(p->pinned), "store_digest", text_or_null(p->store), "registry_digest",
		text_or_null(p->registry), "platform_digest", text_or_null(p->platform),
		"registry_error", text_or_null(p->registry_error), "moved", p->moved);
}

void sbx_pin_text(const struct sbx_pin *p, struct cl_buf *out)
{
	if (p->pinned)
		cl_buf_addf(out, "\n  pinned: %s (%s)", p->pinned,
			*p->store ? "the local store" : "the registry");
	if (p->signed_by)
		cl_buf_addf(out, "\n  signed: by %s", p->signed_by);
	if (p->unproved)
		cl_buf_addf(out, "\n  publisher: %s", p->unproved);
	if (p->moved)
		cl_buf_addf(out,
			"\n  moved: the registry has %s for it now; a run here has what the store "
			"has, until somebody pulls",
			p->registry);
	if (p->registry_error)
		cl_buf_addf(out, "\n  registry: %s", p->registry_error);
	if (!*p->store)
		cl_buf_adds(out,
			p->in_store ? "\n  store: it is there without a digest of that registry"
				    : "\n  store: it is not there, so a run would be refused: "
				      "nothing is pulled at start");
}
