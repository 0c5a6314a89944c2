/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names as the Kubernetes API takes them: "Object Names and IDs", "Labels and Selectors". */
#include "policy/egress/netpol.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LABEL     63
#define MAX_SUBDOMAIN 253

/* len bytes of set, the first and the last of ends. */
static bool shaped(const char *s, size_t len, const char *ends, const char *set)
{
	return len && len <= MAX_LABEL && strspn(s, set) >= len && strchr(ends, s[0]) &&
	       strchr(ends, s[len - 1]);
}

static bool dns_label(const char *s, size_t len)
{
	return shaped(s, len, CL_LOWER CL_DIGITS, CL_LOWER CL_DIGITS "-");
}

/* RFC 1123 as Kubernetes reads it: lower case, labels joined by dots. */
static bool dns_subdomain(const char *s, size_t len)
{
	if (len > MAX_SUBDOMAIN)
		return false;
	for (size_t at = 0; at <= len;) {
		size_t n = strcspn(s + at, ".");

		if (n > len - at)
			n = len - at;
		/* Only the whole is bounded, not each label. */
		if (!n || strspn(s + at, CL_LOWER CL_DIGITS "-") < n || s[at] == '-' ||
			s[at + n - 1] == '-')
			return false;
		at += n + 1;
	}
	return true;
}

static bool label_name(const char *s, size_t len)
{
	return shaped(s, len, CL_ALNUM, CL_ALNUM "-_.");
}

/* [subdomain/]name */
static bool label_key(const char *s)
{
	const char *slash = strchr(s, '/');

	if (slash && !dns_subdomain(s, (size_t)(slash - s)))
		return false;
	s = slash ? slash + 1 : s;
	return label_name(s, strlen(s));
}

static bool label_value(const char *s)
{
	return !*s || !strcmp(s, NP_PREVIEW_HANDLE) || label_name(s, strlen(s));
}

static int check_pairs(
	const struct np_pair *v, size_t n, const char *what, bool values, struct cl_err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (!label_key(v[i].key)) {
			(void)cl_fail(e, CL_EDATA, "%s '%.100s' is no label key", what, v[i].key);
			return cl_fix(e,
				"write [prefix.example.com/]name: at most 63 letters, "
				"digits, '-', '_' and '.', a letter or digit at both ends");
		}
		if (values && !label_value(v[i].value)) {
			(void)cl_fail(e, CL_EDATA, "%s %s: '%.100s' is no label value", what,
				v[i].key, v[i].value);
			return cl_fix(e, "write at most 63 letters, digits, '-', '_' and '.', a "
					 "letter or digit at both ends");
		}
		for (size_t k = 0; k < i; k++) {
			if (strcmp(v[k].key, v[i].key) != 0)
				continue;
			(void)cl_fail(e, CL_EDATA, "%s '%s' is given twice", what, v[i].key);
			return cl_fix(e, "give each key once");
		}
	}
	return 0;
}

static int check_names(const struct np_options *o, struct cl_err *e)
{
	const char *name = o->name ? o->name : "", *ns = o->namespace ? o->namespace : "";

	if (!dns_subdomain(name, strlen(name))) {
		(void)cl_fail(e, CL_EDATA, "'%.260s' is no name of a NetworkPolicy", name);
		return cl_fix(e, "write at most 253 lower-case letters, digits, '-' and '.', a "
				 "letter or digit at both ends of every part");
	}
	if (dns_label(ns, strlen(ns)))
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%.100s' is no name of a namespace", ns);
	return cl_fix(e, "write at most 63 lower-case letters, digits and '-', a letter or digit "
			 "at both ends");
}

int np_check(const struct np_options *o, struct cl_err *e)
{
	if (check_names(o, e))
		return -1;
	if (!o->nselector) {
		(void)cl_fail(e, CL_EDATA,
			"the selector is empty: the policy would govern every Pod of namespace %s",
			o->namespace);
		return cl_fix(e, "select the one Pod by a label of its own, such as %s=HANDLE",
			NP_HANDLE_LABEL);
	}
	if (check_pairs(o->selector, o->nselector, "selector", true, e) ||
		check_pairs(o->labels, o->nlabels, "label", true, e) ||
		check_pairs(o->annotations, o->nannotations, "annotation", false, e))
		return -1;
	return check_pairs(o->dns_namespace, o->ndns_namespace, "DNS namespace label", true, e);
}
