/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet filter and prepared networks from the command line, for tests: acts on the
 * network namespace that it is started in. usage: nettool VERB [NAME=VALUE...]
 */
#include "base/buf.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/net/net.h"
#include "sys/net/net_lend.h"
#include "sys/net/net_tun.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"
#include "sys/nft/nft_watch.h"
#include "sys/proc.h"

#include <libnftnl/common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static char **args;

/* The value of NAME=VALUE, or NULL. */
static const char *arg(const char *name)
{
	size_t len = strlen(name);

	for (char **a = args; *a; a++)
		if (!strncmp(*a, name, len) && (*a)[len] == '=')
			return *a + len + 1;
	return NULL;
}

static struct pol_addr address(const char *name)
{
	struct pol_addr a = {0};
	struct cl_err e;

	if (arg(name) && pol_addr_parse(arg(name), name, &a, &e)) {
		fprintf(stderr, "%s\n", e.msg);
		exit(64);
	}
	return a;
}

static const char *read_whole(const char *path, struct cl_buf *out)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		exit(66);
	while ((n = fread(cl_buf_reserve(out, 65536), 1, 65536, f)))
		out->len += n;
	(void)fclose(f);
	cl_buf_addc(out, '\0');
	return out->p;
}

/* policy=shapes: what no authorisation compiles to; first denies, then udp and the rest. */
static const struct eg_policy *shapes(void)
{
	static const uint16_t ports[] = {7, 9}, ends[] = {0, 65535};
	static struct eg_rule rules[] = {
		{EG_DROP, {{4, {0}}, 0}, EG_PROTO_UDP, ports, 2, "no", false, false, false, false,
			NULL},
		{EG_ALLOW, {{4, {0}}, 0}, EG_PROTO_UDP, NULL, 0, "udp", false, false, false, false,
			NULL},
		{EG_DROP, {{6, {0x20}}, 4}, EG_PROTO_TCP, ends, 2, "no", false, false, false, false,
			NULL},
		{EG_ALLOW, {{6, {0x20}}, 3}, EG_PROTO_ANY, NULL, 0, "all", false, false, false,
			false, NULL},
		{EG_ALLOW, {{6, {0x40}}, 3}, EG_PROTO_ANY, ports, 1, "7", false, false, false,
			false, NULL},
		{EG_ALLOW, {{6, {0x60}}, 3}, EG_PROTO_TCP, ends, 2, "ends", false, false, false,
			false, NULL},
	};
	static const struct eg_policy p = {.rules = rules, .nrules = CL_ARRAY_LEN(rules)};

	return &p;
}

/* policy=JSON, in the form of eg_auth_read, or policy=@FILE; without it, NULL. */
static const struct eg_policy *policy(struct cl_err *e)
{
	static struct eg_policy p;
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	static const struct cl_doc_limits limits = {
		.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + 65536};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_buf struct cl_buf file = CL_BUF_INIT;
	const char *text = arg("policy");

	if (!text)
		return NULL;
	if (*text == '@')
		text = read_whole(text + 1, &file);
	a.max_cidrs = EG_MAX_CIDRS_FILE;
	if (!strcmp(text, "shapes"))
		return shapes();
	if (cl_doc_parse(&d, CL_DOC_JSON, "policy", text, strlen(text), &limits, e) ||
		eg_auth_read(&d, d.root, &a, e) || eg_compile(&a, &p, e)) {
		fprintf(stderr, "%s\n", e->msg);
		exit(65);
	}
	return &p;
}

static int do_probe(struct cl_err *e)
{
	static const char *const names[] = {"usable", "no-kernel", "no-permission", "broken"};
	enum nft_state s = nft_probe(e);

	puts(names[s]);
	return s == NFT_USABLE ? 0 : -1;
}

static int do_apply(struct cl_err *e)
{
	const struct nft_filter f = {.table = arg("table"),
		.bridge = arg("bridge"),
		.source4 = address("source4"),
		.source6 = address("source6"),
		.masquerade = arg("masquerade") != NULL};

	return nft_apply(&f, policy(e), e);
}

static int do_render(struct cl_err *e)
{
	const struct eg_nft f = {.table = arg("table"),
		.bridge = arg("bridge"),
		.source4 = address("source4"),
		.source6 = address("source6"),
		.masquerade = arg("masquerade") != NULL};
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	if (eg_render_nft_form(policy(e), &f, &out, e))
		return -1;
	fputs(out.p, stdout);
	return 0;
}

static int do_remove(struct cl_err *e)
{
	return nft_remove(arg("table"), e);
}

static int do_port(struct cl_err *e)
{
	struct nft_port p = {.table = arg("table"),
		.device = arg("device"),
		.source4 = address("source4"),
		.source6 = address("source6")};

	if (sscanf(arg("mac"), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &p.mac[0], &p.mac[1], &p.mac[2],
		    &p.mac[3], &p.mac[4], &p.mac[5]) != 6)
		exit(64);
	return nft_apply_port(&p, e);
}

/* SOURCE DEST PROTO PORT PACKETS, and "unrecorded N" when something found no room */
static int do_blocked(struct cl_err *e)
{
	cleanup_blocked struct nft_blocked_list l = NFT_BLOCKED_INIT;
	struct pol_addr source = address("source");

	if (nft_blocked_read(arg("table"), &source, arg("source") ? 1 : 0, &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++) {
		char from[POL_ADDR_TEXT], to[POL_ADDR_TEXT];

		pol_addr_text(&l.v[i].source, from);
		pol_addr_text(&l.v[i].dest, to);
		printf("%s %s %u %u %llu\n", from, to, l.v[i].proto, l.v[i].port,
			(unsigned long long)l.v[i].packets);
	}
	if (l.unrecorded)
		printf("unrecorded %llu\n", (unsigned long long)l.unrecorded);
	return 0;
}

static int do_forget(struct cl_err *e)
{
	struct pol_addr source = address("source");

	return nft_blocked_forget(arg("table"), &source, 1, e);
}

static int do_foreign(struct cl_err *e)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT, some = CL_STRV_INIT;

	if (nft_foreign_drops(&all, &some, e))
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		cleanup_buf struct cl_buf fix = CL_BUF_INIT;

		printf("all: %s\n", all.v[i]);
		nft_foreign_fix(all.v[i], "10.211.0.0/16", &fix);
		if (arg("fix"))
			puts(fix.p);
	}
	for (size_t i = 0; i < some.n; i++)
		printf("some: %s\n", some.v[i]);
	return 0;
}

static int do_tables(struct cl_err *e)
{
	cleanup_strv struct cl_strv l = CL_STRV_INIT;

	if (nft_tables(arg("prefix"), &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++)
		puts(l.v[i]);
	return 0;
}

/* The kernel's own messages about a table, as bytes: seeds of t/fuzz/f-nftdump.c. */
static int on_dumped(const struct nlmsghdr *h, void *data)
{
	(void)data;
	(void)fwrite(h, 1, NLMSG_ALIGN(h->nlmsg_len), stdout);
	return MNL_CB_OK;
}

static int do_dump(struct cl_err *e)
{
	static const uint16_t types[] = {NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN, NFT_MSG_GETSET,
		NFT_MSG_GETSETELEM, NFT_MSG_GETRULE};
	cleanup_ruleset struct vf_ruleset r = VF_RULESET_INIT;
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;

	if (nft_dump_read(NFPROTO_INET, arg("table"), &r, e) ||
		sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(types); i++) {
		bool elements = types[i] == NFT_MSG_GETSETELEM;

		for (size_t k = 0; k < (elements ? r.nsets : 1); k++) {
			char room[SYS_NL_SIZE];
			struct nlmsghdr *h =
				nftnl_nlmsg_build_hdr(room, types[i], NFPROTO_INET, NLM_F_DUMP, 0);

			if (elements) {
				mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, arg("table"));
				mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, r.sets[k].name);
			}
			if (sys_nl_do(&nl, h, on_dumped, NULL, e, "dump"))
				return -1;
		}
	}
	return 0;
}

/* What is heard of the command in run=; room=N: the socket has a buffer of N bytes. */
static int do_watch(struct cl_err *e)
{
	cleanup_watch struct nft_watch w = NFT_WATCH_INIT;
	int room = arg("room") ? (int)strtol(arg("room"), NULL, 10) : 0;
	char sh[] = "sh", c[] = "-c";
	cleanup_free char *script = cl_strdup(arg("run"));
	char *const argv[] = {sh, c, script, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	char who[NFT_WATCH_WHO] = "";
	bool changed = false;

	if (nft_watch_open(&w, e))
		return -1;
	if (room && setsockopt(nft_watch_fd(&w), SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)))
		return -1;
	r.spawn.path = "sh";
	r.spawn.argv = argv;
	if (sys_run(&r, e) || r.status || nft_watch_read(&w, &changed, who, e))
		return -1;
	printf("%s by %.*s\n", changed ? "changed" : "nothing", (int)strcspn(who, " "), who);
	return 0;
}

/* NETNS BRIDGE HOST_IF ADDRESS GATEWAY [ADDRESS6 GATEWAY6] */
static void print_have(const struct net_have *h)
{
	const struct pol_addr *const a[] = {&h->address, &h->gateway, &h->address6, &h->gateway6};

	printf("%s %s %s", h->netns, h->bridge, h->host_if);
	for (size_t i = 0; i < CL_ARRAY_LEN(a); i++) {
		char text[POL_ADDR_TEXT];

		if (!a[i]->family)
			continue;
		pol_addr_text(a[i], text);
		printf(" %s", text);
	}
	putchar('\n');
}

static int do_prepare(struct cl_err *e)
{
	const struct net_want w = {.handle = arg("handle"),
		.network = arg("network"),
		.table = arg("table"),
		.pool = arg("pool") ? arg("pool") : "10.211.0.0/16",
		.policy = policy(e),
		.ipv6 = arg("ipv6") != NULL,
		.rundir = arg("rundir")};
	struct net_have h;

	if (net_prepare(&w, &h, e))
		return -1;
	print_have(&h);
	return 0;
}

static int do_empty(struct cl_err *e)
{
	struct net_have h;

	if (net_prepare_empty(arg("rundir"), arg("handle"), &h, e))
		return -1;
	print_have(&h);
	return 0;
}

static int do_teardown(struct cl_err *e)
{
	return net_teardown(arg("rundir"), arg("handle"), arg("table"), arg("network"), e);
}

/* lend=NAME,SOURCE,TARGET,ADDRESS,GATEWAY,MTU, as often as there are interfaces; "": none */
static int do_lend(struct cl_err *e)
{
	struct net_lend v[16];
	cleanup_strv struct cl_strv f = CL_STRV_INIT;
	size_t n = 0;

	for (char **a = args; *a && n < CL_ARRAY_LEN(v); a++)
		if (!strncmp(*a, "lend=", 5) && ++n)
			cl_split(*a + 5, ',', &f);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct net_lend){.name = f.v[6 * i],
			.source = f.v[6 * i + 1],
			.target = f.v[6 * i + 2],
			.address = *f.v[6 * i + 3] ? f.v[6 * i + 3] : NULL,
			.gateway = *f.v[6 * i + 4] ? f.v[6 * i + 4] : NULL,
			.mtu = (unsigned)strtoul(f.v[6 * i + 5], NULL, 10)};
	return net_lend(arg("rundir"), arg("handle"), v, n, e);
}

/* node=PATH name=NAME owner=UID */
static int do_tun(struct cl_err *e)
{
	const struct net_tun t = {arg("node"), arg("name"), (uid_t)strtoul(arg("owner"), NULL, 10)};

	return net_tun_add(arg("rundir"), arg("handle"), &t, e);
}

/* keep=NAME: all but that one */
static int do_back(struct cl_err *e)
{
	cleanup_strv struct cl_strv keep = CL_STRV_INIT, said = CL_STRV_INIT;
	int rc;

	if (arg("keep"))
		cl_strv_add(&keep, arg("keep"));
	rc = net_lend_back(arg("rundir"), arg("handle"), &keep, &said, e);
	for (size_t i = 0; i < said.n; i++)
		puts(said.v[i]);
	return rc;
}

static int do_lent(struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	if (net_lent(arg("rundir"), arg("handle"), &names, e))
		return -1;
	for (size_t i = 0; i < names.n; i++)
		puts(names.v[i]);
	return 0;
}

static int do_list(struct cl_err *e)
{
	cleanup_strv struct cl_strv l = CL_STRV_INIT;

	if (net_list(arg("rundir"), &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++)
		puts(l.v[i]);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct cl_err *e);
} verbs[] = {
	{"probe", do_probe},
	{"apply", do_apply},
	{"render", do_render},
	{"remove", do_remove},
	{"port", do_port},
	{"blocked", do_blocked},
	{"forget", do_forget},
	{"foreign", do_foreign},
	{"tables", do_tables},
	{"dump", do_dump},
	{"watch", do_watch},
	{"prepare", do_prepare},
	{"empty", do_empty},
	{"teardown", do_teardown},
	{"list", do_list},
	{"lend", do_lend},
	{"back", do_back},
	{"tun", do_tun},
	{"lent", do_lent},
};

int main(int argc, char **argv)
{
	struct cl_err e;

	cl_err_init(&e);
	if (argc < 2)
		return 64;
	args = argv + 2;
	for (size_t i = 0; i < CL_ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]) != 0)
			continue;
		if (!verbs[i].run(&e))
			return 0;
		fprintf(stderr, "nettool: %s\n", e.msg);
		if (*e.fix)
			fprintf(stderr, "  fix: %s\n", e.fix);
		return cl_err_exit(&e);
	}
	return 64;
}
