/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policy JSON to authorisation, rules, answers and every rendering. */
#include "base/mem.h"
#include "policy/egress/egress_stack.h"
#include "policy/flat/flat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

static void render(const struct eg_policy *p)
{
	static const char *const bridges[] = {NULL, "br0"};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bridges); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		must(!eg_render_nft(p, "t", bridges[i], &b, &e));
		must(strlen(b.p) == b.len);
		/* What was written by a person never starts a line of its own. */
		must(!strstr(b.p, "\nflush"));
	}
	{
		cleanup_buf struct cl_buf b = CL_BUF_INIT;
		json_t *j = eg_policy_json(p);
		cleanup_free char *text = cl_json_text(j);

		must(text[0] == '{');
		eg_render_rules(p, "flags", true, &b);
		json_decref(j);
	}
}

/* The flat form answers as first match does. */
static void flat(const struct eg_policy *p)
{
	cleanup_flat struct flat f = FLAT_INIT;

	flat_build(p, true, &f);
	for (size_t i = 0; i < p->nrules && i < 200; i++) {
		const struct eg_rule *r = &p->rules[i];
		uint16_t port = r->nports ? r->ports[0] : 1;
		flat_u128 ends[2];

		flat_prefix_range(&r->prefix, &ends[0], &ends[1]);
		for (int k = 0; k < 2; k++) {
			struct pol_addr to = flat_addr(r->prefix.addr.family, ends[k]);
			struct eg_answer a = eg_evaluate(p, &to, port, r->proto, true);
			struct eg_answer b = flat_evaluate(&f, &to, port, r->proto);

			must(a.verdict == b.verdict && a.rule == b.rule);
			must(flat_allows(&f, &to, port, r->proto) == (a.verdict == EG_ALLOW));
		}
	}
	must(flat_equal(&f, &f));
}

/* Each rule's own first address: the answer is that rule's or an earlier one's. */
static void ask(const struct eg_policy *p)
{
	for (size_t i = 0; i < p->nrules && i < 200; i++) {
		const struct eg_rule *r = &p->rules[i];
		struct pol_addr to = r->prefix.addr;
		struct eg_answer a =
			eg_evaluate(p, &to, r->nports ? r->ports[0] : 1, r->proto, false);
		bool mapped = pol_addr_unmap(&to);

		must(mapped || (a.rule >= 0 && (size_t)a.rule <= i));
		must(a.reason != NULL);
	}
}

static void judge(const struct eg_auth *a)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_eg_auth struct eg_auth again = EG_AUTH_INIT, narrow = EG_AUTH_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *j = eg_auth_json(a);
	cleanup_free char *text = cl_json_text(j);
	struct cl_err e;

	json_decref(j);
	must(!cl_doc_parse(&d, CL_DOC_JSON, "x", text, strlen(text), NULL, &e));
	must(!eg_auth_read(&d, d.root, &again, &e));
	must(again.nallow == a->nallow && again.ndeny == a->ndeny && again.nports == a->nports);
	(void)eg_check_metadata(a, "allow", "deny", &e);
	(void)eg_narrow_public(a, true, false, &narrow, &e);
	if (eg_compile(a, &p, &e))
		return;
	ask(&p);
	flat(&p);
	render(&p);
}

/* Levels mean what each of them means alone. */
static void levels(const struct eg_stack *s)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat all = FLAT_INIT;
	struct cl_err e;

	if (eg_stack_compile(s, &p, &e))
		return;
	ask(&p);
	flat(&p);
	render(&p);
	flat_build(&p, true, &all);
	for (size_t i = 0; i < s->n; i++) {
		cleanup_eg_policy struct eg_policy one = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT;

		must(!eg_compile(&s->v[i].auth, &one, &e));
		flat_build(&one, true, &f);
		must(flat_subset(&all, &f));
	}
}

static void stack(struct cl_doc *d)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT, again = EG_STACK_INIT;
	cleanup_doc struct cl_doc back = CL_DOC_INIT;
	cleanup_free char *text = NULL;
	struct cl_err e;
	json_t *j;

	if (eg_stack_read(d, d->root, &s, &e))
		return;
	j = eg_stack_json(&s);
	text = cl_json_text(j);
	json_decref(j);
	must(!cl_doc_parse(&back, CL_DOC_JSON, "x", text, strlen(text), NULL, &e));
	must(!eg_stack_read(&back, back.root, &again, &e) && again.n == s.n);
	levels(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "x", (const char *)data, size, NULL, &e))
		return 0;
	if (!eg_auth_read(&d, d.root, &a, &e))
		judge(&a);
	else
		stack(&d);
	return 0;
}
