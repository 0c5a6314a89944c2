/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What shell completion asks for: names that exist, one a line, and silence otherwise. */
#include "hub.h"
#include "work/ctx.h"

#include <string.h>
#include <unistd.h>

static void executors(const struct cl_ctx *ctx)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	cleanup_hub struct hub h = HUB_INIT;
	struct cl_err e;

	if (hub_from_ctx(ctx, &h, &e) || hub_config(&h, geteuid(), &d, &c, &e))
		return;
	for (size_t i = 0; i < c.nexecutors; i++)
		if (c.executors[i].enabled && !c.executors[i].disabled_reason)
			(void)printf("%s\n", c.executors[i].id);
}

static void keys(void)
{
	size_t n;
	const struct cfg_key *k = cfg_keys(&n);

	for (size_t i = 0; i < n; i++)
		(void)printf("%s\n", k[i].path);
}

int cmd_hub_names(struct cl_ctx *c, struct cl_err *e)
{
	const char *kind = cl_operand(c, 0);

	if (!strcmp(kind, "executor"))
		executors(c);
	else if (!strcmp(kind, "config-key"))
		keys();
	else
		return cl_usage(c, e, "'%s' is neither executor nor config-key", kind);
	return 0;
}
