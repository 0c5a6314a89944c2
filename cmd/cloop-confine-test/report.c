/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report.h"

#include <stdio.h>

struct sums {
	size_t held, reached, shared, skipped;
};

/* Shared by design, and nobody asked to count it. */
static bool only_told(const struct tried *t, bool strict)
{
	return t->result->outcome == REACHED && t->attempt->flags & SHARED && !strict;
}

static struct sums add_up(const struct tried *v, size_t n, bool strict)
{
	struct sums s = {0};

	for (size_t i = 0; i < n; i++) {
		if (only_told(&v[i], strict))
			s.shared++;
		else if (v[i].result->outcome == REACHED)
			s.reached++;
		else if (v[i].result->outcome == SKIPPED)
			s.skipped++;
		else
			s.held++;
	}
	return s;
}

static int done(const struct sums *s)
{
	if (fflush(stdout) || ferror(stdout))
		return 71;
	return s->reached ? 1 : 0;
}

/* Bytes that a terminal or a reader of TAP would obey are masked. */
static void masked(const char *s)
{
	for (; *s; s++)
		(void)putchar(*s < 0x20 || *s >= 0x7f ? '?' : *s == '#' ? '_' : *s);
}

int report_tap(const struct tried *v, size_t n, bool strict)
{
	struct sums s = add_up(v, n, strict);

	(void)printf("TAP version 13\n1..%zu\n", n);
	for (size_t i = 0; i < n; i++) {
		const struct tried *t = &v[i];
		bool out = t->result->outcome == REACHED;

		(void)printf("%s %zu - %s.%s: %s", out ? "not ok" : "ok", i + 1, t->family,
			t->attempt->name, t->attempt->proves);
		if (only_told(t, strict))
			(void)printf(
				" # TODO the workspace is shared"); /* TAP's word; lint: allow */
		else if (t->result->outcome == SKIPPED)
			(void)printf(" # SKIP ");
		else if (out)
			(void)printf("\n# REACHED: ");
		if (only_told(t, strict))
			(void)printf("\n# ");
		if (out || t->result->outcome == SKIPPED)
			masked(t->result->detail);
		(void)putchar('\n');
	}
	(void)printf("# %zu attempts: %zu failed as they should, %zu got out, %zu had nothing to "
		     "try%s\n",
		n, s.held, s.reached, s.skipped,
		s.shared ? ", and the workspace holds what others run" : "");
	(void)printf("# score %zu/%zu\n", s.held, s.held + s.reached);
	if (s.reached)
		(void)printf("# THIS SANDBOX DOES NOT HOLD\n");
	return done(&s);
}

static void string(const char *s)
{
	(void)putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			(void)printf("\\%c", *s);
		else if (*s < 0x20 || *s >= 0x7f)
			(void)putchar('?');
		else
			(void)putchar(*s);
	}
	(void)putchar('"');
}

static void member(const char *before, const char *name, const char *value)
{
	(void)printf("%s\"%s\":", before, name);
	string(value);
}

static void names(const struct tried *t)
{
	member("{", "family", t->family);
	member(",", "name", t->attempt->name);
	member(",", "proves", t->attempt->proves);
}

int report_json(const struct tried *v, size_t n, bool strict)
{
	static const char *const words[] = {"held", "held", "reached", "skipped"};
	struct sums s = add_up(v, n, strict);

	(void)printf("{\"attempts\":[");
	for (size_t i = 0; i < n; i++) {
		(void)fputs(i ? "," : "", stdout);
		names(&v[i]);
		member(",", "outcome",
			only_told(&v[i], strict) ? "shared" : words[v[i].result->outcome]);
		member(",", "detail", v[i].result->detail);
		(void)putchar('}');
	}
	(void)printf("],\"total\":%zu,\"held\":%zu,\"reached\":%zu,\"shared\":%zu,\"skipped\":%zu,"
		     "\"holds\":%s}\n",
		n, s.held, s.reached, s.shared, s.skipped, s.reached ? "false" : "true");
	return done(&s);
}

int report_list(const struct tried *v, size_t n, bool json)
{
	struct sums s = {0};

	for (size_t i = 0; i < n; i++) {
		if (json) {
			names(&v[i]);
			(void)printf("}\n");
		} else {
			(void)printf("%s.%s: %s\n", v[i].family, v[i].attempt->name,
				v[i].attempt->proves);
		}
	}
	return done(&s);
}

int report_usage(const char *arg)
{
	(void)fprintf(stderr,
		"cloop-confine-test: '%s' is no option, family or attempt\n"
		"  fix: usage: cloop-confine-test [--json] [--strict] [--list] "
		"[FAMILY|FAMILY.NAME...]\n",
		arg);
	return 64;
}
