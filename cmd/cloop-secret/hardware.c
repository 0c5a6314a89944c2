/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What work/hardware.h runs: a question as JSON on standard input, and on standard output what the
 * grants of hardware open, which is sealed with the inventory. Whether it is there is looked at by
 * who asked, who needs no key for that.
 */
#include "secret.h"
#include "base/mem.h"
#include "work/lease/lease.h"

#include <string.h>
#include <unistd.h>

#define QUESTION_MAX ((size_t)1 << 20)
#define PROJECTS_MAX 4096

struct asked {
	struct cl_doc d;
	const char *executor;
	struct cl_strv projects;
	struct cl_strv seen; /* grants that were told already */
	json_t *out;
};
#define ASKED_INIT \
	((struct asked){.d = CL_DOC_INIT, .projects = CL_STRV_INIT, .seen = CL_STRV_INIT})

static void asked_release(struct asked *a)
{
	json_decref(a->out);
	cl_strv_release(&a->projects);
	cl_strv_release(&a->seen);
	cl_doc_release(&a->d);
}
#define cleanup_asked __attribute__((cleanup(asked_release)))

static int read_question(struct asked *a, struct cl_err *e)
{
	static const char *const keys[] = {"executor", "projects"};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_doc *d = &a->d;

	return cl_read_fd(STDIN_FILENO, "-", QUESTION_MAX, &text, e) ||
			       cl_doc_parse(d, CL_DOC_JSON, "-", text.p, text.len, NULL, e) ||
			       cl_doc_closed(d, d->root, "", keys, CL_ARRAY_LEN(keys), e) ||
			       cl_doc_str(d, d->root, "executor", &a->executor, e) ||
			       cl_doc_strv(d, d->root, "projects", PROJECTS_MAX, &a->projects, e)
		       ? -1
		       : 0;
}

/* What every piece of a grant says of it. */
static json_t *row(const struct lease_aimed *g, const char *project)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:o}", "grant_id", g->row.id, "secret",
		g->row.secret_name, "subject", cl_json_string(g->row.subject), "kind", g->row.kind,
		"project", project ? cl_json_string(project) : json_null());
}

static void set(json_t *o, const char *key, const char *text)
{
	(void)json_object_set_new(o, key, text ? cl_json_string(text) : json_null());
}

static void tell_refused(
	struct asked *a, const struct lease_aimed *g, const char *project, const struct cl_err *why)
{
	json_t *o = row(g, project);

	set(o, "reason", why->msg);
	set(o, "remediation", why->fix);
	(void)json_array_append_new(a->out, o);
}

static void tell_material(struct asked *a, const struct lease_aimed *g, const char *project,
	const struct sec_material *m)
{
	for (size_t i = 0; i < m->devices.n; i++) {
		const struct sec_device *d = &m->devices.v[i];
		json_t *o = row(g, project);

		set(o, "name", d->name);
		set(o, "source", d->source);
		set(o, "target", d->target);
		(void)json_array_append_new(a->out, o);
	}
	for (size_t i = 0; i < m->interfaces.n; i++) {
		const struct sec_interface *n = &m->interfaces.v[i];
		json_t *o = row(g, project);

		set(o, "name", n->name);
		set(o, "source", n->source);
		set(o, "target", n->target);
		set(o, "address", n->address);
		set(o, "gateway", n->gateway);
		(void)json_array_append_new(a->out, o);
	}
}

static void tell(struct asked *a, const struct lease_case *c, const char *project)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct lease_aimed *g = c->v[i];
		const struct sec_refused *r = lease_case_refusal(c, g->row.id);

		if (cl_strv_has(&a->seen, g->row.id))
			continue;
		cl_strv_add(&a->seen, g->row.id);
		if (r)
			tell_refused(a, g, project, &r->error);
		for (size_t k = 0; k < c->lease.nmaterials; k++)
			if (!strcmp(c->lease.materials[k].grant_id, g->row.id))
				tell_material(a, g, project, &c->lease.materials[k]);
	}
}

/* project NULL: what is for every run of the executor. Of each grant the first time counts. */
static int look(struct asked *a, struct keyed *k, const char *project, struct cl_err *e)
{
	const struct lease_request r = {.project = project, .executor = a->executor};
	cleanup_case struct lease_case c = LEASE_CASE_INIT;

	c.kinds = 1U << SEC_HOST_DEVICE | 1U << SEC_HOST_INTERFACE;
	if (lease_judge(&c, k, &r, e))
		return -1;
	tell(a, &c, project);
	return 0;
}

int cmd_secret_hardware(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_asked struct asked a = ASKED_INIT;
	cleanup_keyed struct keyed k = KEYED_INIT;

	a.out = json_array();
	if (read_question(&a, e) || keyed_open(c, &k, e) || look(&a, &k, NULL, e))
		return -1;
	for (size_t i = 0; i < a.projects.n; i++)
		if (look(&a, &k, a.projects.v[i], e))
			return -1;
	cl_take_json(json_pack("{s:O}", "hardware", a.out));
	return 0;
}
