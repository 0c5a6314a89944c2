/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/standing.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "filter"
#define FILE_MAX  16384

void standing_release(struct standing *s)
{
	free(s->hub);
	free(s->table);
	free(s->network);
	free(s->bridge);
	*s = STANDING_INIT;
}

void standing_digest(const struct eg_stack *s, char out[CL_SHA256_HEX])
{
	json_t *j = eg_stack_json(s);
	cleanup_free char *text = cl_json_text(j);

	json_decref(j);
	cl_sha256_hex(text, strlen(text), out);
}

/* The runtime folder, for its files alone; -1 with errno. */
static int open_dir(const char *run_base, const char *handle)
{
	cleanup_free char *dir = cl_asprintf("%s/w/%s", run_base, handle);

	return open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int standing_write(const char *run_base, const char *hub, const struct store_handle *row,
	const char *bridge, const struct eg_stack *policy, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	cleanup_fd int dir = open_dir(run_base, row->id);
	char digest[CL_SHA256_HEX] = "";
	cleanup_free char *text = NULL;
	json_t *j;

	if (dir < 0)
		return cl_fail_sys(
			e, CL_EOS, errno, "cannot open the runtime folder of %s", row->id);
	if (policy)
		standing_digest(policy, digest);
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I}", "hub", hub, "table", row->nft_table,
		"network", row->network, "bridge", bridge, "policy", digest, "prepared",
		row->netns != NULL, "started_at", (json_int_t)row->started_at);
	text = cl_json_text(j);
	json_decref(j);
	return sys_write_atomic(dir, FILE_NAME, text, strlen(text), &owner, e);
}

void standing_drop(const char *run_base, const char *handle)
{
	cleanup_fd int dir = open_dir(run_base, handle);

	if (dir >= 0)
		(void)unlinkat(dir, FILE_NAME, 0);
}

static int decode(const struct cl_buf *text, struct standing *out, struct cl_err *e)
{
	const char *hub, *table, *network, *bridge, *policy;
	json_int_t started;
	int prepared;
	json_error_t je;
	json_t *j = json_loadb(text->p, text->len, JSON_REJECT_DUPLICATES, &je);
	int rc = json_unpack_ex(j, &je, JSON_STRICT, "{s:s, s:s, s:s, s:s, s:s, s:b, s:I}", "hub",
		&hub, "table", &table, "network", &network, "bridge", &bridge, "policy", &policy,
		"prepared", &prepared, "started_at", &started);

	if (!rc && *policy && strlen(policy) != CL_SHA256_HEX - 1)
		rc = cl_fail(e, CL_EDATA, "'%s' is no digest", policy);
	else if (rc)
		rc = cl_fail(e, CL_EDATA, "%s", je.text);
	if (!rc) {
		*out = (struct standing){.hub = cl_strdup(hub),
			.table = cl_strdup(table),
			.network = cl_strdup(network),
			.bridge = cl_strdup(bridge),
			.prepared = prepared,
			.started_at = started};
		(void)snprintf(out->policy, sizeof(out->policy), "%s", policy);
	}
	json_decref(j);
	return rc;
}

int standing_read(const char *run_base, const char *handle, struct standing *out, bool *found,
	struct cl_err *e)
{
	cleanup_fd int dir = open_dir(run_base, handle);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	*found = false;
	if (dir < 0)
		return errno == ENOENT
			       ? 0
			       : cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS, errno,
					 "cannot open the runtime folder of %s", handle);
	if (faccessat(dir, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		return 0;
	if (sys_read_small(dir, FILE_NAME, FILE_MAX, &text, e))
		/* It has gone in between. */
		return e->code == CL_ENOTFOUND ? 0 : -1;
	if (decode(&text, out, e))
		return cl_wrap(e, "%s/w/%s/%s", run_base, handle, FILE_NAME);
	*found = true;
	return 0;
}

int standing_handles(const char *run_base, struct cl_strv *out, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/w", run_base);
	DIR *dir = opendir(path);
	const struct dirent *de;

	if (!dir)
		return errno == ENOENT ? 0
				       : cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS,
						 errno, "cannot list '%s'", path);
	while ((de = readdir(dir)))
		if (cl_starts(de->d_name, "c-"))
			cl_strv_add(out, de->d_name);
	(void)closedir(dir);
	cl_strv_sort(out);
	return 0;
}

static const char *or_none(const char *s)
{
	return s ? s : "";
}

static char *other(const char *what, const char *says, const char *was)
{
	return strcmp(or_none(says), was) == 0
		       ? NULL
		       : cl_asprintf("%s '%s', where '%s' was installed", what, or_none(says), was);
}

char *standing_differs(
	const struct standing *s, const struct store_handle *row, const struct eg_stack *policy)
{
	char digest[CL_SHA256_HEX] = "";
	char *said = other("table", row->nft_table, s->table);

	if (!said)
		said = other("network", row->network, s->network);
	/* The row has it a moment later than the file. */
	if (!said && row->bridge && *row->bridge)
		said = other("bridge", row->bridge, s->bridge);
	if (!said && (row->netns != NULL) != s->prepared)
		said = cl_asprintf("a network of %s, where one of %s was made",
			s->prepared ? "the engine's" : "cloop's",
			s->prepared ? "cloop's" : "the engine's");
	if (!said && row->started_at != s->started_at)
		said = cl_strdup("another time of its start than it had");
	if (said)
		return said;
	if (policy)
		standing_digest(policy, digest);
	return strcmp(digest, s->policy) == 0
		       ? NULL
		       : cl_strdup("another egress policy than the one that was installed");
}
