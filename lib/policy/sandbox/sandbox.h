/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * .cloop/sandbox.yaml: what a project asks of its sandbox. facts/executors.md 1 with
 * DECISIONS S1-S8, E5. The file comes in with a pull request, so it is untrusted, its schema
 * is closed, and it can only take access away. Pure; lib/sys/specfile.h loads the file.
 */
#ifndef CL_POLICY_SANDBOX_H
#define CL_POLICY_SANDBOX_H

#include "base/doc.h"
#include "policy/sandbox/ceiling.h"

#include <stdbool.h>

#define SB_FILE            ".cloop/sandbox.yaml"
#define SB_MAX_BYTES       65536
#define SB_MAX_SETUP       32
#define SB_MAX_SETUP_BYTES 4096
#define SB_MAX_ENV         64
#define SB_MAX_DEVICES     16
#define SB_MAX_INTERFACES  8
#define SB_MAX_MOUNTS      16
#define SB_WORKSPACE       "/workspace"
/* Says by which rules sb_hash was made (DECISIONS S3); recorded beside each hash. */
#define SB_SPEC_SCHEME 1
/* The slug of every refusal by sb_parse. */
#define SB_INVALID "invalid_spec"

enum sb_egress { SB_EGRESS_UNSET, SB_EGRESS_PUBLIC, SB_EGRESS_NONE };
const char *sb_egress_name(enum sb_egress e); /* "", "public", "none" */

struct sb_mount {
	char *source; /* relative to the workspace, clean, not "." */
	char *target; /* absolute, clean, not "/" */
	bool read_only;
	unsigned line, column; /* of the entry */
};

/* Something to tell the author that is no error. */
struct sb_note {
	const char *rule; /* static; a row of sb_rules */
	char *key;        /* "resources.cpu" */
	char *text;
	char *fix;             /* NULL: none */
	char *asked, *given;   /* of a clamp: as written, and what holds; else NULL */
	unsigned line, column; /* 0: unknown */
};

/* A parsed spec. Zero is what an absent or empty file says: nothing. */
struct sb_spec {
	char *image;                      /* NULL: the executor's */
	struct cl_strv setup;             /* commands */
	bool has_env;                     /* `env` is there: a filter, even an empty one */
	bool has_devices, has_interfaces; /* the same */
	struct cl_strv env;               /* names, file order, no duplicates */
	bool has_cpu, has_memory, has_disk, has_pids; /* the key is there, even as 0 */
	double cpu;                                   /* cores; 0: no limit of its own */
	int64_t memory_mb, disk_mb, pids;             /* 0: no limit of its own */
	bool git, virtualized, kernel_isolated;
	char *network; /* id of an egress grant; NULL: none */
	enum sb_egress egress;
	struct cl_strv devices, interfaces; /* selectors in file order, no duplicates */
	struct sb_mount *mounts;
	size_t nmounts, mounts_cap;
	struct sb_note *notes; /* clamps from sb_parse, then whatever sb_sense adds */
	size_t nnotes, notes_cap;
};
#define SB_SPEC_INIT ((struct sb_spec){0})
void sb_spec_release(struct sb_spec *s);
#define cleanup_sb_spec __attribute__((cleanup(sb_spec_release)))

/*
 * Reads a document (its root may be NULL: an empty file). *out is SB_SPEC_INIT; release it
 * whatever is returned. The first error wins, in the order image, setup, env, cpu, memory,
 * disk, pids, network, egress, devices, interfaces, mounts, after unknown keys: CL_EDATA
 * with slug SB_INVALID, rule, file, line and column. Numbers above a bound are lowered
 * to it with a note.
 */
int sb_parse(struct cl_doc *d, struct sb_spec *out, struct cl_err *e);

/*
 * The same from a file's text: YAML with the caps of this file first. `name` is for messages.
 * *d is CL_DOC_INIT; both are to be released whatever is returned.
 */
int sb_read(const char *name, const char *text, size_t len, struct cl_doc *d, struct sb_spec *out,
	struct cl_err *e);

/* True when the spec changes nothing: the run is as if there were no file. */
bool sb_asks_nothing(const struct sb_spec *s);

/* What becomes of the executor's network (DECISIONS E5). */
enum sb_net {
	SB_NET_UNTOUCHED, /* the spec asks for nothing */
	SB_NET_OFF,
	SB_NET_PUBLIC, /* the executor's, narrowed to the public Internet */
	SB_NET_GRANT,  /* the executor's, and a proxy session under the grant */
	SB_NET_GRANT_PUBLIC
};
enum sb_net sb_network(const struct sb_spec *s);
const char *sb_net_name(enum sb_net n); /* "untouched", "off", "public", "grant", "grant+public" */

/* What is asked for, in the units of ceiling.h; a positive cpu is at least 1 milli-core. */
void sb_limits_of(const struct sb_spec *s, struct sb_limits *out);

/* The hash of the normalised values, 64 hex (DECISIONS S3), and of what a built image depends
 * on ("" without setup). */
void sb_hash(const struct sb_spec *s, char out[65]);
void sb_setup_hash(const struct sb_spec *s, char out[65]);

/* The normalised spec with the keys of the file; sizes as "4096m"; unset keys are left out. */
json_t *sb_json(const struct sb_spec *s);
json_t *sb_notes_json(const struct sb_spec *s);

/* One placement requirement: the constraint by which an executor fails, and the key that asks. */
struct sb_need {
	const char *constraint; /* static: "image_override", "harness", ... */
	const char *value;      /* "git" for harness, else NULL */
	const char *key;        /* static: "image", "capabilities.git", ... */
};
#define SB_NEEDS_MAX 16
/* In the order in which placement evaluates them; returns how many. */
size_t sb_needs(const struct sb_spec *s, struct sb_need out[SB_NEEDS_MAX]);

/* Adds notes about a spec that is valid and makes no sense (DECISIONS S8). */
void sb_sense(struct cl_doc *d, struct sb_spec *s);
/* Adds a note with its place at obj[key], or at arr[index] when key is NULL. */
struct sb_note *sb_note(struct cl_doc *d, struct sb_spec *s, const char *rule, const char *path,
	const json_t *parent, const char *key, size_t index, const char *fmt, ...)
	__attribute__((format(printf, 8, 9)));

/*
 * The words of a setup command that could name a file of the project: quotes and redirections
 * taken off, options, variables and URLs left out. For whoever can look (DECISIONS E8).
 */
void sb_setup_words(const char *command, struct cl_strv *out);

/* Cleans a path by its text alone, as `.` and `..` and doubled slashes go; "" becomes ".". */
void sb_path_clean(const char *path, struct cl_buf *out);

/* Every rule that an error or a note can name, for reports; ends with a zero row. */
struct sb_rule {
	const char *id, *help;
	bool error;
};
extern const struct sb_rule sb_rules[];

#endif
