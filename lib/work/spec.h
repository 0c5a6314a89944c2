/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a driver is given to prepare or start one workload (cloop-exec(7)): one JSON
 * object, closed, checked here once for every verb of every driver.
 */
#ifndef CL_WORK_SPEC_H
#define CL_WORK_SPEC_H

#include "base/doc.h"
#include "policy/sandbox/ceiling.h"
#include "policy/config/config.h"
#include "policy/egress/egress_stack.h"
#include "policy/sandbox/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

struct work_mount {
	const char *source; /* relative to the project */
	const char *target;
	bool read_only;
};

/* Strings are borrowed from `doc`. */
struct work_spec {
	struct cl_doc doc;
	struct cfg cfg; /* of the executor alone */
	const struct cfg_executor *executor;
	const char *hub;     /* the hub's directory, absolute */
	const char *run_id;  /* or NULL: a workload that is no run's */
	const char *project; /* absolute, resolved */
	struct cl_strv argv;
	struct cl_strv env; /* "NAME=VALUE", no secrets */
	const char *image;  /* NULL: the executor's */
	bool image_from_project;
	struct cl_strv setup;
	struct sb_limits limits; /* in force: 0 none, pids -1 none */
	const char *disk_source;
	bool network_disabled;
	enum sb_egress scope;
	bool has_egress;
	struct eg_stack egress; /* what the workload may reach; only with has_egress */
	struct work_mount mounts[SB_MAX_MOUNTS];
	size_t nmounts;
	json_t *labels;     /* object of strings, or NULL */
	int64_t timeout_ms; /* 0: none */
	bool wants_stdin, detached;
	const char *spec_sha256, *setup_sha256; /* "" where there is none */
	int64_t min_free_mb;
	json_t *image_policy;   /* mapping, or NULL */
	json_t *image_registry; /* how registries are asked (work/registry.h), or NULL */
	bool provenance_required; /* an image of cloop's own whose publisher is not proved is refused */
	json_t *pinned;           /* the answer of `prepare`, or NULL */
	bool lend;                /* something may be granted to the run: the driver asks for it */
	const char *key_file;     /* CLOOP_SECRET_KEY_FILE of who runs it, or NULL */
	bool key_passed;          /* CLOOP_SECRET_KEY of who runs it comes as a descriptor */
	/* Names of the hardware that the project takes of what is granted; where has_* is false,
	 * all of it. */
	struct cl_strv devices, interfaces;
	bool has_devices, has_interfaces;
};
#define WORK_SPEC_INIT ((struct work_spec){.doc = CL_DOC_INIT, .cfg = CFG_INIT})
void work_spec_release(struct work_spec *s);
#define cleanup_work_spec __attribute__((cleanup(work_spec_release)))

/*
 * Reads text[0..len). `section` is where the executor's keys stand in config.yaml, below
 * executors: "container", "local" or "drivers". *out is WORK_SPEC_INIT; release it whatever is returned. CL_EDATA
 * with the place; CL_EREFUSED when the executor in it is out of service.
 */
int work_spec_read(
	const char *section, const char *text, size_t len, struct work_spec *out, struct cl_err *e);

/*
 * The configuration of one executor as a driver gets it: {"executor":{...},"hub":DIR}. Used by
 * the verbs that have no workload: capabilities, preflight, reap.
 */
int work_executor_read(
	const char *section, const char *text, size_t len, struct work_spec *out, struct cl_err *e);

#endif
