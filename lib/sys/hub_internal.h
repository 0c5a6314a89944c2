/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What finding a hub and making one share. */
#ifndef SYS_HUB_INTERNAL_H
#define SYS_HUB_INTERNAL_H

#include "sys/hub.h"

#define HUB_ID_KEY   "CLOOP_HUB_ID="
#define HUB_MARK_KEY "CLOOP_HUB_MARK="

/* Refuses what is not root's or uid's own, or what others may write to. CL_ECONFIG. */
int hub_trusted(int fd, const char *path, uid_t uid, bool dir, struct cl_err *e);
/* A whole trusted file below dirfd, added to out; CL_ENOTFOUND when it is not there. */
int hub_read(int dirfd, const char *name, const char *path, uid_t uid, size_t max,
	struct cl_buf *out, struct cl_err *e);
/* The value of a line KEY=VALUE of the marker, "" without one; owned. */
char *hub_marker_value(const char *text, const char *key);
/* Opens a resolved directory and its .cloop, both trusted. CL_ENOTFOUND: there is no .cloop. */
int hub_open(const char *dir, uid_t uid, int *top, int *inner, struct cl_err *e);
/* Refuses a place in a project; with `found` also one that may have come with a clone. */
int hub_place(const struct hub_ask *ask, const char *dir, bool found, struct cl_err *e);
/* Fills the names of a hub in a resolved directory. */
void hub_names(struct hub *h, const char *dir);
/* The configuration that bootstrap writes; owned. `root`: sandboxes can be filtered. */
char *hub_template(const struct hub_boot *b, const char *dir, bool root);

#endif
