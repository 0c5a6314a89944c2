/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/addr.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

#define KIND "host_interface"
#define FORM "write name=ifname[,target=ethN][,address=A/LEN][,gateway=A][,mtu=N][,raw]"
#define IFNAME                                                                                  \
	"a name of an interface has 1 to 15 bytes, no blank, '/', ':', '=' or ',', and no '-' " \
	"first"
#define MAX 8

static void interface_release(struct sec_interface *i)
{
	free(i->name);
	free(i->source);
	free(i->target);
	free(i->address);
	free(i->gateway);
	*i = (struct sec_interface){0};
}

void sec_interfaces_release(struct sec_interfaces *s)
{
	for (size_t i = 0; i < s->n; i++)
		interface_release(&s->v[i]);
	free(s->v);
	*s = SEC_INTERFACES_INIT;
}

struct reading {
	struct sec_interfaces *out;
	struct sec_interface *i;
	unsigned line;
	struct cl_err *e;
};

static int bad(const struct reading *r, const char *what, const char *value, const char *why)
{
	(void)sec_payload_bad(r->e, KIND, "line %u: interface '%s': %s '%s' %s", r->line,
		r->i->name, what, value, why);
	(void)cl_at(r->e, NULL, r->line, 0);
	return cl_fix(r->e, FORM);
}

static int bad_fix(const struct reading *r, const char *what, const char *value, const char *why,
	const char *fix)
{
	(void)bad(r, what, value, why);
	return cl_fix(r->e, "%s", fix);
}

static int bad_line(const struct reading *r, const char *why)
{
	(void)sec_payload_bad(r->e, KIND, "line %u %s", r->line, why);
	(void)cl_at(r->e, NULL, r->line, 0);
	return cl_fix(r->e, FORM);
}

/*
 * dev_valid_name; none that reads as an option, that the kernel counts up (eth%d), or that its
 * settings of every interface have.
 */
bool sec_ifname_ok(const char *s)
{
	static const char *const never[] = {".", "..", "all", "default"};
	size_t n = strlen(s);

	for (size_t i = 0; i < CL_ARRAY_LEN(never); i++)
		if (!strcmp(s, never[i]))
			return false;
	return n && n <= 15 && *s != '-' && !strpbrk(s, "/:=,% \t\v\f\r\n");
}

static int check_ifname(const struct reading *r, const char *what, const char *s)
{
	size_t n = strlen(s);

	if (!n || n > 15)
		return bad_fix(r, what, s, "is not of 1 to 15 bytes", IFNAME);
	return sec_ifname_ok(s)
		       ? 0
		       : bad_fix(r, what, s, "is no name that an interface can have", IFNAME);
}

static int check_source(const struct reading *r)
{
	static const char *const host[] = {"lo", "docker0", "podman0", "cni-podman0", "virbr0"};
	bool is = cl_starts(r->i->source, "br-");

	if (check_ifname(r, "source", r->i->source))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(host); i++)
		is = is || !strcmp(r->i->source, host[i]);
	if (!is)
		return 0;
	return bad_fix(r, "source", r->i->source,
		"belongs to the host itself: moving it cuts off the host or its containers",
		"name a port or one end of a veth pair that only the workload needs");
}

static int take_address(const struct reading *r, const char *v)
{
	struct pol_prefix p;
	struct pol_addr a;
	const char *slash = strchr(v, '/');
	cleanup_free char *host = cl_strndup(v, slash ? (size_t)(slash - v) : 0);
	static const uint8_t none[16];

	if (!slash || pol_prefix_parse(v, false, "address", &p, r->e) ||
		pol_addr_parse(host, "address", &a, r->e))
		return bad_fix(r, "address", v, "is no ADDRESS/LENGTH",
			"write it with its prefix, such as 172.31.99.200/24");
	if (!memcmp(a.b, none, a.family == 4 ? 4 : 16))
		return bad_fix(r, "address", v, "is the unspecified address",
			"leave it out where the workload asks for one (DHCP)");
	r->i->address = cl_strdup(v);
	return 0;
}

static int take_gateway(const struct reading *r, const char *v)
{
	struct pol_addr a;

	if (pol_addr_parse(v, "gateway", &a, r->e))
		return bad_fix(r, "gateway", v, "is no address",
			"write it without a prefix, such as 172.31.99.1");
	r->i->gateway = cl_strdup(v);
	return 0;
}

static int take_mtu(const struct reading *r, const char *v)
{
	uint64_t n;

	if (cl_parse_u64(v, 0, 65536, "mtu", &n, r->e) || (n && n < 68))
		return bad_fix(r, "mtu", v, "is neither 0 nor between 68 and 65536",
			"write bytes such as 1500 or 9000, or leave it out");
	r->i->mtu = (unsigned)n;
	return 0;
}

static int take_target(const struct reading *r, const char *v)
{
	if (check_ifname(r, "target", v))
		return -1;
	if (!strcmp(v, "lo"))
		return bad_fix(r, "target", v, "is the sandbox's own loopback",
			"name it as the workload should see it, such as eth1");
	free(r->i->target);
	r->i->target = cl_strdup(v);
	return 0;
}

static const struct {
	const char *key;
	int (*take)(const struct reading *r, const char *v);
	unsigned bit;
} attributes[] = {
	{"target", take_target, 1},
	{"address", take_address, 2},
	{"addr", take_address, 2},
	{"gateway", take_gateway, 4},
	{"gw", take_gateway, 4},
	{"mtu", take_mtu, 8},
};

static int take_attribute(const struct reading *r, const char *text, unsigned *seen)
{
	size_t key = strcspn(text, "=");

	if (!*text)
		return 0;
	if (!strcmp(text, "raw")) {
		r->i->raw = true;
		return 0;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(attributes); i++) {
		if (strlen(attributes[i].key) != key || strncmp(attributes[i].key, text, key) != 0)
			continue;
		if (!text[key] || !text[key + 1])
			return bad(r, "attribute", text, "has no value");
		if (*seen & attributes[i].bit)
			return bad(r, "attribute", text, "is given twice");
		*seen |= attributes[i].bit;
		return attributes[i].take(r, text + key + 1);
	}
	return bad_fix(r, "attribute", text, "is not known",
		"the attributes are target=, address=, gateway=, mtu= and raw");
}

static int check_whole(const struct reading *r)
{
	if (r->i->gateway && !r->i->address)
		return bad_fix(r, "gateway", r->i->gateway, "needs an address beside it",
			"add address=A/LEN, or leave the gateway out");
	if (r->i->gateway && !strchr(r->i->gateway, ':') != !strchr(r->i->address, ':'))
		return bad_fix(r, "gateway", r->i->gateway, "is not of the address's family",
			"write both as IPv4, or both as IPv6");
	for (size_t i = 0; i < r->out->n; i++) {
		if (!strcmp(r->out->v[i].name, r->i->name))
			return bad_fix(r, "name", r->i->name, "is taken by an earlier line",
				"give each line a name and an interface of its own");
		if (!strcmp(r->out->v[i].source, r->i->source))
			return bad_fix(r, "source", r->i->source, "is taken by an earlier line",
				"give each line a name and an interface of its own");
	}
	return 0;
}

static int take_fields(struct reading *r, const char *text)
{
	cleanup_strv struct cl_strv f = CL_STRV_INIT;
	unsigned seen = 0;

	cl_split(text, ',', &f);
	r->i->source = cl_strdup(f.v[0]);
	r->i->target = cl_strdup(f.v[0]);
	if (check_source(r))
		return -1;
	for (size_t k = 1; k < f.n; k++)
		if (take_attribute(r, f.v[k], &seen))
			return -1;
	return check_whole(r);
}

static int read_line(void *ctx, const char *line, unsigned no, struct cl_err *e)
{
	struct reading *r = ctx;
	const char *eq = strchr(line, '=');
	size_t n = eq ? (size_t)(eq - line) : 0;
	struct sec_interface i = {.line = no};

	r->line = no;
	r->e = e;
	r->i = &i;
	if (!eq)
		return bad_line(r, "has no '='");
	if (!n || n > 64)
		return bad_line(r, "has a name that is not of 1 to 64 bytes");
	i.name = cl_strndup(line, n);
	if (strpbrk(i.name, ":/\\, \t\v\f")
			? bad_line(r, "has a name with ':', '/', '\\', ',' or a blank in it")
			: take_fields(r, eq + 1)) {
		interface_release(&i);
		return -1;
	}
	r->out->v = cl_grow(r->out->v, &r->out->cap, r->out->n + 1, sizeof(*r->out->v));
	r->out->v[r->out->n++] = i;
	return 0;
}

int sec_interfaces_parse(const char *text, size_t len, struct sec_interfaces *out, struct cl_err *e)
{
	struct reading r = {out, NULL, 0, e};

	if (sec_inventory_lines(KIND, text, len, read_line, &r, e))
		return -1;
	if (out->n)
		return 0;
	(void)sec_payload_bad(e, KIND, "the inventory names no interface");
	return cl_fix(e, "write a line such as dut=bench-sbx,target=eth1");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(
		((const struct sec_interface *)a)->name, ((const struct sec_interface *)b)->name);
}

static void take_copy(struct sec_interfaces *out, const struct sec_interface *i)
{
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
	out->v[out->n++] = (struct sec_interface){.name = cl_strdup(i->name),
		.source = cl_strdup(i->source),
		.target = cl_strdup(i->target),
		.address = i->address ? cl_strdup(i->address) : NULL,
		.gateway = i->gateway ? cl_strdup(i->gateway) : NULL,
		.mtu = i->mtu,
		.raw = i->raw,
		.line = i->line};
}

int sec_interfaces_select(const struct sec_interfaces *all, const struct cl_strv *patterns,
	const char *secret, struct sec_interfaces *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	for (size_t i = 0; i < all->n; i++) {
		cl_strv_add(&names, all->v[i].name);
		if (sec_name_allowed(patterns, all->v[i].name))
			take_copy(out, &all->v[i]);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	if (sec_selected(out->n, MAX, "interfaces", "--interfaces", patterns, &names, secret, e))
		return -1;
	for (size_t i = 0; i < out->n; i++)
		for (size_t k = 0; k < i; k++) {
			if (strcmp(out->v[i].target, out->v[k].target) != 0)
				continue;
			(void)cl_fail(e, CL_EREFUSED,
				"host_interface secret '%s': '%s' and '%s' would both be '%s' "
				"inside",
				secret, out->v[k].name, out->v[i].name, out->v[i].target);
			return cl_fix(e, "grant one of them, or give them different targets in the "
					 "inventory");
		}
	return 0;
}

void sec_interfaces_keep(struct sec_interfaces *s, const struct cl_strv *names)
{
	size_t left = 0;

	for (size_t i = 0; i < s->n; i++)
		if (cl_strv_has(names, s->v[i].name))
			s->v[left++] = s->v[i];
		else
			interface_release(&s->v[i]);
	s->n = left;
}
