/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/image/own_image.h"

static char *line_of(FILE *f)
{
	static char line[4096];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

static const char *dash(const char *s)
{
	return *s ? s : "-";
}

void test_reference__cases(void)
{
	FILE *f = fopen(T_CASES "/image/references.tsv", "r");
	const char *line;
	int n = 0;

	CHECK(f != NULL);
	while (f && (line = line_of(f))) {
		cleanup_strv struct cl_strv c = CL_STRV_INIT;
		struct ir_ref r;
		struct cl_err e;
		int rc;

		cl_split(line, '\t', &c);
		rc = ir_parse(c.v[0], &r, &e);
		n++;
		if (!strcmp(c.v[1], "!")) {
			CHECK_INT(rc, -1);
			if (rc)
				CHECK_HAS(e.msg, c.v[2]);
			CHECK_STR(e.rule, "reference-syntax");
			continue;
		}
		if (rc) {
			UNIT_FAIL("%s: %s", c.v[0], e.msg);
			continue;
		}
		CHECK_STR(dash(r.registry), c.v[1]);
		CHECK_STR(dash(r.repository), c.v[2]);
		CHECK_STR(dash(r.tag), c.v[3]);
		CHECK_STR(dash(r.digest), c.v[4]);
		CHECK_INT(r.qualified, strcmp(c.v[1], "-") != 0);
		CHECK_STR(r.original, c.v[0]);
	}
	CHECK(n > 50);
	if (f)
		(void)fclose(f);
}

void test_reference__length(void)
{
	char text[2048];
	struct ir_ref r;
	struct cl_err e;

	memset(text, 'a', sizeof(text));
	text[512] = '\0';
	CHECK_INT(ir_parse(text, &r, &e), 0);
	ir_qualify(&r, "docker.io");
	CHECK_INT(strlen(r.repository), 520);
	text[512] = 'a';
	text[2047] = '\0';
	CHECK_INT(ir_parse(text, &r, &e), -1);
	CHECK_HAS(e.msg, "longer than 512");
	CHECK_INT(strlen(r.original), 512);
}

void test_reference__canonical_drops_the_tag(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct ir_ref r;
	struct cl_err e;

	CHECK_INT(ir_parse("GHCR.io/a/b:1@sha256:"
			   "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9",
			  &r, &e),
		0);
	ir_canonical(&r, &b);
	CHECK_STR(b.p, "ghcr.io/a/b@sha256:"
		       "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9");
	cl_buf_reset(&b);
	ir_text(&r, &b);
	CHECK_STR(b.p, "ghcr.io/a/b:1@sha256:"
		       "48168fa99cb7e014e77dbf4af79fc5b2a50caac8e820883ea7326f88bc713ac9");
	CHECK_INT(ir_parse("Foo/bar:1", &r, &e), 0);
	cl_buf_reset(&b);
	ir_text(&r, &b);
	CHECK_STR(b.p, "FOO/bar:1");
	CHECK_INT(ir_parse("alpine:3", &r, &e), 0);
	cl_buf_reset(&b);
	ir_canonical(&r, &b);
	CHECK_STR(b.p, "");
}

static int read_policy(const char *json, struct cl_doc *d, struct ip_policy *p, struct cl_err *e)
{
	if (cl_doc_parse(d, CL_DOC_JSON, "policy", json, strlen(json), NULL, e))
		return -1;
	return ip_policy_read(d, d->root, p, e);
}

#define POLICIES 64
static struct ip_policy policies[POLICIES];

static void load_policies(void)
{
	FILE *f = fopen(T_CASES "/image/policies.tsv", "r");
	const char *line;

	while (f && (line = line_of(f))) {
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		unsigned long n = strtoul(line, NULL, 10);
		struct cl_err e;

		if (n >= POLICIES || read_policy(strchr(line, '\t') + 1, &d, &policies[n], &e))
			UNIT_FAIL("policy %lu: %s", n, n < POLICIES ? e.msg : "");
	}
	if (f)
		(void)fclose(f);
}

/* The verdict in the words of the case file. */
static void verdict(const struct ip_decision *d, char out[8])
{
	(void)snprintf(out, 8, "%s%s", d->allowed ? d->needs_pin ? "N" : "A" : "",
		d->needs_signature ? "+S" : "");
	if (!d->allowed)
		(void)snprintf(out, 8, "%.3s", d->rule);
}

/* The line is JSON and says what the decision says. */
static void check_json(const struct ip_decision *d)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	json_t *j;

	ip_decision_json(d, &b);
	j = json_loadb(b.p, b.len, JSON_REJECT_DUPLICATES, NULL);
	if (!j) {
		UNIT_FAIL("not JSON: %s", b.p);
		return;
	}
	CHECK_INT(json_object_size(j), 11);
	CHECK_INT(json_is_true(json_object_get(j, "allowed")), d->allowed);
	CHECK_INT(json_is_null(json_object_get(j, "rule")), d->allowed);
	CHECK_INT(json_is_true(json_object_get(j, "needs_pin")), d->needs_pin);
	CHECK_STR(json_string_value(json_object_get(j, "reference")), d->ref.original);
	CHECK_STR(json_string_value(json_object_get(j, "registry")), d->ref.registry);
	json_decref(j);
}

void test_policy__verdicts(void)
{
	FILE *f = fopen(T_CASES "/image/verdicts.tsv", "r");
	const char *line;
	int n = 0;

	load_policies();
	while (f && (line = line_of(f))) {
		cleanup_strv struct cl_strv c = CL_STRV_INIT;
		struct ip_decision d;
		struct cl_err e;
		char got[8], want[8];

		cl_split(line, '\t', &c);
		ip_decide(&policies[strtoul(c.v[0], NULL, 10)], c.v[1], &d);
		verdict(&d, got);
		/* The file writes rules shorter than they are. */
		(void)snprintf(want, sizeof(want), "%s", !strcmp(c.v[2], "syn") ? "ref" : c.v[2]);
		if (strcmp(got, want) != 0)
			UNIT_FAIL("policy %s, %s: %s, not %s (%s)", c.v[0], c.v[1], got, want,
				d.reason);
		CHECK_INT(ip_decision_err(&d, &e), d.allowed ? 0 : -1);
		CHECK(d.allowed || (*d.reason && *d.remediation));
		check_json(&d);
		n++;
	}
	CHECK(n > 100);
	for (size_t i = 0; i < POLICIES; i++)
		ip_policy_release(&policies[i]);
	if (f)
		(void)fclose(f);
}

void test_policy__bad_ones_refuse_everything(void)
{
	FILE *f = fopen(T_CASES "/image/bad-policies.tsv", "r");
	const char *line;
	int n = 0;

	while (f && (line = line_of(f))) {
		cleanup_doc struct cl_doc doc = CL_DOC_INIT;
		cleanup_ip_policy struct ip_policy p = IP_POLICY_INIT;
		cleanup_strv struct cl_strv c = CL_STRV_INIT;
		struct ip_decision d;
		struct cl_err e;

		cl_split(line, '\t', &c);
		if (!read_policy(c.v[0], &doc, &p, &e)) {
			UNIT_FAIL("accepted: %s", c.v[0]);
			continue;
		}
		CHECK_HAS(e.msg, c.v[1]);
		CHECK_INT(e.code, CL_ECONFIG);
		CHECK_STR(e.rule, "policy-configuration");
		ip_decide(&p, "ghcr.io/acme/tools", &d);
		CHECK(!d.allowed);
		CHECK_STR(d.rule, "policy-configuration");
		CHECK_INT(ip_decision_err(&d, &e), -1);
		CHECK_INT(e.code, CL_ECONFIG);
		n++;
	}
	CHECK(n > 30);
	if (f)
		(void)fclose(f);
}

void test_policy__absent_and_fingerprint(void)
{
	cleanup_doc struct cl_doc d1 = CL_DOC_INIT, d2 = CL_DOC_INIT, empty = CL_DOC_INIT;
	cleanup_ip_policy struct ip_policy none = IP_POLICY_INIT, a = IP_POLICY_INIT,
					   b = IP_POLICY_INIT;
	char fa[17], fb[17];
	struct cl_err e;
	json_t *bare;

	CHECK_INT(ip_policy_read(&empty, NULL, &none, &e), 0);
	CHECK(!ip_policy_active(&none));
	bare = json_pack("{s:[s]}", "allowed_repos", "x");
	CHECK_INT(ip_policy_read(&empty, bare, &none, &e), -1);
	CHECK_INT(e.line, 0);
	json_decref(bare);
	CHECK_INT(read_policy("{\"allowed_registries\":[\"GHCR.io\"]}", &d1, &a, &e), 0);
	CHECK_INT(read_policy("{\"allowed_registries\":[\"ghcr.io\"], \"require_digest\":false}",
			  &d2, &b, &e),
		0);
	ip_policy_fingerprint(&a, fa);
	ip_policy_fingerprint(&b, fb);
	CHECK_STR(fa, fb);
	b.require_digest = true;
	ip_policy_fingerprint(&b, fb);
	CHECK(strcmp(fa, fb) != 0);
}

void test_policy__later_rules(void)
{
	struct ip_policy none = IP_POLICY_INIT;
	struct ip_decision d;
	struct cl_err e;

	ip_decide(&none, "ghcr.io/x:1", &d);
	CHECK(d.allowed && d.needs_pin);
	ip_refuse(&d, IP_RULE_RESOLUTION, "pull it", "no digest for '%s'", d.ref.original);
	CHECK_INT(ip_decision_err(&d, &e), -1);
	CHECK_STR(cl_err_slug(&e), "sandbox_image_denied");
	CHECK_STR(e.rule, "digest-resolution");
	CHECK_STR(e.fix, "pull it");
	CHECK_INT(cl_err_exit(&e), 1);
}

static const struct own_image *own(const char *reference)
{
	struct ir_ref r;
	struct cl_err e;

	CHECK_INT(ir_parse(reference, &r, &e), 0);
	return own_image_find(&r);
}

void test_own_image__by_parsed_name_alone(void)
{
	static const char *const yes[] = {"ghcr.io/blechschmidt/cloop",
		"ghcr.io/blechschmidt/cloop-harness:edge", "GHCR.IO/blechschmidt/cloop:1",
		"ghcr.io/blechschmidt/cloop-harness-copilot:0.0.4"};
	static const char *const no[] = {"ghcr.io.evil/blechschmidt/cloop",
		"ghcr.io/blechschmidt/cloop/harness", "ghcr.io/blechschmidt/cloop-harnes",
		"ghcr.io:5000/blechschmidt/cloop", "docker.io/blechschmidt/cloop",
		"blechschmidt/cloop", "evil.example/ghcr.io/blechschmidt/cloop"};
	cleanup_ip_policy struct ip_policy p = IP_POLICY_INIT;
	char fingerprint[17], none[17];

	for (size_t i = 0; i < CL_ARRAY_LEN(yes); i++)
		CHECK(own(yes[i]) != NULL);
	for (size_t i = 0; i < CL_ARRAY_LEN(no); i++)
		CHECK(own(no[i]) == NULL);
	ip_policy_fingerprint(&p, none);
	own_image_policy(own(yes[0]), &p);
	ip_policy_fingerprint(&p, fingerprint);
	CHECK_INT((int)p.nidentities, 1);
	CHECK(strcmp(fingerprint, none) != 0);
}

void test_policy__one_that_is_unusable_stays_so(void)
{
	static const char *const bad[] = {"{\"allowed_registries\": [\"ghcr.io\"], \"requre\": 1}",
		"{\"govern_operator_images\": true, \"allowed_registries\": [\"a/b\"]}", "[]", "7"};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_ip_policy struct ip_policy p = IP_POLICY_INIT, again = IP_POLICY_INIT;
		cleanup_doc struct cl_doc d = CL_DOC_INIT, none = CL_DOC_INIT;
		struct ip_decision *got = cl_calloc(1, sizeof(*got));
		struct cl_err e;
		json_t *j;

		CHECK_INT(cl_doc_parse(&d, CL_DOC_YAML, "-", bad[i], strlen(bad[i]), NULL, &e), 0);
		CHECK_INT(ip_policy_read(&d, d.root, &p, &e), -1);
		j = ip_policy_json(&p);
		CHECK_INT(ip_policy_read(&none, j, &again, &e), 0);
		CHECK_INT(again.govern_operator_images, i == 1);
		ip_decide(&again, "ghcr.io/acme/tools:1", got);
		CHECK(!got->allowed);
		CHECK_STR(got->rule, IP_RULE_CONFIG);
		json_decref(j);
		free(got);
	}
}
