/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's verbs that ask and prepare, and what they share; cloop-exec(7). */
#ifndef CLOOP_EXEC_CONTAINER_ENGINE_VERBS_H
#define CLOOP_EXEC_CONTAINER_ENGINE_VERBS_H

#include "cli/cli.h"
#include "sys/engine/engine.h"
#include "sys/engine/image.h"
#include "work/verbs.h"

int cmd_capabilities(struct cl_ctx *c, struct cl_err *e);
int cmd_preflight(struct cl_ctx *c, struct cl_err *e);
int cmd_prepare(struct cl_ctx *c, struct cl_err *e);
int cmd_reap(struct cl_ctx *c, struct cl_err *e);
int cmd_reap_images(struct cl_ctx *c, struct cl_err *e);
int cmd_probe(struct cl_ctx *c, struct cl_err *e);
int cmd_device_trial(struct cl_ctx *c, struct cl_err *e);

/* Where the executor's seccomp profile is, the one with packet sockets if raw: beside the sources in a build, in share/ once
 * installed. Owned; NULL for `seccomp: engine`, and when it is not installed (CL_EUNAVAIL in
 * *e). */
char *exec_seccomp(const struct cfg_executor *x, bool raw, struct cl_err *e);

/* What preflight finds, in order. */
enum finding_status { FIND_OK, FIND_WARN, FIND_FAIL };
struct findings {
	json_t *list;
	bool fatal;
};
/* Adds one; fix may be NULL. */
void find(struct findings *f, enum finding_status s, const char *check, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same from an error: its message and its remediation. */
void find_err(struct findings *f, enum finding_status s, const char *check, const struct cl_err *e);

/* What each group of checks looks at. */
struct preflight {
	const struct work_spec *spec;
	const struct cfg_executor *x;
	const char *workdir; /* NULL: not asked about */
	struct engine engine;
	struct engine_info info;
	struct findings out;
};
/* preflight_engine.c: false when nothing further can be asked. */
bool preflight_engine(struct preflight *p);
void preflight_runtime(struct preflight *p);
void preflight_image(struct preflight *p);
void preflight_devices(struct preflight *p);
/* preflight_net.c */
void preflight_egress(struct preflight *p);
void preflight_network(struct preflight *p);
/* preflight_host.c */
void preflight_selinux(struct preflight *p);
void preflight_seccomp(struct preflight *p);
void preflight_cgroup(struct preflight *p);
void preflight_workdir(struct preflight *p);

#endif
