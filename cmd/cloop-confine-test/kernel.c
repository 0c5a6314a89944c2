/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls that change the machine, or open parts of the kernel that no workload needs. */
#include "attempt.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

/*
 * Called with arguments that cannot succeed. Whoever may not do it is told EPERM before the
 * arguments are looked at, or ENOSYS; any other error says that he may.
 */
static void judge(struct result *r, const char *what, long rc)
{
	if (rc < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		held_errno(r);
	else
		reached(r, "%s is allowed", what);
}

static void call(struct result *r, const struct attempt *a)
{
	long rc = a->number == SYS_reboot ? syscall(SYS_reboot, 0, 0, 0, 0)
		  : a->number == SYS_acct ? syscall(SYS_acct, "/proc/nowhere")
		  : a->number == SYS_delete_module
			  ? syscall(SYS_delete_module, "cloop-nowhere", 0x800 /* O_NONBLOCK */)
			  : syscall(a->number, -1L, -1L, -1L, -1L, -1L);

	judge(r, a->text, rc);
}

/* linux/bpf.h: an array with one element. */
static void load_program(struct result *r, const struct attempt *a)
{
	const uint32_t attr[8] = {2 /* ARRAY */, 4, 4, 1};

	(void)a;
	judge(r, "bpf(2)", syscall(SYS_bpf, 0 /* MAP_CREATE */, attr, sizeof(attr)));
}

/* linux/perf_event.h: the first version of the structure, a counter of software events. */
static void perf(struct result *r, const struct attempt *a)
{
	const uint32_t attr[16] = {1 /* SOFTWARE */, 64};

	(void)a;
	judge(r, "perf_event_open(2)", syscall(SYS_perf_event_open, attr, 0, -1, -1, 0));
}

static void ring(struct result *r, const struct attempt *a)
{
	unsigned char params[120];

	(void)a;
	memset(params, 0, sizeof(params));
	judge(r, "io_uring", syscall(SYS_io_uring_setup, 1, params));
}

static void faults(struct result *r, const struct attempt *a)
{
	judge(r, "userfaultfd(2)", syscall(SYS_userfaultfd, a->number));
}

static void boot_log(struct result *r, const struct attempt *a)
{
	static char log[4096];

	(void)a;
	if (klogctl(3, log, sizeof(log)) > 0)
		reached(r, "the kernel's log can be read");
	else
		held_errno(r);
}

/* The frequency that it has: nothing changes. */
static void clock_change(struct result *r, const struct attempt *a)
{
	struct timex t = {0};

	(void)a;
	if (adjtimex(&t) < 0) {
		held_errno(r);
		return;
	}
	t.modes = ADJ_FREQUENCY;
	if (adjtimex(&t) < 0)
		held_errno(r);
	else
		reached(r, "the host's clock can be set");
}

static void ports(struct result *r, const struct attempt *a)
{
	(void)a;
#if defined(__x86_64__) || defined(__i386__)
	if (ioperm(0x80, 1, 1))
		held_errno(r);
	else
		reached(r, "I/O ports can be used");
#else
	skipped(r, "this processor has none");
#endif
}

static void add_key(struct result *r, const struct attempt *a)
{
	long id = syscall(SYS_add_key, "user", "cloop-confine", "x", 1UL, a->number);

	if (id < 0) {
		held_errno(r);
		return;
	}
	(void)syscall(SYS_keyctl, 9 /* UNLINK */, id, a->number);
	reached(r, "a key was put into the %s keyring, which no namespace separates", a->text);
}

static void keyctl(struct result *r, const struct attempt *a)
{
	if (syscall(SYS_keyctl, a->number, -3L, 0L, 0L, 0L) < 0)
		held_errno(r);
	else
		reached(r, "%s", a->text);
}

static void request_key(struct result *r, const struct attempt *a)
{
	(void)a;
	/* ENOKEY: it was looked for. */
	if (syscall(SYS_request_key, "user", "cloop-confine", 0L, 0L) < 0 && errno != ENOKEY)
		held_errno(r);
	else
		reached(r, "keyrings are searched");
}

#define CALL(name, nr, proves)                        \
	{                                             \
		name, proves, call, name, nr, SURFACE \
	}

const struct attempt attempts_kernel[] = {
	CALL("init_module", SYS_init_module, "no kernel module is loaded"),
	CALL("finit_module", SYS_finit_module, "nor from a file"),
	CALL("delete_module", SYS_delete_module, "no kernel module is removed"),
	CALL("kexec_load", SYS_kexec_load, "no other kernel is booted"),
	CALL("reboot", SYS_reboot, "the host is not restarted"),
	CALL("acct", SYS_acct, "no process accounting is switched"),
	CALL("swapon", SYS_swapon, "no swap is added"),
	CALL("swapoff", SYS_swapoff, "no swap is removed"),
	CALL("vhangup", SYS_vhangup, "no terminal is hung up"),
	CALL("fanotify_init", SYS_fanotify_init, "no files of the host are watched"),
	{"bpf", "no program runs in the kernel", load_program, NULL, 0, SURFACE},
	{"perf", "the kernel counts nothing for us", perf, NULL, 0, SURFACE},
	{"io_uring", "no system call goes past the filter in a ring", ring, NULL, 0, SURFACE},
	{"userfaultfd", "the kernel cannot be held in a page fault", faults, NULL, 0, SURFACE},
	{"userfaultfd-user", "nor by the form for users", faults, NULL, 1, SURFACE},
	{"syslog", "the kernel's log is not read", boot_log, NULL, 0, SURFACE},
	{"clock", "the host's clock is not set", clock_change, NULL, 0, SURFACE},
	{"ioperm", "no I/O port is used", ports, NULL, 0, SURFACE},
	{"key-session", "no key is put into the session's ring", add_key, "session", -3, SURFACE},
	{"key-user", "no key is put into the user's ring", add_key, "user", -4, SURFACE},
	{"key-id", "keyrings are not named", keyctl, "the session's keyring has a number", 0,
		SURFACE},
	{"key-describe", "keyrings are not described", keyctl, "the session's keyring is described",
		6, SURFACE},
	{"key-request", "keyrings are not searched", request_key, NULL, 0, SURFACE},
	{0},
};
