/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which directory may be a project. It is the one host path that every sandbox of the
 * project is given to write, so it decides what untrusted code can reach of this host.
 * Seven rules judge the directory that the kernel would open, not the text that was sent
 * (guide: "Which directory a project may be"). Pure; sys/confine.h gathers the facts.
 *
 * A thing is known by names. Its first is its path: absolute, clean, no symbolic link in
 * it. The others are places, "MAJOR:MINOR/path" on a file system, so that a bind mount
 * does not make one directory look like two. Names are compared with each other only.
 */
#ifndef CL_POLICY_CONFINE_H
#define CL_POLICY_CONFINE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum confine_purpose {
	CONFINE_CREATE, /* to become a project: no registered one may be there */
	CONFINE_RUN,    /* to be run: the registered project itself is fine */
};

/* What a search for other hubs' markers (.cloop/hub.env) came to. */
enum confine_search {
	CONFINE_SEARCHED,
	CONFINE_TOO_BROAD,  /* more below than is looked at */
	CONFINE_UNREADABLE, /* something that may hold one could not be read */
};

struct confine_facts {
	enum confine_purpose purpose;
	bool manage;           /* the caller has executor.manage (the local operator does) */
	bool hub_entry;        /* this is the operator's own entry for the hub's directory */
	struct cl_strv names;  /* of the directory: its path, its place, places mounted below it */
	struct cl_strv home;   /* of the user the hub runs as; empty: unknown */
	struct cl_strv hub;    /* of this hub */
	struct cl_strv root;   /* of ui.projects_root; empty: none is configured */
	struct cl_strv system; /* places of confine_system_trees */
	struct cl_strv *projects; /* of each registered project */
	size_t nprojects;
	char *other_hub; /* another hub's directory: this one, above or below; NULL: none */
	enum confine_search search;
	char *search_at;  /* where the search gave up */
	char *state_link; /* where the directory's .cloop leads, if it is a link out of it */
};
#define CONFINE_FACTS_INIT ((struct confine_facts){0})
void confine_facts_release(struct confine_facts *f);
#define cleanup_confine __attribute__((cleanup(confine_facts_release)))

/* The trees that rule 1 keeps projects out of, NULL at the end. */
extern const char *const confine_system_trees[];

/*
 * 0 when it may be, else -1 and CL_EREFUSED (rule 7: CL_EDENIED), slug project_unconfined,
 * with e->rule "confine.N". *rule is N, 0 when it may be. Without `manage` the error tells
 * nothing of what else is on this host: outside the projects root it is always rule 7's,
 * inside it rules 3 to 6 have one and the same words and name no rule. *rule is exact in
 * every case, for the audit.
 */
int confine_judge(const struct confine_facts *f, int *rule, struct cl_err *e);
/* The same with rules up to `last` only. */
int confine_judge_to(const struct confine_facts *f, int last, int *rule, struct cl_err *e);

/* An absolute path without ".", "..", doubled or trailing slashes, by its text; owned. */
char *confine_clean(const char *absolute);
/* The same directory, or `inner` below `outer`. */
bool confine_within(const char *outer, const char *inner);
/* The project that a path in its .cloop/features/NAME belongs to; owned, NULL for others. */
char *confine_feature_project(const char *path);

#endif
