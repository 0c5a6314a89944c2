/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Image references and policies. A line is a reference; what parses must print as a text
 * that parses to the same parts. A text that starts with '{' is a policy.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "policy/image/imagepolicy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void printed(const struct ip_decision *d)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	json_t *j;

	ip_decision_json(d, &b);
	j = json_loadb(b.p, b.len, JSON_REJECT_DUPLICATES, NULL);
	if (!j)
		abort();
	json_decref(j);
}

/* Whatever it is, it is judged, and the answer is a line of JSON. */
static void judged(const char *text)
{
	const struct ip_policy none = IP_POLICY_INIT;
	struct ip_decision d;

	ip_decide(&none, text, &d);
	printed(&d);
}

static void reference(const char *text)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct ir_ref r, again;
	struct cl_err e;

	if (ir_parse(text, &r, &e))
		return;
	ir_text(&r, &b);
	/* "library/" and a default registry make a text longer than it came. */
	if (b.len > IR_MAX)
		return;
	if (ir_parse(b.p, &again, &e) || strcmp(r.registry, again.registry) != 0 ||
		strcmp(r.repository, again.repository) != 0 || strcmp(r.tag, again.tag) != 0 ||
		strcmp(r.digest, again.digest) != 0)
		abort();
}

static void policy(const char *text, size_t len)
{
	static const char *const images[] = {"alpine", "ghcr.io/acme/tools:1", "localhost:5000/x",
		"docker.io/acme/x", "[::1]:5/x", "-x", "evil.example/ghcr.io/acme/tools"};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_ip_policy struct ip_policy p = IP_POLICY_INIT;
	struct cl_err e;
	int rc;

	if (cl_doc_parse(&d, CL_DOC_JSON, "fuzz", text, len, NULL, &e))
		return;
	rc = ip_policy_read(&d, d.root, &p, &e);
	for (size_t i = 0; i < CL_ARRAY_LEN(images); i++) {
		struct ip_decision dec;

		ip_decide(&p, images[i], &dec);
		/* A policy that cannot be read lets nothing through. */
		if ((rc && dec.allowed) || dec.allowed == (dec.rule != NULL))
			abort();
		printed(&dec);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = cl_strndup((const char *)data, size);

	if (*text == '{')
		policy(text, strlen(text));
	else
		reference(text);
	judged(text);
	free(text);
	return 0;
}
