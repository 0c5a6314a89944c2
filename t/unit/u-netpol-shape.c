/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the object looks like, what is refused, and the evaluator against published policies. */
#include "unit.h"
#include "netpol-eval.h"
#include "tsv.h"

#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml_write.h"
#include "policy/egress/netpol.h"

static const struct np_pair one_pod = {NP_HANDLE_LABEL, "c-0123456789ab"};

static struct np_options options(void)
{
	return (struct np_options){
		.name = "p", .namespace = "cloop", .selector = &one_pod, .nselector = 1};
}

static char *slurp(const char *name, size_t len)
{
	cleanup_free char *path = cl_asprintf("%s/netpol/%.*s", T_CASES, (int)len, name);
	char *text = cl_malloc(65536);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, 65535, f) : 0;

	if (!n)
		UNIT_FAIL("cannot read %s", path);
	text[n] = '\0';
	if (f)
		(void)fclose(f);
	return text;
}

static json_t *render(const char *auth, const struct np_options *o)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	json_t *out = NULL;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "case", auth, strlen(auth), NULL, &e) ||
		eg_auth_read(&d, d.root, &a, &e) || eg_compile(&a, &p, &e) ||
		np_render(&p, o, &out, &e))
		UNIT_FAIL("%s: %s", auth, e.msg);
	return out;
}

/* The egress list of a policy as text. */
static char *egress_of(const char *auth)
{
	struct np_options o = options();
	json_t *j = render(auth, &o);
	char *text =
		json_dumps(json_object_get(json_object_get(j, "spec"), "egress"), JSON_COMPACT);

	json_decref(j);
	return text;
}

static void one_shape(const struct tsv_row *r)
{
	cleanup_free char *got = egress_of(r->field[0]);

	if (strcmp(got ? got : "", r->field[1]) != 0)
		TSV_FAIL(r, "%s\n# got  %s\n# want %s", r->field[0], got ? got : "", r->field[1]);
}

void test_shapes(void)
{
	tsv_each("netpol/shapes.tsv", one_shape);
}

void test_whole_object(void)
{
	static const struct np_pair labels[] = {{"b", "2"}, {"a.example/x", ""}};
	static const struct np_pair notes[] = {{"why", "a < b & \"c\""}};
	static const struct np_pair dns[] = {{"team", "dns"}};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_free char *want = NULL;
	struct np_options o = options();
	json_t *j;

	o.labels = labels;
	o.nlabels = 2;
	o.annotations = notes;
	o.nannotations = 1;
	o.dns = true;
	o.dns_namespace = dns;
	o.ndns_namespace = 1;
	j = render("{}", &o);
	np_text(j, &text);
	json_decref(j);
	want = slurp("whole.json", strlen("whole.json"));
	CHECK_STR(text.p, want);
}

/* No rule at all: the type is named, so everything is denied. */
void test_isolated_has_no_egress_key(void)
{
	struct np_options o = options();
	json_t *j = render("{}", &o), *spec = json_object_get(j, "spec");
	struct npe_packet k = {.proto = IPPROTO_TCP, .port = 443};
	struct npe_policy np;

	CHECK(!json_object_get(spec, "egress") && !json_object_get(spec, "ingress"));
	npe_read(j, &np);
	CHECK(!np.wrong);
	CHECK(npe_parse_addr("8.8.8.8", &k.addr));
	CHECK(!npe_allows(&np, 1, NPE_EGRESS, &k) && !npe_allows(&np, 1, NPE_INGRESS, &k));
	npe_release(&np);
	json_decref(j);
}

/* DNS: Pods of the namespace on port 53, and nothing by address. */
void test_dns_peer(void)
{
	struct np_options o = options();
	json_t *system = json_pack("{ss}", "kubernetes.io/metadata.name", "kube-system");
	json_t *pod = json_object(), *j;
	struct npe_packet k = {.pod = pod, .namespace = system, .proto = IPPROTO_UDP, .port = 53};
	struct npe_policy np;

	o.dns = true;
	j = render("{}", &o);
	npe_read(j, &np);
	CHECK(npe_allows(&np, 1, NPE_EGRESS, &k));
	k.proto = IPPROTO_TCP;
	CHECK(npe_allows(&np, 1, NPE_EGRESS, &k));
	k.port = 443;
	CHECK(!npe_allows(&np, 1, NPE_EGRESS, &k));
	k.port = 53;
	k.namespace = pod;
	CHECK(!npe_allows(&np, 1, NPE_EGRESS, &k));
	k.pod = k.namespace = NULL;
	CHECK(npe_parse_addr("10.96.0.10", &k.addr));
	CHECK(!npe_allows(&np, 1, NPE_EGRESS, &k));
	npe_release(&np);
	json_decref(j);
	json_decref(pod);
	json_decref(system);
}

/* A rule for every protocol opens the three that the API knows, at named ports. */
void test_any_protocol_is_three(void)
{
	cleanup_free char *text = NULL;
	struct eg_rule rule = {.verdict = EG_ALLOW,
		.prefix = {{4, {10}}, 8},
		.proto = EG_PROTO_ANY,
		.reason = "x"};
	struct eg_policy p = {.rules = &rule, .nrules = 1};
	struct np_options o = options();
	json_t *j = NULL;
	struct cl_err e;

	CHECK_INT(np_render(&p, &o, &j, &e), 0);
	text = json_dumps(json_object_get(json_object_get(j, "spec"), "egress"), JSON_COMPACT);
	CHECK_STR(text, "[{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\"}}],\"ports\":["
			"{\"protocol\":\"TCP\",\"port\":1,\"endPort\":65535},"
			"{\"protocol\":\"UDP\",\"port\":1,\"endPort\":65535},"
			"{\"protocol\":\"SCTP\",\"port\":1,\"endPort\":65535}]}]");
	json_decref(j);
}

/* --- refusals --- */

static void one_name(const struct tsv_row *r)
{
	static struct np_pair pair[2];
	struct np_options o = options();
	const char *what = r->field[0], *value = r->field[1], *piece = r->field[2];
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_free char *longer = NULL;
	json_t *j = NULL;
	struct cl_err e;

	/* "x*64" stands for 64 of them. */
	if (strlen(value) > 2 && value[1] == '*') {
		size_t n = (size_t)strtoul(value + 2, NULL, 10);

		longer = cl_strndup(value, n);
		memset(longer, value[0], n);
		longer[n] = '\0';
		value = longer;
	}
	pair[0] = pair[1] = (struct np_pair){"k", "v"};
	o.selector = pair;
	if (!strcmp(what, "name"))
		o.name = value;
	else if (!strcmp(what, "namespace"))
		o.namespace = value;
	else if (!strcmp(what, "key"))
		pair[0].key = value;
	else if (!strcmp(what, "value"))
		pair[0].value = value;
	else if (!strcmp(what, "selectors"))
		o.nselector = (size_t)strtoul(value, NULL, 10);
	cl_err_init(&e);
	if (np_render(&p, &o, &j, &e)) {
		if (!*piece || !strstr(e.msg, piece) || !e.fix[0] || j || e.code != CL_EDATA)
			TSV_FAIL(r, "refused: %s", e.msg);
	} else if (*piece) {
		TSV_FAIL(r, "accepted");
	}
	json_decref(j);
}

void test_names(void)
{
	tsv_each("netpol/names.tsv", one_name);
}

void test_names__labels_and_dns_are_checked_too(void)
{
	static const struct np_pair bad = {"a b", ""}, long_note = {"k", "any text < at all"};
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct np_options o = options();
	json_t *j = NULL;
	struct cl_err e;

	o.labels = &bad;
	o.nlabels = 1;
	CHECK_INT(np_render(&p, &o, &j, &e), -1);
	CHECK_HAS(e.msg, "label 'a b'");
	o.nlabels = 0;
	o.dns_namespace = &bad;
	o.ndns_namespace = 1;
	CHECK_INT(np_check(&o, &e), -1);
	CHECK_HAS(e.msg, "DNS namespace label 'a b'");
	o.ndns_namespace = 0;
	o.annotations = &bad;
	o.nannotations = 1;
	CHECK_INT(np_check(&o, &e), -1);
	o.annotations = &long_note;
	CHECK_INT(np_check(&o, &e), 0);
}

/* --- the evaluator itself, by policies that others published --- */

#define DOCUMENTS 8

/* The documents of a YAML stream, each parsed. */
static size_t documents(char *text, struct cl_doc docs[DOCUMENTS])
{
	struct cl_err e;
	size_t n = 0;

	for (char *p = text; p && n < DOCUMENTS;) {
		char *next = strstr(p, "\n---\n");

		if (next)
			*next = '\0';
		if (cl_starts(p, "---\n"))
			p += 4;
		docs[n] = CL_DOC_INIT;
		if (cl_doc_parse(&docs[n], CL_DOC_YAML, "case", p, strlen(p), NULL, &e))
			UNIT_FAIL("%s", e.msg);
		n++;
		p = next ? next + 5 : NULL;
	}
	return n;
}

static int proto_of(const char *s)
{
	return !strcmp(s, "tcp")    ? IPPROTO_TCP
	       : !strcmp(s, "udp")  ? IPPROTO_UDP
	       : !strcmp(s, "sctp") ? IPPROTO_SCTP
				    : IPPROTO_ICMP;
}

static void one_conclusion(const struct tsv_row *r)
{
	size_t len = strcspn(r->field[0], "#"), n, from = 0, count;
	cleanup_free char *text = slurp(r->field[0], len);
	struct cl_doc docs[DOCUMENTS];
	struct npe_policy np[DOCUMENTS];
	struct npe_packet k = {
		.proto = proto_of(r->field[3]), .port = (int)strtol(r->field[4], NULL, 10)};
	json_t *labels[2] = {NULL, NULL};
	char *pod = strstr(r->field[2], "} {");
	bool got;

	n = count = documents(text, docs);
	if (r->field[0][len]) {
		from = strtoul(r->field[0] + len + 1, NULL, 10);
		count = 1;
	}
	for (size_t i = 0; i < n; i++) {
		npe_read(docs[i].root, &np[i]);
		if (np[i].wrong)
			TSV_FAIL(r, "not understood: %s", np[i].wrong);
	}
	if (pod) {
		pod[1] = '\0';
		k.namespace = labels[0] = json_loads(r->field[2], 0, NULL);
		k.pod = labels[1] = json_loads(pod + 2, 0, NULL);
	} else if (!npe_parse_addr(r->field[2], &k.addr)) {
		TSV_FAIL(r, "no address");
	}
	got = npe_allows(
		np + from, count, !strcmp(r->field[1], "egress") ? NPE_EGRESS : NPE_INGRESS, &k);
	if (got != !strcmp(r->field[5], "yes"))
		TSV_FAIL(r, "%s: %s", r->field[2], got ? "allowed" : "denied");
	for (size_t i = 0; i < n; i++) {
		npe_release(&np[i]);
		cl_doc_release(&docs[i]);
	}
	json_decref(labels[0]);
	json_decref(labels[1]);
}

void test_evaluator__published_policies(void)
{
	tsv_each("netpol/conclusions.tsv", one_conclusion);
}

void test_evaluator__refuses_what_it_does_not_know(void)
{
	static const char *const bad[] = {
		"{\"to\":[{}]}",
		"{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.0.0.0/8\"]}}]}",
		"{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\",\"except\":[\"11.0.0.0/16\"]}}]}",
		"{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0\"}}]}",
		"{\"to\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\"},\"podSelector\":{}}]}",
		"{\"to\":[{\"podSelector\":{\"matchExpressions\":[]}}]}",
		"{\"from\":[]}",
		"{\"ports\":[{\"protocol\":\"ICMP\"}]}",
		"{\"ports\":[{\"endPort\":5}]}",
		"{\"ports\":[{\"port\":6,\"endPort\":5}]}",
		"{\"ports\":[{\"port\":\"web\",\"endPort\":5}]}",
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_free char *text = cl_asprintf(
			"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\","
			"\"spec\":{\"podSelector\":{},\"egress\":[%s]}}",
			bad[i]);
		json_t *j = json_loads(text, 0, NULL);
		struct npe_policy np;

		npe_read(j, &np);
		if (!np.wrong)
			UNIT_FAIL("understood: %s", bad[i]);
		npe_release(&np);
		json_decref(j);
	}
}
