/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The authorisation: from flags, as JSON from a file, or as an executor is configured. */
#include "egress.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/config/config_egress.h"
#include "work/ctx.h"

#include <string.h>

/* A file holds up to EG_MAX_CIDRS_FILE ranges twice. */
static const struct cl_doc_limits file_limits = {
	.max_bytes = EGRESS_MAX_FILE, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};

static const struct {
	const char *option;
	enum eg_list list;
	bool ranges;
} lists[] = {
	{"host", EG_LIST_HOSTS, false},
	{"cidrs", EG_LIST_ALLOW, true},
	{"deny", EG_LIST_DENY, true},
	{"resolver", EG_LIST_RESOLVERS, false},
	{"broker", EG_LIST_BROKERS, false},
};

static int take_list(struct cl_ctx *c, size_t which, struct eg_auth *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;
	const char *option = lists[which].option;
	struct pol_prefix p;
	char what[24];

	(void)snprintf(what, sizeof(what), "--%s", option);
	cl_list(c, option, &texts);
	for (size_t i = 0; i < texts.n; i++) {
		/* A range on the command line has its length: an address is easily half of one. */
		if (lists[which].ranges && pol_prefix_parse(texts.v[i], false, what, &p, e))
			return -1;
		if (eg_auth_take(out, lists[which].list, texts.v[i], what, e))
			return -1;
	}
	return 0;
}

static int take_port(const char *t, struct eg_auth *out, struct cl_err *e)
{
	size_t digits = strspn(t, "0123456789");
	uint64_t port = 0;

	if (digits && t[digits] == '-') {
		(void)cl_fail(e, CL_EDATA, "--ports '%.80s' is a range of ports", t);
		return cl_fix(e, "list up to %d ports one by one, or open every port (--all-ports)",
			EG_MAX_PORTS);
	}
	if (digits > 1 && *t == '0')
		(void)cl_fail(e, CL_EDATA, "--ports '%.80s' has a leading zero", t);
	else if (!cl_parse_u64(t, 1, 65535, "--ports", &port, e)) {
		eg_auth_add_port(out, (uint16_t)port);
		return 0;
	}
	return cl_fix(e, "write ports from 1 to 65535, such as 443");
}

static int take_ports(struct cl_ctx *c, struct eg_auth *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv texts = CL_STRV_INIT;

	cl_list(c, "ports", &texts);
	for (size_t i = 0; i < texts.n; i++)
		if (take_port(texts.v[i], out, e))
			return -1;
	return 0;
}

int egress_flags(struct cl_ctx *c, bool hosts, struct eg_auth *out, struct cl_err *e)
{
	out->internet = cl_flag(c, "internet");
	out->all_ports = cl_flag(c, "all-ports");
	out->block_special_use = cl_flag(c, "block-special-use");
	out->silent = cl_flag(c, "silent");
	if (take_ports(c, out, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(lists); i++)
		if ((hosts || lists[i].list != EG_LIST_HOSTS) && take_list(c, i, out, e))
			return -1;
	return eg_check_metadata(out, "--cidrs", "--deny", e);
}

/* The object that holds the authorisation, inside the document. */
static int member(struct cl_doc *d, bool spec, json_t **obj, struct cl_err *e)
{
	*obj = d->root;
	if (!spec)
		return 0;
	*obj = json_is_object(d->root) ? json_object_get(d->root, "egress") : NULL;
	if (json_is_object(*obj))
		return 0;
	(void)cl_fail(e, CL_EDATA, "the Spec has no egress object: nothing filters this workload");
	(void)cl_at(e, d->name, 1, 1);
	return cl_fix(e, "give a Spec whose \"egress\" is an authorisation, or use --policy");
}

/* Every option that is the whole authorisation by itself, and what it is read from. */
static const struct {
	const char *option, *what;
} wholes[] = {
	{"policy", "file"},
	{"from-spec", "file"},
	{"executor", "configuration"},
};

/* The one of them that is given, or NULL; CL_EUSAGE when another source is given beside it. */
static int whole(struct cl_ctx *c, const char **option, struct cl_err *e)
{
	static const char *const parts[] = {"internet", "cidrs", "deny", "ports", "all-ports",
		"resolver", "broker", "host", "block-special-use", "silent"};
	const char *what = NULL;

	*option = NULL;
	for (size_t i = 0; i < CL_ARRAY_LEN(wholes); i++) {
		if (!cl_given(c, wholes[i].option))
			continue;
		if (*option)
			return cl_usage(c, e, "--%s and --%s cannot go together", *option,
				wholes[i].option);
		*option = wholes[i].option;
		what = wholes[i].what;
	}
	for (size_t i = 0; *option && i < CL_ARRAY_LEN(parts); i++)
		if (cl_given(c, parts[i]))
			return cl_usage(c, e,
				"--%s and --%s cannot go together: the %s is the whole "
				"authorisation",
				*option, parts[i], what);
	return 0;
}

/* JSON says so by its first byte, and is read faster; YAML may start with the same one. */
static int parse(const char *name, const struct cl_buf *text, struct cl_doc *d, struct cl_err *e)
{
	const char *at = text->p + strspn(text->p, " \t\r\n");
	struct cl_err yaml;

	if (*at == '{' || *at == '[') {
		if (!cl_doc_parse(d, CL_DOC_JSON, name, text->p, text->len, &file_limits, e))
			return 0;
		cl_doc_release(d);
		*d = CL_DOC_INIT;
		return cl_doc_parse(d, CL_DOC_YAML, name, text->p, text->len, &file_limits, &yaml);
	}
	return cl_doc_parse(d, CL_DOC_YAML, name, text->p, text->len, &file_limits, e);
}

int egress_policy_text(
	const char *name, const struct cl_buf *text, struct eg_stack *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (parse(name, text, &d, e))
		return -1;
	out->max_cidrs = EG_MAX_CIDRS_FILE;
	return eg_stack_read(&d, d.root, out, e);
}
static int from_file(
	struct cl_ctx *c, const char *option, struct eg_stack *out, char **source, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *path = cl_str(c, option);
	json_t *obj;

	*source = cl_strdup(strcmp(path, "-") ? path : "standard input");
	if (cl_read_file(path, EGRESS_MAX_FILE, &text, e) || parse(path, &text, &d, e) ||
		member(&d, !strcmp(option, "from-spec"), &obj, e))
		return -1;
	out->max_cidrs = EG_MAX_CIDRS_FILE;
	return eg_stack_read(&d, obj, out, e);
}

/* What no filter means: no network at all, or one without bounds. */
static int no_filter(const struct cfg *cfg, const struct cfg_executor *x, struct cl_err *e)
{
	bool none = !strcmp(x->network, "none");

	(void)cl_fail(e, CL_ECONFIG, "the executor '%s' has no egress filter: %s", x->id,
		none ? "its sandboxes have no network (network: none)"
		     : "its sandboxes reach whatever its network reaches");
	(void)cl_at(e, cfg->file, x->line, x->column);
	(void)cl_constraint(e, "egress");
	return cl_fix(e, "set %s.egress_filter.enabled: true%s, then 'cloop hub config check'",
		x->key, none ? " and network: bridge" : "");
}

int egress_executor(struct cl_ctx *c, const char *id, struct eg_stack *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg cfg = CFG_INIT;
	cleanup_hub struct hub hub = HUB_INIT;
	const struct cfg_executor *x;
	bool filtered;

	if (hub_from_ctx(c, &hub, e) || hub_config_for_run(c, &hub, &d, &cfg, e))
		return -1;
	if (cfg_executor_find(&cfg, id, &x, e) ||
		cfg_egress(x, SB_NET_UNTOUCHED, eg_stack_add(out, NULL, 0), &filtered, e)) {
		/* Not status 1, which would say that --check was answered by DROP. */
		if (cl_err_exit(e) == 1)
			e->code = CL_ECONFIG;
		return -1;
	}
	if (!filtered)
		return no_filter(&cfg, x, e);
	if (!x->enabled)
		cl_warn(c, "the executor '%s' is off (%s.enabled)", x->id, x->key);
	return 0;
}

void egress_notes(const struct cl_ctx *c, const struct eg_stack *s, const char *source)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].auth.notes.n; k++)
			cl_warn(c, "%s%s%s", source ? source : "", source ? ": " : "",
				s->v[i].auth.notes.v[k]);
}

int egress_stack(struct cl_ctx *c, struct eg_stack *out, char **source, struct cl_err *e)
{
	const char *option;
	int rc;

	if (whole(c, &option, e))
		return -1;
	if (!option) {
		*source = cl_strdup("flags");
		rc = egress_flags(c, true, eg_stack_add(out, NULL, 0), e);
	} else if (!strcmp(option, "executor")) {
		*source = cl_asprintf("executor %s", cl_str(c, option));
		rc = egress_executor(c, cl_str(c, option), out, e);
	} else {
		rc = from_file(c, option, out, source, e);
	}
	if (!rc)
		egress_notes(c, out, option ? *source : NULL);
	return rc;
}
