/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/yaml_write.h"

static void same(const char *json, const char *want)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *j = json_loads(json, JSON_DECODE_ANY, NULL);
	struct cl_err e;

	cl_yaml_write(j, &out);
	if (want)
		CHECK_STR(out.p, want);
	if (cl_doc_parse(&d, CL_DOC_YAML, "out", out.p, out.len, NULL, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
	else if (!json_equal(j, d.root))
		UNIT_FAIL("%s reads back as another: %s", json, out.p);
	json_decref(j);
}

void test_yaml__shapes(void)
{
	same("{\"a\":{\"b\":[1,-2,true,false,\"x\"],\"c\":{},\"d\":[]},\"e\":[{\"f\":1,\"g\":2},[3]"
	     "]}",
		"a:\n  b:\n  - 1\n  - -2\n  - true\n  - false\n  - x\n  c: {}\n  d: []\n"
		"e:\n- f: 1\n  g: 2\n- - 3\n");
	same("{\"a\":1.5,\"b\":9007199254740993}", "a: 1.5\nb: 9007199254740993\n");
	same("{\"x\":null}", "x: null\n");
	same("\"x\"", NULL);
}

/* Text that any reader, of YAML 1.1 or 1.2, could take for something else. */
void test_yaml__quotes(void)
{
	static const char *const quoted[] = {"", "no", "NO", "Yes", "on", "OFF", "y", "N", "true",
		"False", "null", "Null", "~", "1", "0777", "0o17", "0x1f", "1_000", "12:30:45",
		"1e3", ".5", "-1", "+1", ".inf", ".nan", "2001-01-01", "=", "<<", "- x", "a: b",
		"a #b", "#a", "&a", "*a", "!t", "%d", "@a", "`a", "?", "|", ">", "'", "[a]", "{a}",
		"a,b", " a", "a ", "<handle>", "::/0", "fd00::/8", "a:b"};
	static const char *const plain[] = {"x", "TCP", "cloop", "networking.k8s.io/v1",
		"kubernetes.io/metadata.name", "c-0123456789ab", "10.0.0.0/8", "0.0.0.0/0", "e3",
		"yess", "nullable"};

	for (size_t i = 0; i < CL_ARRAY_LEN(quoted); i++) {
		cleanup_free char *json = cl_asprintf("[\"%s\"]", quoted[i]);
		cleanup_free char *want = cl_asprintf("- \"%s\"\n", quoted[i]);

		same(json, want);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(plain); i++) {
		cleanup_free char *json = cl_asprintf("[\"%s\"]", plain[i]);
		cleanup_free char *want = cl_asprintf("- %s\n", plain[i]);

		same(json, want);
	}
}

void test_yaml__every_character(void)
{
	same("[\"a\\nb\\tc\\\"d\\\\e\\u0001\\u0085\\u2028\\ufeff\\u00e9\\ud83d\\ude00\"]", NULL);
	same("{\"a b\":1,\"\":2,\"no\":3}", "\"a b\": 1\n\"\": 2\n\"no\": 3\n");
	for (unsigned c = 1; c < 0x250; c++) {
		cleanup_free char *json = cl_asprintf("{\"k\":\"x\\u%04xy\"}", c);

		same(json, NULL);
	}
}

/* No line is folded, however long. */
void test_yaml__long_text(void)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	cl_buf_adds(&text, "[\"");
	for (int i = 0; i < 1000; i++)
		cl_buf_adds(&text, "some words and ");
	cl_buf_adds(&text, "\"]");
	same(text.p, NULL);
}
