/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/egress.h"

#define FIELDS 6

/* One line of a table of cases, split at tabs; false at the end. Comments are skipped. */
static bool next_row(FILE *f, char **line, size_t *cap, char *field[FIELDS])
{
	ssize_t n;

	while ((n = getline(line, cap, f)) > 0) {
		char *p = *line;

		if (*p == '#' || *p == '\n')
			continue;
		if ((*line)[n - 1] == '\n')
			(*line)[n - 1] = '\0';
		for (int i = 0; i < FIELDS; i++) {
			field[i] = p;
			p += strcspn(p, "\t");
			if (*p)
				*p++ = '\0';
		}
		return true;
	}
	return false;
}

static FILE *cases(const char *name)
{
	cleanup_free char *path = cl_asprintf("%s/egress/%s", T_CASES, name);
	FILE *f = fopen(path, "r");

	if (!f)
		UNIT_FAIL("cannot open %s", path);
	return f;
}

static int read_auth(const char *json, struct eg_auth *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	cl_err_init(e);
	if (cl_doc_parse(&d, CL_DOC_JSON, "case", json, strlen(json), NULL, e))
		return -1;
	return eg_auth_read(&d, d.root, out, e);
}

static void compile(const char *json, struct eg_policy *out)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct cl_err e;

	if (read_auth(json, &a, &e) || eg_compile(&a, out, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
}

static void named_policy(const char *name, struct eg_policy *out)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0;
	bool found = false;
	FILE *f = cases("policies.tsv");

	while (f && !found && next_row(f, &line, &cap, field)) {
		if (strcmp(field[0], name) != 0)
			continue;
		found = true;
		compile(field[2], out);
		if (out->nrules != (size_t)strtoul(field[1], NULL, 10))
			UNIT_FAIL("policy %s has %zu rules, not %s", name, out->nrules, field[1]);
	}
	if (!found)
		UNIT_FAIL("no policy '%s'", name);
	free(line);
	if (f)
		(void)fclose(f);
}

static enum eg_proto proto_named(const char *name)
{
	for (enum eg_proto p = EG_PROTO_ANY; p < EG_PROTO_UDP; p++)
		if (!strcmp(name, eg_proto_name(p)))
			return p;
	return EG_PROTO_UDP;
}

static struct eg_answer ask(const struct eg_policy *p, const char *query, bool wire)
{
	cleanup_free char *text = cl_strdup(query);
	char *slash = strrchr(text, '/');
	struct pol_endpoint to;
	struct cl_err e;

	*slash = '\0';
	if (pol_endpoint_parse(text, 0, "query", &to, &e))
		UNIT_FAIL("%s", e.msg);
	return eg_evaluate(p, &to.addr, to.port, proto_named(slash + 1), wire);
}

void test_vectors__answers(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0, n = 0;
	FILE *f = cases("answers.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		struct eg_answer a;

		named_policy(field[1], &p);
		a = ask(&p, field[2], true);
		n++;
		if (strcmp(a.verdict == EG_ALLOW ? "allow" : "drop", field[3]) != 0)
			UNIT_FAIL("vector %s: verdict is not %s", field[0], field[3]);
		if (strcmp(a.reason, field[4]) != 0)
			UNIT_FAIL("vector %s: '%s', not '%s'", field[0], a.reason, field[4]);
	}
	CHECK(n >= 45);
	free(line);
	if (f)
		(void)fclose(f);
}

static int judge(const char *surface, const char *json, struct cl_err *e)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

	if (read_auth(json, &a, e))
		return -1;
	if (!strcmp(surface, "write") && eg_check_metadata(&a, "allow_cidrs", "deny_cidrs", e))
		return -1;
	return strcmp(surface, "read") != 0 ? eg_compile(&a, &p, e) : 0;
}

void test_vectors__refusals(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0, n = 0;
	FILE *f = cases("refusals.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		bool refused = !strcmp(field[2], "refused");
		struct cl_err e;

		n++;
		if ((judge(field[1], field[4], &e) != 0) != refused) {
			UNIT_FAIL("vector %s is not %s", field[0], field[2]);
			continue;
		}
		if (!refused)
			continue;
		CHECK_HAS(e.msg, field[3]);
		CHECK_INT(e.code, CL_EDATA);
		CHECK(e.fix[0]);
	}
	CHECK(n >= 20);
	free(line);
	if (f)
		(void)fclose(f);
}

void test_vectors__every_policy(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0;
	FILE *f = cases("policies.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

		named_policy(field[0], &p);
		CHECK_STR(ask(&p, "127.0.0.1:9/tcp", false).reason, "sandbox-local loopback");
		CHECK_STR(ask(&p, "[::1]:9/any", false).reason, "sandbox-local loopback");
	}
	free(line);
	if (f)
		(void)fclose(f);
}
