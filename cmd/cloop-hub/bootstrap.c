/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "hub.h"
#include "store/audit.h"
#include "store/key.h"
#include "sys/clock.h"
#include "work/ctx.h"

#include <string.h>
#include <unistd.h>

static int a_key(const struct store_key *k, void *sealed, struct cl_err *e)
{
	(void)k;
	(void)e;
	*(bool *)sealed = true;
	return 0;
}

/* The state file, made or brought up to date; the first row of its trail says by whom. */
static int make_state(const char *path, struct hub_boot *b, struct cl_err *e)
{
	cleanup_store struct store *s = NULL;
	cleanup_free char *actor = cl_asprintf("uid:%u", geteuid());
	struct store_audit_row row = {.actor = actor, .action = "hub.bootstrap", .entity = "hub"};

	b->made_state = access(path, F_OK) != 0;
	if (store_open(path, STORE_CREATE, &s, e) || store_key_each(s, a_key, &b->sealed, e))
		return -1;
	return b->made_state ? store_audit_add(s, sys_now_ms(), &row, e) : 0;
}

static void told(bool made, const char *what, const char *path)
{
	(void)printf("%-7s %s %s\n", made ? "made" : "kept", what, path);
}

static void as_text(const struct hub_ask *ask, const struct hub *h, const struct hub_boot *b)
{
	cleanup_free char *list = hub_list_file(ask);

	told(b->made_dir, "directory", h->dir);
	told(b->made_config, "configuration", h->config);
	told(b->made_state, "state", h->state);
	if (b->key_there)
		told(b->made_key, "root key", b->key_file);
	told(b->made_marker, "marker", h->marker);
	if (list)
		told(b->listed, "entry in", list);
	if (b->made_config) {
		(void)printf("off     git_proxy: port %d, not in this release\n"
			     "off     kube_guard: port %d, not in this release\n",
			b->git_proxy_port, b->kube_guard_port);
		if (b->external_url)
			(void)printf("off     ui: %s, not in this release\n", b->external_url);
	}
	if (b->made_key)
		(void)printf(
			"\nWithout the root key nothing that is stored can be opened again. Keep a "
			"copy elsewhere:\n  cloop -C '%s' hub key escrow export --out FILE\n",
			h->dir);
	(void)printf("\nThe hub %s is ready. Look through its configuration, then:\n"
		     "  cloop -C '%s' hub config check\n"
		     "  cloop -C '%s' run -p PROJECT -- COMMAND\n",
		h->id, h->dir, h->dir);
}

static void as_json(const struct hub *h, const struct hub_boot *b)
{
	cl_take_json(json_pack(
		"{s:s, s:s, s:s, s:s, s:s?, s:{s:b, s:b, s:b, s:b, s:b, s:b}, s:[s, s, s]}", "id",
		h->id, "dir", h->dir, "config", h->config, "state", h->state, "key_file",
		b->key_file, "made", "dir", b->made_dir, "config", b->made_config, "state",
		b->made_state, "key_file", b->made_key, "marker", b->made_marker, "list_entry",
		b->listed, "off", "git-proxy", "kube-guard", "ui"));
}

int cmd_hub_bootstrap(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub_env struct hub_env env = HUB_ENV_INIT;
	cleanup_hub struct hub h = HUB_INIT;
	cleanup_boot struct hub_boot b = {
		.external_url = cl_str(c, "external-url"),
		.git_proxy_port = (int)cl_int(c, "git-proxy-port", 8443),
		.kube_guard_port = (int)cl_int(c, "kube-guard-port", 8444),
	};

	if (b.external_url && cfg_key_find("ui.external_url")->check(b.external_url, e)) {
		e->code = CL_EUSAGE;
		return cl_wrap(e, "--external-url");
	}
	if (b.git_proxy_port == b.kube_guard_port)
		return cl_usage(c, e, "--git-proxy-port and --kube-guard-port are both %d",
			b.git_proxy_port);
	hub_env_from_ctx(c, &env);
	if (hub_bootstrap(&env.ask, &b, make_state, &h, e))
		return -1;
	if (c->json)
		as_json(&h, &b);
	else
		as_text(&env.ask, &h, &b);
	if (!b.made_config &&
		(b.external_url || cl_given(c, "git-proxy-port") || cl_given(c, "kube-guard-port")))
		cl_warn(c, "the configuration was there and is as it was; what the options say "
			   "is not in it");
	if (b.key_file && !b.key_there)
		cl_warn(c,
			"the root key '%s' is not there, and %s; restore it: cloop hub key escrow "
			"import",
			b.key_file,
			b.sealed ? "something is sealed with it" : "it is not ours to make");
	return 0;
}
