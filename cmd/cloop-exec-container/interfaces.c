/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run's network has of the host's: interfaces that are moved in, and tun devices (the guide
 * "Network interfaces: L2 passthrough"; DECISIONS E12, I1, I2).
 */
#include "job.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"
#include "sys/clock.h"
#include "sys/net/net_tun.h"
#include "work/hardware.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int not_prepared(const struct job *j, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' uses a network of its engine's, and %s that cloop has prepared",
		j->spec->executor->id, what);
	return cl_fix(e, "use podman as root with network: bridge, and let sandboxes through the "
			 "host's other firewalls ('cloop executor test' names them); or revoke the "
			 "grant");
}

/*
 * The guide's "Which executors can honour it": the namespace must be one that is there before the
 * workload, and is held until its interfaces are out. docker makes it with the container: there the
 * workload is held back until they are in.
 */
int job_moves_interfaces(void *arg, struct cl_err *e)
{
	const struct job *j = arg;
	const struct cfg_executor *x = j->spec->executor;

	if (hardware_sees_interfaces(x->id, x->oci_runtime, e))
		return -1;
	if (j->net_kind == JOB_NET_NONE) {
		(void)cl_fail(e, CL_EREFUSED,
			"this run has no network, and an interface is moved into one");
		return cl_fix(e,
			"ask for one in .cloop/sandbox.yaml (capabilities: {egress: public}) on an "
			"executor that has one; or write interfaces: [] there, which takes none");
	}
	if (j->net_kind == JOB_NET_PREPARED || (j->engine.kind == CT_DOCKER && !geteuid()))
		return 0;
	return not_prepared(j, "an interface is only moved into one", e);
}

void job_name_interfaces(struct job *j, const struct shim *s)
{
	const struct shim_interfaces *all = shim_lent_interfaces(s);
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	if (!all->n)
		return;
	for (size_t i = 0; i < all->n; i++)
		cl_strv_add(&names, all->v[i].name);
	cl_strv_sort(&names);
	j->interfaces = cl_join((const char *const *)names.v, names.n, ",");
	j->raw = all->raw;
}

int job_lend_interfaces(struct job *j, struct shim *s, struct cl_err *e)
{
	return j->interfaces && j->net_kind == JOB_NET_PREPARED ? shim_interfaces_move(s, e) : 0;
}

/* ---- docker: the network is there with the container ---- */

/* dockerd gives a capability to root's processes alone, and files give none under no-new-privileges. */
static int no_raw(const struct job *j, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"the inventory says 'raw' of an interface that is granted to this run (%s), and "
		"docker gives CAP_NET_RAW to nobody but root in a sandbox",
		j->interfaces);
	(void)cl_constraint(e, "interfaces");
	return cl_fix(e, "use podman; or mint an inventory without raw, which leaves the workload "
			 "IP and the kernel's own ARP on it");
}

int job_hold_back(struct job *j, const struct job_stage *st, struct cl_err *e)
{
	cleanup_free char *path = NULL;

	if (!j->interfaces || j->net_kind == JOB_NET_PREPARED)
		return 0;
	if (j->raw && j->uid)
		return no_raw(j, e);
	path = cl_asprintf("%s/go", st->init_dir);
	/* Open before the container is: what opens it then waits for us, or sees us end. */
	if (mkfifo(path, 0400) || chown(path, j->uid, j->gid))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path);
	j->go = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return j->go < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path) : 0;
}

static int ended_before(struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "the sandbox ended before its interfaces were in");
	(void)cl_constraint(e, "interfaces");
	return cl_fix(e, "run it again; if it is so each time, the engine's own log says why: "
			 "journalctl -u docker");
}

/* The process is the workload's as long as it is in its cgroup, and so is the namespace. */
static int hold_network(const struct job *j, pid_t init, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("/proc/%d/ns/net", (int)init);
	cleanup_fd int ns = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_free pid_t *pids = NULL;
	bool is = ns >= 0 && !j->has_cg;
	size_t n = 0;

	if (j->has_cg && cg_pids(&j->cg, j->handle, &pids, &n, e))
		return -1;
	for (size_t i = 0; ns >= 0 && i < n; i++)
		is = is || pids[i] == init;
	return is ? net_hold(j->run_base, j->handle, ns, e) : ended_before(e);
}

/* The word is lost with the last who has the FIFO open, and the init may not have it open yet. */
static int say_go(const struct job *j, pid_t init, struct cl_err *e)
{
	int64_t until = sys_mono_ms() + JOB_START_MS;
	int left = 1;

	if (write(j->go, "g", 1) != 1)
		return cl_fail_sys(e, CL_EOS, errno, "cannot let the workload start");
	while (!ioctl(j->go, FIONREAD, &left) && left) {
		if ((kill(init, 0) && errno == ESRCH) || sys_mono_ms() >= until)
			return ended_before(e);
		sys_sleep_ms(2);
	}
	return 0;
}

int job_let_start(
	struct job *j, struct shim *s, const struct job_stage *st, pid_t init, struct cl_err *e)
{
	cleanup_free char *path = NULL;
	int rc;

	if (j->go < 0)
		return 0;
	rc = hold_network(j, init, e) || shim_interfaces_move(s, e) || say_go(j, init, e);
	path = cl_asprintf("%s/go", st->init_dir);
	(void)unlink(path);
	(void)close(cl_steal_fd(&j->go));
	return rc ? -1 : 0;
}

/* ---- tun devices ---- */

int job_makes_tun(void *arg, struct cl_err *e)
{
	const struct job *j = arg;

	if (j->net_kind == JOB_NET_PREPARED)
		return 0;
	if (j->net_kind != JOB_NET_NONE)
		return not_prepared(j, "a tun device is only made in one", e);
	(void)cl_fail(e, CL_EREFUSED, "this run has no network, and a tun device is made in one");
	return cl_fix(e,
		"ask for one in .cloop/sandbox.yaml (capabilities: {egress: public}) on an "
		"executor that has one; or leave the device out of capabilities.devices there");
}

int job_make_tuns(struct job *j, struct shim *s, struct cl_err *e)
{
	const struct shim_devices *all = shim_lent_devices(s);

	for (size_t i = 0; i < all->n; i++) {
		const struct shim_device *d = &all->v[i];
		const struct net_tun t = {d->source, sec_tun_name(d->target), j->uid};

		if (!sec_node_is_tun(&d->node.node))
			continue;
		if (net_tun_add(j->run_base, j->handle, &t, e)) {
			(void)cl_wrap(
				e, "device '%s' of '%s' (%s)", d->name, d->secret, d->grant_id);
			return cl_constraint(e, "devices");
		}
		shim_note(s, "device", "%s (%s) is tun device '%s' in the sandbox's network",
			d->name, d->source, t.name);
	}
	return 0;
}
