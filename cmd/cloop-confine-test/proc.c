/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's settings and secrets below /proc. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Addresses other than zero. */
static void addresses(struct result *r, const struct attempt *a)
{
	FILE *f = fopen(a->text, "re");
	char line[512];

	if (!f) {
		held_errno(r);
		return;
	}
	held(r, "every address is zero");
	for (int i = 0; i < 100 && fgets(line, sizeof(line), f); i++) {
		char *end;
		unsigned long long from = strtoull(line, &end, 16);
		unsigned long long to = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;

		if (end != line && (from || to))
			reached(r, "%s tells addresses", a->text);
	}
	(void)fclose(f);
}

/* Threads of the kernel are seen only in the host's own PID namespace. */
static void kernel_threads(struct result *r, const struct attempt *a)
{
	char name[32] = "";
	int fd = open("/proc/2/comm", O_RDONLY | O_CLOEXEC);

	(void)a;
	if (fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && !strncmp(name, "kthreadd", 8))
		reached(r, "process 2 is kthreadd: this is the host's PID namespace");
	else
		held(r, "there are none");
}

#define WRITE(name, path, proves)                        \
	{                                                \
		name, proves, try_open_write, path, 0, 0 \
	}
#define BYTES(name, path, proves)                              \
	{                                                      \
		name, proves, try_read_bytes, path, 0, SURFACE \
	}

const struct attempt attempts_proc[] = {
	WRITE("core-pattern", "/proc/sys/kernel/core_pattern",
		"no program of ours becomes the host's core handler"),
	WRITE("modprobe", "/proc/sys/kernel/modprobe",
		"no program of ours becomes the host's module loader"),
	WRITE("hotplug", "/proc/sys/kernel/hotplug", "no program of ours handles hotplug events"),
	WRITE("binfmt", "/proc/sys/fs/binfmt_misc/register",
		"no program of ours interprets the host's binaries"),
	WRITE("poweroff", "/proc/sys/kernel/poweroff_cmd",
		"no program of ours runs when the host powers off"),
	WRITE("sysrq-trigger", "/proc/sysrq-trigger", "the host cannot be reset or crashed"),
	WRITE("sysrq", "/proc/sys/kernel/sysrq", "the magic key stays as it is"),
	WRITE("panic", "/proc/sys/kernel/panic", "what follows a panic stays as it is"),
	WRITE("panic-on-oom", "/proc/sys/vm/panic_on_oom", "want of memory cannot be made a panic"),
	WRITE("overcommit", "/proc/sys/vm/overcommit_memory", "the host's memory policy stands"),
	WRITE("drop-caches", "/proc/sys/vm/drop_caches", "the host's caches stay"),
	WRITE("mmap-min-addr", "/proc/sys/vm/mmap_min_addr", "page zero stays protected"),
	WRITE("aslr", "/proc/sys/kernel/randomize_va_space", "address randomisation stays on"),
	WRITE("kptr", "/proc/sys/kernel/kptr_restrict", "kernel pointers stay hidden"),
	WRITE("dmesg-restrict", "/proc/sys/kernel/dmesg_restrict", "the kernel's log stays closed"),
	WRITE("perf-paranoid", "/proc/sys/kernel/perf_event_paranoid", "perf stays restricted"),
	WRITE("bpf-disabled", "/proc/sys/kernel/unprivileged_bpf_disabled", "bpf stays restricted"),
	WRITE("protected-links", "/proc/sys/fs/protected_symlinks", "links stay protected"),
	WRITE("suid-dumpable", "/proc/sys/fs/suid_dumpable", "cores of setuid programs stay off"),
	WRITE("file-max", "/proc/sys/fs/file-max", "the host's file limit stands"),
	WRITE("pid-max", "/proc/sys/kernel/pid_max", "the host's process limit stands"),
	WRITE("irq-affinity", "/proc/irq/default_smp_affinity", "the host's interrupts stay put"),
	WRITE("mtrr", "/proc/mtrr", "memory types stay as they are"),
	WRITE("oom-init", "/proc/1/oom_adj",
		"the first process cannot be protected from the killer"),
	BYTES("kcore", "/proc/kcore", "the kernel's memory cannot be read"),
	BYTES("kmsg", "/proc/kmsg", "the kernel's log cannot be read"),
	BYTES("keys", "/proc/keys", "keys of others are not listed"),
	BYTES("timer-list", "/proc/timer_list", "the host's timers are not listed"),
	BYTES("sched-debug", "/proc/sched_debug", "the host's processes are not listed"),
	BYTES("latency-stats", "/proc/latency_stats", "the host's latencies are not listed"),
	BYTES("vmallocinfo", "/proc/vmallocinfo", "kernel allocations are not listed"),
	BYTES("slabinfo", "/proc/slabinfo", "kernel objects are not listed"),
	BYTES("pagetypeinfo", "/proc/pagetypeinfo", "kernel pages are not listed"),
	BYTES("kpageflags", "/proc/kpageflags", "the host's pages cannot be read"),
	{"kallsyms", "kernel addresses are hidden", addresses, "/proc/kallsyms", 0, SURFACE},
	{"iomem", "physical addresses are hidden", addresses, "/proc/iomem", 0, SURFACE},
	{"ioports", "I/O ports are hidden", addresses, "/proc/ioports", 0, SURFACE},
	{"kernel-threads", "the PID namespace is not the host's", kernel_threads, NULL, 0, 0},
	{"acpi", "ACPI is hidden", try_list, "/proc/acpi", 0, 0},
	{"scsi", "SCSI hosts are hidden", try_list, "/proc/scsi", 0, 0},
	{0},
};
