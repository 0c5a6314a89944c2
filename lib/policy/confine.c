/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/confine.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_DIR "/.cloop"
#define FEATURES  "/.cloop/features/"

const char *const confine_system_trees[] = {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32",
	"/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/run", "/sbin", "/snap", "/sys",
	"/usr", "/var/backups", "/var/cache", "/var/lib/apt", "/var/lib/containerd",
	"/var/lib/containers", "/var/lib/docker", "/var/lib/dpkg", "/var/lib/kubelet",
	"/var/lib/systemd", "/var/log", "/var/mail", "/var/run", "/var/spool", NULL};

void confine_facts_release(struct confine_facts *f)
{
	cl_strv_release(&f->names);
	cl_strv_release(&f->home);
	cl_strv_release(&f->hub);
	cl_strv_release(&f->root);
	cl_strv_release(&f->system);
	for (size_t i = 0; i < f->nprojects; i++)
		cl_strv_release(&f->projects[i]);
	free(f->projects);
	free(f->other_hub);
	free(f->search_at);
	free(f->state_link);
	*f = CONFINE_FACTS_INIT;
}

char *confine_clean(const char *absolute)
{
	cleanup_strv struct cl_strv parts = CL_STRV_INIT;
	struct cl_buf out = CL_BUF_INIT;
	size_t n = 0;

	cl_split(absolute, '/', &parts);
	for (size_t i = 0; i < parts.n; i++) {
		char *part = parts.v[i];

		if (!*part || !strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			n -= n > 0;
			continue;
		}
		/* Kept ones move to the front; the list owns all of them still. */
		parts.v[i] = parts.v[n];
		parts.v[n++] = part;
	}
	for (size_t i = 0; i < n; i++)
		cl_buf_addf(&out, "/%s", parts.v[i]);
	if (!n)
		cl_buf_adds(&out, "/");
	return cl_buf_detach(&out);
}

bool confine_within(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	/* "/" and "8:1/" end in the slash that others lack. */
	len -= len && outer[len - 1] == '/';
	return !strncmp(outer, inner, len) && (!inner[len] || inner[len] == '/');
}

char *confine_feature_project(const char *path)
{
	const char *at = strstr(path, FEATURES);

	if (!at || at == path || !at[strlen(FEATURES)] || at[strlen(FEATURES)] == '/')
		return NULL;
	return cl_strndup(path, (size_t)(at - path));
}

/* Whether any name of one is, or lies in, one of the other. */
static bool any_within(const struct cl_strv *outer, const struct cl_strv *inner)
{
	for (size_t i = 0; i < outer->n; i++)
		for (size_t k = 0; k < inner->n; k++)
			if (confine_within(outer->v[i], inner->v[k]))
				return true;
	return false;
}

static bool overlap(const struct cl_strv *a, const struct cl_strv *b)
{
	return any_within(a, b) || any_within(b, a);
}

static const char *path_of(const struct confine_facts *f)
{
	return f->names.v[0];
}

/* --- one function a rule: why not, or NULL; owned --- */

static bool state_inside(const char *name)
{
	for (const char *p = name; (p = strstr(p, STATE_DIR)); p += strlen(STATE_DIR))
		if (!p[strlen(STATE_DIR)] || p[strlen(STATE_DIR)] == '/')
			return true;
	return false;
}

static const char *system_tree(const struct confine_facts *f)
{
	for (size_t i = 0; confine_system_trees[i]; i++)
		if (confine_within(confine_system_trees[i], path_of(f)) ||
			confine_within(path_of(f), confine_system_trees[i]))
			return confine_system_trees[i];
	for (size_t i = 0; i < f->system.n; i++)
		for (size_t k = 0; k < f->names.n; k++)
			if (confine_within(f->system.v[i], f->names.v[k]) ||
				confine_within(f->names.v[k], f->system.v[i]))
				return f->system.v[i];
	return NULL;
}

static char *system_or_home(const struct confine_facts *f)
{
	const char *path = path_of(f), *tree;

	if (!strcmp(path, "/") || !strchr(path + 1, '/'))
		return cl_strdup("it is a top-level directory of this host");
	tree = system_tree(f);
	if (tree)
		return cl_asprintf("it overlaps the system's '%s'", tree);
	if (any_within(&f->names, &f->home))
		return cl_asprintf(
			"it is or contains the home '%s' of the hub's user", f->home.v[0]);
	for (size_t i = 0; i < f->names.n; i++)
		if (state_inside(f->names.v[i]))
			return cl_strdup("it lies in a project's or a hub's .cloop");
	return NULL;
}

static char *whole_root(const struct confine_facts *f)
{
	if (!any_within(&f->names, &f->root))
		return NULL;
	return cl_asprintf("it is or contains the projects root '%s'", f->root.v[0]);
}

/* Strictly inside the projects root, by any of its names. */
static bool below_root(const struct confine_facts *f, const char *name)
{
	for (size_t i = 0; i < f->root.n; i++)
		if (confine_within(f->root.v[i], name) && strcmp(f->root.v[i], name))
			return true;
	return false;
}

static char *own_hub(const struct confine_facts *f)
{
	bool packaged = any_within(&f->hub, &f->root);

	for (size_t i = 0; i < f->hub.n; i++)
		for (size_t k = 0; k < f->names.n; k++) {
			const char *hub = f->hub.v[i], *name = f->names.v[k];

			if (!confine_within(hub, name) && !confine_within(name, hub))
				continue;
			/* The operator put the root there; what lies in it is no part of the hub. */
			if (packaged && below_root(f, name) && !confine_within(name, hub))
				continue;
			if (f->hub_entry && !strcmp(hub, name))
				continue;
			return cl_asprintf("it overlaps the hub's own directory '%s'", f->hub.v[0]);
		}
	return NULL;
}

static char *another_hub(const struct confine_facts *f)
{
	const char *at = f->search_at ? f->search_at : path_of(f);

	if (f->other_hub)
		return cl_asprintf("it overlaps another hub's directory '%s'", f->other_hub);
	if (f->search == CONFINE_TOO_BROAD)
		return cl_asprintf("there is too much below '%s' to know that no hub's directory "
				   "is among it",
			at);
	if (f->search == CONFINE_UNREADABLE)
		return cl_asprintf("'%s' cannot be read, so a hub's directory may be there", at);
	return NULL;
}

static char *another_project(const struct confine_facts *f)
{
	for (size_t i = 0; i < f->nprojects; i++) {
		const struct cl_strv *p = &f->projects[i];

		if (!overlap(p, &f->names))
			continue;
		if (!strcmp(p->v[0], path_of(f))) {
			if (f->purpose == CONFINE_RUN)
				continue;
			return cl_strdup("it is a registered project already");
		}
		return cl_asprintf("it overlaps the registered project '%s'", p->v[0]);
	}
	return NULL;
}

static char *state_leads_out(const struct confine_facts *f)
{
	if (!f->state_link)
		return NULL;
	return cl_asprintf("its .cloop is a link out of it, to '%s'", f->state_link);
}

static char *outside_root(const struct confine_facts *f)
{
	const char *path = path_of(f), *rest;

	if (f->manage)
		return NULL;
	if (!f->root.n)
		return cl_strdup(
			"no projects root is configured, and only with executor.manage may "
			"a project be elsewhere");
	rest = confine_within(f->root.v[0], path) ? path + strlen(f->root.v[0]) : "";
	rest -= *rest && f->root.v[0][1] == '\0';
	if (!*rest)
		return cl_asprintf("it is not inside the projects root '%s', and only with "
				   "executor.manage may it be elsewhere",
			f->root.v[0]);
	if (strstr(rest, "/."))
		return cl_asprintf("a directory on its way from the projects root '%s' is hidden, "
				   "and only with executor.manage may it be",
			f->root.v[0]);
	return NULL;
}

/* %s is the directory. */
static const struct {
	char *(*why)(const struct confine_facts *f);
	enum cl_code code;
	bool hides; /* would tell a stranger about this host */
	const char *fix;
} rules[] = {
	{system_or_home, CL_EREFUSED, false,
		"choose a directory that holds nothing but the project"},
	{whole_root, CL_EREFUSED, false, "choose a directory inside the projects root"},
	{own_hub, CL_EREFUSED, true, "choose a directory outside the hub's"},
	{another_hub, CL_EREFUSED, true, "choose a directory that overlaps no hub"},
	{another_project, CL_EREFUSED, true, "choose a directory that overlaps no project"},
	{state_leads_out, CL_EREFUSED, true, "make .cloop in it a directory of its own"},
	{outside_root, CL_EDENIED, false,
		"choose a directory inside the projects root, or ask a person with "
		"executor.manage"},
};

static const char *fix_of(const struct confine_facts *f, size_t i)
{
	if (rules[i].why == another_hub && !f->other_hub && f->search == CONFINE_UNREADABLE)
		return "let the hub's user read it, or move it away";
	if (rules[i].why == another_hub && !f->other_hub)
		return "choose a directory that holds nothing but the project";
	return rules[i].fix;
}

static int refuse(const struct confine_facts *f, size_t i, const char *why, struct cl_err *e)
{
	char rule[16];

	if (!f->manage && rules[i].hides) {
		(void)cl_fail(
			e, CL_EREFUSED, "directory '%s' cannot be a project here", path_of(f));
		(void)cl_slug(e, "project_unconfined");
		return cl_fix(e, "choose another directory");
	}
	(void)cl_fail(e, rules[i].code, "directory '%s' cannot be a project: %s", path_of(f), why);
	(void)cl_slug(e, "project_unconfined");
	(void)snprintf(rule, sizeof(rule), "confine.%zu", i + 1);
	(void)cl_rule(e, rule);
	return cl_fix(e, "%s", fix_of(f, i));
}

/* A stranger learns of a place outside the root only that it is outside. */
static int told(const struct confine_facts *f, size_t i, const char *why, struct cl_err *e)
{
	const size_t last = CL_ARRAY_LEN(rules) - 1;
	cleanup_free char *outside = i < last ? rules[last].why(f) : NULL;

	return outside ? refuse(f, last, outside, e) : refuse(f, i, why, e);
}

int confine_judge_to(const struct confine_facts *f, int last, int *rule, struct cl_err *e)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(rules) && i < (size_t)last; i++) {
		cleanup_free char *why = rules[i].why(f);

		if (!why)
			continue;
		*rule = (int)i + 1;
		return told(f, i, why, e);
	}
	*rule = 0;
	return 0;
}

int confine_judge(const struct confine_facts *f, int *rule, struct cl_err *e)
{
	return confine_judge_to(f, (int)CL_ARRAY_LEN(rules), rule, e);
}
