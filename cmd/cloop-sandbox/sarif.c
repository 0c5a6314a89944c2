/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SARIF 2.1.0 (OASIS): one log with one run about every file. */
#include "sandbox_cmd.h"
#include "base/buf.h"
#include "base/text.h"
#include "cli/version.h"

#include <string.h>

/* A path as a URI reference (RFC 3986): relative as given, else file://. */
static json_t *uri(const char *path)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	if (!strcmp(path, "-"))
		return json_string("stdin");
	cl_buf_adds(&b, *path == '/' ? "file://" : "");
	/* A colon in the first segment would read as a scheme. */
	if (*path != '/' && memchr(path, ':', strcspn(path, "/")))
		cl_buf_adds(&b, "./");
	for (; *path; path++) {
		if (strchr(CL_ALNUM "-._~/!$&'()*+,;=:@", *path))
			cl_buf_addc(&b, *path);
		else
			cl_buf_addf(&b, "%%%02X", (unsigned)(unsigned char)*path);
	}
	return json_string(b.p);
}

static json_t *rules(void)
{
	json_t *a = json_array();

	for (const struct sb_rule *r = sb_rules; r->id; r++)
		(void)json_array_append_new(
			a, json_pack("{s:s, s:{s:s}, s:{s:s}}", "id", r->id, "shortDescription",
				   "text", r->help, "defaultConfiguration", "level",
				   r->error ? "error" : "warning"));
	return a;
}

static size_t rule_index(const char *id)
{
	size_t i = 0;

	while (sb_rules[i].id && strcmp(sb_rules[i].id, id) != 0)
		i++;
	return i;
}

static json_t *result(const struct sbx_target *t, const struct sbx_finding *f)
{
	json_t *place = json_pack("{s:{s:o}}", "artifactLocation", "uri", uri(t->name)), *j, *text;
	cleanup_buf struct cl_buf msg = CL_BUF_INIT;

	if (f->line)
		(void)json_object_set_new(place, "region",
			json_pack("{s:i, s:i}", "startLine", (int)f->line, "startColumn",
				f->column ? (int)f->column : 1));
	cl_buf_addf(&msg, "%s%s%s", f->text, f->fix ? "\nfix: " : "", f->fix ? f->fix : "");
	text = json_string(msg.p);
	if (!text)
		text = json_string("(not UTF-8)");
	j = json_pack("{s:s, s:s, s:{s:o}, s:[{s:o}]}", "ruleId", f->rule, "level",
		f->error ? "error" : "warning", "message", "text", text, "locations",
		"physicalLocation", place);
	if (sb_rules[rule_index(f->rule)].id)
		(void)json_object_set_new(
			j, "ruleIndex", json_integer((json_int_t)rule_index(f->rule)));
	return j;
}

void sbx_report_sarif(const struct sbx_target *t, size_t n)
{
	json_t *results = json_array();

	for (size_t i = 0; i < n; i++) {
		struct sbx_finding f[SBX_FINDINGS];
		size_t k = sbx_findings(&t[i], f);

		for (size_t m = 0; m < k; m++)
			(void)json_array_append_new(results, result(&t[i], &f[m]));
	}
	cl_take_json(json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:s, s:o}]}", "$schema",
		"https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool",
		"driver", "name", "cloop-sandbox", "version", CLOOP_VERSION, "rules", rules(),
		"columnKind", "unicodeCodePoints", "results", results));
}
