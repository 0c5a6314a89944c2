/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets of the host's services: whoever can speak to an engine is root on its host. */
#include "attempt.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* name[0..len) of a socket, a path or (with a NUL in front) an abstract name. */
static bool speaks(const char *name, size_t len)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	bool yes = false;

	if (len > sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, name, len);
	for (size_t i = 0; !yes && i < 3; i++) {
		int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			continue;
		yes = !connect(fd, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
		(void)close(fd);
	}
	return yes;
}

static void path(struct result *r, const struct attempt *a)
{
	if (speaks(a->text, strlen(a->text) + 1))
		reached(r, "%s answers", a->text);
	else
		held_errno(r);
}

static void from_environment(struct result *r, const struct attempt *a)
{
	const char *v = getenv(a->text), *p = v;

	if (!v || !*v) {
		held(r, "it is not set");
		return;
	}
	if (!strncmp(p, "unix://", 7))
		p += 7;
	if (!strncmp(p, "unix:path=", 10))
		p += 10;
	if (*p == '/' && speaks(p, strcspn(p, ",") + 1))
		reached(r, "%s leads to %s, which answers", a->text, p);
	else
		held(r, "nobody answers there");
}

/* Abstract names belong to a network namespace: the host's are there where that is the host's. */
static void abstract(struct result *r, const struct attempt *a)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], name[256];

	(void)a;
	held(r, "there is none that answers");
	while (f && r->outcome == HELD && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %255s", name) != 1 || name[0] != '@')
			continue;
		name[0] = '\0';
		if (speaks(name, strlen(name + 1) + 1))
			reached(r, "the abstract socket %s answers", name + 1);
	}
	if (f)
		(void)fclose(f);
}

/* Who listens in our network namespace, when nothing of ours does. */
static void listeners(struct result *r, const struct attempt *a)
{
	FILE *f = fopen(a->text, "re");
	char line[512], local[64];
	unsigned state;

	held(r, "nobody listens");
	while (f && fgets(line, sizeof(line), f))
		/* docker answers names at 127.0.0.11 inside the sandbox's own namespace. */
		if (sscanf(line, " %*[0-9]: %63s %*s %x", local, &state) == 2 && state == 0x0a &&
			strncmp(local, "0B00007F", 8) != 0)
			reached(r, "somebody listens at %s in our network namespace", local);
	if (f)
		(void)fclose(f);
}

#define PATH(name, p, proves)               \
	{                                   \
		name, proves, path, p, 0, 0 \
	}
#define VAR(name, v, proves)                            \
	{                                               \
		name, proves, from_environment, v, 0, 0 \
	}

const struct attempt attempts_services[] = {
	PATH("docker", "/var/run/docker.sock", "docker is out of reach"),
	PATH("docker-run", "/run/docker.sock", "nor by its other name"),
	PATH("podman", "/run/podman/podman.sock", "podman is out of reach"),
	PATH("containerd", "/run/containerd/containerd.sock", "containerd is out of reach"),
	PATH("crio", "/run/crio/crio.sock", "CRI-O is out of reach"),
	PATH("kubelet-devices", "/var/lib/kubelet/device-plugins/kubelet.sock",
		"the kubelet is out of reach"),
	PATH("libvirt", "/run/libvirt/libvirt-sock", "libvirt is out of reach"),
	PATH("lxd", "/var/lib/lxd/unix.socket", "LXD is out of reach"),
	PATH("snapd", "/run/snapd.socket", "snapd is out of reach"),
	PATH("dbus", "/run/dbus/system_bus_socket", "the system bus is out of reach"),
	PATH("systemd", "/run/systemd/private", "systemd is out of reach"),
	PATH("systemd-notify", "/run/systemd/notify", "systemd takes no notice of ours"),
	PATH("journal", "/run/systemd/journal/socket", "the host's journal is out of reach"),
	PATH("syslog", "/dev/log", "the host's log is out of reach"),
	PATH("udev", "/run/udev/control", "udev is out of reach"),
	PATH("nscd", "/run/nscd/socket", "the host's name cache is out of reach"),
	PATH("x11", "/tmp/.X11-unix/X0", "the host's screen is out of reach"),
	PATH("wayland", "/run/user/1000/wayland-0", "nor by Wayland"),
	PATH("database", "/run/postgresql/.s.PGSQL.5432", "the host's database is out of reach"),
	PATH("mysql", "/run/mysqld/mysqld.sock", "nor is MySQL"),
	VAR("var-docker", "DOCKER_HOST", "no variable leads to an engine"),
	VAR("var-podman", "CONTAINER_HOST", "no variable leads to podman"),
	VAR("var-ssh-agent", "SSH_AUTH_SOCK", "no variable leads to an SSH agent"),
	VAR("var-session-bus", "DBUS_SESSION_BUS_ADDRESS", "no variable leads to a session bus"),
	{"abstract", "no abstract socket of the host answers", abstract, NULL, 0, 0},
	{"listeners", "the network namespace is not the host's", listeners, "/proc/net/tcp", 0, 0},
	{"listeners-v6", "nor by IPv6", listeners, "/proc/net/tcp6", 0, 0},
	{0},
};
