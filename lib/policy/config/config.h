/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hub's configuration (DECISIONS D9): one table of every key, and what a file means
 * by it. Pure. A file that parses always has a meaning: a bad value takes the confining
 * default with a warning, an unknown key or a bad oci_runtime takes its executor out of
 * service, a feature that is known but not built is refused by its name when asked for.
 */
#ifndef POLICY_CONFIG_H
#define POLICY_CONFIG_H

#include "base/buf.h"
#include "base/doc.h"
#include "policy/sandbox/ceiling.h"
#include "policy/egress/egress.h"
#include "policy/image/imagepolicy.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the table ---- */

enum cfg_type {
	CFG_MAP,         /* a mapping of further keys */
	CFG_MAPS,        /* a list of such mappings; its keys carry "[]" */
	CFG_ONE_OR_MAPS, /* either */
	CFG_BOOL,
	CFG_INT,
	CFG_NUMBER, /* decimal fraction */
	CFG_SIZE,   /* N[bkmgt]; what a bare number counts is in `unit` */
	CFG_STR,
	CFG_ENUM,
	CFG_STRS,   /* list of strings */
	CFG_INTS,   /* list of whole numbers */
	CFG_LABELS, /* mapping of free names to strings */
	CFG_ANY     /* kept as it is; another module reads it */
};

/* What a bad value does besides taking `bad` or the default. */
enum cfg_harm {
	CFG_HARM_NONE,
	CFG_HARM_EXECUTOR, /* its executor is out of service */
	CFG_HARM_ALL       /* every executor is: a bound that nobody can read */
};

struct cfg_key {
	const char *path; /* "executors.container.cpus"; "[]" after a list of mappings */
	enum cfg_type type;
	const char *def;     /* the default as YAML text; NULL: unset */
	const char *bad;     /* what a bad value counts as, where the default confines less */
	const char *feature; /* "container", "git-proxy", ...; cfg_built says if it is there */
	double min, max;     /* CFG_INT, CFG_INTS, CFG_NUMBER */
	const char *unit;    /* "MB", "bytes", "seconds", ... or NULL; CFG_SIZE: of a bare number */
	size_t items;        /* most entries of a list; 0: 256 */
	const char *const *values; /* CFG_ENUM, NULL-terminated */
	enum cfg_harm harm;
	/* Further grammar of a string (or of each in a list): CL_EDATA with the rule. */
	int (*check)(const char *text, struct cl_err *e);
	const char *help; /* one clause, no full stop */
};

/* Every key, ordered by path; *n of them. */
const struct cfg_key *cfg_keys(size_t *n);
/* The row of a concrete path ("executors.container[1].cpus" or the table's own form), or NULL. */
const struct cfg_key *cfg_key_find(const char *path);
/* True when this release has the feature. */
bool cfg_built(const char *feature);
json_t *cfg_key_json(const struct cfg_key *k);
const char *cfg_type_name(enum cfg_type t);

/* ---- what a file means ---- */

enum cfg_network_backend { CFG_BACKEND_AUTO, CFG_BACKEND_PREPARED, CFG_BACKEND_ENGINE };
enum cfg_seccomp { CFG_SECCOMP_STRICT, CFG_SECCOMP_USERNS, CFG_SECCOMP_ENGINE };

struct cfg_egress {
	bool enabled;
	bool internal;       /* no route at all but the egress proxy */
	struct eg_auth auth; /* what is allowed; block_special_use and silent are in it */
};

/* What kind of executor a section of the file makes; one row of a table. */
struct cfg_kind {
	const char *section; /* "executors.container" */
	const char *name;    /* "container"; NULL: the NAME of its driver, cloop-exec-NAME */
	const char *program; /* its driver, in the libexec folder; NULL: the file names one */
	bool named_only;     /* nothing runs there that was not sent there by name */
};
/* The rows, ended by one without a section. */
const struct cfg_kind *cfg_kinds(void);

/* One entry of executors.container, executors.drivers or executors.local. */
struct cfg_executor {
	const struct cfg_kind *row;
	char *kind;   /* "container", "localprocess", or what a third party's driver is called */
	char *driver; /* "cloop-exec-container", or an absolute path; never NULL, "" when bad */
	char *id;
	bool enabled;          /* asked for */
	char *disabled_reason; /* not NULL: out of service, whatever `enabled` says */
	char *disabled_fix;
	unsigned line, column; /* where it starts in the file */
	char *key;             /* "executors.container" or "executors.container[1]" */
	/* Of containers, and without meaning elsewhere: */
	char *runtime;     /* "podman", "docker", or "": whichever is there, podman first */
	char *oci_runtime; /* registered name, or "": the engine's default */
	char *image;
	struct sb_limits defaults;  /* of a run that asks for none; pids -1: no limit, never 0 */
	char *network;              /* "none", "bridge", a network of the engine, else "host" */
	struct cl_strv allow_hosts; /* "name:addr" each */
	struct cl_strv extra_args;  /* checked: policy/sandbox/extra_args.h */
	char *selinux_label;        /* "", "z", "Z" */
	bool allow_root_user;
	int64_t orphan_grace_seconds;
	char *address_pool; /* "10.211.0.0/16" */
	enum cfg_network_backend network_backend;
	enum cfg_seccomp seccomp;
	struct cfg_egress egress;
	json_t *labels; /* object of strings; owned */
};

enum cfg_severity { CFG_WARNING, CFG_ERROR }; /* an error in `config check`, else a warning */
struct cfg_issue {
	enum cfg_severity severity;
	unsigned line, column; /* 0: not in the file */
	char *key;             /* concrete path */
	char *msg, *fix;       /* fix may be NULL */
};

/* One key as it is in force. */
struct cfg_value {
	char *path; /* concrete */
	const struct cfg_key *key;
	json_t *value;         /* NULL: unset */
	unsigned line, column; /* 0: the default */
	bool rejected;         /* the file's value was bad and the default holds */
};

struct cfg {
	char *file;
	/* In the order of the file, those that run only what is sent there by name at the end: the
	 * first is the default. */
	struct cfg_executor *executors;
	size_t nexecutors;
	struct sb_limits limits; /* executors.limits: ceilings of any workload; 0: none */
	bool allow_host_process;
	struct ip_policy image_policy; /* one that could not be read refuses every image */
	bool provenance_required;      /* executors.image_provenance */
	int64_t min_free_disk_mb;      /* 0: off */
	int64_t sweep_minutes;    /* between two passes of a guardian that collect; 0: none do */
	int64_t lease_seconds;    /* SEC_LEASE_SECONDS at most */
	char *key_file;           /* secrets.key_file, or NULL */
	struct cl_strv refused;   /* features that are asked for and not built, by name */
	struct cfg_value *values; /* by path */
	size_t nvalues, values_cap;
	struct cfg_issue *issues;
	size_t nissues, issues_cap;
	bool more_issues; /* than the 100 that are kept */
};
#define CFG_INIT ((struct cfg){0})
void cfg_release(struct cfg *c);
#define cleanup_cfg __attribute__((cleanup(cfg_release)))

/*
 * Gives a parsed document its meaning; *out is CFG_INIT. The document may be released
 * afterwards. CL_ECONFIG when its top level is no mapping.
 */
int cfg_read(struct cl_doc *d, struct cfg *out, struct cl_err *e);

/* True when an issue is of severity CFG_ERROR. */
bool cfg_has_errors(const struct cfg *c);
/* The first issue of severity CFG_ERROR as an error value (CL_ECONFIG); 0 when there is none. */
int cfg_first_error(const struct cfg *c, struct cl_err *e);

/*
 * The remedy for an id that none of the n has, and constraint "executor": the one that was probably
 * meant, else all that there are. Returns -1.
 */
int cfg_name_executors(const char *id, const char *const *ids, size_t n, struct cl_err *e);
/* The same with the error itself, CL_ENOTFOUND. Returns -1. */
int cfg_no_executor(const char *id, const char *const *ids, size_t n, struct cl_err *e);
/*
 * The executor with that id, or the default one (the first) when id is NULL, whether it is
 * enabled or not. CL_ENOTFOUND with constraint "executor" for an id that none has, CL_ECONFIG
 * when there is no default one or when it is out of service, with the reason: the same for every
 * command, and never status 1, which is an answer.
 */
int cfg_executor_find(
	const struct cfg *c, const char *id, const struct cfg_executor **out, struct cl_err *e);
/* The same of one that may run something: one that is not enabled is refused too. */
int cfg_executor(
	const struct cfg *c, const char *id, const struct cfg_executor **out, struct cl_err *e);

/* Refuses a feature that is asked for in the file and not built: CL_EUNAVAIL with its name. */
int cfg_feature(const struct cfg *c, const char *feature, struct cl_err *e);

/* The value in force of a concrete path, or NULL. */
const struct cfg_value *cfg_value(const struct cfg *c, const char *path);
/*
 * {file, values:{path:{value, source ("file:line" or "default"), built, rejected}},
 * executors:[{id, key, enabled, in_service, reason}], not_in_this_release:[feature]}; owned.
 */
json_t *cfg_json(const struct cfg *c);

#endif
