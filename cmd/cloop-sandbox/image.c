/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * image check: would the hub let a project name this image? Nothing is looked at but the name, unless
 * --resolve asks for more.
 */
#include "sandbox_cmd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/lines.h"
#include "policy/image/own_image.h"
#include "sys/hub.h"
#include "work/ctx.h"
#include "work/registry.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define POLICY_MAX 65536

struct judge {
	struct ip_policy policy;
	struct ip_decision *d;
	bool json, refused, resolve;
	struct sbx_pinner pinner;
	struct sbx_pin pin; /* of the decision, with resolve */
	struct cl_buf out;
};

/* JSON or YAML; what starts with a brace may be either. */
static int read_policy(const char *path, struct ip_policy *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc json = CL_DOC_INIT, yaml = CL_DOC_INIT;
	struct cl_err no_json;
	struct cl_doc *d = &json;

	if (cl_read_file(path, POLICY_MAX, &text, e))
		return -1;
	/* What a broken pipeline leaves; to restrict nothing is said, not left out. */
	if (!text.p[strspn(text.p, " \t\r\n")] && strspn(text.p, " \t\r\n") == text.len) {
		(void)cl_fail(e, CL_EDATA, "%s: the image policy is empty", path);
		return cl_fix(e, "write {} for a policy that restricts nothing");
	}
	if (text.p[strspn(text.p, " \t\r\n")] != '{' ||
		cl_doc_parse(&json, CL_DOC_JSON, path, text.p, text.len, NULL, &no_json)) {
		d = &yaml;
		if (cl_doc_parse(d, CL_DOC_YAML, path, text.p, text.len, NULL, e))
			return -1;
	}
	return ip_policy_read(d, d->root, out, e);
}

/* The hub's; one that cannot be read refuses every image, and the refusals say why. */
static int hub_policy(const struct cl_ctx *c, struct judge *j, struct cfg *cfg, struct cl_err *e)
{
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (hub_from_ctx(c, &hub, e)) {
		if (!strcmp(cl_err_slug(e), "no_hub"))
			(void)cl_fix(e, "give the policy with --policy FILE, or make a hub: cloop "
					"hub bootstrap");
		return -1;
	}
	if (hub_config(&hub, geteuid(), &d, cfg, e))
		return -1;
	j->policy = cfg->image_policy;
	return 0;
}

/* With a policy of its own the check needs no hub; where there is one, it says what it reaches. */
static void find_reach(const struct cl_ctx *c, struct judge *j, struct cfg *cfg)
{
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const struct cfg_executor *x;
	struct cl_err e;

	if (!cfg->file && !hub_from_ctx(c, &hub, &e))
		(void)hub_config(&hub, geteuid(), &d, cfg, &e);
	j->pinner.reach = work_registry_reach(cfg);
	j->pinner.provenance_required = cfg->provenance_required;
	if (!cfg_executor_find(cfg, NULL, &x, &e))
		j->pinner.runtime = x->runtime;
}

/* What a person reads; the reference as it was written, fit for a terminal. */
static void as_text(struct judge *j)
{
	const struct ip_decision *d = j->d;
	size_t at = j->out.len;

	cl_buf_adds(&j->out, d->allowed ? "ALLOW " : "DENY  ");
	cl_buf_adds(&j->out, d->ref.original);
	cl_mask(j->out.p + at, "");
	if (d->allowed) {
		cl_buf_adds(&j->out, d->needs_pin ? " (not pinned: the run pins it)" : "");
		cl_buf_adds(&j->out, d->needs_signature ? " (needs a signature)" : "");
		if (j->resolve)
			sbx_pin_text(&j->pin, &j->out);
	} else {
		cl_buf_addf(
			&j->out, " \u2014 %s: %s\n  fix: %s", d->rule, d->reason, d->remediation);
	}
	cl_mask(j->out.p + at, "\n");
	cl_buf_addc(&j->out, '\n');
}

/* What must be signed and is not known by a digest is refused, and what nobody signed. */
static void resolve_signed(struct judge *j)
{
	struct ip_decision *d = j->d;
	struct cl_err e;

	if (!j->pin.digests.n)
		ip_refuse(d, IP_RULE_RESOLUTION,
			"pull it and push it to a registry that can be asked, or name it by its "
			"digest",
			"image '%.200s' must be signed, and no digest is known that a signature "
			"could be over: %.300s",
			d->ref.original, j->pin.registry_error ? j->pin.registry_error : "");
	else if (sbx_pin_verify(&j->pinner, &j->policy, &d->ref, &j->pin, &e))
		ip_refuse(d, IP_RULE_SIGNATURE, e.fix, "image '%.200s': %.450s", d->ref.original,
			e.msg);
}

/* As a run would have it. */
static void resolve(struct judge *j)
{
	struct ip_decision *d = j->d;
	struct cl_err e;

	sbx_pin(&j->pinner, &d->ref, &j->pin);
	if (d->needs_signature)
		resolve_signed(j);
	if (d->allowed && sbx_pin_prove(&j->pinner, &d->ref, &j->pin, &e))
		ip_refuse(d, IP_RULE_PROVENANCE, e.fix, "%s", e.msg);
}

/* The answer is one object: what was found goes in before its end. */
static void as_json(struct judge *j)
{
	ip_decision_json(j->d, &j->out);
	if (j->resolve && j->d->allowed) {
		json_t *o = sbx_pin_json(&j->pin);
		cleanup_free char *text = cl_json_text(o);

		json_decref(o);
		j->out.p[--j->out.len] = '\0';
		cl_buf_addf(&j->out, ",\"resolved\":%s}", text);
	}
	cl_buf_addc(&j->out, '\n');
}

static void judge(struct judge *j, const char *reference)
{
	ip_decide(&j->policy, reference, j->d);
	if (j->resolve && j->d->allowed)
		resolve(j);
	j->refused = j->refused || !j->d->allowed;
	if (j->json) {
		as_json(j);
	} else {
		as_text(j);
	}
	sbx_pin_release(&j->pin);
}

/* A NUL would end the text early: it is judged as the control character that it is. */
static int judge_line(void *arg, char *text, size_t len, struct cl_err *e)
{
	char *nul;

	(void)e;
	while ((nul = memchr(text, '\0', len)))
		*nul = '\x01';
	judge(arg, text);
	return 0;
}

static int put(void *arg, struct cl_err *e)
{
	struct judge *j = arg;

	errno = 0;
	if (fwrite(j->out.p, 1, j->out.len, stdout) != j->out.len || fflush(stdout))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write standard output");
	cl_buf_reset(&j->out);
	return 0;
}

static int judge_all(struct cl_ctx *c, struct judge *j, struct cl_err *e)
{
	const char *file = cl_str(c, "refs-file");
	struct cl_lines lines = {.arg = j, .line = judge_line, .wait = put};
	cleanup_fd int fd = -1;

	for (size_t i = 0; i < c->noperands; i++)
		judge(j, c->operands[i]);
	if (put(j, e))
		return -1;
	if (!file)
		return 0;
	fd = cl_open_lines(file, e);
	lines.name = strcmp(file, "-") ? file : "standard input";
	return fd < 0 ? -1 : cl_each_line(fd, &lines, e);
}

int sbx_image_check(struct cl_ctx *c, struct cl_err *e)
{
	const char *file = cl_str(c, "policy"), *refs = cl_str(c, "refs-file");
	cleanup_ip_policy struct ip_policy own = IP_POLICY_INIT;
	cleanup_cfg struct cfg cfg = CFG_INIT;
	cleanup_free struct ip_decision *d = cl_malloc(sizeof(*d));
	struct judge j = {
		.d = d, .json = c->json, .resolve = cl_flag(c, "resolve"), .out = CL_BUF_INIT};
	int rc;

	if (!c->noperands && !refs)
		return cl_usage(c, e, "no reference is given: name one, or give --refs-file");
	if (file && refs && !strcmp(file, "-") && !strcmp(refs, "-"))
		return cl_usage(c, e, "--policy and --refs-file cannot both be standard input");
	if (file ? read_policy(file, &own, e) : hub_policy(c, &j, &cfg, e))
		return -1;
	if (file)
		j.policy = own;
	if (j.resolve)
		find_reach(c, &j, &cfg);
	rc = judge_all(c, &j, e);
	json_decref(j.pinner.reach);
	cl_buf_release(&j.out);
	return rc ? rc : j.refused;
}
