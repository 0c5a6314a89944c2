/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one place that reads a clock, and what says that a process is still the one it
 * was: a pid is reused, a pid with its start time within one boot is not.
 */
#ifndef CL_SYS_CLOCK_H
#define CL_SYS_CLOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds since 1970-01-01 UTC; may jump. For what is shown, stored or compared
 * between machines. */
int64_t sys_now_ms(void);
/* Milliseconds since some moment of this boot; never goes back, and time in which the
 * machine was suspended counts (CLOCK_BOOTTIME). The same in every process of the boot. */
int64_t sys_mono_ms(void);
/* Sleeps; a signal ends it early. */
void sys_sleep_ms(int64_t ms);

#define SYS_BOOT_ID_SIZE 37 /* a UUID in text and its NUL */
/* The id of this boot, from /proc/sys/kernel/random/boot_id (random(4)). CL_EOS. */
int sys_boot_id(char out[SYS_BOOT_ID_SIZE], struct cl_err *e);

/* What /proc/PID/stat (proc(5)) tells about a process. */
struct sys_proc_stat {
	pid_t pid, ppid;
	char state;           /* R S D T t Z X I ... */
	uint64_t threads;     /* 0 once it is dead */
	uint64_t start_ticks; /* start time after boot, in clock ticks */
};

/*
 * Reads the text of one /proc/PID/stat. The name in parentheses is the process's own
 * choice and may hold blanks, parentheses and newlines. CL_EDATA.
 */
int sys_parse_proc_stat(const char *text, size_t len, struct sys_proc_stat *out, struct cl_err *e);
/* The same for a live pid. CL_ENOTFOUND when there is no such process, else CL_EOS. */
int sys_proc_stat(pid_t pid, struct sys_proc_stat *out, struct cl_err *e);
/* Only its start time. */
int sys_proc_start(pid_t pid, uint64_t *start_ticks, struct cl_err *e);

/*
 * Whether the process that had `pid` and `start_ticks` in boot `boot_id` still runs.
 * A zombie does not. False only when that is certain: what cannot be read is taken for
 * alive, so that nobody takes over from a process that still works.
 */
bool sys_same_process(pid_t pid, uint64_t start_ticks, const char *boot_id);

/*
 * A pidfd (pidfd_open(2), close-on-exec) of exactly that process; it polls readable
 * when the process ends. CL_ENOTFOUND when it is gone or the pid is another's now.
 */
int sys_pidfd_open(pid_t pid, uint64_t start_ticks, int *fd, struct cl_err *e);
/* Sends a signal; a process already gone is success. CL_EDENIED, CL_EOS. */
int sys_pidfd_kill(int fd, int sig, struct cl_err *e);

#endif
