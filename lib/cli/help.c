/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --help, the synopsis and --cl-spec: three views of one table. */
#include "cli/parse.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct cl_exit shared_exits[] = {
	{64, "the command line is wrong"},
	{65, "input is broken or names what does not exist"},
	{69, "something needed is not available"},
	{70, "a bug in cloop"},
	{71, "the operating system refused"},
	{75, "busy; try again"},
	{77, "not permitted"},
	{78, "the configuration is wrong"},
};

char *cl_typed_name(const struct cl_spec *spec)
{
	char *s = cl_strdup(spec->name);

	if (cl_starts(s, "cloop-"))
		s[5] = ' ';
	return s;
}

static void opt_text(struct cl_buf *b, const struct cl_opt *o)
{
	if (o->letter)
		cl_buf_addf(b, "-%c, ", o->letter);
	cl_buf_addf(b, "--%s", o->name);
	if (o->type != CL_FLAG)
		cl_buf_addf(b, " %s", o->arg);
}

char *cl_synopsis(const struct cl_spec *spec, const struct cl_verb *verb)
{
	struct cl_buf b = CL_BUF_INIT;
	cleanup_free char *name = cl_typed_name(spec);

	cl_buf_adds(&b, name);
	if (*verb->name)
		cl_buf_addf(&b, " %s", verb->name);
	cl_buf_adds(&b, " [OPTION...]");
	if (verb->needs & CL_ARGV_REST)
		cl_buf_adds(&b, " [--]");
	for (const struct cl_operand *o = verb->operands; o && o->name; o++)
		cl_buf_addf(&b, o->optional ? " [%s%s]" : " %s%s", o->name, o->repeat ? "..." : "");
	return cl_buf_detach(&b);
}

size_t cl_exits(
	const struct cl_spec *spec, const struct cl_verb *verb, struct cl_exit *out, size_t max)
{
	size_t n = 0;
	bool has_zero = false;

	for (const struct cl_exit *x = verb ? verb->exits : NULL; x && x->meaning; x++)
		has_zero = has_zero || x->status == 0;
	if (!has_zero && max)
		out[n++] = (struct cl_exit){0, "done"};
	for (const struct cl_exit *x = verb ? verb->exits : NULL; x && x->meaning && n < max; x++)
		out[n++] = *x;
	for (size_t i = 0; !spec->own_failure && i < CL_ARRAY_LEN(shared_exits) && n < max; i++)
		out[n++] = shared_exits[i];
	return n;
}

static void print_opt(const struct cl_opt *o, FILE *out)
{
	struct cl_buf b = CL_BUF_INIT;

	opt_text(&b, o);
	if (b.len <= 26)
		(void)fprintf(out, "  %-26s  ", b.p);
	else
		(void)fprintf(out, "  %s\n%30s", b.p, "");
	(void)fputs(o->help, out);
	for (size_t i = 0; o->values && o->values[i]; i++)
		(void)fprintf(out, "%s%s", i ? ", " : ": ", o->values[i]);
	if (o->type == CL_LIST || o->type == CL_CSV)
		(void)fputs(o->type == CL_CSV ? " (repeatable, or a,b,c)" : " (repeatable)", out);
	if (o->def)
		(void)fprintf(out, " [%s]", o->def);
	(void)fputc('\n', out);
	cl_buf_release(&b);
}

static bool no_json(const struct cl_verb *verb, const struct cl_opt *o)
{
	return verb && (verb->needs & CL_NO_JSON) && o == &cl_shared_opts[1];
}

static void print_opts(const struct cl_spec *spec, const struct cl_verb *verb, FILE *out)
{
	(void)fputs("\nOptions:\n", out);
	for (const struct cl_opt *o = verb ? verb->opts : NULL; o && o->name; o++)
		print_opt(o, out);
	for (const struct cl_opt *o = spec->opts; o && o->name; o++)
		print_opt(o, out);
	for (const struct cl_opt *o = cl_shared_opts; o->name; o++)
		if (!no_json(verb, o))
			print_opt(o, out);
}

/* A command that can stand without a verb and has some: they are told of too. */
static void print_siblings(const struct cl_spec *spec, const struct cl_verb *verb, FILE *out)
{
	bool none = true;

	for (const struct cl_verb *v = spec->verbs; !*verb->name && v->name; v++) {
		if (v == verb || (v->needs & CL_HIDDEN))
			continue;
		(void)fprintf(out, "%s  %-27s %s\n", none ? "\nVerbs:\n" : "", v->name, v->summary);
		none = false;
	}
}

static void help_verb(const struct cl_spec *spec, const struct cl_verb *verb, FILE *out)
{
	cleanup_free char *syn = cl_synopsis(spec, verb);
	struct cl_exit exits[48];
	size_t n = cl_exits(spec, verb, exits, CL_ARRAY_LEN(exits));

	(void)fprintf(out, "%s: %s\n\nUsage: %s\n", spec->name,
		*verb->name ? verb->summary : spec->summary, syn);
	if (verb->operands && verb->operands->name)
		(void)fputs("\nOperands:\n", out);
	for (const struct cl_operand *o = verb->operands; o && o->name; o++)
		(void)fprintf(out, "  %-26s  %s\n", o->name, o->help);
	print_siblings(spec, verb, out);
	print_opts(spec, verb, out);
	for (const struct cl_example *x = verb->examples; x && x->line; x++)
		(void)fprintf(out, "%s  %s\n      %s\n", x == verb->examples ? "\nExamples:\n" : "",
			x->what, x->line);
	(void)fputs("\nExit status:\n", out);
	for (size_t i = 0; i < n; i++)
		(void)fprintf(out, "  %3d  %s\n", exits[i].status, exits[i].meaning);
	(void)fprintf(out, "\nThe manual: man %s\n", spec->name);
}

void cl_help(const struct cl_spec *spec, const struct cl_verb *verb, FILE *out)
{
	cleanup_free char *name = cl_typed_name(spec);

	if (verb) {
		help_verb(spec, verb, out);
		return;
	}
	(void)fprintf(out, "%s: %s\n\nUsage: %s VERB [OPTION...]\n\nVerbs:\n", spec->name,
		spec->summary, name);
	for (const struct cl_verb *v = spec->verbs; v->name; v++)
		if (!(v->needs & CL_HIDDEN))
			(void)fprintf(out, "  %-20s  %s\n", v->name, v->summary);
	print_opts(spec, NULL, out);
	(void)fprintf(out, "\nMore: %s VERB --help, man %s\n", name, spec->name);
}

const char *const *cl_complete_names(void)
{
	static const char *const names[] = {"none", "file", "dir", "command", "executor", "run",
		"grant", "secret", "config-key", NULL};

	return names;
}

static const char *type_name(enum cl_opt_type t)
{
	static const char *const names[] = {
		"flag", "string", "int", "duration", "enum", "list", "csv"};

	return names[t];
}

static json_t *opt_json(const struct cl_opt *o)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s}", "name", o->name, "type",
		type_name(o->type), "help", o->help, "arg", o->arg, "default", o->def, "complete",
		cl_complete_names()[o->complete]);
	char letter[2] = {o->letter, '\0'};

	if (o->letter)
		(void)json_object_set_new(j, "letter", json_string(letter));
	if (o->values) {
		json_t *v = json_array();

		for (size_t i = 0; o->values[i]; i++)
			(void)json_array_append_new(v, json_string(o->values[i]));
		(void)json_object_set_new(j, "values", v);
	}
	return j;
}

static json_t *opts_json(const struct cl_opt *o, const struct cl_verb *verb)
{
	json_t *a = json_array();

	for (; o && o->name; o++)
		if (!no_json(verb, o))
			(void)json_array_append_new(a, opt_json(o));
	return a;
}

static json_t *verb_json(const struct cl_spec *spec, const struct cl_verb *v)
{
	cleanup_free char *syn = cl_synopsis(spec, v);
	json_t *j, *operands = json_array(), *exits = json_array(), *examples = json_array();
	struct cl_exit x[48];
	size_t n = cl_exits(spec, v, x, CL_ARRAY_LEN(x));

	for (const struct cl_operand *o = v->operands; o && o->name; o++)
		(void)json_array_append_new(
			operands, json_pack("{s:s, s:s, s:b, s:b, s:s}", "name", o->name, "help",
					  o->help, "optional", o->optional, "repeat", o->repeat,
					  "complete", cl_complete_names()[o->complete]));
	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(exits,
			json_pack("{s:i, s:s}", "status", x[i].status, "meaning", x[i].meaning));
	for (const struct cl_example *m = v->examples; m && m->line; m++)
		(void)json_array_append_new(examples, json_pack("{s:s, s:s, s:b}", "line", m->line,
							      "what", m->what, "run", m->run));
	j = json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "name", v->name,
		"summary", v->summary, "synopsis", syn, "hidden", !!(v->needs & CL_HIDDEN), "rest",
		!!(v->needs & CL_ARGV_REST), "options", opts_json(v->opts, NULL), "shared",
		opts_json(cl_shared_opts, v), "operands", operands, "exits", exits, "examples",
		examples);
	if (v->alias)
		(void)json_object_set_new(j, "alias", json_string(v->alias));
	return j;
}

static json_t *texts_json(const struct cl_text *t)
{
	json_t *a = json_array();

	for (; t && t->name; t++)
		(void)json_array_append_new(
			a, json_pack("{s:s, s:s}", "name", t->name, "help", t->help));
	return a;
}

json_t *cl_spec_json(const struct cl_spec *spec)
{
	cleanup_free char *typed = cl_typed_name(spec);
	json_t *verbs = json_array(), *see = json_array();

	for (const struct cl_verb *v = spec->verbs; v->name; v++)
		(void)json_array_append_new(verbs, verb_json(spec, v));
	for (const char *const *s = spec->see_also; s && *s; s++)
		(void)json_array_append_new(see, json_string(*s));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", spec->name, "typed",
		typed, "summary", spec->summary, "verbs", verbs, "options",
		opts_json(spec->opts, NULL), "environment", texts_json(spec->environment), "files",
		texts_json(spec->files), "see_also", see);
}
