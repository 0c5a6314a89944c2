/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which system calls and socket families answer here: one line each, "name ok" or
 * "name ERRNO". Static, for the inside of a sandbox.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name, long result)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {{EPERM, "EPERM"}, {ENOSYS, "ENOSYS"}, {EINVAL, "EINVAL"}, {EACCES, "EACCES"},
		{EAFNOSUPPORT, "EAFNOSUPPORT"}, {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
		{EBADF, "EBADF"}, {EFAULT, "EFAULT"}, {ENODEV, "ENODEV"}};
	int err = errno;

	if (result >= 0) {
		(void)printf("%s ok\n", name);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number != err)
			continue;
		(void)printf("%s %s\n", name, names[i].name);
		return;
	}
	(void)printf("%s %s\n", name, strerror(err));
}

static void sockets(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} s[] = {{"unix", 1, SOCK_STREAM, 0}, {"inet", 2, SOCK_STREAM, 0},
		{"udp", 2, SOCK_DGRAM, 0}, {"inet6", 10, SOCK_STREAM, 0},
		{"netlink_route", 16, SOCK_RAW, 0}, {"netlink_diag", 16, SOCK_RAW, 4},
		{"netlink_netfilter", 16, SOCK_RAW, 12}, {"netlink_generic", 16, SOCK_RAW, 16},
		{"netlink_audit", 16, SOCK_RAW, 9}, {"packet", 17, SOCK_RAW, 0},
		{"vsock", 40, SOCK_STREAM, 0}, {"alg", 38, SOCK_SEQPACKET, 0},
		{"xdp", 44, SOCK_RAW, 0}, {"can", 29, SOCK_RAW, 1}, {"bluetooth", 31, SOCK_RAW, 1},
		{"tipc", 30, SOCK_STREAM, 0}, {"smc", 43, SOCK_STREAM, 0},
		{"kcm", 41, SOCK_SEQPACKET, 0}, {"rds", 21, SOCK_SEQPACKET, 0}};
	int pair[2];

	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++) {
		int fd = socket(s[i].family, s[i].type, s[i].protocol);

		say(s[i].name, fd);
		if (fd >= 0)
			(void)close(fd);
	}
	say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	/* Arguments are 32 bits wide to the kernel, 64 to a filter. */
	say("vsock_high_bits", syscall(SYS_socket, 0x100000028L, 1L, 0L));
	say("netfilter_high_bits", syscall(SYS_socket, 16L, 3L, 0x10000000cL));
}

/* A call that makes a process: its child leaves at once. */
static void forks(const char *name, long pid)
{
	if (!pid)
		_exit(0);
	say(name, pid);
	while (wait(NULL) > 0)
		;
}

static void namespaces(void)
{
	unsigned long clone3_args[11] = {0};

	clone3_args[4] = SIGCHLD;
	(void)fflush(stdout);
	forks("clone", syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L));
	(void)fflush(stdout);
	forks("clone3", syscall(SYS_clone3, clone3_args, sizeof(clone3_args)));
	(void)fflush(stdout);
	forks("clone_newuser", syscall(SYS_clone, 0x10000000L | SIGCHLD, 0L, 0L, 0L, 0L));
	(void)fflush(stdout);
	if (!fork()) {
		say("unshare_newuser", unshare(CLONE_NEWUSER));
		(void)fflush(stdout);
		_exit(0);
	}
	(void)wait(NULL);
	say("unshare_newnet", unshare(CLONE_NEWNET));
	say("unshare_files", unshare(CLONE_FILES));
	say("setns", syscall(SYS_setns, -1, 0));
}

static void calls(void)
{
	char buf[128] = {0};

	say("keyctl", syscall(SYS_keyctl, 0, -3, 0));
	say("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
	say("request_key", syscall(SYS_request_key, "user", "x", NULL, 0));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, buf));
	say("userfaultfd", syscall(SYS_userfaultfd, 1));
	say("perf_event_open", syscall(SYS_perf_event_open, buf, 0, -1, -1, 0));
	say("bpf", syscall(SYS_bpf, 0, buf, 64));
	say("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0));
	say("openat2", syscall(SYS_openat2, -100, "/", buf, 24));
	say("pidfd_open", syscall(SYS_pidfd_open, getpid(), 0));
	say("landlock", syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
	say("unknown", syscall(9999));
}

/* The 32-bit ABIs of a 64-bit program: "killed" when the filter ends it. */
static void other_abis(void)
{
#ifdef __x86_64__
	int st;

	(void)fflush(stdout);
	if (!fork()) {
		unsigned *args =
			mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		int r;

		args[0] = 40;
		args[1] = 1;
		args[2] = 0;
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(102), "b"(1), "c"((unsigned)(unsigned long)args)
				 : "memory", "r8", "r9", "r10", "r11");
		errno = -r;
		say("i386_socketcall_vsock", r);
		(void)fflush(stdout);
		_exit(0);
	}
	if (wait(&st) > 0 && WIFSIGNALED(st))
		(void)printf("i386_socketcall_vsock killed\n");
	(void)fflush(stdout);
	if (!fork()) {
		say("x32_socket_vsock", syscall(0x40000000 | SYS_socket, 40, 1, 0));
		(void)fflush(stdout);
		_exit(0);
	}
	if (wait(&st) > 0 && WIFSIGNALED(st))
		(void)printf("x32_socket_vsock killed\n");
#endif
}

int main(void)
{
	sockets();
	namespaces();
	calls();
	other_abis();
	return 0;
}
