/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "egress.h"
#include "base/mem.h"

#include <string.h>

static int print_nft(struct cl_ctx *c, const struct eg_policy *p, bool bridge, struct cl_err *e)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	if (eg_render_nft(p, cl_str_or(c, "table", EGRESS_TABLE),
		    bridge ? cl_str(c, "bridge") : NULL, &out, e))
		return -1;
	(void)fwrite(out.p, 1, out.len, stdout);
	return 0;
}

static int print_rules(const struct eg_policy *p, const char *source)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	eg_render_rules(p, source, cl_colour(), &out);
	(void)fwrite(out.p, 1, out.len, stdout);
	return 0;
}

/* Questions are answered instead of printing the policy. */
static bool asks(struct cl_ctx *c)
{
	return cl_given(c, "check") || cl_given(c, "check-file");
}

static int check_questions(struct cl_ctx *c, struct cl_err *e)
{
	const char *file = cl_str(c, "check-file");
	const char *policy = cl_str(c, "policy"), *spec = cl_str(c, "from-spec");

	if (file && cl_given(c, "check"))
		return cl_usage(c, e, "--check and --check-file cannot go together");
	if (file && !strcmp(file, "-") &&
		((policy && !strcmp(policy, "-")) || (spec && !strcmp(spec, "-"))))
		return cl_usage(c, e, "the policy and the questions cannot both be standard input");
	return 0;
}

/* What to print, or NULL with *e when the options contradict each other. */
static const char *format_of(struct cl_ctx *c, struct cl_err *e)
{
	const char *format = cl_str(c, "format");

	if (format && c->json && strcmp(format, "json") != 0 &&
		strcmp(format, "networkpolicy") != 0 && !asks(c)) {
		(void)cl_usage(c, e, "--json and --format %s cannot go together", format);
		return NULL;
	}
	if (!format)
		format = c->json ? "json" : "rules";
	if (asks(c))
		return check_questions(c, e) ? NULL : format;
	if (!strcmp(format, "nft-bridge") && !cl_given(c, "bridge")) {
		(void)cl_usage(c, e, "--format nft-bridge needs --bridge NAME");
		return NULL;
	}
	if (cl_given(c, "bridge") && strcmp(format, "nft-bridge") != 0) {
		(void)cl_usage(c, e, "--bridge goes with --format nft-bridge, not with %s", format);
		return NULL;
	}
	if (egress_networkpolicy_options(c, !strcmp(format, "networkpolicy"), e))
		return NULL;
	return format;
}

int egress_firewall(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_eg_stack struct eg_stack stack = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy policy = EG_POLICY_INIT;
	cleanup_free char *source = NULL;
	const char *format = format_of(c, e);

	if (!format || egress_stack(c, &stack, &source, e) || eg_stack_compile(&stack, &policy, e))
		return -1;
	if (cl_given(c, "check"))
		return egress_check(c, &policy, source, e);
	if (cl_given(c, "check-file"))
		return egress_check_file(c, &policy, source, e);
	if (!strcmp(format, "nft") || !strcmp(format, "nft-bridge"))
		return print_nft(c, &policy, !strcmp(format, "nft-bridge"), e);
	if (!strcmp(format, "networkpolicy"))
		return egress_networkpolicy(c, &policy, e);
	if (!strcmp(format, "rules"))
		return print_rules(&policy, source);
	cl_take_json(eg_policy_json(&policy));
	return 0;
}
