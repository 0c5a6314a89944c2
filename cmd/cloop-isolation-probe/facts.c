/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* linux/magic.h */
#define MAGIC_PROC  0x9fa0
#define MAGIC_SYSFS 0x62656572

void unread(struct evidence *ev, enum fact f, const char *why)
{
	size_t n = strnlen(why, sizeof(ev->why[f]) - 1);

	ev->read[f] = false;
	memcpy(ev->why[f], why, n);
	ev->why[f][n] = '\0';
}

static void unread_errno(struct evidence *ev, enum fact f)
{
	unread(ev, f, strerror(errno));
}

/*
 * One line of a file of the kernel's own. An image can put a file of its own where it expects
 * that a runtime mounts nothing: only what lies on that file system counts.
 */
static void read_line(struct evidence *ev, enum fact f, const char *path, unsigned long magic,
	char out[FACT_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct statfs fs;
	ssize_t n;

	if (fd < 0) {
		unread_errno(ev, f);
		return;
	}
	if (fstatfs(fd, &fs)) {
		unread_errno(ev, f);
	} else if ((unsigned long)fs.f_type != magic) {
		unread(ev, f, "the file there is not the kernel's");
	} else if ((n = read(fd, out, FACT_TEXT - 1)) < 0) {
		unread_errno(ev, f);
	} else {
		out[n] = '\0';
		out[strcspn(out, "\n")] = '\0';
		ev->read[f] = *out != '\0';
		if (!*out)
			unread(ev, f, "it is empty");
	}
	(void)close(fd);
}

static void copy(char out[72], const char *from)
{
	size_t n = strnlen(from, 71);

	memcpy(out, from, n);
	out[n] = '\0';
}

static void read_uname(struct evidence *ev)
{
	struct utsname u;

	if (uname(&u)) {
		unread_errno(ev, FACT_UNAME);
		return;
	}
	copy(ev->sysname, u.sysname);
	copy(ev->release, u.release);
	copy(ev->version, u.version);
	copy(ev->machine, u.machine);
	ev->read[FACT_UNAME] = true;
}

static void read_uptime(struct evidence *ev)
{
	struct timespec t;
	struct sysinfo s;

	if (!clock_gettime(CLOCK_BOOTTIME, &t))
		ev->uptime_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	else if (!sysinfo(&s))
		ev->uptime_ms = (int64_t)s.uptime * 1000;
	else
		unread_errno(ev, FACT_UPTIME);
	ev->read[FACT_UPTIME] = ev->uptime_ms > 0;
}

/* Asked of the processor itself: no file says it more surely (Intel SDM, CPUID leaf 1, ECX 31). */
static void read_hypervisor(struct evidence *ev)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d)) {
		unread(ev, FACT_HYPERVISOR, "the processor has no such leaf");
		return;
	}
	ev->hypervisor = c >> 31 & 1;
	if (ev->hypervisor) {
		__cpuid(0x40000000, a, b, c, d);
		memcpy(ev->hypervisor_vendor, &b, 4);
		memcpy(ev->hypervisor_vendor + 4, &c, 4);
		memcpy(ev->hypervisor_vendor + 8, &d, 4);
	}
	ev->read[FACT_HYPERVISOR] = true;
#else
	unread(ev, FACT_HYPERVISOR, "this processor does not say it");
#endif
}

/* The Sentry writes its own log and shows it to everybody; a host's is behind CAP_SYSLOG. */
static void read_boot_log(struct evidence *ev)
{
	static char log[8192];
	int n = klogctl(3, log, sizeof(log) - 1);

	if (n < 0) {
		unread_errno(ev, FACT_BOOT_LOG);
		return;
	}
	log[n] = '\0';
	ev->sentry_log = strstr(log, "Starting gVisor") != NULL;
	ev->read[FACT_BOOT_LOG] = true;
}

void read_fact(struct evidence *ev, enum fact f)
{
	switch (f) {
	case FACT_UNAME:
		read_uname(ev);
		break;
	case FACT_UPTIME:
		read_uptime(ev);
		break;
	case FACT_HYPERVISOR:
		read_hypervisor(ev);
		break;
	case FACT_PROC_VERSION:
		read_line(ev, f, "/proc/version", MAGIC_PROC, ev->proc_version);
		break;
	case FACT_BOOT_ID:
		read_line(ev, f, "/proc/sys/kernel/random/boot_id", MAGIC_PROC, ev->boot_id);
		break;
	case FACT_DMI_VENDOR:
		read_line(ev, f, "/sys/class/dmi/id/sys_vendor", MAGIC_SYSFS, ev->dmi_vendor);
		break;
	case FACT_DMI_PRODUCT:
		read_line(ev, f, "/sys/class/dmi/id/product_name", MAGIC_SYSFS, ev->dmi_product);
		break;
	case FACT_BOOT_LOG:
		read_boot_log(ev);
		break;
	case NFACTS:
		break;
	}
}
