/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/container.h"

static const char *const argv_true[] = {"/bin/true"};

static struct ct_request plain(void)
{
	return (struct ct_request){.engine = CT_PODMAN,
		.mode = CT_DETACHED,
		.name = "cloop-bench-0123456789ab",
		.uid = 1000,
		.gid = 1000,
		.workspace = "/srv/bench",
		.init_dir = "/run/cloop/stage",
		.image = "sha256:00",
		.argv = argv_true,
		.nargv = 1};
}

static void check_line(const struct ct_request *r, const char *piece)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	cleanup_free char *line = NULL;
	struct cl_err e;

	CHECK_INT(ct_argv(r, &v, &e), 0);
	line = cl_join((const char *const *)v.v, v.n, " ");
	CHECK_HAS(line, piece);
}

static void refused(const struct ct_request *r, const char *with)
{
	struct cl_err e = {0};

	CHECK_INT(ct_request_check(r, &e), -1);
	CHECK_HAS(e.msg, with);
}

void test_container__devices(void)
{
	static const struct ct_device two[] = {{"/run/s/devices/0", "/dev/ttyUSB0", "rw"},
		{"/run/s/devices/1", "/dev/net/tun", "r"}};
	static const uint32_t groups[] = {20, 46};
	struct ct_request r = plain();

	r.devices = two;
	r.ndevices = 2;
	r.groups = groups;
	r.ngroups = 2;
	check_line(&r, " --device=/run/s/devices/0:/dev/ttyUSB0:rw "
		       "--device=/run/s/devices/1:/dev/net/tun:r ");
	check_line(&r, " --group-add=20 --group-add=46 ");
	r.engine = CT_DOCKER;
	r.mode = CT_ATTACHED;
	check_line(&r, " --device=/run/s/devices/0:/dev/ttyUSB0:rw ");
}

void test_container__a_device_is_one_device_whatever_its_target_says(void)
{
	static const struct ct_device two[] = {
		{"/run/s/0", "/dev/a,/dev/mem", "r"}, {"/run/s/1", "/dev/\"b\"", "rw"}};
	struct ct_request r = plain();

	r.devices = two;
	r.ndevices = 2;
	check_line(&r, " --device=\"/run/s/0:/dev/a,/dev/mem:r\" "
		       "--device=\"/run/s/1:/dev/\"\"b\"\":rw\" ");
	r.engine = CT_DOCKER;
	r.mode = CT_ATTACHED;
	check_line(&r, " --device=/run/s/0:/dev/a,/dev/mem:r --device=/run/s/1:/dev/\"b\":rw ");
}

void test_container__devices_that_no_engine_gets(void)
{
	static const struct {
		struct ct_device d;
		const char *with;
	} rows[] = {
		{{"/run/0", "/etc/x", "r"}, "below /dev"},
		{{"/run/0", "/dev/../etc/x", "r"}, "below /dev"},
		{{"/run/0", "/dev/a:b", "r"}, "below /dev"},
		{{"/run/0", "/dev", "r"}, "below /dev"},
		{{"/run/0:/dev/sda", "/dev/x", "r"}, "cannot be given"},
		{{"run/0", "/dev/x", "r"}, "cannot be given"},
		{{"/run/0", "/dev/x", "wr"}, "cannot be given"},
		{{"/run/0", "/dev/x", ""}, "cannot be given"},
		{{"/run/0", "/dev/x", "rwmr"}, "cannot be given"},
	};
	static const struct ct_device twice[] = {
		{"/run/0", "/dev/x", "r"}, {"/run/1", "/dev/x", "rw"}};
	static const char *const runtimes[] = {"runsc", "kata", "io.containerd.kata.v2"};
	struct ct_request r = plain();

	r.ndevices = 1;
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		r.devices = &rows[i].d;
		refused(&r, rows[i].with);
	}
	r.devices = twice;
	for (size_t i = 0; i < CL_ARRAY_LEN(runtimes); i++) {
		r.oci_runtime = runtimes[i];
		refused(&r, "cannot give a sandbox a device");
	}
	r.oci_runtime = NULL;
	r.ndevices = 2;
	refused(&r, "two devices share the target '/dev/x'");
	r.ndevices = 1;
	r.rootless = true;
	refused(&r, "without root");
}

void test_container__raw_sockets_and_no_other_capability(void)
{
	static const char *const raw[] = {"NET_RAW", NULL};
	static const char *const more[] = {"NET_RAW", "NET_ADMIN", NULL};
	struct ct_request r = plain();

	r.caps = raw;
	check_line(&r, " --cap-drop=ALL --cap-add=NET_RAW --security-opt=no-new-privileges ");
	r.caps = more;
	refused(&r, "capability NET_ADMIN");
}
