/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *word(enum eg_verdict v)
{
	return v == EG_ALLOW ? "allow" : "drop";
}

/* "10.0.0.1:443/tcp" */
static void destination(const struct exp_result *r, char *out, size_t size)
{
	struct pol_endpoint at = {r->addr, r->port};
	char text[POL_ENDPOINT_TEXT];

	pol_endpoint_text(&at, text);
	(void)snprintf(out, size, "%s/%s", text, eg_proto_name(r->proto));
}

/* "expected drop, got allow for 10.0.0.1:443/tcp: public Internet (rule 37)"; owned. */
static char *explain(const struct exp_case *c, const struct exp_result *r)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	char where[POL_ENDPOINT_TEXT + 8];

	destination(r, where, sizeof(where));
	cl_buf_addf(&out, "expected %s", word(c->want));
	if (c->reason)
		cl_buf_addf(&out, " (%s)", c->reason);
	cl_buf_addf(&out, ", got %s for %s: %s", word(r->answer.verdict), where, r->answer.reason);
	if (r->answer.rule >= 0)
		cl_buf_addf(&out, " (rule %d)", r->answer.rule + 1);
	cl_mask(out.p, "");
	return cl_buf_detach(&out);
}

/* A description: on one line, and no '#' of its own, which starts a directive. */
static char *tap_text(const char *s)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	for (; *s; s++) {
		if (*s == '#' || *s == '\\')
			cl_buf_addc(&out, '\\');
		cl_buf_addc(&out, *s);
	}
	cl_mask(out.p, "");
	return cl_buf_detach(&out);
}

static void tap_case(const struct test_file *f, size_t i, size_t number, bool many)
{
	const struct exp_case *c = &f->suite.cases[i];
	const struct exp_result *r = &f->results[i];
	cleanup_free char *name = tap_text(c->name), *file = tap_text(f->name), *why = NULL;

	(void)printf("%s %zu - %s%s%s\n", r->ok ? "ok" : "not ok", number, many ? file : "",
		many ? ": " : "", name);
	if (r->ok)
		return;
	why = explain(c, r);
	(void)printf("# %s:%u: %s\n", file, c->line, why);
}

void test_report_tap(const struct test_files *t)
{
	size_t total = 0, number = 0;

	for (size_t i = 0; i < t->n; i++)
		total += t->v[i].suite.ncases;
	(void)printf("TAP version 14\n1..%zu\n", total);
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < t->v[i].suite.ncases; k++)
			tap_case(&t->v[i], k, ++number, t->n > 1);
}

/* Text of an attribute (XML 1.0, 2.2, 2.4 and 3.3.3); what XML cannot hold is masked. */
static void put_xml(const char *s)
{
	cleanup_free char *copy = cl_strdup(s);

	cl_mask(copy, "");
	for (const char *p = copy; *p; p++) {
		/* U+FFFE and U+FFFF are no characters there. */
		size_t skip = cl_starts(p, "\xef\xbf\xbe") || cl_starts(p, "\xef\xbf\xbf") ? 2 : 0;

		if (skip)
			(void)putchar('?');
		else if (*p == '&')
			(void)fputs("&amp;", stdout);
		else if (*p == '<')
			(void)fputs("&lt;", stdout);
		else if (*p == '>')
			(void)fputs("&gt;", stdout);
		else if (*p == '"')
			(void)fputs("&quot;", stdout);
		else
			(void)putchar(*p);
		p += skip;
	}
}

static void put_attribute(const char *name, const char *value)
{
	(void)printf(" %s=\"", name);
	put_xml(value);
	(void)putchar('"');
}

static void junit_case(const struct test_file *f, size_t i)
{
	const struct exp_case *c = &f->suite.cases[i];
	cleanup_free char *why = NULL;

	(void)fputs("    <testcase", stdout);
	put_attribute("classname", f->name);
	put_attribute("name", c->name);
	put_attribute("file", f->name);
	(void)printf(" line=\"%u\"", c->line);
	if (f->results[i].ok) {
		(void)puts("/>");
		return;
	}
	why = explain(c, &f->results[i]);
	(void)fputs(">\n      <failure", stdout);
	put_attribute("message", why);
	(void)puts("/>\n    </testcase>");
}

void test_report_junit(const struct test_files *t)
{
	size_t total = 0, failed = 0;

	for (size_t i = 0; i < t->n; i++) {
		total += t->v[i].suite.ncases;
		failed += t->v[i].failed;
	}
	(void)printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		     "<testsuites tests=\"%zu\" failures=\"%zu\">\n",
		total, failed);
	for (size_t i = 0; i < t->n; i++) {
		const struct test_file *f = &t->v[i];

		(void)fputs("  <testsuite", stdout);
		put_attribute("name", f->name);
		(void)printf(" tests=\"%zu\" failures=\"%zu\">\n", f->suite.ncases, f->failed);
		for (size_t k = 0; k < f->suite.ncases; k++)
			junit_case(f, k);
		(void)puts("  </testsuite>");
	}
	(void)puts("</testsuites>");
}

static json_t *case_json(const struct exp_case *c, const struct exp_result *r)
{
	json_t *obj = json_object(), *got;
	char where[POL_ENDPOINT_TEXT + 8];

	(void)json_object_set_new(obj, "name", cl_json_string(c->name));
	(void)json_object_set_new(obj, "line", json_integer(c->line));
	(void)json_object_set_new(obj, "expected", json_string(word(c->want)));
	(void)json_object_set_new(
		obj, "reason", c->reason ? cl_json_string(c->reason) : json_null());
	(void)json_object_set_new(obj, "ok", json_boolean(r->ok));
	if (r->ok)
		return obj;
	destination(r, where, sizeof(where));
	got = json_object();
	(void)json_object_set_new(got, "query", json_string(where));
	(void)json_object_set_new(got, "verdict", json_string(word(r->answer.verdict)));
	(void)json_object_set_new(got, "reason", json_string(r->answer.reason));
	(void)json_object_set_new(
		got, "rule", r->answer.rule < 0 ? json_null() : json_integer(r->answer.rule + 1));
	(void)json_object_set_new(obj, "got", got);
	return obj;
}

void test_report_json(const struct test_files *t)
{
	json_t *files = json_array(), *obj = json_object();
	size_t total = 0, failed = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct test_file *f = &t->v[i];
		json_t *file = json_object(), *tests = json_array();

		for (size_t k = 0; k < f->suite.ncases; k++)
			(void)json_array_append_new(
				tests, case_json(&f->suite.cases[k], &f->results[k]));
		total += f->suite.ncases;
		failed += f->failed;
		(void)json_object_set_new(file, "file", cl_json_string(f->name));
		(void)json_object_set_new(file, "tests", tests);
		(void)json_array_append_new(files, file);
	}
	(void)json_object_set_new(obj, "tests", json_integer((json_int_t)total));
	(void)json_object_set_new(obj, "failed", json_integer((json_int_t)failed));
	(void)json_object_set_new(obj, "files", files);
	cl_take_json(obj);
}
