/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device-trial: whether the device rules of an engine hold a read-only device. What they are made
 * of differs with the kernel, the runtime and the cgroup version, and none of these can be asked:
 * a device is passed in for reading alone, and it is tried to open it for writing there. With
 * root's rights over the node, so that nothing but the rule can be in the way; nothing is read or
 * written.
 */
#include "alone.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"
#include "sys/device.h"
#include "sys/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "cloop-device-trial"
#define RO      "/dev/trial-r"
#define RW      "/dev/trial-rw"

/*
 * Opening one of these does nothing to it, and no runtime lets every sandbox have it, as runc does
 * with net/tun (Documentation/admin-guide/devices.txt).
 */
static const struct {
	const char *path;
	unsigned major, minor;
} candidates[] = {
	{"/dev/fuse", 10, 229},
	{"/dev/loop-control", 10, 237},
	{"/dev/kvm", 10, 232},
	{"/dev/vhost-net", 10, 238},
	{"/dev/btrfs-control", 10, 234},
	{"/dev/uinput", 10, 223},
	{"/dev/autofs", 10, 235},
};

enum verdict { OK, WARN };

struct trial {
	struct work_spec spec;
	struct engine engine;
	struct engine_info info;
	struct engine_image image;
	int64_t timeout_ms;
	struct ct_device devices[2]; /* for reading, and for both */
	int ro[2], rw[2];            /* what opening them to read and to write said */
	enum verdict verdict;
	char detail[1600];
	const char *fix;
	struct cl_err failure; /* why it could not be tried */
};

static void trial_release(struct trial *t)
{
	engine_image_release(&t->image);
	engine_info_release(&t->info);
	engine_release(&t->engine);
	work_spec_release(&t->spec);
}

static void judge(struct trial *t, enum verdict v, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void judge(struct trial *t, enum verdict v, const char *fix, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->detail, sizeof(t->detail), fmt, ap);
	va_end(ap);
	t->verdict = v;
	t->fix = fix;
}

static bool opens(const char *path, int how)
{
	cleanup_fd int fd = open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

/* It is what its name says, and this host lets us open it both ways. */
static bool usable(int root, size_t i)
{
	cleanup_device struct sys_device d = SYS_DEVICE_INIT;
	struct cl_err e;

	return !sys_device_find(root, candidates[i].path, &d, &e) && !d.node.block &&
	       d.node.major == candidates[i].major && d.node.minor == candidates[i].minor &&
	       opens(candidates[i].path, O_RDONLY) && opens(candidates[i].path, O_WRONLY);
}

/* One device for reading, and one for both: that one tells that a device can be opened at all. */
static int choose(struct trial *t, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0;

	for (size_t i = 0; root >= 0 && i < CL_ARRAY_LEN(candidates) && n < 2; i++)
		if (usable(root, i))
			t->devices[n++].source = candidates[i].path;
	if (n < 2) {
		(void)cl_fail(e, CL_EUNAVAIL,
			"this host has no two devices that can be tried without harm");
		return cl_fix(e, "load a module that has one: modprobe fuse, modprobe loop");
	}
	t->devices[0].target = RO;
	t->devices[0].access = "r";
	t->devices[1].target = RW;
	t->devices[1].access = "rw";
	return 0;
}

/* "WORD", then two numbers a device. */
static int take(struct trial *t, const char *word, const char *text, struct cl_err *e)
{
	size_t n = strlen(word);
	int end = 0;

	if (!strncmp(text, word, n) && text[n] == '\n' &&
		sscanf(text + n, "\n%d %d\n%d %d\n%n", &t->ro[0], &t->ro[1], &t->rw[0], &t->rw[1],
			&end) == 4 &&
		end && !text[n + (size_t)end])
		return 0;
	return cl_fail(e, CL_EDATA, "what the trial printed is no answer of it");
}

static int try_inside(struct trial *t, struct cl_err *e)
{
	const struct cfg_executor *x = t->spec.executor;
	cleanup_free char *program = cl_sibling(PROGRAM);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	char word[33];
	const char *const argv[] = {word, RO, RW};
	const struct alone a = {.spec = &t->spec,
		.engine = &t->engine,
		.image = &t->image,
		.what = "the device trial",
		.program = program,
		.argv = argv,
		.nargv = CL_ARRAY_LEN(argv),
		.devices = t->devices,
		.ndevices = 2,
		.as_root = true,
		.timeout_ms = t->timeout_ms,
		.max_output = 4096};

	if (sys_new_id("", 32, word, sizeof(word), e) ||
		engine_info_of(&t->engine, x->oci_runtime, &t->info, e) || choose(t, e) ||
		engine_image_inspect(&t->engine, x->image, &t->image, e) || alone_run(&a, &text, e))
		return -1;
	return take(t, word, text.len ? text.p : "", e);
}

static const char *runtime_of(const struct trial *t)
{
	const char *asked = t->spec.executor->oci_runtime;

	return *asked                    ? asked
	       : t->info.default_runtime ? t->info.default_runtime
					 : "its default runtime";
}

static void conclude(struct trial *t)
{
	static const char mode_fix[] = "nothing has to be done for workloads that are not root: "
				       "cloop's node inside has no "
				       "write bit; to hold it on this host too, set owner and mode "
				       "of the node there, with "
				       "a udev rule that keeps them";
	cleanup_free char *where =
		cl_asprintf("%s under %s, cgroup %s", ct_engine_name(t->engine.kind), runtime_of(t),
			t->info.cgroup_version ? t->info.cgroup_version : "(unknown)");

	if (t->ro[0] || t->rw[0] || t->rw[1])
		judge(t, WARN,
			"look at the engine's own log, and at what else confines its "
			"containers (AppArmor, SELinux)",
			"a granted device cannot be opened in a sandbox of %s: reading %s: %s; "
			"writing %s: %s",
			where, t->devices[0].source, strerror(t->ro[0] ? t->ro[0] : t->rw[0]),
			t->devices[1].source, strerror(t->rw[1]));
	else if (t->ro[1] == EPERM || t->ro[1] == EACCES)
		judge(t, OK, NULL,
			"a device that was granted for reading alone (%s) could not be opened for "
			"writing: the device rules of %s hold",
			t->devices[0].source, where);
	else if (!t->ro[1])
		judge(t, WARN, mode_fix,
			"a device that was granted for reading alone (%s) could be opened for "
			"writing: the device rules of %s do not hold",
			t->devices[0].source, where);
	else
		judge(t, WARN, mode_fix,
			"whether the device rules of %s hold cannot be told: opening %s for "
			"writing failed otherwise: %s",
			where, t->devices[0].source, strerror(t->ro[1]));
}

static void try(struct trial *t)
{
	const struct cfg_executor *x = t->spec.executor;
	struct cl_err *e = &t->failure;
	int rc = engine_find(x->runtime, environ, &t->engine, e);

	if (!rc && (t->engine.rootless || rn_kernel_isolated(x->oci_runtime))) {
		judge(t, OK, NULL, "no device of the host is passed in %s%s",
			t->engine.rootless ? "without root" : "under ",
			t->engine.rootless ? "" : x->oci_runtime);
		return;
	}
	if (!rc && !try_inside(t, e)) {
		conclude(t);
		return;
	}
	judge(t, WARN, e->fix[0] ? e->fix : NULL, "the device rules could not be tried: %s",
		e->msg);
}

int cmd_device_trial(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const names[] = {[OK] = "ok", [WARN] = "warn"};
	struct trial t = {.spec = WORK_SPEC_INIT, .timeout_ms = ALONE_TIMEOUT_MS};
	int rc = -1;

	(void)c;
	if (!work_executor_in("container", &t.spec, e) &&
		!cl_doc_int(&t.spec.doc, t.spec.doc.root, "timeout_ms", 1000, 600000, &t.timeout_ms,
			e)) {
		try(&t);
		cl_take_json(json_pack("{s:s, s:s, s:o, s:o}", "name", "device_cgroup", "verdict",
			names[t.verdict], "detail", cl_json_string(t.detail), "fix",
			t.fix ? cl_json_string(t.fix) : json_null()));
		rc = 0;
	}
	trial_release(&t);
	return rc;
}
