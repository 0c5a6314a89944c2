/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grammars of single configured values. */
#include "base/credpat.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/addr.h"
#include "policy/config/config_internal.h"
#include "policy/sandbox/container.h"
#include "policy/sandbox/extra_args.h"
#include "policy/image/imageref.h"
#include "policy/image/oci.h"
#include "policy/place/runtime_name.h"

#include <string.h>

int cfg_check_any_cidr(const char *text, struct cl_err *e)
{
	struct pol_prefix p;

	return pol_prefix_parse(text, true, "the range", &p, e);
}

int cfg_check_cidr(const char *text, struct cl_err *e)
{
	struct pol_prefix p;

	if (pol_prefix_parse(text, true, "the range", &p, e))
		return -1;
	if (p.len)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is every address there is", text);
	return cl_fix(e, "name the ranges that are needed, or set allow_public_internet");
}

/* Ranges that are nobody's on the public Internet: RFC 1918, RFC 6598, RFC 2544. */
static const char *const private_ranges[] = {
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15"};

int cfg_check_pool(const char *text, struct cl_err *e)
{
	struct pol_prefix p, range;

	if (pol_prefix_parse(text, false, "the address pool", &p, e))
		return -1;
	if (p.addr.family != 4 || p.len < 8 || p.len > 28) {
		(void)cl_fail(
			e, CL_EDATA, "the address pool '%s' is no IPv4 range of /8 to /28", text);
		return cl_fix(e, "a /16 is room for every sandbox of a host");
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(private_ranges); i++)
		if (!pol_prefix_parse(private_ranges[i], false, "", &range, e) &&
			pol_prefix_holds(&range, &p))
			return 0;
	(void)cl_fail(e, CL_EDATA, "the address pool '%s' is not private", text);
	return cl_fix(e,
		"take a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10 "
		"that this host does not use");
}

int cfg_check_driver(const char *text, struct cl_err *e)
{
	static const char prefix[] = "cloop-exec-";
	const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
	size_t len = cl_starts(name, prefix) ? strlen(name + sizeof(prefix) - 1) : 0;

	name += len ? sizeof(prefix) - 1 : 0;
	if (*text == '/' && len && len <= 32 && *name >= 'a' && *name <= 'z' &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is no absolute path of a cloop-exec-NAME", text);
	return cl_fix(e, "for example /usr/local/lib/cloop-exec-jail; NAME is a-z, 0-9 and '-'");
}

/* An endpoint that something can connect to. */
static int endpoint(const char *text, uint16_t port, const char *what, struct cl_err *e)
{
	struct pol_endpoint p;

	if (pol_endpoint_parse(text, port, what, &p, e))
		return -1;
	if (p.port)
		return 0;
	(void)cl_fail(e, CL_EDATA, "%s '%s' has port 0", what, text);
	return cl_fix(e, "write a port from 1 to 65535");
}

int cfg_check_resolver(const char *text, struct cl_err *e)
{
	return endpoint(text, 53, "the resolver", e);
}

int cfg_check_endpoint(const char *text, struct cl_err *e)
{
	return endpoint(text, 0, "the endpoint", e);
}

int cfg_check_host_pattern(const char *text, struct cl_err *e)
{
	return eg_check_host(text, "the host pattern", e);
}

int cfg_check_extra_arg(const char *text, struct cl_err *e)
{
	return px_extra_arg_check(text, e);
}

/* A host name (RFC 1123): labels of at most 63, 253 in all. */
static bool host_name(const char *text, size_t len)
{
	size_t label = 0;

	if (!len || len > 253)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		bool edge = !label || i + 1 == len || text[i + 1] == '.';

		if (c == '.' && label) {
			label = 0;
			continue;
		}
		if (!strchr(CL_ALNUM "-_", c) || (c == '-' && edge) || ++label > 63)
			return false;
	}
	return label > 0;
}

int cfg_check_host_entry(const char *text, struct cl_err *e)
{
	size_t len = strcspn(text, ":");
	struct pol_addr a;

	if (text[len] != ':' || !host_name(text, len)) {
		(void)cl_fail(e, CL_EDATA, "'%s' is no name:address", text);
		return cl_fix(e, "write for example \"registry.internal:10.0.0.7\"");
	}
	if (pol_addr_parse(text + len + 1, "the address", &a, e))
		return -1;
	if (a.family == 4)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' names no IPv4 address", text);
	return cl_fix(e, "write for example \"registry.internal:10.0.0.7\"");
}

int cfg_check_id(const char *text, struct cl_err *e)
{
	char echo[CP_ECHO];

	if (strlen(text) <= 64 && cl_all_in(text, CL_ALNUM "._-") && text[0] != '-' &&
		text[0] != '.')
		return 0;
	cp_echo(text, echo);
	(void)cl_fail(e, CL_EDATA, "'%s' is no id of an executor", echo);
	return cl_fix(
		e, "up to 64 letters, digits, '.', '_' and '-', not starting with '-' or '.'");
}

int cfg_check_image(const char *text, struct cl_err *e)
{
	struct ir_ref r;

	return ir_parse(text, &r, e);
}

int cfg_check_plain_registry(const char *text, struct cl_err *e)
{
	char host[IR_MAX + 1];

	if (ir_registry(text, host) && !strcmp(host, text) && oci_loopback(text))
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is no registry on this host's loopback", text);
	return cl_fix(e, "write for example localhost:5000; every other registry must speak TLS");
}

int cfg_check_label(const char *text, struct cl_err *e)
{
	size_t len = strcspn(text, "=");

	if (len && len <= 63 && strcspn(text, " ,") >= len && !strchr(text + len, ',') &&
		strlen(text) <= 256)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is no label", text);
	return cl_fix(e, "a name without blanks, ',' and '=', and a value without ','");
}

/* Splits "host:port" or "[v6]:port"; the port may be 0 (any). */
static int host_port(const char *text, bool port_needed, struct cl_err *e)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	cleanup_free char *host = cl_strndup(text, len);
	struct pol_addr a;
	uint64_t port;

	if (!colon && port_needed) {
		(void)cl_fail(e, CL_EDATA, "'%s' has no port", text);
		return cl_fix(e, "write %s:PORT", text);
	}
	if (colon && cl_parse_u64(colon + 1, 0, 65535, "the port", &port, e))
		return -1;
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		return pol_addr_parse(host + 1, "the address", &a, e);
	}
	if (!host_name(host, len)) {
		(void)cl_fail(e, CL_EDATA, "'%s' names no host", text);
		return cl_fix(e, "write a name or an address, IPv6 in brackets: [::1]:8443");
	}
	return 0;
}

int cfg_check_listen(const char *text, struct cl_err *e)
{
	return host_port(text, true, e);
}

static int origin(const char *text, const char *scheme, struct cl_err *e)
{
	if (!cl_starts(text, scheme) || strpbrk(text + strlen(scheme), "/@?# ")) {
		(void)cl_fail(e, CL_EDATA, "'%s' is not of the form %shost[:port]", text, scheme);
		return cl_fix(e, "write for example %shub.internal:8443, without a path", scheme);
	}
	return host_port(text + strlen(scheme), false, e);
}

int cfg_check_https_base(const char *text, struct cl_err *e)
{
	return origin(text, "https://", e);
}

int cfg_check_origin(const char *text, struct cl_err *e)
{
	return origin(text, cl_starts(text, "http://") ? "http://" : "https://", e);
}

int cfg_check_network(const char *text, struct cl_err *e)
{
	return ct_network_check(text, e);
}

int cfg_check_oci_runtime(const char *text, struct cl_err *e)
{
	return rn_check(text, e);
}

int cfg_check_path(const char *text, struct cl_err *e)
{
	if (text[0] == '/' && strlen(text) < 4096)
		return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is no absolute path", text);
	return cl_fix(e, "write the whole path, from '/' on");
}

int cfg_check_build(const char *text, struct cl_err *e)
{
	cleanup_strv struct cl_strv parts = CL_STRV_INIT;
	uint64_t n;

	if (text[0] == 'v')
		cl_split(text + 1, '.', &parts);
	for (size_t i = 0; i < parts.n; i++)
		if (parts.n != 3 || cl_parse_u64(parts.v[i], 0, UINT32_MAX, "a release", &n, e))
			break;
		else if (i == 2)
			return 0;
	(void)cl_fail(e, CL_EDATA, "'%s' is no release", text);
	return cl_fix(e, "write one such as v0.2.0");
}
