/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_inventory.h"
#include "unit.h"

static const char bench[] = "# rack 3, bench A\n"
			    "serial0=/dev/ttyUSB0\n"
			    "serial1=/dev/ttyUSB1\n"
			    "analyser=/dev/ttyACM0:r\n"
			    "accel=/dev/nvidia0:/dev/accel0:rw\n"
			    "tun=/dev/net/tun:RWM\n";

static char *listed(const struct sec_devices *d)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < d->n; i++)
		cl_buf_addf(&b, "%s %s>%s %s;", d->v[i].name, d->v[i].source, d->v[i].target,
			sec_access_name(d->v[i].access));
	return cl_buf_detach(&b);
}

static void select_devices(const char *patterns, bool writable, const char *want)
{
	cleanup_devices struct sec_devices all = SEC_DEVICES_INIT, some = SEC_DEVICES_INIT;
	cleanup_strv struct cl_strv p = CL_STRV_INIT;
	cleanup_free char *got = NULL;
	struct cl_err e;

	cl_split(patterns, ',', &p);
	CHECK_INT(sec_devices_parse(bench, strlen(bench), &all, &e), 0);
	if (sec_devices_select(&all, &p, writable, "bench-hw", &some, &e)) {
		CHECK_INT(e.code, CL_EREFUSED);
		CHECK_HAS(e.msg, "bench-hw");
		CHECK_HAS(e.msg, patterns);
		CHECK_STR("refused", want);
		return;
	}
	got = listed(&some);
	CHECK_STR(got, want);
}

void test_devices__selection_narrows(void)
{
	select_devices("serial0,analyser", true,
		"analyser /dev/ttyACM0>/dev/ttyACM0 r;serial0 /dev/ttyUSB0>/dev/ttyUSB0 rw;");
	select_devices("serial0,analyser", false,
		"analyser /dev/ttyACM0>/dev/ttyACM0 r;serial0 /dev/ttyUSB0>/dev/ttyUSB0 r;");
	select_devices("acc*", true, "accel /dev/nvidia0>/dev/accel0 rw;");
	select_devices("tun", true, "tun /dev/net/tun>/dev/net/tun rwm;");
	select_devices("serial?", false,
		"serial0 /dev/ttyUSB0>/dev/ttyUSB0 r;serial1 /dev/ttyUSB1>/dev/ttyUSB1 r;");
	select_devices("SERIAL0", false, "refused");
	select_devices("serial01", false, "refused");
}

void test_devices__at_most_sixteen(void)
{
	cleanup_devices struct sec_devices all = SEC_DEVICES_INIT, some = SEC_DEVICES_INIT;
	cleanup_strv struct cl_strv star = CL_STRV_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	for (int i = 0; i < 17; i++)
		cl_buf_addf(&b, "d%02d=/dev/ttyS%d\n", i, i);
	cl_strv_add(&star, "*");
	CHECK_INT(sec_devices_parse(b.p, b.len, &all, &e), 0);
	CHECK_INT(sec_devices_select(&all, &star, false, "s", &some, &e), -1);
	CHECK_HAS(e.msg, "opens 17 devices");
	CHECK_HAS(e.msg, "may open 16");
}

static void select_interfaces(const char *patterns, const char *want)
{
	static const char inventory[] =
		"dut=bench-sbx,target=eth1,address=172.31.99.200/24,gateway=172.31.99.1\n"
		"can0=enp3s0,target=eth1\ncapture=enp4s0f1,mtu=9000,raw\n";
	cleanup_interfaces struct sec_interfaces all = SEC_INTERFACES_INIT,
						 some = SEC_INTERFACES_INIT;
	cleanup_strv struct cl_strv p = CL_STRV_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	cl_split(patterns, ',', &p);
	CHECK_INT(sec_interfaces_parse(inventory, strlen(inventory), &all, &e), 0);
	if (sec_interfaces_select(&all, &p, "bench-net", &some, &e)) {
		CHECK_INT(e.code, CL_EREFUSED);
		CHECK_HAS(e.msg, "bench-net");
		CHECK_STR("refused", want);
		return;
	}
	for (size_t i = 0; i < some.n; i++)
		cl_buf_addf(&b, "%s %s>%s %s %s %u %d;", some.v[i].name, some.v[i].source,
			some.v[i].target, some.v[i].address ? some.v[i].address : "-",
			some.v[i].gateway ? some.v[i].gateway : "-", some.v[i].mtu, some.v[i].raw);
	CHECK_STR(b.p, want);
}

void test_interfaces__selection(void)
{
	select_interfaces("dut", "dut bench-sbx>eth1 172.31.99.200/24 172.31.99.1 0 0;");
	select_interfaces(
		"cap*,can0", "can0 enp3s0>eth1 - - 0 0;capture enp4s0f1>enp4s0f1 - - 9000 1;");
	/* Two of them may stand in an inventory with one target, and not go into one sandbox. */
	select_interfaces("dut,can0", "refused");
	select_interfaces("*", "refused");
	select_interfaces("DUT", "refused");
}

void test_interfaces__at_most_eight(void)
{
	cleanup_interfaces struct sec_interfaces all = SEC_INTERFACES_INIT,
						 some = SEC_INTERFACES_INIT;
	cleanup_strv struct cl_strv star = CL_STRV_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	for (int i = 0; i < 9; i++)
		cl_buf_addf(&b, "i%d=veth%d\n", i, i);
	cl_strv_add(&star, "*");
	CHECK_INT(sec_interfaces_parse(b.p, b.len, &all, &e), 0);
	CHECK_INT(sec_interfaces_select(&all, &star, "s", &some, &e), -1);
	CHECK_HAS(e.msg, "opens 9 interfaces");
}

static void select_repos(const char *patterns, size_t extra, const char *want)
{
	static const char *const names[] = {"shared-proto", "api-service", "api", "shared-ui",
		"API", "a:b", "shared-a\nb", ".", ".."};
	cleanup_strv struct cl_strv p = CL_STRV_INIT, c = CL_STRV_INIT, out = CL_STRV_INIT;
	cleanup_free char *got = NULL;
	struct cl_err e;

	cl_split(patterns, ',', &p);
	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		cl_strv_add(&c, names[i]);
	for (size_t i = 0; i < extra; i++)
		cl_strv_addf(&c, "many-%zu", i);
	if (sec_local_select(&p, &c, "local-src", &out, &e)) {
		CHECK_INT(e.code, CL_EREFUSED);
		CHECK_HAS(e.msg, "local-src");
		CHECK_HAS(e.msg, want);
		return;
	}
	got = cl_join((const char *const *)out.v, out.n, ",");
	CHECK_STR(got, want);
}

void test_repos__selection(void)
{
	select_repos("api-service,shared-*", 0, "api-service,shared-proto,shared-ui");
	select_repos("api", 0, "api");
	select_repos("*", 0, "API,api,api-service,shared-proto,shared-ui");
	select_repos("*/*", 0, "that --repos */* matches");
	select_repos("nothing", 0, "has no repositories that --repos nothing matches");
	select_repos("many-*", 33, "opens 33 repositories");
	select_repos("*", 40, "may open 32");
}

void test_repos__variables(void)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;
	char out[160], big[200];

	cl_strv_add(&all, "api-service");
	cl_strv_add(&all, "my-api");
	cl_strv_add(&all, "my.api");
	sec_local_variable("api-service", &all, out);
	CHECK_STR(out, "CLOOP_LOCAL_REPO_API_SERVICE");
	sec_local_variable("my-api", &all, out);
	CHECK_STR(out, "");
	sec_local_variable("my.api", &all, out);
	CHECK_STR(out, "");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	sec_local_variable(big, &all, out);
	CHECK_INT(strlen(out), 159);
}

void test_root__is_cleaned(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(sec_local_root(" /home//dev/./src/../src2/\n", 27, &b, &e), 0);
	CHECK_STR(b.p, "/home/dev/src2");
}
