/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The authorisation: lists that grow, and its JSON form. */
#include "policy/egress/egress_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void eg_auth_release(struct eg_auth *a)
{
	free(a->allow);
	free(a->deny);
	free(a->ports);
	free(a->resolvers);
	free(a->brokers);
	cl_strv_release(&a->hosts);
	cl_strv_release(&a->notes);
	*a = EG_AUTH_INIT;
}

void eg_auth_add_allow(struct eg_auth *a, const struct pol_prefix *p)
{
	a->allow = cl_grow(a->allow, &a->allow_cap, a->nallow + 1, sizeof(*p));
	a->allow[a->nallow++] = *p;
}

void eg_auth_add_deny(struct eg_auth *a, const struct pol_prefix *p)
{
	a->deny = cl_grow(a->deny, &a->deny_cap, a->ndeny + 1, sizeof(*p));
	a->deny[a->ndeny++] = *p;
}

void eg_auth_add_port(struct eg_auth *a, uint16_t port)
{
	a->ports = cl_grow(a->ports, &a->ports_cap, a->nports + 1, sizeof(port));
	a->ports[a->nports++] = port;
}

void eg_auth_add_resolver(struct eg_auth *a, const struct pol_endpoint *p)
{
	a->resolvers = cl_grow(a->resolvers, &a->resolvers_cap, a->nresolvers + 1, sizeof(*p));
	a->resolvers[a->nresolvers++] = *p;
}

void eg_auth_add_broker(struct eg_auth *a, const struct pol_endpoint *p)
{
	a->brokers = cl_grow(a->brokers, &a->brokers_cap, a->nbrokers + 1, sizeof(*p));
	a->brokers[a->nbrokers++] = *p;
}

void eg_auth_copy(const struct eg_auth *from, struct eg_auth *to)
{
	to->internet = from->internet;
	to->all_ports = from->all_ports;
	to->block_special_use = from->block_special_use;
	to->silent = from->silent;
	to->max_cidrs = from->max_cidrs;
	for (size_t i = 0; i < from->nallow; i++)
		eg_auth_add_allow(to, &from->allow[i]);
	for (size_t i = 0; i < from->ndeny; i++)
		eg_auth_add_deny(to, &from->deny[i]);
	for (size_t i = 0; i < from->nports; i++)
		eg_auth_add_port(to, from->ports[i]);
	for (size_t i = 0; i < from->nresolvers; i++)
		eg_auth_add_resolver(to, &from->resolvers[i]);
	for (size_t i = 0; i < from->nbrokers; i++)
		eg_auth_add_broker(to, &from->brokers[i]);
	for (size_t i = 0; i < from->hosts.n; i++)
		cl_strv_add(&to->hosts, from->hosts.v[i]);
}

int eg_check_host(const char *pattern, const char *what, struct cl_err *e)
{
	size_t len = strlen(pattern);

	if (len <= EG_MAX_HOST && cl_all_in(pattern, CL_ALNUM "-_./*?:") && !strstr(pattern, ".."))
		return 0;
	(void)cl_fail(e, CL_EDATA, "%s: '%.*s' is no host pattern", what,
		(int)cl_utf8_cut(pattern, len, 80), pattern);
	return cl_fix(e,
		"write a name such as registry.example.com or *.example.com, at most %d "
		"bytes",
		EG_MAX_HOST);
}

static int take_range(struct eg_auth *a, void (*add)(struct eg_auth *, const struct pol_prefix *),
	const char *text, const char *what, struct cl_err *e)
{
	struct pol_prefix p;
	struct cl_err note;

	if (pol_prefix_parse(text, true, what, &p, e))
		return -1;
	add(a, &p);
	if (pol_prefix_masked(text, &p, &note))
		cl_strv_addf(&a->notes, "%s: %s; %s", what, note.msg, note.fix);
	return 0;
}

static int take_endpoint(struct eg_auth *a,
	void (*add)(struct eg_auth *, const struct pol_endpoint *), uint16_t port, const char *text,
	const char *what, struct cl_err *e)
{
	struct pol_endpoint p;

	if (pol_endpoint_parse(text, port, what, &p, e))
		return -1;
	add(a, &p);
	return 0;
}

int eg_auth_take(
	struct eg_auth *a, enum eg_list list, const char *text, const char *what, struct cl_err *e)
{
	switch (list) {
	case EG_LIST_ALLOW:
		return take_range(a, eg_auth_add_allow, text, what, e);
	case EG_LIST_DENY:
		return take_range(a, eg_auth_add_deny, text, what, e);
	case EG_LIST_RESOLVERS:
		return take_endpoint(a, eg_auth_add_resolver, 53, text, what, e);
	case EG_LIST_BROKERS:
		return take_endpoint(a, eg_auth_add_broker, 0, text, what, e);
	case EG_LIST_HOSTS:
	default:
		if (eg_check_host(text, what, e))
			return -1;
		cl_strv_add(&a->hosts, text);
		return 0;
	}
}

static const struct {
	const char *key;
	enum eg_list list;
} text_lists[] = {
	{"allow_cidrs", EG_LIST_ALLOW},
	{"deny_cidrs", EG_LIST_DENY},
	{"resolvers", EG_LIST_RESOLVERS},
	{"brokers", EG_LIST_BROKERS},
	{"host_patterns", EG_LIST_HOSTS},
};

static int read_texts(struct cl_doc *d, const json_t *obj, const char *key, enum eg_list which,
	struct eg_auth *out, struct cl_err *e)
{
	json_t *list = NULL;

	if (cl_doc_list(d, obj, key, &list, e))
		return -1;
	for (size_t i = 0; list && i < json_array_size(list); i++) {
		cleanup_free char *text = NULL;
		unsigned line = 0, column = 0;
		const char *s = NULL;
		char what[48];

		if (cl_doc_str_at(d, list, i, &s, e))
			return -1;
		text = s ? cl_trim_dup(s) : NULL;
		if (!text || !*text)
			continue;
		(void)snprintf(what, sizeof(what), "%s[%zu]", key, i);
		if (!eg_auth_take(out, which, text, what, e))
			continue;
		cl_doc_where(d, list, NULL, i, false, &line, &column);
		return cl_at(e, d->name, line, column);
	}
	return 0;
}

static int read_ports(struct cl_doc *d, const json_t *obj, struct eg_auth *out, struct cl_err *e)
{
	json_t *list = NULL;

	if (cl_doc_list(d, obj, "allow_ports", &list, e))
		return -1;
	for (size_t i = 0; list && i < json_array_size(list); i++) {
		int64_t port = 0;

		if (cl_doc_int_at(d, list, i, INT64_MIN, INT64_MAX, &port, e))
			return -1;
		if (port < 1 || port > 65535) {
			(void)cl_doc_fail(d, list, NULL, i, CL_EDATA, e,
				"allow_ports[%zu]: %lld is no port", i, (long long)port);
			return cl_fix(e, "name ports from 1 to 65535");
		}
		eg_auth_add_port(out, (uint16_t)port);
	}
	return 0;
}

int eg_auth_read(struct cl_doc *d, json_t *obj, struct eg_auth *out, struct cl_err *e)
{
	static const char *const known[] = {"allow_public_internet", "allow_cidrs", "deny_cidrs",
		"allow_ports", "all_ports", "resolvers", "brokers", "host_patterns",
		"block_special_use", "silent"};

	if (!json_is_object(obj)) {
		(void)cl_fail(e, CL_EDATA, "an egress policy is an object");
		(void)cl_at(e, d->name, 1, 1);
		return cl_fix(e, "write it as {\"allow_public_internet\": true, "
				 "\"allow_ports\": [443]}");
	}
	if (cl_doc_closed(d, obj, "the egress policy", known, CL_ARRAY_LEN(known), e) ||
		cl_doc_bool(d, obj, "allow_public_internet", &out->internet, e) ||
		cl_doc_bool(d, obj, "all_ports", &out->all_ports, e) ||
		cl_doc_bool(d, obj, "block_special_use", &out->block_special_use, e) ||
		cl_doc_bool(d, obj, "silent", &out->silent, e) || read_ports(d, obj, out, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(text_lists); i++)
		if (read_texts(d, obj, text_lists[i].key, text_lists[i].list, out, e))
			return -1;
	return 0;
}

static void put_flag(json_t *obj, const char *key, bool value)
{
	if (value)
		(void)json_object_set_new(obj, key, json_true());
}

static void put_list(json_t *obj, const char *key, json_t *list)
{
	if (json_array_size(list))
		(void)json_object_set(obj, key, list);
	json_decref(list);
}

static json_t *prefix_list(const struct pol_prefix *p, size_t n)
{
	json_t *list = json_array();
	char text[POL_PREFIX_TEXT];

	for (size_t i = 0; i < n; i++) {
		pol_prefix_text(&p[i], text);
		(void)json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *endpoint_list(const struct pol_endpoint *p, size_t n)
{
	json_t *list = json_array();
	char text[POL_ENDPOINT_TEXT];

	for (size_t i = 0; i < n; i++) {
		pol_endpoint_text(&p[i], text);
		(void)json_array_append_new(list, json_string(text));
	}
	return list;
}

json_t *eg_auth_json(const struct eg_auth *a)
{
	json_t *obj = json_object(), *ports = json_array(), *hosts = json_array();

	for (size_t i = 0; i < a->nports; i++)
		(void)json_array_append_new(ports, json_integer(a->ports[i]));
	for (size_t i = 0; i < a->hosts.n; i++)
		(void)json_array_append_new(hosts, json_string(a->hosts.v[i]));
	put_flag(obj, "allow_public_internet", a->internet);
	put_flag(obj, "all_ports", a->all_ports);
	put_flag(obj, "block_special_use", a->block_special_use);
	put_flag(obj, "silent", a->silent);
	put_list(obj, "allow_cidrs", prefix_list(a->allow, a->nallow));
	put_list(obj, "deny_cidrs", prefix_list(a->deny, a->ndeny));
	put_list(obj, "allow_ports", ports);
	put_list(obj, "resolvers", endpoint_list(a->resolvers, a->nresolvers));
	put_list(obj, "brokers", endpoint_list(a->brokers, a->nbrokers));
	put_list(obj, "host_patterns", hosts);
	return obj;
}

/* facts 6.7: only the public Internet, through what the executor lets out of it. */
int eg_narrow_public(const struct eg_auth *executor, bool filter_enabled, bool internal,
	struct eg_auth *out, struct cl_err *e)
{
	const char *why = NULL;

	if (internal)
		why = "the executor's only way out is its broker (egress_filter.internal)";
	else if (filter_enabled && !executor->internet)
		why = "the executor's filter does not allow the public Internet "
		      "(egress_filter.allow_public_internet)";
	if (why) {
		(void)cl_fail(
			e, CL_EREFUSED, "egress: public asks for more than is granted: %s", why);
		(void)cl_constraint(e, "egress");
		return cl_fix(e, "take 'egress: public' out of .cloop/sandbox.yaml, or choose an "
				 "executor that reaches the public Internet");
	}
	if (!executor->nresolvers) {
		(void)cl_fail(e, CL_EREFUSED,
			"egress: public needs a resolver: without one no name resolves, because "
			"the "
			"engine's own is at a private address");
		(void)cl_constraint(e, "egress");
		return cl_fix(e, "set egress_filter.resolvers on the executor, for example "
				 "[\"9.9.9.9:53\"]");
	}
	eg_auth_copy(executor, out);
	out->nallow = 0;
	out->internet = true;
	if (!out->nports)
		out->all_ports = true;
	return 0;
}
