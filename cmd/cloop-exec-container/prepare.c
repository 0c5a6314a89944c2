/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * prepare: from a reference somebody wrote to the one image that `start` runs. Policy,
 * local store, what the image itself rules out, harness, setup build; facts/executors.md
 * 2.3 and 6.11. Nothing is leased and nothing is started for a run an image would refuse.
 */
#include "prepare.h"
#include "base/mem.h"
#include "policy/image/own_image.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void prepared_release(struct prepared *p)
{
	engine_release(&p->engine);
	engine_image_release(&p->image);
	engine_image_release(&p->built);
	cl_strv_release(&p->warnings);
	json_decref(p->signature);
	free(p->cache);
}

/* What the engine is asked for: the digest alone where there is one, never tag and digest. */
static char *lookup_name(const struct ip_decision *d, const char *written)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	if (*d->ref.digest && *d->ref.registry)
		ir_canonical(&d->ref, &b);
	else if (!d->ref.qualified && *d->ref.registry)
		ir_text(&d->ref, &b);
	else
		cl_buf_adds(&b, written);
	return cl_buf_detach(&b);
}

static bool is_own(const char *reference)
{
	cleanup_free struct ir_ref *r = cl_calloc(1, sizeof(*r));
	struct cl_err e;

	return !ir_parse(reference, r, &e) && own_image_find(r);
}

/*
 * The policy is for what a project names, and for the operator's images where it says so, but for
 * cloop's own: whose signature those need is known.
 */
static int judge(struct work_spec *s, struct judged *j, struct cl_err *e)
{
	if (ip_policy_read(&s->doc, s->image_policy, &j->policy, e))
		return -1;
	if (!s->image_from_project && (!j->policy.govern_operator_images || is_own(s->image)))
		ip_policy_release(&j->policy);
	ip_decide(&j->policy, s->image, &j->d);
	return ip_decision_err(&j->d, e);
}

/* The same policy over the digest that was found: a name may resolve to another repository. */
static int judge_pinned(const struct judged *j, const struct engine_image *im, struct cl_err *e)
{
	struct ip_decision d;

	if (!*im->pinned)
		return 0;
	ip_decide(&j->policy, im->pinned, &d);
	return ip_decision_err(&d, e);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void warn_about(struct prepared *p, const struct ip_decision *d)
{
	const struct engine_image *im = &p->image;

	if (d->needs_pin && d->policy_active && !*im->pinned)
		cl_strv_addf(&p->warnings,
			"'%s' is a mutable tag without a repository digest: the next run may get "
			"another "
			"image",
			im->requested);
	/* The runtime gives the tmpfs there the mode that the image's folder has. */
	if (im->tmp_mode >= 0 && im->tmp_mode != 01777)
		cl_strv_addf(&p->warnings,
			"/tmp of '%s' has mode %04o, not 1777: the sandbox's user may not write "
			"there",
			im->requested, (unsigned)im->tmp_mode);
	if (im->volumes.n)
		cl_strv_addf(&p->warnings, "volumes that '%s' declares are ignored: %s%s",
			im->requested, im->volumes.v[0], im->volumes.n > 1 ? " ..." : "");
}

static int prepare(struct work_spec *s, struct prepared *p, struct judged *j, struct cl_err *e)
{
	cleanup_free char *name = NULL;

	if (judge(s, j, e) || engine_find(s->executor->runtime, environ, &p->engine, e))
		return -1;
	name = lookup_name(&j->d, s->image);
	p->cache = cl_asprintf("%s/.cloop/cache", s->hub);
	if (engine_image_pin(&p->engine, name, p->cache, &p->image, &p->cached, e) ||
		judge_pinned(j, &p->image, e) || engine_image_check(&p->engine, &p->image, e) ||
		engine_image_harness(&p->image, base_name(s->argv.v[0]), e) ||
		prepare_verify(s, p, j, e))
		return -1;
	warn_about(p, &j->d);
	if (s->setup.n && prepare_setup(s, p, e))
		return -1;
	return 0;
}

static json_t *strings(const struct cl_strv *v)
{
	json_t *j = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(j, json_string(v->v[i]));
	return j;
}

static void answer(const struct work_spec *s, const struct prepared *p)
{
	const struct engine_image *im = &p->image;
	const char *at = strchr(im->pinned, '@');
	cleanup_strv struct cl_strv harnesses = CL_STRV_INIT;
	json_t *out, *signature = p->signature ? json_incref(p->signature) : json_null();

	engine_image_harnesses(im, &harnesses);
	out = json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:b, s:b, s:o, s:o}", "requested", s->image,
		"image", *im->pinned ? im->pinned : im->requested, "digest", at ? at + 1 : "",
		"signature", signature, "image_id", im->id, "run",
		s->setup.n ? p->built.id : im->id, "reproducible", *im->pinned != '\0', "cached",
		p->cached, "warnings", strings(&p->warnings), "harnesses", strings(&harnesses));
	if (s->setup.n)
		(void)json_object_set_new(out, "setup",
			json_pack("{s:s, s:s, s:b}", "key", p->setup_key, "tag", p->built.requested,
				"reused", p->setup_reused));
	else
		(void)json_object_set_new(out, "setup", json_null());
	cl_take_json(out);
}

int cmd_prepare(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct prepared p = PREPARED_INIT;
	struct judged j = {0};
	int rc;

	if (work_spec_in("container", &spec, e))
		return -1;
	p.ctx = c;
	rc = prepare(&spec, &p, &j, e);
	if (!rc)
		answer(&spec, &p);
	prepared_release(&p);
	ip_policy_release(&j.policy);
	return rc;
}
