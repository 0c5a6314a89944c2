/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_node.h"
#include "tsv.h"

static void judge(const struct tsv_row *r)
{
	struct sec_node n = {.block = *r->field[0] == 'b',
		.path = r->field[2],
		.kernel = r->field[3],
		.subsystem = r->field[4],
		.partition = *r->field[5] != '\0'};
	const char *why;

	CHECK_INT(sscanf(r->field[1], "%u:%u", &n.major, &n.minor), 2);
	why = sec_node_forbidden(&n);
	if (!strcmp(r->field[6], "-"))
		CHECK_STR(why ? why : "-", "-");
	else
		CHECK_HAS(why ? why : "(granted)", r->field[6]);
}

void test_node__who_may_have_it(void)
{
	tsv_each("secret/nodes.tsv", judge);
}

void test_node__targets_that_a_sandbox_has(void)
{
	static const struct {
		const char *target;
		unsigned major, minor;
		bool taken, own;
	} rows[] = {
		{"/dev/null", 1, 3, false, true},
		{"/dev/null", 1, 5, true, false},
		{"/dev/zero", 1, 5, false, true},
		{"/dev/tty", 5, 0, false, true},
		{"/dev/ttyUSB0", 188, 0, false, false},
		{"/dev/pts/3", 136, 3, true, false},
		{"/dev/pts", 136, 3, true, false},
		{"/dev/ptsx", 136, 3, false, false},
		{"/dev/shm/x", 1, 3, true, false},
		{"/dev/console", 5, 1, true, false},
		{"/dev/net/tun", 10, 200, false, false},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		const struct sec_node n = {.major = rows[i].major, .minor = rows[i].minor};
		bool own = !rows[i].own;

		CHECK_INT(sec_target_taken(rows[i].target, &n, &own) != NULL, rows[i].taken);
		CHECK_INT(own, rows[i].own);
	}
	/* A block device of the same number is another device. */
	{
		const struct sec_node n = {.block = true, .major = 1, .minor = 3};
		bool own = true;

		CHECK(sec_target_taken("/dev/null", &n, &own) != NULL);
		CHECK(!own);
	}
}

void test_node__which_are_for_tun_devices(void)
{
	struct sec_node n = {.major = 10, .minor = 200};

	CHECK(sec_node_is_tun(&n));
	n.block = true;
	CHECK(!sec_node_is_tun(&n));
	n = (struct sec_node){.major = 10, .minor = 201};
	CHECK(!sec_node_is_tun(&n));
	n = (struct sec_node){.major = 11, .minor = 200};
	CHECK(!sec_node_is_tun(&n));
}

void test_node__a_tun_device_is_called_as_its_target(void)
{
	static const char *const rows[][2] = {
		{"/dev/net/tun", "tun0"},
		{"/dev/tun", "tun0"},
		{"/dev/net/tun0", "tun0"},
		{"/dev/net/vpn7", "vpn7"},
		{"/dev/vpn-a_b.c", "vpn-a_b.c"},
		{"/dev/net/fifteen-bytes-0", "fifteen-bytes-0"},
		{"/dev/net/sixteen-bytes-00", NULL},
		{"/dev/net/eth0", NULL},
		{"/dev/lo", NULL},
		{"/dev/all", NULL},
		{"/dev/default", NULL},
		{"/dev/net/tun%d", NULL},
		{"/dev/net/-x", NULL},
		{"/dev/net/a b", NULL},
		{"/dev/net/a,b", NULL},
		{"/dev/net/", NULL},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		const char *is = sec_tun_name(rows[i][0]);

		CHECK_STR(is ? is : "(none)", rows[i][1] ? rows[i][1] : "(none)");
	}
}

void test_node__rights_inside(void)
{
	static const uint32_t groups[] = {0, 20, 46};
	static const struct {
		uint32_t uid, gid;
		unsigned mode;
		enum sec_access access;
		struct sec_inside want;
	} rows[] = {
		/* everybody's */
		{0, 0, 0666, SEC_RW, {0, 0, 0666, 0, true, true}},
		{0, 0, 0666, SEC_R, {0, 0, 0444, 0, true, false}},
		{0, 0, 0777, SEC_RWM, {0, 0, 0666, 0, true, true}},
		/* a group's: the account's other groups count, that of root does not */
		{0, 20, 0660, SEC_RW, {0, 20, 0660, 20, true, true}},
		{0, 20, 0660, SEC_R, {0, 20, 0440, 20, true, false}},
		{0, 46, 0640, SEC_RW, {0, 46, 0640, 46, true, false}},
		{0, 1001, 0660, SEC_RW, {0, 1001, 0660, 0, true, true}},
		{0, 21, 0660, SEC_RW, {0, 21, 0660, 0, false, false}},
		{0, 0, 0660, SEC_RW, {0, 0, 0660, 0, false, false}},
		{0, 20, 0606, SEC_RW, {0, 20, 0606, 20, false, false}},
		/* the user's own: nobody who may only read may change the mode */
		{1000, 20, 0600, SEC_RW, {1000, 20, 0600, 0, true, true}},
		{1000, 20, 0600, SEC_R, {0, 1001, 0040, 0, true, false}},
		{1000, 20, 0260, SEC_R, {0, 1001, 0000, 0, false, false}},
		{1000, 20, 0664, SEC_R, {0, 1001, 0044, 0, true, false}},
	};
	const struct sec_user who = {1000, 1001, groups, CL_ARRAY_LEN(groups)};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		const struct sec_inside host = {
			.uid = rows[i].uid, .gid = rows[i].gid, .mode = rows[i].mode};
		struct sec_inside got;

		sec_node_inside(&host, rows[i].access, &who, &got);
		CHECK_INT(got.uid, rows[i].want.uid);
		CHECK_INT(got.gid, rows[i].want.gid);
		CHECK_INT(got.mode, rows[i].want.mode);
		CHECK_INT(got.group, rows[i].want.group);
		CHECK_INT(got.reads, rows[i].want.reads);
		CHECK_INT(got.writes, rows[i].want.writes);
	}
}

/* Where a sandbox may run as root, it owns what is root's here: without a capability it obeys too. */
void test_node__rights_of_root_inside(void)
{
	const struct sec_inside host = {.uid = 0, .gid = 20, .mode = 0660};
	const struct sec_user root = {0, 0, NULL, 0};
	struct sec_inside got;

	sec_node_inside(&host, SEC_R, &root, &got);
	CHECK_INT(got.uid, 65534);
	CHECK_INT(got.gid, 0);
	CHECK_INT(got.mode, 0040);
	CHECK(got.reads && !got.writes);
	sec_node_inside(&host, SEC_RW, &root, &got);
	CHECK_INT(got.uid, 0);
	CHECK(got.reads && got.writes);
}
