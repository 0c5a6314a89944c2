/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the host would execute later, or whoever works in the workspace. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of ours in the folder; it is removed again. */
static void make_in(struct result *r, const struct attempt *a)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.cloop-confine-%d", a->text, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		held_errno(r);
		return;
	}
	if (own_layer(fd))
		held(r, "it is a layer of the sandbox's own");
	else
		reached(r, "a file was made in %s", a->text);
	(void)close(fd);
	(void)unlink(path);
}

/* The program that runs us lies on the host: who writes to it is run there next (CVE-2019-5736). */
static void program(struct result *r, const struct attempt *a)
{
	int fd = open(a->text, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && own_layer(fd)) {
		held(r, "it is the image's own");
		return;
	}
	if (fd >= 0 || errno == ETXTBSY)
		reached(r, "%s can be written, once it is not running", a->text);
	else
		held_errno(r);
}

/* A file of the workspace that is run by whoever works there. */
static void workspace(struct result *r, const struct attempt *a)
{
	struct stat st;

	if (stat(a->text, &st)) {
		skipped(r, "there is none");
		return;
	}
	if (access(a->text, W_OK))
		held_errno(r);
	else
		reached(r, "%s can be written, and is run by whoever works there", a->text);
}

#define MAKE(name, dir, proves)                  \
	{                                        \
		name, proves, make_in, dir, 0, 0 \
	}
#define SHARE(name, p, proves)                        \
	{                                             \
		name, proves, workspace, p, 0, SHARED \
	}

const struct attempt attempts_later[] = {
	MAKE("cron", "/etc/cron.d", "no job of ours is run by cron"),
	MAKE("cron-daily", "/etc/cron.daily", "nor once a day"),
	MAKE("crontabs", "/var/spool/cron/crontabs", "nor by a table of a user"),
	MAKE("systemd", "/etc/systemd/system", "no unit of ours is started"),
	MAKE("systemd-lib", "/usr/lib/systemd/system", "nor from the packages' folder"),
	MAKE("init", "/etc/init.d", "no script of ours is run at boot"),
	MAKE("profile", "/etc/profile.d", "no login runs a script of ours"),
	MAKE("sudoers", "/etc/sudoers.d", "nobody is given rights by us"),
	MAKE("pam", "/etc/pam.d", "no login is changed"),
	MAKE("ssh", "/etc/ssh", "the SSH server is not changed"),
	MAKE("udev", "/etc/udev/rules.d", "no device event runs a program of ours"),
	MAKE("modprobe", "/etc/modprobe.d", "no module runs a program of ours"),
	MAKE("loader", "/etc/ld.so.conf.d", "no library of ours is loaded"),
	MAKE("etc", "/etc", "no settings are added"),
	MAKE("local-bin", "/usr/local/bin", "no command of ours is found"),
	MAKE("usr-bin", "/usr/bin", "nor among the system's"),
	MAKE("root-home", "/root", "root's shell runs nothing of ours"),
	MAKE("boot", "/boot", "nothing of ours is booted"),
	MAKE("root", "/", "nothing is added at the root"),
	MAKE("own-folder", "/.cloop", "cloop's own files are not added to"),
	MAKE("proc", "/proc", "/proc takes no files"),
	MAKE("sys", "/sys", "/sys takes no files"),
	{"own-init", "cloop's first process is not changed", program, "/.cloop/init", 0, 0},
	{"program-self", "the program that runs is not changed", program, "/proc/self/exe", 0, 0},
	{"program-init", "nor that of the first process", program, "/proc/1/exe", 0, 0},
	{"preload", "no library of ours is loaded everywhere", try_open_write, "/etc/ld.so.preload",
		0, 0},
	{"passwd", "no user is added", try_open_write, "/etc/passwd", 0, 0},
	{"hosts", "the names of hosts stay", try_open_write, "/etc/hosts", 0, 0},
	{"resolv", "the resolver stays", try_open_write, "/etc/resolv.conf", 0, 0},
	SHARE("git-config", "/workspace/.git/config", "git's settings are not changed"),
	SHARE("git-hooks", "/workspace/.git/hooks", "git runs no hook of ours"),
	SHARE("envrc", "/workspace/.envrc", "direnv runs nothing of ours"),
	SHARE("tasks", "/workspace/.vscode/tasks.json", "an editor runs nothing of ours"),
	{0},
};
