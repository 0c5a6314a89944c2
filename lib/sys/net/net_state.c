/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "sys/net/net_internal.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int net_check_handle(const char *handle, struct cl_err *e)
{
	if (cl_starts(handle, "c-") && strlen(handle) == 14 &&
		cl_all_in(handle + 2, CL_DIGITS "abcdef"))
		return 0;
	return cl_fail(e, CL_EDATA, "'%s' is not the handle of a workload", handle);
}

void net_bridge_name(const char *network, char out[16])
{
	char hex[CL_SHA256_HEX];

	cl_sha256_hex(network, strlen(network), hex);
	(void)snprintf(out, 16, "csbx-%.10s", hex);
}

void net_state_names(struct net_state *s)
{
	(void)snprintf(s->host_if, sizeof(s->host_if), "cs%.12s", s->handle + 2);
	(void)snprintf(s->port_table, sizeof(s->port_table), "cloop_port_%.12s", s->handle + 2);
	if (s->network)
		net_bridge_name(s->network, s->bridge);
}

void net_state_release(struct net_state *s)
{
	free(s->network);
	free(s->table);
	free(s->pool);
	free(s->hub);
	*s = (struct net_state){0};
}

void net_dirs_close(struct net_dirs *d)
{
	free(d->root);
	cl_cleanup_fd(&d->netns);
	cl_cleanup_fd(&d->net);
	cl_cleanup_fd(&d->lock);
	cl_cleanup_fd(&d->host);
	*d = NET_DIRS_INIT;
}

static int open_sub(const char *root, const char *name, int *fd, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/%s", root, name);

	if (sys_mkdirs(path, 0700, e))
		return -1;
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path) : 0;
}

/* Temporary files of a writer that was killed; under the lock nobody is writing. */
static void drop_temporary(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	while (dir && (de = readdir(dir)))
		if (cl_starts(de->d_name, ".c-") || cl_starts(de->d_name, "..forwarding."))
			(void)unlinkat(dirfd, de->d_name, 0);
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
}

int net_dirs_open(struct net_dirs *d, const char *rundir, bool locked, struct cl_err *e)
{
	d->root = cl_strdup(rundir ? rundir : NET_RUN_DIR);
	if (sys_mkdirs(d->root, 0755, e) || open_sub(d->root, "netns", &d->netns, e) ||
		open_sub(d->root, "net", &d->net, e))
		return -1;
	if (!locked)
		return 0;
	d->lock = openat(d->net, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s/net/.lock'", d->root);
	while (flock(d->lock, LOCK_EX))
		if (errno != EINTR)
			return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s/net/.lock'", d->root);
	drop_temporary(d->net);
	return 0;
}

static char *text_or_null(const char *s)
{
	return s && *s ? cl_strdup(s) : NULL;
}

static int address_in(const char *text, struct pol_addr *a, struct cl_err *e)
{
	return !text || !*text ? 0 : pol_addr_parse(text, "recorded address", a, e);
}

static int decode(const char *text, size_t len, struct net_state *s, struct cl_err *e)
{
	const char *network = "", *table = "", *pool = "", *a4 = "", *a6 = "", *hub = "";
	json_error_t je;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	int rc = json_unpack_ex(j, &je, 0, "{s:s, s:s, s:s, s:s, s:s, s?s}", "network", &network,
		"table", &table, "pool", &pool, "address", &a4, "address6", &a6, "hub", &hub);

	if (rc) {
		json_decref(j);
		return cl_fail(e, CL_EDATA, "%s", je.text);
	}
	s->network = text_or_null(network);
	s->table = text_or_null(table);
	s->pool = text_or_null(pool);
	s->hub = text_or_null(hub);
	rc = address_in(a4, &s->address, e) || address_in(a6, &s->address6, e) ? -1 : 0;
	json_decref(j);
	return rc;
}

int net_state_read(
	const struct net_dirs *d, const char *handle, struct net_state *s, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	(void)snprintf(s->handle, sizeof(s->handle), "%s", handle);
	if (sys_read_small(d->net, handle, NET_STATE_MAX, &text, e) ||
		decode(text.p, text.len, s, e))
		return cl_wrap(e, "%s/net", d->root);
	net_state_names(s);
	return 0;
}

int net_state_write(const struct net_dirs *d, const struct net_state *s, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	char a4[POL_ADDR_TEXT] = "", a6[POL_ADDR_TEXT] = "";
	cleanup_free char *text = NULL;
	json_t *j;

	if (s->address.family)
		pol_addr_text(&s->address, a4);
	if (s->address6.family)
		pol_addr_text(&s->address6, a6);
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "network", s->network ? s->network : "",
		"table", s->table ? s->table : "", "pool", s->pool ? s->pool : "", "address", a4,
		"address6", a6, "hub", s->hub ? s->hub : "");
	text = json_dumps(j, JSON_SORT_KEYS);
	json_decref(j);
	if (!text)
		return cl_fail(e, CL_EDATA,
			"network '%s' or the path of its hub, '%s', is not UTF-8",
			s->network ? s->network : "", s->hub ? s->hub : "");
	if (strlen(text) > NET_STATE_MAX)
		return cl_fail(e, CL_EDATA, "the record of a network, of %zu bytes, is over %d",
			strlen(text), NET_STATE_MAX);
	return sys_write_atomic(d->net, s->handle, text, strlen(text), &owner, e);
}

void net_states_release(struct net_states *l)
{
	for (size_t i = 0; i < l->n; i++)
		net_state_release(&l->v[i]);
	free(l->v);
	*l = (struct net_states){0};
}

int net_handles(int dirfd, struct cl_strv *out, struct cl_err *e)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	struct cl_err no;

	if (!dir) {
		int err = errno;

		if (fd >= 0)
			(void)close(fd);
		return cl_fail_sys(e, CL_EOS, err, "cannot list the run directory");
	}
	while ((de = readdir(dir)))
		if (!net_check_handle(de->d_name, &no))
			cl_strv_add(out, de->d_name);
	(void)closedir(dir);
	return 0;
}

int net_states(
	const struct net_dirs *d, const char *except, struct net_states *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	if (net_handles(d->net, &names, e))
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		if (except && !strcmp(names.v[i], except))
			continue;
		out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
		out->v[out->n] = (struct net_state){0};
		if (net_state_read(d, names.v[i], &out->v[out->n++], e))
			return -1;
	}
	return 0;
}

int net_addresses(const char *rundir, const char *handle, struct pol_addr out[2], struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_state struct net_state s = {0};

	if (net_check_handle(handle, e) || net_dirs_open(&d, rundir, false, e) ||
		net_state_read(&d, handle, &s, e))
		return -1;
	out[0] = s.address;
	out[1] = s.address6;
	return 0;
}

int net_list(const char *rundir, struct cl_strv *handles, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;

	if (net_dirs_open(&d, rundir, false, e) || net_handles(d.netns, handles, e) ||
		net_handles(d.net, handles, e))
		return -1;
	cl_strv_sort(handles);
	cl_strv_uniq(handles);
	return 0;
}
