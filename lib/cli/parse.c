/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const struct cl_opt cl_shared_opts[] = {
	{.name = "dir",
		.letter = 'C',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "the hub's directory"},
	{.name = "json", .type = CL_FLAG, .help = "answer in JSON"},
	{.name = "help", .letter = 'h', .type = CL_FLAG, .help = "show this help"},
	{0},
};

/* The n-th of the tables that apply: the verb's, the command's, the shared one. */
static const struct cl_opt *table(const struct cl_ctx *c, int n)
{
	static const struct cl_opt none[] = {{0}};
	const struct cl_opt *t = NULL;

	if (n == 0)
		t = c->verb ? c->verb->opts : NULL;
	else if (n == 1)
		t = c->spec->opts;
	else
		t = cl_shared_opts;
	return t ? t : none;
}

static bool usable(const struct cl_ctx *c, const struct cl_opt *o)
{
	return !(o == &cl_shared_opts[1] && c->verb && (c->verb->needs & CL_NO_JSON));
}

static const struct cl_opt *find_opt(
	const struct cl_ctx *c, const char *name, size_t len, char letter)
{
	for (int n = 0; n < 3; n++) {
		for (const struct cl_opt *o = table(c, n); o->name; o++) {
			if (!usable(c, o))
				continue;
			if (letter ? o->letter == letter
				   : strlen(o->name) == len && !memcmp(o->name, name, len))
				return o;
		}
	}
	return NULL;
}

static int usage(const struct cl_ctx *c, struct cl_err *e)
{
	cleanup_free char *name = cl_typed_name(c->spec);

	if (!e->fix[0])
		(void)cl_fix(e, "see '%s%s%s --help'", name, c->verb && *c->verb->name ? " " : "",
			c->verb ? c->verb->name : "");
	return -1;
}

int cl_usage(const struct cl_ctx *c, struct cl_err *e, const char *fmt, ...)
{
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, CL_EUSAGE, "%s", text);
	return usage(c, e);
}

/* A verb that has the option which stands in front of it, or NULL. */
static const struct cl_verb *verb_with(const struct cl_ctx *c, const char *name)
{
	for (const struct cl_verb *v = c->verb ? NULL : c->spec->verbs; v && v->name; v++)
		for (const struct cl_opt *o = v->opts; o && o->name; o++)
			if (!strcmp(o->name, name))
				return v;
	return NULL;
}

static int unknown_option(const struct cl_ctx *c, const char *name, size_t len, struct cl_err *e)
{
	cleanup_free char *given = cl_strndup(name, len), *typed = cl_typed_name(c->spec);
	const struct cl_verb *v = verb_with(c, given);
	const char *names[128], *near;
	size_t n = 0;

	for (int t = 0; t < 3; t++)
		for (const struct cl_opt *o = table(c, t); o->name && n < 128; o++)
			if (usable(c, o))
				names[n++] = o->name;
	(void)cl_fail(e, CL_EUSAGE, "unknown option '--%s'", given);
	if (v)
		return cl_fix(e, "it belongs after its verb: '%s %s --%s'", typed, v->name, given);
	near = cl_nearest(given, names, n);
	if (near)
		return cl_fix(e, "did you mean '--%s'?", near);
	return usage(c, e);
}

/* Checks the value by the option's type; fills number. */
static int check_value(
	const struct cl_ctx *c, const struct cl_opt *o, struct cl_given *g, struct cl_err *e)
{
	char what[80];
	int rc = 0;

	(void)snprintf(what, sizeof(what), "--%s", o->name);
	if (o->type == CL_INT) {
		rc = cl_parse_i64(
			g->text, o->min, o->max ? o->max : INT64_MAX, what, &g->number, e);
	} else if (o->type == CL_DURATION) {
		rc = cl_parse_duration(g->text, o->min == 0, what, &g->number, e);
	} else if (o->type == CL_ENUM) {
		const char *const *v = o->values;
		size_t n = 0;

		cl_lower(g->text);
		while (v[n] && strcmp(v[n], g->text))
			n++;
		if (!v[n]) {
			cleanup_free char *all = cl_join(v, n, ", ");
			const char *near = cl_nearest(g->text, v, n);

			rc = cl_fail(e, CL_EUSAGE, "%s '%s' is none of %s", what, g->text, all);
			if (near)
				(void)cl_fix(e, "did you mean '%s'?", near);
		}
	}
	if (rc) {
		e->code = CL_EUSAGE;
		return usage(c, e);
	}
	return 0;
}

static int give(struct cl_ctx *c, const struct cl_opt *o, const char *text, struct cl_err *e)
{
	struct cl_given *g;

	c->given = cl_grow(c->given, &c->given_cap, c->ngiven + 1, sizeof(*c->given));
	g = &c->given[c->ngiven++];
	*g = (struct cl_given){.opt = o, .text = text ? cl_strdup(text) : NULL};
	if (text && check_value(c, o, g, e))
		return -1;
	if (o == &cl_shared_opts[0])
		c->dir = g->text;
	else if (o == &cl_shared_opts[1])
		c->json = true;
	return 0;
}

/* argv[*i] starts with "--" and more. */
static int long_option(struct cl_ctx *c, char **argv, int *i, struct cl_err *e)
{
	const char *name = argv[*i] + 2, *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct cl_opt *o = find_opt(c, name, len, 0);

	if (!o)
		return unknown_option(c, name, len, e);
	if (o->type == CL_FLAG) {
		if (eq)
			return cl_usage(c, e, "--%s takes no value", o->name);
		return give(c, o, NULL, e);
	}
	if (eq)
		return give(c, o, eq + 1, e);
	if (!argv[*i + 1])
		return cl_usage(c, e, "--%s needs a value (%s)", o->name, o->arg);
	return give(c, o, argv[++*i], e);
}

/* argv[*i] is "-x..." : flags may be bundled, the last may take the rest as its value. */
static int short_options(struct cl_ctx *c, char **argv, int *i, struct cl_err *e)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct cl_opt *o = find_opt(c, NULL, 0, *p);

		if (!o)
			return cl_usage(c, e, "unknown option '-%c'", *p);
		if (o->type == CL_FLAG) {
			if (give(c, o, NULL, e))
				return -1;
			continue;
		}
		if (p[1])
			return give(c, o, p + 1, e);
		if (!argv[*i + 1])
			return cl_usage(c, e, "-%c needs a value (%s)", *p, o->arg);
		return give(c, o, argv[++*i], e);
	}
	return 0;
}

/* Words of a verb's name that argv[i..] matches, 0 when it does not; -1 never. */
static size_t verb_words(const char *name, char **argv)
{
	size_t words = 0;

	while (*name) {
		size_t len = strcspn(name, " ");

		if (!argv[words] || strlen(argv[words]) != len ||
			memcmp(argv[words], name, len) != 0)
			return 0;
		words++;
		name += len;
		while (*name == ' ')
			name++;
	}
	return words;
}

/* The verb whose name is the longest that argv starts with; *used words. */
static const struct cl_verb *find_verb(const struct cl_spec *spec, char **argv, size_t *used)
{
	const struct cl_verb *best = NULL;

	*used = 0;
	for (const struct cl_verb *v = spec->verbs; v->name; v++) {
		size_t n = verb_words(v->name, argv);

		if (!n && v->alias)
			n = verb_words(v->alias, argv);
		if (n > *used) {
			best = v;
			*used = n;
		}
	}
	if (!best)
		for (const struct cl_verb *v = spec->verbs; v->name; v++)
			if (!*v->name)
				best = v;
	return best;
}

/* Why no verb was found: none given, a prefix of several, or an unknown word. */
static int no_verb(const struct cl_ctx *c, char **argv, struct cl_err *e)
{
	cleanup_free char *name = cl_typed_name(c->spec);
	const char *names[128], *near;
	cleanup_buf struct cl_buf given = CL_BUF_INIT, rest = CL_BUF_INIT;
	size_t n = 0;
	bool group = false; /* the first word is right: 'key' of 'key rotate' */

	for (const struct cl_verb *v = c->spec->verbs; v->name && n < 128; v++)
		if (!(v->needs & CL_HIDDEN))
			names[n++] = v->name;
	if (!argv[0] || argv[0][0] == '-')
		return cl_usage(c, e, "%s needs a verb", name);
	for (size_t i = 0; argv[i] && argv[i][0] != '-' && i < 2; i++)
		cl_buf_addf(&given, "%s%s", i ? " " : "", argv[i]);
	near = cl_nearest(given.p, names, n);
	if (!near)
		near = cl_nearest(argv[0], names, n);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(argv[0]);

		if (!cl_starts(names[i], argv[0]) || names[i][len] != ' ')
			continue;
		cl_buf_addf(&rest, "%s%s", group ? ", " : "", names[i] + len + 1);
		group = true;
	}
	(void)cl_fail(e, CL_EUSAGE, "%s has no verb '%s'", name, group ? given.p : argv[0]);
	if (near)
		(void)cl_fix(e, "did you mean '%s %s'?", name, near);
	else if (group)
		(void)cl_fix(e, "'%s %s' goes on with one of: %s", name, argv[0], rest.p);
	return usage(c, e);
}

static int check_operands(const struct cl_ctx *c, struct cl_err *e)
{
	static const struct cl_operand none[] = {{0}};
	const struct cl_operand *o = c->verb->operands ? c->verb->operands : none;
	size_t need = 0, max = 0;
	bool repeat = false;

	for (; o[max].name; max++) {
		need += !o[max].optional;
		repeat = repeat || o[max].repeat;
	}
	if (c->noperands < need)
		return cl_usage(c, e, "%s is missing", o[c->noperands].name);
	if (c->noperands > max && !repeat)
		return cl_usage(c, e, "'%s' is one operand too many", c->operands[max]);
	return 0;
}

/* True when the word is an option whose value is the next word. */
static bool takes_next(const struct cl_ctx *c, const char *word)
{
	const struct cl_opt *o = NULL;

	if (cl_starts(word, "--"))
		o = find_opt(c, word + 2, strlen(word + 2), 0);
	else if (word[0] == '-' && word[1])
		o = find_opt(c, NULL, 0, word[strlen(word) - 1]);
	return o && o->type != CL_FLAG;
}

/*
 * --help in front of "--", or of the command line that is the operand, is answered whatever
 * else is there. `from` is where the verb's words end.
 */
static bool help_asked(const struct cl_ctx *c, char **argv, size_t from)
{
	bool rest = c->verb && (c->verb->needs & CL_ARGV_REST);

	for (size_t i = 1; argv[i] && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
		if (rest && i >= from && (argv[i][0] != '-' || !argv[i][1]))
			return false;
		if (takes_next(c, argv[i]) && argv[i + 1] && argv[i + 1][0] != '-')
			i++;
	}
	return false;
}

/* What is asked besides a run; sets the verb that help is about. */
static enum cl_ask asked(struct cl_ctx *c, char **argv)
{
	size_t used = 0, i = 1;

	if (argv[1] && !strcmp(argv[1], "--cl-spec"))
		return CL_ASK_SPEC;
	if (argv[1] && !strcmp(argv[1], "--version"))
		return CL_ASK_VERSION;
	do
		c->verb = find_verb(c->spec, argv + i, &used);
	while (!used && argv[i] && strcmp(argv[i], "--") != 0 && argv[++i]);
	if (help_asked(c, argv, used ? i + used : 1))
		return CL_ASK_HELP;
	c->verb = NULL;
	return CL_ASK_RUN;
}

/* True when an option in front of any verb belongs to the verb that has no name. */
static bool of_nameless(const struct cl_ctx *c, const char *word)
{
	const char *name = cl_starts(word, "--") ? word + 2 : NULL;
	bool nameless = false;

	for (const struct cl_verb *v = c->spec->verbs; v->name; v++)
		nameless = nameless || !*v->name;
	return nameless &&
	       !(name ? find_opt(c, name, strcspn(name, "="), 0) : find_opt(c, NULL, 0, word[1]));
}

/* Options in front of the verb: only the shared and the command's own. */
static int leading_options(struct cl_ctx *c, char **argv, int *i, struct cl_err *e)
{
	while (argv[*i] && argv[*i][0] == '-' && argv[*i][1]) {
		if (!strcmp(argv[*i], "--") || of_nameless(c, argv[*i]))
			break;
		if (argv[*i][1] == '-' ? long_option(c, argv, i, e) : short_options(c, argv, i, e))
			return -1;
		++*i;
	}
	return 0;
}

static bool has_verbs(const struct cl_spec *spec)
{
	return *spec->verbs[0].name || spec->verbs[1].name;
}

int cl_parse(struct cl_ctx *c, const struct cl_spec *spec, int argc, char **argv, enum cl_ask *ask,
	struct cl_err *e)
{
	size_t used = 0;
	int i = 1;

	*c = (struct cl_ctx){.spec = spec, .argv = argv};
	*ask = CL_ASK_RUN;
	if (argc < 1)
		return cl_usage(c, e, "no arguments at all");
	c->operands = cl_calloc((size_t)argc + 1, sizeof(*c->operands));
	*ask = asked(c, argv);
	if (*ask != CL_ASK_RUN)
		return 0;
	if (has_verbs(spec) && leading_options(c, argv, &i, e))
		return -1;
	c->verb = find_verb(spec, argv + i, &used);
	if (!c->verb)
		return no_verb(c, argv + i, e);
	for (i += (int)used; argv[i]; i++) {
		const char *a = argv[i];

		if (!strcmp(a, "--") ||
			((c->verb->needs & CL_ARGV_REST) && (a[0] != '-' || !a[1]))) {
			for (i += !strcmp(a, "--"); argv[i]; i++)
				c->operands[c->noperands++] = argv[i];
			break;
		}
		if (a[0] != '-' || !a[1])
			c->operands[c->noperands++] = argv[i];
		else if (a[1] == '-' ? long_option(c, argv, &i, e) : short_options(c, argv, &i, e))
			return -1;
	}
	if (cl_flag(c, "help")) {
		*ask = CL_ASK_HELP;
		return 0;
	}
	return check_operands(c, e);
}

void cl_ctx_release(struct cl_ctx *c)
{
	for (size_t i = 0; i < c->ngiven; i++)
		free(c->given[i].text);
	free(c->given);
	free(c->operands);
	*c = (struct cl_ctx){0};
}

static const struct cl_given *last(const struct cl_ctx *c, const char *name)
{
	if (!find_opt(c, name, strlen(name), 0)) {
		(void)fprintf(stderr, "%s: bug: option --%s is in no table\n", c->spec->name, name);
		abort();
	}
	for (size_t i = c->ngiven; i--;)
		if (!strcmp(c->given[i].opt->name, name))
			return &c->given[i];
	return NULL;
}

bool cl_flag(const struct cl_ctx *c, const char *name)
{
	return last(c, name) != NULL;
}

bool cl_given(const struct cl_ctx *c, const char *name)
{
	return last(c, name) != NULL;
}

const char *cl_str(const struct cl_ctx *c, const char *name)
{
	return cl_str_or(c, name, NULL);
}

const char *cl_str_or(const struct cl_ctx *c, const char *name, const char *def)
{
	const struct cl_given *g = last(c, name);

	return g ? g->text : def;
}

int64_t cl_int(const struct cl_ctx *c, const char *name, int64_t def)
{
	const struct cl_given *g = last(c, name);

	return g ? g->number : def;
}

void cl_list(const struct cl_ctx *c, const char *name, struct cl_strv *out)
{
	(void)last(c, name);
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cl_given *g = &c->given[i];
		struct cl_strv parts = CL_STRV_INIT;

		if (strcmp(g->opt->name, name))
			continue;
		if (g->opt->type != CL_CSV) {
			cl_strv_add(out, g->text);
			continue;
		}
		cl_split(g->text, ',', &parts);
		for (size_t k = 0; k < parts.n; k++) {
			cleanup_free char *t = cl_trim_dup(parts.v[k]);

			if (*t)
				cl_strv_add(out, t);
		}
		cl_strv_release(&parts);
	}
}

const char *cl_operand(const struct cl_ctx *c, size_t n)
{
	return n < c->noperands ? c->operands[n] : NULL;
}
