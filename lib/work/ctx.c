/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/ctx.h"
#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

/* The one place that turns the environment into the question which hub is meant. */
void hub_env_from_ctx(const struct cl_ctx *c, struct hub_env *out)
{
	out->cwd = getcwd(NULL, 0);
	out->ask = (struct hub_ask){
		.dir = c->dir,
		.cwd = out->cwd,
		.uid = geteuid(),
		.hubs = getenv("CLOOP_HUBS"),            /* lint: allow */
		.xdg_config = getenv("XDG_CONFIG_HOME"), /* lint: allow */
		.xdg_state = getenv("XDG_STATE_HOME"),   /* lint: allow */
		.home = getenv("HOME"),                  /* lint: allow */
	};
}

void hub_env_release(struct hub_env *h)
{
	free(h->cwd);
	*h = HUB_ENV_INIT;
}

int hub_from_ctx(const struct cl_ctx *c, struct hub *out, struct cl_err *e)
{
	cleanup_hub_env struct hub_env env = HUB_ENV_INIT;

	hub_env_from_ctx(c, &env);
	return hub_find(&env.ask, out, e);
}

int hub_config_for_run(const struct cl_ctx *c, const struct hub *hub, struct cl_doc *d,
	struct cfg *cfg, struct cl_err *e)
{
	if (hub_config(hub, geteuid(), d, cfg, e))
		return -1;
	for (size_t i = 0; i < cfg->nissues; i++) {
		const struct cfg_issue *s = &cfg->issues[i];

		cl_warn(c, "%s:%u:%u: %s: %s", cfg->file, s->line, s->column, s->key, s->msg);
	}
	return 0;
}
