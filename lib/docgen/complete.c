/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completions. All three shells get the same table: for every command line prefix
 * ("cloop egress firewall") the words that may follow, and for every option what its
 * value is. Live names are asked of the command that can list them.
 */
#include "docgen.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Which command prints live names of a kind, one a line. */
static const struct {
	const char *kind, *ask;
} live[] = {
	{"executor", "cloop hub names executor"},
	{"run", "cloop runs names"},
	{"command", "cloop list --names"},
	{"grant", "cloop secret names grant"},
	{"secret", "cloop secret names secret"},
	{"config-key", "cloop hub names config-key"},
};

static const char *ask_for(const char *kind)
{
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		if (!strcmp(live[i].kind, kind))
			return live[i].ask;
	return NULL;
}

static bool hidden(json_t *v)
{
	return json_is_true(json_object_get(v, "hidden"));
}

/* "egress" of "cloop-egress"; "" for the front command itself. */
static const char *short_name(json_t *spec)
{
	const char *n = dg_str(spec, "name");

	return strlen(n) > 6 ? n + 6 : "";
}

typedef void (*opt_fn)(const char *prefix, json_t *o);

static void every_option(json_t *spec, json_t *v, const char *prefix, opt_fn fn)
{
	json_t *lists[] = {json_object_get(v, "options"), json_object_get(spec, "options"),
		json_object_get(v, "shared")};
	json_t *o;
	size_t i;

	for (size_t k = 0; k < 3; k++)
		json_array_foreach (lists[k], i, o)
			fn(prefix, o);
}

static void prefix_of(json_t *spec, json_t *v, char out[128])
{
	(void)snprintf(out, 128, "%s%s%s", short_name(spec),
		*short_name(spec) && *dg_str(v, "name") ? " " : "", dg_str(v, "name"));
}

/* ---- bash and zsh share one case statement over the words typed so far ---- */

static void opt_word(const char *prefix, json_t *o)
{
	(void)prefix;
	(void)printf(" --%s", dg_str(o, "name"));
}

/* A case arm "prefix/--option) how to complete its value ;;". */
static void opt_value(const char *prefix, json_t *o)
{
	json_t *values = json_object_get(o, "values");
	const char *kind = dg_str(o, "complete"), *ask = ask_for(kind);
	json_t *v;
	size_t i;

	if (!strcmp(dg_str(o, "type"), "flag"))
		return;
	(void)printf("\t'%s/--%s'", prefix, dg_str(o, "name"));
	if (*dg_str(o, "letter"))
		(void)printf("|'%s/-%s'", prefix, dg_str(o, "letter"));
	(void)printf(")");
	if (json_array_size(values)) {
		(void)printf(" reply='");
		json_array_foreach (values, i, v)
			(void)printf("%s%s", i ? " " : "", json_string_value(v));
		(void)printf("'");
	} else if (ask) {
		(void)printf(" reply=$(%s 2>/dev/null)", ask);
	} else if (!strcmp(kind, "file") || !strcmp(kind, "dir")) {
		(void)printf(" kind=%s", kind);
	} else {
		(void)printf(" kind=none");
	}
	(void)printf(" ;;\n");
}

/* The rest of the verbs' names that begin with `group` and a blank, blanks between; how many. */
static size_t words_below(json_t *spec, const char *group, const char *before)
{
	size_t len = strlen(group), n = 0, i;
	json_t *v;

	json_array_foreach (json_object_get(spec, "verbs"), i, v) {
		const char *name = dg_str(v, "name");

		if (strncmp(name, group, len) != 0 || name[len] != ' ' || hidden(v))
			continue;
		(void)printf("%s%s", n++ ? " " : before, name + len + 1);
	}
	return n;
}

static bool is_verb(json_t *spec, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach (json_object_get(spec, "verbs"), i, v)
		if (!strcmp(dg_str(v, "name"), name) && !hidden(v))
			return true;
	return false;
}

/* The words that may follow a prefix: verbs below it, options, operands' live names. */
static void verb_words(json_t *spec, json_t *v)
{
	json_t *first = json_array_get(json_object_get(v, "operands"), 0);
	const char *ask = ask_for(dg_str(first, "complete"));
	char prefix[128];

	prefix_of(spec, v, prefix);
	(void)printf("\t'%s') reply=\"", prefix);
	if (*dg_str(v, "name"))
		(void)words_below(spec, dg_str(v, "name"), "");
	every_option(spec, v, prefix, opt_word);
	(void)printf("\"");
	if (ask)
		(void)printf("; reply=\"$reply $(%s 2>/dev/null)\"", ask);
	if (!strcmp(dg_str(first, "complete"), "file") || !strcmp(dg_str(first, "complete"), "dir"))
		(void)printf("; kind=%s", dg_str(first, "complete"));
	(void)printf(" ;;\n");
}

/* For "egress" the first words of its verbs; for "hub config" the second ones. */
static void group_words(json_t *spec)
{
	json_t *verbs = json_object_get(spec, "verbs");
	char done[64][64];
	size_t ndone = 0, i, k;
	json_t *v;

	if (!*dg_str(json_array_get(verbs, 0), "name") || !*short_name(spec))
		return;
	(void)printf("\t'%s') reply='", short_name(spec));
	json_array_foreach (verbs, i, v) {
		char word[64];
		size_t n = strcspn(dg_str(v, "name"), " ");
		bool seen = false;

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, dg_str(v, "name"));
		for (k = 0; k < ndone; k++)
			seen = seen || !strcmp(done[k], word);
		if (seen || hidden(v) || ndone == 64)
			continue;
		memcpy(done[ndone++], word, sizeof(word));
		(void)printf("%s%s", ndone > 1 ? " " : "", word);
	}
	(void)printf("' ;;\n");
	for (k = 0; k < ndone; k++) {
		cleanup_free char *start =
			cl_asprintf("\t'%s %s') reply='", short_name(spec), done[k]);

		/* A verb that others go on from has its own line: verb_words. */
		if (!is_verb(spec, done[k]) && words_below(spec, done[k], start))
			(void)printf("' ;;\n");
	}
}

/* The front command's own verbs and the commands that can be found. */
static void first_words(json_t *const *specs, size_t n)
{
	json_t *v;
	size_t i;

	(void)printf("\t'') reply=\"");
	for (size_t s = 0; s < n; s++)
		json_array_foreach (json_object_get(specs[s], "verbs"), i, v)
			if (!*short_name(specs[s]) && !hidden(v))
				(void)printf("%s ", dg_str(v, "name"));
	(void)printf("$(%s 2>/dev/null)\" ;;\n", ask_for("command"));
}

static void lookup_functions(json_t *const *specs, size_t n)
{
	json_t *v;
	size_t i;

	(void)printf("_cloop_follow() { # the words that may follow those typed so far\n"
		     "\tcase \"$1\" in\n");
	first_words(specs, n);
	for (size_t s = 0; s < n; s++) {
		group_words(specs[s]);
		json_array_foreach (json_object_get(specs[s], "verbs"), i, v)
			if (!hidden(v))
				verb_words(specs[s], v);
	}
	(void)printf("\tesac\n}\n\n"
		     "_cloop_lookup() { # words typed so far, option before the cursor\n"
		     "\treply='' kind=words\n\tcase \"$1/$2\" in\n"
		     "\t'/--dir'|'/-C') kind=dir ;;\n");
	for (size_t s = 0; s < n; s++)
		json_array_foreach (json_object_get(specs[s], "verbs"), i, v) {
			char prefix[128];

			prefix_of(specs[s], v, prefix);
			if (!hidden(v))
				every_option(specs[s], v, prefix, opt_value);
		}
	(void)printf("\t*) _cloop_follow \"$1\" ;;\n\tesac\n}\n\n");
}

static void known_function(json_t *const *specs, size_t n)
{
	json_t *v;
	size_t i;

	(void)printf("_cloop_known() { # is this a prefix the table has?\n\tcase \"$1\" in\n\t");
	for (size_t s = 0; s < n; s++) {
		if (*short_name(specs[s]))
			(void)printf("'%s'|", short_name(specs[s]));
		json_array_foreach (json_object_get(specs[s], "verbs"), i, v) {
			char prefix[128];
			const char *sp;

			prefix_of(specs[s], v, prefix);
			(void)printf("'%s'|", prefix);
			sp = strchr(dg_str(v, "name"), ' ');
			if (sp && *short_name(specs[s]))
				(void)printf("'%s %.*s'|", short_name(specs[s]),
					(int)(sp - dg_str(v, "name")), dg_str(v, "name"));
		}
	}
	(void)printf("'') return 0 ;;\n\tesac\n\treturn 1\n}\n\n");
}

/* The prefix of the words before the cursor that the table knows; options and values fall out. */
static const char prefix_loop[] = "\t\t[[ $w == -- ]] && return\n"
				  "\t\t[[ $w == -* ]] && continue\n"
				  "\t\ttry=${prefix:+$prefix }$w\n"
				  "\t\t_cloop_known \"$try\" && prefix=$try\n"
				  "\tdone\n"
				  "\t[[ $prev == -* ]] || prev=\n"
				  "\t_cloop_lookup \"$prefix\" \"$prev\"\n";

void dg_bash(json_t *const *specs, size_t n)
{
	(void)printf("# bash completion for cloop; generated by lib/docgen\n"
		     "# shellcheck shell=bash disable=SC2034,SC2207,SC2209,SC2221,SC2222\n\n");
	lookup_functions(specs, n);
	known_function(specs, n);
	(void)printf("_cloop() {\n"
		     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		     "\tlocal reply kind prefix='' w i try\n"
		     "\t# bash parts --option=value at the sign\n"
		     "\tif [[ $cur == = ]]; then\n\t\tcur=''\n"
		     "\telif [[ $prev == = ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
		     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\tw=${COMP_WORDS[i]}\n"
		     "%s"
		     "\tcase $kind in\n"
		     "\tdir) COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
		     "\tfile) COMPREPLY=($(compgen -W \"$reply\" -- \"$cur\") $(compgen -f -- "
		     "\"$cur\")) ;;\n"
		     "\tnone) COMPREPLY=() ;;\n"
		     "\t*) COMPREPLY=($(compgen -W \"$reply\" -- \"$cur\")) ;;\n"
		     "\tesac\n"
		     "}\ncomplete -F _cloop cloop\n",
		prefix_loop);
}

void dg_zsh(json_t *const *specs, size_t n)
{
	(void)printf("#compdef cloop\n# zsh completion for cloop; generated by lib/docgen\n\n");
	lookup_functions(specs, n);
	known_function(specs, n);
	(void)printf("_cloop() {\n"
		     "\tlocal reply kind prefix='' w i try\n"
		     "\tlocal prev=${words[CURRENT-1]}\n"
		     "\tfor ((i = 2; i < CURRENT; i++)); do\n"
		     "\t\tw=${words[i]}\n"
		     "%s"
		     "\tcase $kind in\n"
		     "\tdir) _files -/ ;;\n"
		     "\tfile) compadd -- ${=reply}; _files ;;\n"
		     "\tnone) ;;\n"
		     "\t*) compadd -- ${=reply} ;;\n"
		     "\tesac\n"
		     "}\n\n"
		     "# The first use autoloads this file as the function itself.\n"
		     "if [[ ${funcstack[1]} == _cloop ]]; then\n"
		     "\t_cloop \"$@\"\n"
		     "else\n"
		     "\tcompdef _cloop cloop\n"
		     "fi\n",
		prefix_loop);
}

static void fish_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			(void)putchar('\\');
		(void)putchar(*s);
	}
}

static void fish_opt(const char *prefix, json_t *o)
{
	const char *letter = dg_str(o, "letter"), *kind = dg_str(o, "complete");
	const char *ask = ask_for(kind);
	json_t *values = json_object_get(o, "values");
	json_t *v;
	size_t i;

	(void)printf("complete -c cloop -n '__cloop_in \"%s\"' -l %s", prefix, dg_str(o, "name"));
	if (*letter)
		(void)printf(" -s %s", letter);
	/* -x is a value that is no file; -r leaves files to be offered. */
	if (strcmp(dg_str(o, "type"), "flag") != 0)
		(void)printf(strcmp(kind, "file") != 0 ? " -x" : " -r");
	if (!strcmp(kind, "dir"))
		(void)printf(" -a '(__fish_complete_directories)'");
	if (json_array_size(values)) {
		(void)printf(" -a '");
		json_array_foreach (values, i, v)
			(void)printf("%s%s", i ? " " : "", json_string_value(v));
		(void)printf("'");
	} else if (ask) {
		(void)printf(" -a '(%s 2>/dev/null)'", ask);
	}
	(void)printf(" -d '");
	fish_text(dg_str(o, "help"));
	(void)printf("'\n");
}

/* A word of the table at a prefix, with what it is. */
static void fish_word(const char *prefix, int len, const char *word, const char *what)
{
	(void)printf("complete -c cloop -f -n '__cloop_at \"%s\"' -a '%.*s'", prefix, len, word);
	if (*what) {
		(void)printf(" -d '");
		fish_text(what);
		(void)printf("'");
	}
	(void)putchar('\n');
}

/* The words of "hub config get" one by one: "hub" then "config" then "get". */
static void fish_words(json_t *spec, json_t *v)
{
	const char *name = dg_str(v, "name"), *sp;
	char prefix[128];

	(void)snprintf(prefix, sizeof(prefix), "%s", short_name(spec));
	while ((sp = strchr(name, ' '))) {
		size_t used = strlen(prefix);

		fish_word(prefix, (int)(sp - name), name, "");
		(void)snprintf(prefix + used, sizeof(prefix) - used, "%s%.*s", used ? " " : "",
			(int)(sp - name), name);
		name = sp + 1;
	}
	if (*name)
		fish_word(prefix, (int)strlen(name), name, dg_str(v, "summary"));
}

void dg_fish(json_t *const *specs, size_t n)
{
	json_t *v;
	size_t i;

	(void)printf("# fish completion for cloop; generated by lib/docgen\n\n"
		     "function __cloop_plain # the words before the cursor that are no options\n"
		     "\tset -l typed (commandline -opc)\n"
		     "\tset -l plain\n"
		     "\tset -l prev\n"
		     "\tfor w in $typed[2..-1]\n"
		     "\t\tstring match -q -- '-*' $w; or contains -- \"$prev\" -C --dir; "
		     "or set -a plain $w\n"
		     "\t\tset prev $w\n"
		     "\tend\n"
		     "\tstring join ' ' $plain\n"
		     "end\n\n"
		     "function __cloop_at # exactly these words\n"
		     "\ttest (__cloop_plain | string collect -a) = \"$argv[1]\"\n"
		     "end\n\n"
		     "function __cloop_in # these words, and perhaps more\n"
		     "\tset -l plain (__cloop_plain | string collect -a)\n"
		     "\tstring match -q -- \"$argv[1] *\" \"$plain \"\n"
		     "end\n\n");
	for (size_t s = 0; s < n; s++) {
		if (*short_name(specs[s]))
			fish_word("", (int)strlen(short_name(specs[s])), short_name(specs[s]),
				dg_str(specs[s], "summary"));
		json_array_foreach (json_object_get(specs[s], "verbs"), i, v) {
			json_t *first = json_array_get(json_object_get(v, "operands"), 0);
			const char *ask = ask_for(dg_str(first, "complete"));
			char prefix[128];

			if (hidden(v))
				continue;
			prefix_of(specs[s], v, prefix);
			fish_words(specs[s], v);
			if (ask)
				(void)printf("complete -c cloop -f -n '__cloop_in \"%s\"' -a "
					     "'(%s 2>/dev/null)'\n",
					prefix, ask);
			every_option(specs[s], v, prefix, fish_opt);
		}
	}
}
