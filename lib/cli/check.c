/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table checks itself: a command whose table contradicts itself does not start in t/. */
#include "cli/parse.h"

#include <stdlib.h>
#include <string.h>

static void bad(
	const struct cl_spec *s, const struct cl_verb *v, const char *what, const char *name)
{
	(void)fprintf(
		stderr, "%s: table of verb '%s': %s '%s'\n", s->name, v ? v->name : "", what, name);
	abort();
}

static void check_opt(const struct cl_spec *s, const struct cl_verb *v, const struct cl_opt *o)
{
	if (!o->help || !*o->help)
		bad(s, v, "no help for option", o->name);
	if ((o->type == CL_FLAG) != !o->arg)
		bad(s, v, "a flag has no argument and others need its name", o->name);
	if ((o->type == CL_ENUM) != !!o->values)
		bad(s, v, "values belong to an enum", o->name);
	if (o->help[strlen(o->help) - 1] == '.')
		bad(s, v, "help ends with a full stop", o->name);
}

static void check_clash(const struct cl_spec *s, const struct cl_verb *v, const struct cl_opt *a,
	const struct cl_opt *b)
{
	for (; b && b->name; b++) {
		if (a == b)
			continue;
		if (!strcmp(a->name, b->name))
			bad(s, v, "option twice", a->name);
		if (a->letter && a->letter == b->letter)
			bad(s, v, "letter twice", a->name);
	}
}

static void check_verb(const struct cl_spec *s, const struct cl_verb *v)
{
	const struct cl_opt *tables[] = {v->opts, s->opts, cl_shared_opts};
	const struct cl_operand *prev = NULL;

	if (!v->summary || !v->run)
		bad(s, v, "no summary or nothing to run", v->name);
	for (size_t t = 0; t < 3; t++) {
		for (const struct cl_opt *o = tables[t]; o && o->name; o++) {
			check_opt(s, v, o);
			for (size_t u = t; u < 3; u++)
				check_clash(s, v, o, tables[u]);
		}
	}
	for (const struct cl_operand *o = v->operands; o && o->name; prev = o++) {
		if (!o->help || (prev && prev->repeat) || (prev && prev->optional && !o->optional))
			bad(s, v, "operand out of order or without help", o->name);
	}
	for (const struct cl_exit *x = v->exits; x && x->meaning; x++)
		for (const struct cl_exit *y = v->exits; y != x; y++)
			if (x->status == y->status)
				bad(s, v, "exit status twice", x->meaning);
}

static void check_texts(const struct cl_spec *s, const struct cl_text *list)
{
	for (const struct cl_text *a = list; a && a->name; a++)
		for (const struct cl_text *b = list; b != a; b++)
			if (!strcmp(a->name, b->name))
				bad(s, NULL, "a variable or file twice", a->name);
}

void cl_spec_check(const struct cl_spec *spec)
{
	check_texts(spec, spec->environment);
	check_texts(spec, spec->files);
	if (!spec->summary || !spec->verbs || !spec->verbs->name)
		bad(spec, NULL, "no summary or no verbs", spec->name);
	for (const struct cl_verb *v = spec->verbs; v->name; v++) {
		check_verb(spec, v);
		for (const struct cl_verb *w = spec->verbs; w != v; w++)
			if (!strcmp(v->name, w->name))
				bad(spec, v, "verb twice", v->name);
	}
}
