/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `firewall diff`: what a change of a policy opens, and what it closes. */
#include "operand.h"
#include "report.h"
#include "base/mem.h"

#include <string.h>

#define SHOWN 5

static void print_text(
	const struct report *more, const struct report *less, const char *from, const char *to)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_free char *a = operand_shown(from), *b = operand_shown(to);

	cl_buf_addf(&out, "from %s to %s\n\n", a, b);
	report_text(more, "newly allowed", &out);
	cl_buf_addc(&out, '\n');
	report_text(less, "newly dropped", &out);
	(void)fwrite(out.p, 1, out.len, stdout);
}

static void print_markdown(
	const struct report *more, const struct report *less, const char *from, const char *to)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	cl_buf_addf(&out, "### Egress policy: %s\n\nFrom ",
		more->change->n   ? "something is newly allowed"
		: less->change->n ? "it only gets narrower"
				  : "no difference");
	report_escape(from, &out);
	cl_buf_adds(&out, " to ");
	report_escape(to, &out);
	cl_buf_adds(&out, "\n\n");
	report_markdown(more, "Newly allowed", &out);
	report_markdown(less, "Newly dropped", &out);
	(void)fwrite(out.p, 1, out.len, stdout);
}

static void print_json(
	const struct report *more, const struct report *less, const char *from, const char *to)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "from", cl_json_string(from));
	(void)json_object_set_new(o, "to", cl_json_string(to));
	(void)json_object_set_new(o, "newly_allowed", report_json(more));
	(void)json_object_set_new(o, "newly_dropped", report_json(less));
	cl_take_json(o);
}

static const struct {
	const char *format;
	void (*print)(const struct report *more, const struct report *less, const char *from,
		const char *to);
} forms[] = {
	{"text", print_text},
	{"markdown", print_markdown},
	{"json", print_json},
};

/*
 * A change that brings the policy's file: before it nothing was allowed. The other way round,
 * where the file goes, nobody is asked whether nothing is filtered then.
 */
static int read_from(struct cl_ctx *c, struct operand *from, struct cl_err *e)
{
	if (!operand_read(c, 0, from, e))
		return 0;
	if (strcmp(cl_err_slug(e), "git_no_file") != 0)
		return -1;
	cl_warn(c, "%s: compared with a policy that allows nothing", e->msg);
	return 0;
}

int egress_diff(struct cl_ctx *c, struct cl_err *e)
{
	const char *format = cl_str_or(c, "format", c->json ? "json" : "text");
	cleanup_operand struct operand from = OPERAND_INIT, to = OPERAND_INIT;
	cleanup_side struct change_side a = CHANGE_SIDE_INIT, b = CHANGE_SIDE_INIT;
	cleanup_change struct change opened = CHANGE_INIT, closed = CHANGE_INIT;
	bool json = !strcmp(format, "json");
	size_t limit = (size_t)cl_int(c, "limit", json ? 0 : SHOWN);
	struct report more = {&opened, &a, &b, "was", "and is", limit};
	struct report less = {&closed, &a, &b, "was", "and is", limit};

	if (c->json && !json)
		return cl_usage(c, e, "--json and --format %s cannot go together", format);
	if (read_from(c, &from, e) || operand_read(c, 1, &to, e) || operand_side(&from, &a, e) ||
		operand_side(&to, &b, e))
		return -1;
	change_make(&a, &b, &opened);
	/* Asked the other way round, the answers are turned back. */
	change_make(&b, &a, &closed);
	for (size_t i = 0; i < closed.n; i++) {
		struct eg_answer was = closed.v[i].like.after;

		closed.v[i].like.after = closed.v[i].like.before;
		closed.v[i].like.before = was;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(forms); i++)
		if (!strcmp(format, forms[i].format))
			forms[i].print(&more, &less, from.name, to.name);
	return opened.n ? 1 : 0;
}
