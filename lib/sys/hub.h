/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which hub a command works for (DECISIONS D2), and the hub's directory itself:
 *
 *	DIR/.cloop/hub.env      the marker: names the hub, and environment for its daemons
 *	DIR/.cloop/config.yaml  the configuration
 *	DIR/.cloop/state.db     the state
 *
 * The library reads no environment: what the caller found there comes as arguments.
 */
#ifndef SYS_HUB_H
#define SYS_HUB_H

#include "base/buf.h"
#include "base/doc.h"
#include "base/err.h"
#include "policy/config/config.h"

#include <stdbool.h>
#include <sys/types.h>

/* What decides; NULL for what is not set. */
struct hub_ask {
	const char *dir;        /* -C DIR, or CLOOP_DIR */
	const char *cwd;        /* the current directory */
	uid_t uid;              /* the caller, effective */
	const char *hubs;       /* CLOOP_HUBS: another file for the list of hubs */
	const char *xdg_config; /* XDG_CONFIG_HOME */
	const char *xdg_state;  /* XDG_STATE_HOME */
	const char *home;       /* HOME: stands in for the two above */
};

/* The root key that bootstrap makes, in the hub's directory. */
#define HUB_KEY_FILE "cloop-secret-key"

struct hub {
	char *dir;    /* resolved: no symbolic link in it */
	char *marker; /* DIR/.cloop/hub.env */
	char *config; /* DIR/.cloop/config.yaml */
	char *state;  /* DIR/.cloop/state.db */
	char *id;     /* "hub_<24 hex>" as the marker says */
	char *mark;   /* hub_mark */
	const char *
		why; /* how it was found: "-C or CLOOP_DIR", "the current directory", "the default" */
};
#define HUB_INIT ((struct hub){0})
void hub_release(struct hub *h);
#define cleanup_hub __attribute__((cleanup(hub_release)))

/*
 * Finds the hub: the directory asked for; else the current directory if the caller's
 * list has it; else /var/lib/cloop for root or $XDG_STATE_HOME/cloop for others, if it
 * was bootstrapped. CL_ECONFIG (slug "no_hub"), with `cloop hub bootstrap` as the fix,
 * when there is none; CL_ECONFIG with the rule that refused when hub_check does.
 */
int hub_find(const struct hub_ask *ask, struct hub *out, struct cl_err *e);

/*
 * Never a directory that a repository, a workload or another user could have supplied: it
 * and its .cloop are directories of root's or the caller's that nobody else may write
 * to, .cloop is no link, .cloop/hub.env is such a file too, and neither it nor a directory
 * above is a project (has .cloop/sandbox.yaml or .cloop/sandbox-run.json). One below a
 * .git is only taken when the caller's list of hubs has it. Fills *out.
 */
int hub_check(const struct hub_ask *ask, const char *dir, struct hub *out, struct cl_err *e);

/*
 * What tells the hub's networks and packet filters from those of another hub of this machine
 * whose executor has the same id: "" for the hub that was made first, which has the plain
 * names, else a word that bootstrap or hub_take_mark wrote into the marker. Owned. A directory without a
 * marker has none; CL_ECONFIG for one that cannot be part of a name.
 */
int hub_mark(const char *dir, uid_t uid, char **out, struct cl_err *e);
/*
 * Gives a hub without a mark one, the first 6 digits of its id, for another has the plain names;
 * *out is its mark, owned, also where it had one. CL_ECONFIG for one that has no id or cannot be
 * written, with what to write.
 */
int hub_take_mark(const char *dir, uid_t uid, char **out, struct cl_err *e);
/* The id that networks and tables of the executor are named after; owned. */
char *hub_network_id(const char *mark, const char *executor);

/*
 * A small file of the hub's own, DIR/.cloop/NAME, that nobody but root and uid may write to:
 * what it says holds also against who can write the state file. Read whole, added to *out;
 * CL_ENOTFOUND without one, CL_ECONFIG for one that others may write.
 */
int hub_own_read(const struct hub *h, const char *name, uid_t uid, size_t max, struct cl_buf *out,
	struct cl_err *e);
/* Replaces it, mode 0644. */
int hub_own_write(const struct hub *h, const char *name, uid_t uid, const struct cl_buf *text,
	struct cl_err *e);

/* The file with the caller's list of hubs, one directory a line; owned. */
char *hub_list_file(const struct hub_ask *ask);
/* Its lines; an absent file is an empty list. CL_EOS, CL_ECONFIG when others may write it. */
int hub_list(const struct hub_ask *ask, struct cl_strv *out, struct cl_err *e);
/* Where bootstrap makes a hub when no directory is named; owned, NULL when HOME is unknown. */
char *hub_default_dir(const struct hub_ask *ask);

/* What bootstrap wants, and what it did. */
struct hub_boot {
	const char *external_url; /* NULL: none */
	int git_proxy_port, kube_guard_port;
	bool made_dir, made_marker, made_config, made_state, made_key, listed; /* out */
	char *key_file; /* out, owned: secrets.key_file as the configuration has it, or NULL */
	bool key_there; /* out: that file exists */
	bool sealed; /* set by `state`: something is sealed already, so a new key would open nothing */
};
void hub_boot_release(struct hub_boot *b);
#define cleanup_boot __attribute__((cleanup(hub_boot_release)))
/*
 * Makes the hub's directory ask->dir (or the default): directories with mode 0700, the
 * marker, a commented configuration, the state file, the root key that the configuration
 * names (beside .cloop, mode 0600), an entry in the list of hubs. What is there already is left
 * as it is. Every file appears whole, by rename, or not at all,
 * and the marker comes last: a directory without it is no hub, so bootstrap can be
 * killed at any point and run again. The state file is the caller's to make (it is a
 * layer above): `state` is called with its path once the directory is there. CL_ECONFIG for
 * a place that hub_check would refuse.
 */
int hub_bootstrap(const struct hub_ask *ask, struct hub_boot *b,
	int (*state)(const char *path, struct hub_boot *b, struct cl_err *e), struct hub *out,
	struct cl_err *e);

/*
 * Reads and judges the configuration as `uid` (the file must be trusted). *d keeps the text and the places of values; *c refers
 * to nothing in it. An absent file is an empty one. CL_ECONFIG, with file, line and
 * column, when it is no YAML mapping; bad values and unknown keys are not errors here:
 * they are in c->issues and their confining effect is in *c (DECISIONS D9).
 */
int hub_config(const struct hub *h, uid_t uid, struct cl_doc *d, struct cfg *c, struct cl_err *e);

#endif
