/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preflight: the engine, its runtime, its image. */
#include "engine_verbs.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Older ones lack what every start needs: podman the log driver passthrough, docker private
   cgroup namespaces. */
static bool too_old(struct preflight *p, const char *version)
{
	long oldest = p->engine.kind == CT_PODMAN ? 4 : 20;
	const char *name = ct_engine_name(p->engine.kind);
	long major = strtol(version, NULL, 10);

	if (!major || major >= oldest)
		return false;
	find(&p->out, FIND_FAIL, "runtime", "install a newer release of the engine",
		"%s %s is too old: cloop needs %s %ld or later", name, version, name, oldest);
	return true;
}

bool preflight_engine(struct preflight *p)
{
	cleanup_free char *version = NULL;
	const char *name;
	struct cl_err e;

	if (engine_find(p->x->runtime, environ, &p->engine, &e) ||
		engine_version(&p->engine, &version, &e)) {
		find_err(&p->out, FIND_FAIL, "runtime", &e);
		return false;
	}
	name = ct_engine_name(p->engine.kind);
	if (p->engine.kind == CT_PODMAN && too_old(p, version))
		return false;
	find(&p->out, FIND_OK, "runtime", NULL, "%s %s at %s", name, version, p->engine.path);
	if (engine_info(&p->engine, &p->info, &e)) {
		find_err(&p->out, FIND_FAIL, "daemon", &e);
		return false;
	}
	/* Of docker it is the daemon's that counts. */
	if (p->engine.kind == CT_DOCKER && too_old(p, p->info.version))
		return false;
	find(&p->out, FIND_OK, "daemon", NULL, "%s answers: storage %s at %s, cgroups %s by %s",
		name, p->info.storage_driver, p->info.store, p->info.cgroup_version,
		p->info.cgroup_driver);
	if (p->engine.rootless)
		find(&p->out, FIND_OK, "rootless", NULL,
			"podman runs without root: a sandbox that is left is an ordinary user");
	else if (!geteuid())
		find(&p->out, FIND_WARN, "rootless",
			"keep the host's kernel and engine up to date; workloads themselves run as "
			"the "
			"project's owner",
			"the hub runs as root, and so does its engine");
	return true;
}

/* A runtime boots a virtual machine only where this opens; a stat would not tell. */
static void check_kvm(struct preflight *p)
{
	cleanup_fd int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		find(&p->out, FIND_OK, "kvm", NULL,
			"/dev/kvm can be opened for reading and writing");
	else if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		find(&p->out, FIND_FAIL, "kvm",
			"switch virtualization on in the firmware, or nested virtualization if "
			"this is a "
			"virtual machine",
			"there is no /dev/kvm: %s cannot start a virtual machine here",
			p->x->oci_runtime);
	else
		find(&p->out, FIND_FAIL, "kvm", "add the hub's user to the group kvm",
			"/dev/kvm cannot be opened: %s", strerror(errno));
}

static void check_registered(struct preflight *p)
{
	const char *name = p->x->oci_runtime;
	cleanup_free char *known = NULL;

	if (!p->info.runtimes_known) {
		find(&p->out, FIND_WARN, "oci-runtime",
			"run something in it, which is the proof: cloop run -- true",
			"podman cannot be asked which runtimes it has: '%s' is unverified until "
			"the first "
			"run",
			name);
		return;
	}
	if (cl_strv_has(&p->info.runtimes, name)) {
		find(&p->out, FIND_OK, "oci-runtime", NULL, "%s is registered with %s", name,
			ct_engine_name(p->engine.kind));
		return;
	}
	known = cl_join((const char *const *)p->info.runtimes.v, p->info.runtimes.n, ", ");
	find(&p->out, FIND_FAIL, "oci-runtime",
		"register it in /etc/docker/daemon.json, or correct oci_runtime",
		"%s is not registered with docker, which has: %s", name, known);
}

void preflight_runtime(struct preflight *p)
{
	const char *name = p->x->oci_runtime;

	if (!*name)
		return;
	check_registered(p);
	if (rn_userspace_kernel(name)) {
		find(&p->out, FIND_OK, "gvisor", NULL,
			"%s is recognised as gVisor: workload system calls are served by the "
			"Sentry "
			"rather than the host kernel, so this executor satisfies "
			"capabilities.kernel_isolated",
			name);
		if (p->x->defaults.v[SB_PIDS] > 0)
			find(&p->out, FIND_WARN, "gvisor-pids", NULL,
				"a pid limit counts the Sentry's own threads: pids_limit %lld is "
				"given to the "
				"engine as %lld, and holds for processes only roughly",
				(long long)p->x->defaults.v[SB_PIDS],
				(long long)ct_pids_limit(p->x->defaults.v[SB_PIDS], name));
		return;
	}
	if (!rn_kernel_isolated(name)) {
		find(&p->out, FIND_WARN, "oci-runtime-isolation",
			"set oci_runtime to runsc or kata if that was meant",
			"'%s' is not a runtime that cloop knows to keep workloads off the host "
			"kernel: this "
			"executor does not satisfy capabilities.kernel_isolated",
			name);
		return;
	}
	check_kvm(p);
}

/* A statement, not a test: a test takes a container and an image (device-trial). */
void preflight_devices(struct preflight *p)
{
	if (p->engine.rootless || rn_kernel_isolated(p->x->oci_runtime)) {
		find(&p->out, FIND_OK, "devices", NULL, "no device of the host is passed in %s%s",
			p->engine.rootless ? "without root" : "under ",
			p->engine.rootless ? "" : p->x->oci_runtime);
		return;
	}
	find(&p->out, FIND_WARN, "devices",
		"'cloop executor test' tries it when nothing here is fatal; where reading alone "
		"must "
		"hold on the host too, set owner and mode of the node there, with a udev rule that "
		"keeps them",
		"the access of a host_device grant (r, rw, rwm) is held by the mode of the node "
		"inside; whether the engine's device rules (cgroup %s) hold it too is not known "
		"before it is tried",
		p->info.cgroup_version ? p->info.cgroup_version : "of an unknown version");
}

void preflight_image(struct preflight *p)
{
	cleanup_engine_image struct engine_image im = ENGINE_IMAGE_INIT;
	struct cl_err e;

	if (engine_image_inspect(&p->engine, p->x->image, &im, &e) ||
		engine_image_check(&p->engine, &im, &e)) {
		find_err(&p->out, FIND_FAIL, "image", &e);
		return;
	}
	if (im.tmp_mode >= 0 && im.tmp_mode != 01777)
		find(&p->out, FIND_WARN, "image", "build it with 'RUN chmod 1777 /tmp'",
			"/tmp of '%s' has mode %04o: the sandbox's user could not write there",
			p->x->image, im.tmp_mode);
	else
		find(&p->out, FIND_OK, "image", NULL, "%s is here: %s", p->x->image,
			*im.pinned ? im.pinned : im.id);
}
