/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a lease to what a workload is given of it, and what output must not have. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "policy/secret/secret_kind.h"
#include "sys/clock.h"
#include "work/lease/delivery.h"

#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define ENV_MS 60000 /* by then a sandbox has read its variables, whatever the kernel told us */

/* ---- files and variables ---- */

void shim_parts_release(struct shim_parts *p)
{
	free(p->files);
	free(p->env);
	free(p->redact);
}

static void add_env(struct shim_parts *p, const struct lease_env *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p->env[p->d.nenv++] =
			(struct delivery_env){v[i].name, {v[i].value.p, v[i].value.len}};
}

/* Pointers into the lease, whose memory is locked; nothing of it is copied. */
void shim_parts_make(const struct lease *l, const struct shim_repos *r, struct shim_parts *p)
{
	size_t nfiles = 0, nenv = l->nenv + r->variables.n;

	for (size_t i = 0; i < l->nitems; i++) {
		nfiles += l->items[i].nfiles;
		nenv += l->items[i].nenv;
	}
	*p = (struct shim_parts){.files = cl_calloc(nfiles + 1, sizeof(*p->files)),
		.env = cl_calloc(nenv + 1, sizeof(*p->env)),
		.redact = cl_calloc(l->nredact + 1, sizeof(*p->redact))};
	for (size_t i = 0; i < l->nitems; i++) {
		const struct lease_item *it = &l->items[i];

		add_env(p, it->env, it->nenv);
		for (size_t k = 0; k < it->nfiles; k++)
			p->files[p->d.nfiles++] = (struct delivery_file){it->files[k].name,
				it->files[k].mode, {it->files[k].data.p, it->files[k].data.len}};
	}
	add_env(p, l->env, l->nenv);
	for (size_t i = 0; i < r->variables.n; i++)
		p->env[p->d.nenv++] = (struct delivery_env){
			r->variables.v[i], {r->values.v[i], strlen(r->values.v[i])}};
	for (size_t i = 0; i < l->nredact; i++)
		p->redact[p->d.nredact++] =
			(struct delivery_text){l->redact[i].p, l->redact[i].len};
	p->d.id = l->id;
	p->d.files = p->files;
	p->d.env = p->env;
	p->d.redact = p->redact;
}

/* ---- what is said of it ---- */

/* What was not delivered, for the command that asked for the run. */
static json_t *refusals(const struct lease *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->nrefused; i++) {
		const struct lease_refusal *r = &l->refused[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", r->name, "grant_id",
				      r->grant_id, "code", r->code, "reason",
				      cl_json_string(r->reason), "fix", cl_json_string(r->fix)));
	}
	return list;
}

json_t *shim_lent_said(const struct lease *l)
{
	json_t *items = json_array();

	for (size_t i = 0; i < l->nitems; i++)
		(void)json_array_append_new(
			items, json_pack("{s:s, s:s, s:s}", "name", l->items[i].name, "kind",
				       sec_kinds[l->items[i].kind].name, "grant_id",
				       l->items[i].grant_id));
	return json_pack(
		"{s:s, s:o, s:o}", "lease_id", l->id, "lent", items, "refused", refusals(l));
}

/* ---- variables are read once ---- */

/* The kernel says when somebody has read the variables and is done with it. */
void shim_env_watch(struct shim *s)
{
	cleanup_free char *path = cl_asprintf("%s/cloop/env", s->rd.lease);

	s->lent.env_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->lent.env_watch >= 0)
		(void)inotify_add_watch(s->lent.env_watch, path, IN_CLOSE_NOWRITE);
	s->due.env = sys_mono_ms() + ENV_MS;
}

int shim_env_watch_fd(const struct shim *s)
{
	return s->lent.env_watch;
}

void shim_env_read(struct shim *s)
{
	if (s->lent.env_watch >= 0)
		(void)close(cl_steal_fd(&s->lent.env_watch));
	s->due.env = 0;
	delivery_env_read(&s->rd);
}

/* ---- taking out of output ---- */

static void learn(void *arg, const char *p, size_t len)
{
	(void)scrub_add(arg, p, len);
}

int shim_lent_scrubber(struct shim *s, struct scrub **out, struct cl_err *e)
{
	cleanup_free char *id = NULL;

	*out = NULL;
	if (!delivery_there(&s->rd))
		return 0;
	*out = scrub_new(true);
	if (!delivery_recall(&s->rd, &id, learn, *out, e))
		return 0;
	scrub_freep(out);
	*out = NULL;
	return -1;
}
