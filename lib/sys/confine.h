/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Confinement of project directories on this machine; policy/confine.h has the rules. */
#ifndef CL_SYS_CONFINE_H
#define CL_SYS_CONFINE_H

#include "policy/confine.h"

#include <sys/types.h>

struct confine_ask {
	const char *dir; /* as it was typed; relative to the current directory */
	enum confine_purpose purpose;
	bool manage, hub_entry;      /* as in confine_facts */
	const char *hub;             /* the hub's directory */
	const char *root;            /* ui.projects_root, NULL: none */
	const char *home;            /* NULL: that of the effective user, as the system lists it */
	const char *const *projects; /* registered directories */
	size_t nprojects;
};

struct confine_dir {
	char *path; /* what the kernel opens for it: to be used instead of what was typed */
	int fd;     /* O_PATH of exactly what was judged, close-on-exec; -1: not there yet */
	struct confine_facts facts; /* of path, or of the project whose feature path is */
	int rule;                   /* that refused; 0: none */
};
#define CONFINE_DIR_INIT ((struct confine_dir){.fd = -1})
void confine_dir_release(struct confine_dir *d);
#define cleanup_confine_dir __attribute__((cleanup(confine_dir_release)))

/*
 * Resolves, gathers and judges. 0 when the directory may be a project (CONFINE_RUN: that of
 * a run). CL_EREFUSED and CL_EDENIED as confine_judge. CL_ENOTFOUND: CONFINE_RUN and it does
 * not exist. CL_EDATA: something on its way is no directory, a link to nothing, or a link of
 * /proc. CL_EDENIED: it cannot be looked at. CL_EOS.
 */
int confine_check(const struct confine_ask *ask, struct confine_dir *out, struct cl_err *e);

/* How far below a directory other hubs' markers are looked for. */
#define CONFINE_DEPTH 8
/* Directories looked into before it is too broad; and 32 times as many entries. */
#define CONFINE_BREADTH 100000

/*
 * Looks for a .cloop/hub.env above `path` and in it, then down to `depth` levels below
 * `fd` (-1: nothing is there), in at most `breadth` directories; `own` is not another's.
 * Fills other_hub, search and search_at.
 */
void confine_search_hubs(const char *path, int fd, const char *own, unsigned depth, size_t breadth,
	struct confine_facts *f);

#endif
