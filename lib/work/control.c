/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/control.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * A socket's path holds 107 bytes and a folder's name may be longer, so the folder is
 * opened and the socket named through /proc/self/fd.
 */
static int address(const char *path, int *dirfd, struct sockaddr_un *sa, struct cl_err *e)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir = slash ? cl_strndup(path, (size_t)(slash - path)) : cl_strdup(".");

	*dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dirfd < 0)
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", dir);
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/%.32s", *dirfd,
		slash ? slash + 1 : path);
	return 0;
}

int control_listen(const char *path, int *fd, struct cl_err *e)
{
	cleanup_fd int dirfd = -1, s = -1;
	struct sockaddr_un sa;

	if (address(path, &dirfd, &sa, e))
		return -1;
	(void)unlink(path);
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0 || bind(s, (struct sockaddr *)&sa, sizeof(sa)) || chmod(path, 0600) ||
		listen(s, 64))
		return cl_fail_sys(e, CL_EOS, errno, "cannot listen on '%s'", path);
	*fd = cl_steal_fd(&s);
	return 0;
}

int control_gone(struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "the supervisor went away");
	return cl_fix(e, "'cloop sweep' gives the workload a new one; 'cloop runs show' tells its "
			 "state");
}

/*
 * A folder below a place that is everybody's, as /tmp, may be another's by now: whoever listens
 * there would be handed the terminal of who attaches.
 */
static int check_owner(int dirfd, const char *path, struct cl_err *e)
{
	struct stat st;

	if (fstat(dirfd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look where '%s' is", path);
	if ((st.st_uid == geteuid() || !st.st_uid) && !(st.st_mode & 022))
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL,
		"'%s' is in a directory of uid %u, mode %04o, where no supervisor of ours is", path,
		(unsigned)st.st_uid, st.st_mode & 07777);
	return cl_fix(e, "look who made it, and remove it; 'cloop sweep' gives the workload a new "
			 "supervisor");
}

int control_connect(const char *path, int *fd, struct cl_err *e)
{
	cleanup_fd int dirfd = -1, s = -1;
	struct sockaddr_un sa;

	if (address(path, &dirfd, &sa, e) || check_owner(dirfd, path, e))
		return -1;
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0 || connect(s, (struct sockaddr *)&sa, sizeof(sa))) {
		(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "nobody answers at '%s'", path);
		return cl_fix(e, "'cloop sweep' gives the workload a new supervisor");
	}
	*fd = cl_steal_fd(&s);
	return 0;
}

int control_send(int fd, json_t *msg, const int *fds, size_t nfds, struct cl_err *e)
{
	cleanup_free char *text = cl_json_text(msg);
	struct iovec iov = {text, strlen(text)};
	union {
		char buf[CMSG_SPACE(CONTROL_FDS * sizeof(int))];
		struct cmsghdr align;
	} u = {{0}};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (nfds) {
		struct cmsghdr *c;

		m.msg_control = u.buf;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		if (!c)
			abort();
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot send to the supervisor");
	return 0;
}

static void take_fds(struct msghdr *m, int fds[CONTROL_FDS], size_t *nfds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
			if (*nfds < CONTROL_FDS)
				fds[(*nfds)++] = got;
			else
				(void)close(got);
		}
	}
}

int control_recv(int fd, json_t **msg, int fds[CONTROL_FDS], size_t *nfds, struct cl_err *e)
{
	cleanup_free char *text = cl_malloc(CONTROL_MAX);
	struct iovec iov = {text, CONTROL_MAX};
	union {
		char buf[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} u;
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = u.buf,
		.msg_controllen = sizeof(u.buf)};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	ssize_t n;

	*msg = NULL;
	*nfds = 0;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read from the supervisor");
	take_fds(&m, fds, nfds);
	if ((m.msg_flags & MSG_TRUNC) ||
		cl_doc_parse(&d, CL_DOC_JSON, "message", text, (size_t)n, NULL, e) ||
		!json_is_object(d.root)) {
		while (*nfds)
			(void)close(fds[--*nfds]);
		(void)cl_fail(e, CL_EDATA, "a message to the supervisor is not a JSON object");
		return cl_fix(e, "use the commands of one release: 'cloop list' shows them");
	}
	*msg = json_incref(d.root);
	return 0;
}

static int await_answer(int fd, int64_t ms, struct cl_err *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t until = sys_mono_ms() + ms;
	int n;

	do {
		int64_t left = until - sys_mono_ms();

		n = poll(&p, 1, left < 0 ? 0 : (int)left);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		return 0;
	(void)cl_fail(e, CL_EBUSY, "the supervisor gave no answer in %lld ms", (long long)ms);
	return cl_fix(e, "try again; 'cloop runs show' tells the state of the run");
}

int control_ask(const char *path, json_t *msg, struct cl_err *e)
{
	return control_ask_within(path, msg, CONTROL_ASK_MS, e);
}

int control_ask_within(const char *path, json_t *msg, int64_t ms, struct cl_err *e)
{
	cleanup_fd int fd = -1;
	int fds[CONTROL_FDS], rc = 0;
	json_t *got = NULL;
	size_t n;

	if (control_connect(path, &fd, e) || control_send(fd, msg, NULL, 0, e) ||
		await_answer(fd, ms, e) || control_recv(fd, &got, fds, &n, e))
		return -1;
	if (!got)
		return control_gone(e);
	if (json_object_get(got, "error"))
		rc = cl_err_from_json(got, e);
	json_decref(got);
	return rc;
}
