/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of prepared networks needs no machine: pools, names, foreign firewalls' cures. */
#include "base/mem.h"
#include "sys/net/net_internal.h"
#include "sys/path.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pol_addr addr(const char *text)
{
	struct pol_addr a = {0};
	struct cl_err e;

	CHECK_INT(pol_addr_parse(text, "test", &a, &e), 0);
	return a;
}

static struct pol_prefix prefix(const char *text)
{
	struct pol_prefix p = {0};
	struct cl_err e;

	CHECK_INT(pol_prefix_parse(text, false, "test", &p, &e), 0);
	return p;
}

static const char *text_of(const struct pol_addr *a)
{
	static char text[POL_ADDR_TEXT];

	pol_addr_text(a, text);
	return text;
}

void test_net__pools(void)
{
	static const struct {
		const char *pool, *gateway, *gateway6; /* NULL: refused */
	} cases[] = {
		{"10.211.0.0/16", "10.211.0.1", "fd63:6c6f:6f70::ad3:1"},
		{"192.168.7.8/29", "192.168.7.9", "fd63:6c6f:6f70::c0a8:709"},
		{"10.1.2.3/8", "10.0.0.1", "fd63:6c6f:6f70::a00:1"},
		{"10.0.0.0/7", NULL, NULL},
		{"10.0.0.0/30", NULL, NULL},
		{"fd00::/64", NULL, NULL},
		{"10.211.0.0", NULL, NULL},
		{"", NULL, NULL},
	};
	struct pol_addr v4, v6;
	struct cl_err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int rc = net_gateway(cases[i].pool, &v4, &v6, &e);

		CHECK_INT(rc, cases[i].gateway ? 0 : -1);
		if (rc) {
			CHECK_INT(e.code, CL_EDATA);
			continue;
		}
		CHECK_STR(text_of(&v4), cases[i].gateway);
		CHECK_STR(text_of(&v6), cases[i].gateway6);
	}
	CHECK_INT(net_gateway("10.211.0.0/16", &v4, NULL, &e), 0);
}

/* Every address of a small pool is given once, and none that is not ours to give. */
void test_net__take(void)
{
	struct net_route routes[] = {
		{prefix("0.0.0.0/0"), 2}, {prefix("10.0.0.0/8"), 2}, {prefix("10.9.0.4/31"), 3}};
	const struct net_routes r = {routes, 3, 3};
	struct pol_prefix pool = prefix("10.9.0.0/28");
	struct net_state used[16] = {0};
	struct net_states all = {used, 0, 16};
	struct pol_addr got;
	struct cl_err e;
	char handle[16];

	while (all.n < 16) {
		(void)snprintf(handle, sizeof(handle), "c-%012zx", all.n);
		if (net_pool_take(&pool, handle, &all, &r, &got, &e))
			break;
		CHECK(pol_prefix_has(&pool, &got));
		CHECK(!pol_prefix_has(&routes[2].dst, &got));
		for (size_t i = 0; i < all.n; i++)
			CHECK(pol_addr_cmp(&used[i].address, &got) != 0);
		CHECK(strcmp(text_of(&got), "10.9.0.0") != 0);
		CHECK(strcmp(text_of(&got), "10.9.0.1") != 0);
		CHECK(strcmp(text_of(&got), "10.9.0.15") != 0);
		used[all.n++].address = got;
	}
	CHECK_INT(all.n, 11); /* 16 without network, gateway, broadcast and the two routed */
	CHECK_INT(e.code, CL_EUNAVAIL);
}

void test_net__ula(void)
{
	struct pol_addr a = addr("10.211.3.4"), six = net_ula(&a);
	struct pol_prefix pool = prefix("10.211.0.0/16"), six_pool = net_ula_pool(&pool);

	CHECK_STR(text_of(&six), "fd63:6c6f:6f70::ad3:304");
	CHECK_INT(six_pool.len, 112);
	CHECK(pol_prefix_has(&six_pool, &six));
}

void test_net__names(void)
{
	char a[16], b[16];
	struct cl_err e;

	net_bridge_name("cloop-sbx-ci", a);
	net_bridge_name("cloop-sbx-ci-public", b);
	CHECK_INT(strlen(a), 15);
	CHECK(!strncmp(a, "csbx-", 5));
	CHECK(strcmp(a, b) != 0);
	CHECK_INT(net_check_handle("c-0123456789ab", &e), 0);
	CHECK_INT(net_check_handle("c-0123456789aB", &e), -1);
	CHECK_INT(net_check_handle("c-0123456789a", &e), -1);
	CHECK_INT(net_check_handle("c-0123456789abc", &e), -1);
	CHECK_INT(net_check_handle("../0123456789ab", &e), -1);
	CHECK_INT(net_check_handle("", &e), -1);
}

void test_net__foreign_fix(void)
{
	static const struct {
		const char *found, *piece;
	} cases[] = {
		{"ip filter FORWARD (policy drop)", "iptables -I FORWARD -i csbx-+ -j ACCEPT"},
		{"ip filter FORWARD (policy drop)", "iptables -I FORWARD -o csbx-+ -m conntrack "
						    "--ctstate ESTABLISHED,RELATED -j "
						    "ACCEPT"},
		{"ip6 filter FORWARD (drop in X)", "ip6tables -I FORWARD -i csbx-+ -j ACCEPT"},
		{"inet firewalld filter_FORWARD (reject in filter_FWDI_public)",
			"firewall-cmd --permanent --zone=trusted --add-source=10.211.0.0/16"},
		{"inet mine fwd (policy drop)",
			"nft 'insert rule inet mine fwd iifname \"csbx-*\" accept'"},
		{"inet mine fwd (policy drop)",
			"nft 'insert rule inet mine fwd oifname \"csbx-*\" ct state "
			"established,related accept'"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cleanup_buf struct cl_buf out = CL_BUF_INIT;

		nft_foreign_fix(cases[i].found, "10.211.0.0/16", &out);
		CHECK_HAS(out.p, cases[i].piece);
	}
}

/* What was written is read again, however long the hub's path is; what could not be is not written. */
void test_net__records(void)
{
	char at[] = "/tmp/u-net-XXXXXX", hub[PATH_MAX];
	cleanup_free char *huge = cl_calloc(NET_STATE_MAX + 1, 1);
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct net_state s = {.handle = "c-0123456789ab", .network = "cloop-sbx-x", .table = "t"};
	static const char fill[] = {'a', '\1', '"', '\x7f'};
	struct cl_err e;

	CHECK(mkdtemp(at) != NULL);
	CHECK_INT(net_dirs_open(&d, at, true, &e), 0);
	s.address = addr("10.211.0.2");
	for (size_t i = 0; i < sizeof(fill); i++) {
		cleanup_state struct net_state got = {0};

		memset(hub, fill[i], sizeof(hub) - 1);
		hub[0] = '/';
		hub[sizeof(hub) - 1] = '\0';
		s.hub = hub;
		CHECK_INT(net_state_write(&d, &s, &e), 0);
		CHECK_INT(net_state_read(&d, s.handle, &got, &e), 0);
		CHECK_STR(got.hub, hub);
		CHECK_STR(got.network, s.network);
		CHECK(!memcmp(&got.address, &s.address, sizeof(s.address)));
	}
	memset(huge, '/', NET_STATE_MAX);
	s.hub = huge;
	CHECK_INT(net_state_write(&d, &s, &e), -1);
	CHECK_HAS(e.msg, "is over 32768");
	(void)snprintf(hub, sizeof(hub), "/caf\xe9");
	s.hub = hub;
	CHECK_INT(net_state_write(&d, &s, &e), -1);
	CHECK_HAS(e.msg, "is not UTF-8");
	CHECK_INT(sys_rmtree(tmp, at + 5, &e), 0);
}
