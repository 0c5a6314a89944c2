/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a spec means for placement and network, and whether it makes sense. */
#include "policy/sandbox/sandbox.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static bool any_resource(const struct sb_spec *s)
{
	return s->has_cpu || s->has_memory || s->has_disk || s->has_pids;
}

bool sb_asks_nothing(const struct sb_spec *s)
{
	return !s->image && !s->setup.n && !s->has_env && !any_resource(s) && !s->git &&
	       !s->virtualized && !s->kernel_isolated && !s->network &&
	       s->egress == SB_EGRESS_UNSET && !s->devices.n && !s->interfaces.n && !s->nmounts;
}

enum sb_net sb_network(const struct sb_spec *s)
{
	if (sb_asks_nothing(s))
		return SB_NET_UNTOUCHED;
	if (s->network)
		return s->egress == SB_EGRESS_PUBLIC ? SB_NET_GRANT_PUBLIC : SB_NET_GRANT;
	return s->egress == SB_EGRESS_PUBLIC ? SB_NET_PUBLIC : SB_NET_OFF;
}

const char *sb_net_name(enum sb_net n)
{
	static const char *const names[] = {[SB_NET_UNTOUCHED] = "untouched",
		[SB_NET_OFF] = "off",
		[SB_NET_PUBLIC] = "public",
		[SB_NET_GRANT] = "grant",
		[SB_NET_GRANT_PUBLIC] = "grant+public"};

	return names[n];
}

void sb_limits_of(const struct sb_spec *s, struct sb_limits *out)
{
	out->v[SB_CPU] = (int64_t)(s->cpu * 1000);
	/* 0 milli-cores would be no limit at all, which nobody asked for. */
	if (s->cpu > 0 && !out->v[SB_CPU])
		out->v[SB_CPU] = 1;
	out->v[SB_MEMORY] = s->memory_mb;
	out->v[SB_DISK] = s->disk_mb;
	out->v[SB_PIDS] = s->pids;
}

size_t sb_needs(const struct sb_spec *s, struct sb_need out[SB_NEEDS_MAX])
{
	const char *first = s->has_cpu      ? "resources.cpu"
			    : s->has_memory ? "resources.memory"
			    : s->has_disk   ? "resources.disk"
					    : "resources.pids";
	bool public = s->egress == SB_EGRESS_PUBLIC;
	const struct {
		bool asked;
		struct sb_need need;
	} all[] = {
		{s->virtualized, {"virtualization", NULL, "capabilities.virtualized"}},
		{s->kernel_isolated, {"kernel_isolation", NULL, "capabilities.kernel_isolated"}},
		{s->git, {"harness", "git", "capabilities.git"}},
		{s->network || public,
			{"network_egress", NULL,
				s->network ? "capabilities.network" : "capabilities.egress"}},
		{any_resource(s), {"resource_limits", NULL, first}},
		{s->disk_mb > 0, {"disk_limit", NULL, "resources.disk"}},
		{s->image != NULL, {"image_override", NULL, "image"}},
		{s->setup.n > 0, {"sandbox_build", NULL, "setup"}},
		{s->nmounts > 0, {"sandbox_mounts", NULL, "mounts"}},
		{s->devices.n > 0, {"devices", NULL, "capabilities.devices"}},
		{s->interfaces.n > 0, {"interfaces", NULL, "capabilities.interfaces"}},
		{public, {"egress_scope", NULL, "capabilities.egress"}},
	};
	size_t n = 0;

	for (size_t i = 0; i < CL_ARRAY_LEN(all); i++)
		if (all[i].asked)
			out[n++] = all[i].need;
	return n;
}

/*
 * facts/executors.md 3: a Kata guest and a gVisor Sentry see neither a host device nor an
 * interface that is moved in, and no other kind of executor provides them at all.
 */
static void never_placed(struct cl_doc *d, struct sb_spec *s)
{
	const json_t *caps = json_object_get(d->root, "capabilities");
	const char *strong = s->virtualized       ? "virtualized"
			     : s->kernel_isolated ? "kernel_isolated"
						  : NULL;
	const struct {
		const struct cl_strv *v;
		const char *key, *path;
	} hardware[] = {
		{&s->devices, "devices", "capabilities.devices"},
		{&s->interfaces, "interfaces", "capabilities.interfaces"},
	};

	for (size_t i = 0; strong && i < CL_ARRAY_LEN(hardware); i++) {
		struct sb_note *n;

		if (!hardware[i].v->n)
			continue;
		n = sb_note(d, s, "never-placed", hardware[i].path, caps, hardware[i].key, 0,
			"%s with capabilities.%s can be placed nowhere: a %s sandbox sees no host "
			"%s",
			hardware[i].path, strong, s->virtualized ? "Kata" : "gVisor or Kata",
			hardware[i].key);
		n->fix = cl_asprintf("drop capabilities.%s or %s", strong, hardware[i].path);
	}
}

/* True when path is dir or below it. */
static bool within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static void mount_targets(struct cl_doc *d, struct sb_spec *s)
{
	static const char *const system[] = {"/proc", "/sys", "/dev", "/tmp"};
	const json_t *list = json_object_get(d->root, "mounts");

	for (size_t i = 0; i < s->nmounts; i++) {
		const char *target = s->mounts[i].target;
		const json_t *obj = json_array_get(list, i);
		struct sb_note *n = NULL;

		if (!strcmp(target, SB_WORKSPACE))
			n = sb_note(d, s, "mount-target", "mounts", obj, "target", 0,
				"mounts[%zu].target '%s' is where the workspace itself stands: the "
				"run is refused",
				i, target);
		for (size_t k = 0; !n && k < CL_ARRAY_LEN(system); k++)
			if (within(target, system[k]))
				n = sb_note(d, s, "mount-target", "mounts", obj, "target", 0,
					"mounts[%zu].target '%s' covers the sandbox's own %s", i,
					target, system[k]);
		if (n)
			n->fix = cl_strdup("choose another target, for example below /opt");
	}
}

/* Programs that are of no use in a build without a network. */
static bool downloads(const char *command)
{
	static const char *const programs[] = {"apk", "apt", "apt-get", "bundle", "cargo",
		"composer", "conda", "curl", "dnf", "gem", "go", "microdnf", "npm", "pip", "pip3",
		"pnpm", "poetry", "uv", "wget", "yarn", "yum", "zypper"};
	size_t len = strcspn(command, " \t");

	for (size_t i = 0; i < CL_ARRAY_LEN(programs); i++)
		if (strlen(programs[i]) == len && !memcmp(programs[i], command, len))
			return true;
	return false;
}

static void setup_network(struct cl_doc *d, struct sb_spec *s)
{
	const json_t *list = json_object_get(d->root, "setup");

	for (size_t i = 0; sb_network(s) == SB_NET_OFF && i < s->setup.n; i++) {
		struct sb_note *n;

		if (!downloads(s->setup.v[i]))
			continue;
		n = sb_note(d, s, "setup-network", "setup", list, NULL, i,
			"setup[%zu] '%.*s' seems to download, and this spec has no network", i,
			(int)cl_utf8_cut(s->setup.v[i], strlen(s->setup.v[i]), 80), s->setup.v[i]);
		n->fix = cl_strdup("add capabilities.network with the id of an egress grant, or "
				   "capabilities.egress: public");
		return;
	}
}

/* "egress_" and 24 hex is what a minted id looks like (DECISIONS D5). */
static void network_id(struct cl_doc *d, struct sb_spec *s)
{
	const json_t *caps = json_object_get(d->root, "capabilities");
	struct sb_note *n;

	if (!s->network || (cl_starts(s->network, "egress_") && strlen(s->network) == 31 &&
				   cl_all_in(s->network + 7, CL_DIGITS "abcdef")))
		return;
	n = sb_note(d, s, "network-id", "capabilities.network", caps, "network", 0,
		"capabilities.network '%s' does not look like the id of an egress grant; a scope's "
		"name is never matched",
		s->network);
	n->fix = cl_strdup("write the id itself: egress_ and 24 hex digits");
}

/* `env:` with nothing after it passes the environment through, which looks like the opposite. */
static void empty_env(struct cl_doc *d, struct sb_spec *s)
{
	struct sb_note *n;

	if (s->has_env || !json_is_null(json_object_get(d->root, "env")))
		return;
	n = sb_note(d, s, "empty-key", "env", d->root, "env", 0,
		"env has no value, so the environment is passed through unchanged");
	n->fix = cl_strdup("write 'env: []' to forward nothing, or drop the key");
}

void sb_sense(struct cl_doc *d, struct sb_spec *s)
{
	empty_env(d, s);
	setup_network(d, s);
	network_id(d, s);
	never_placed(d, s);
	mount_targets(d, s);
}

/* --- words of a setup command that could be paths --- */

/* One word without its quotes; *p ends behind it. */
static void take_word(const char **p, struct cl_buf *out)
{
	char quote = 0;

	for (; **p; (*p)++) {
		if (quote && **p == quote) {
			quote = 0;
		} else if (!quote && (**p == '\'' || **p == '"')) {
			quote = **p;
		} else if (!quote && strchr(" \t;&|()<>", **p)) {
			return;
		} else {
			cl_buf_addc(out, **p);
		}
	}
}

/* The path in a word, or NULL: options hold one behind '=' or a letter. */
static const char *path_in(const char *w)
{
	if (*w == '-') {
		const char *eq = strchr(w, '=');

		if (!eq && (w[1] == '-' || strlen(w) < 4))
			return NULL;
		w = eq ? eq + 1 : w + 2;
	}
	if (!*w || strpbrk(w, "$*?`") || strstr(w, "://"))
		return NULL;
	if (within(w, SB_WORKSPACE))
		return w[strlen(SB_WORKSPACE)] ? w + strlen(SB_WORKSPACE) + 1 : ".";
	return *w == '/' || *w == '~' ? NULL : w;
}

void sb_setup_words(const char *command, struct cl_strv *out)
{
	unsigned position = 0; /* of the word in its command, options left out */

	for (const char *p = command; *p;) {
		cleanup_buf struct cl_buf w = CL_BUF_INIT;
		const char *path;

		if (strchr(" \t;&|()<>", *p)) {
			if (!strchr(" \t<>", *p))
				position = 0;
			p++;
			continue;
		}
		take_word(&p, &w);
		path = path_in(w.p);
		/* The program, and a bare word behind it: "apt-get update" names no file. */
		if (path && !(position < 2 && *w.p != '-' && !strpbrk(w.p, "./")) &&
			!(position == 0 && !strcmp(w.p, ".")))
			cl_strv_add(out, path);
		if (*w.p != '-')
			position++;
	}
}
