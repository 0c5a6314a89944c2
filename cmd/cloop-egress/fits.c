/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fits`: does one level lie inside another, and what sticks out? */
#include "operand.h"
#include "report.h"
#include "base/mem.h"
#include "policy/egress/fits.h"

#include <string.h>

#define SHOWN 5

static void print_json(
	const struct fits *f, const struct report *r, const char *child, const char *parent)
{
	json_t *o = json_object(), *reasons = json_array();

	for (size_t i = 0; i < f->reasons.n; i++)
		(void)json_array_append_new(reasons, cl_json_string(f->reasons.v[i]));
	(void)json_object_set_new(o, "child", cl_json_string(child));
	(void)json_object_set_new(o, "parent", cl_json_string(parent));
	(void)json_object_set_new(o, "fits", json_boolean(!f->reasons.n));
	if (f->reasons.n)
		(void)json_object_set_new(o, "code", json_string(FITS_CODE));
	(void)json_object_set_new(o, "reasons", reasons);
	(void)json_object_set_new(o, "outside", report_json(r));
	cl_take_json(o);
}

static void print_text(
	const struct fits *f, const struct report *r, const char *child, const char *parent)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	cleanup_free char *below = operand_shown(child), *above = operand_shown(parent);

	cl_buf_addf(
		&out, "%s %s inside %s\n", below, f->reasons.n ? "does not lie" : "lies", above);
	for (size_t i = 0; i < f->reasons.n; i++)
		cl_buf_addf(&out, "  %s\n", f->reasons.v[i]);
	if (f->reasons.n) {
		cl_buf_addc(&out, '\n');
		report_text(r, "outside", &out);
	}
	(void)fwrite(out.p, 1, out.len, stdout);
}

int egress_fits(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_operand struct operand child = OPERAND_INIT, parent = OPERAND_INIT;
	cleanup_fits struct fits f = FITS_INIT;
	cleanup_free char *above = NULL;
	struct report r = {&f.outside, &f.parent, &f.child, "above is", "and below is",
		(size_t)cl_int(c, "limit", c->json ? 0 : SHOWN)};
	bool inside;

	if (operand_read(c, 0, &child, e) || operand_read(c, 1, &parent, e))
		return -1;
	above = operand_shown(parent.name);
	if (fits_check(
		    &child.stack, &parent.stack, above, cl_flag(c, "own-denies"), &f, &inside, e))
		return -1;
	if (c->json)
		print_json(&f, &r, child.name, parent.name);
	else
		print_text(&f, &r, child.name, parent.name);
	return inside ? 0 : 1;
}
