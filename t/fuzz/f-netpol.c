/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policy JSON to a NetworkPolicy, which is read by the other evaluator and must agree. */
#include "../unit/netpol-eval.h"
#include "base/mem.h"
#include "base/yaml_write.h"
#include "policy/egress/netpol.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

static void ask(const struct eg_policy *p, const struct npe_policy *np, const struct pol_addr *a,
	uint16_t port)
{
	static const int ip[] = {IPPROTO_SCTP, IPPROTO_TCP, IPPROTO_UDP};
	struct pol_addr to = *a;

	(void)pol_addr_unmap(&to);
	for (int proto = EG_PROTO_ANY; port && proto <= EG_PROTO_UDP; proto++) {
		struct npe_packet k = {.proto = ip[proto], .port = port};
		bool want, got;

		k.addr.bits = pol_bits(to.family);
		memcpy(k.addr.b, to.b, sizeof(to.b));
		want = eg_evaluate(p, &to, port, (enum eg_proto)proto, true).verdict == EG_ALLOW;
		got = npe_allows(np, 1, NPE_EGRESS, &k);
		/* Never more; and no less, but for the neighbours of the mapped range. */
		must(got == want ||
			(want && to.family == 6 && to.b[10] == 0xff && to.b[11] == 0xfe));
	}
}

static void ask_rule(
	const struct eg_policy *p, const struct npe_policy *np, const struct eg_rule *r)
{
	struct pol_addr last = r->prefix.addr;

	for (unsigned i = r->prefix.len; i < pol_bits(last.family); i++)
		last.b[i / 8] |= (uint8_t)(0x80u >> i % 8);
	ask(p, np, &r->prefix.addr, r->nports ? r->ports[0] : 443);
	ask(p, np, &last, r->nports ? (uint16_t)(r->ports[r->nports - 1] + 1) : 53);
	last.b[pol_bits(last.family) / 8 - 1] ^= 1;
	ask(p, np, &last, 443);
}

static void judge(const struct eg_policy *p)
{
	static const struct np_pair pod = {NP_HANDLE_LABEL, NP_PREVIEW_HANDLE};
	struct np_options o = {.name = "p", .namespace = "n", .selector = &pod, .nselector = 1};
	cleanup_buf struct cl_buf text = CL_BUF_INIT, yaml = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	static const struct cl_doc_limits limits = {.max_bytes = 64u << 20, .nodes = 1u << 20};
	struct npe_policy np;
	struct cl_err e;
	json_t *j;

	must(!np_render(p, &o, &j, &e));
	np_text(j, &text);
	cl_yaml_write(j, &yaml);
	must(!cl_doc_parse(&d, CL_DOC_YAML, "x", yaml.p, yaml.len, &limits, &e));
	must(json_equal(d.root, j));
	json_decref(j);
	j = json_loads(text.p, JSON_REJECT_DUPLICATES, NULL);
	must(j != NULL);
	npe_read(j, &np);
	must(!np.wrong);
	for (size_t i = 0; i < p->nrules && i < 150; i++)
		ask_rule(p, &np, &p->rules[i]);
	npe_release(&np);
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (!cl_doc_parse(&d, CL_DOC_JSON, "x", (const char *)data, size, NULL, &e) &&
		!eg_auth_read(&d, d.root, &a, &e) && !eg_compile(&a, &p, &e))
		judge(&p);
	return 0;
}
