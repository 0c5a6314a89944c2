/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the configuration share; nobody else includes this. */
#ifndef POLICY_CONFIG_INTERNAL_H
#define POLICY_CONFIG_INTERNAL_H

#include "policy/config/config.h"

/* ---- grammars of single values (config_check.c): CL_EDATA with the rule that refuses ---- */

int cfg_check_any_cidr(const char *text, struct cl_err *e); /* address or prefix */
int cfg_check_build(const char *text, struct cl_err *e);    /* v1.2.3 */
int cfg_check_cidr(const char *text, struct cl_err *e);     /* prefix, no /0 */
int cfg_check_driver(const char *text, struct cl_err *e);   /* /.../cloop-exec-NAME */
int cfg_check_endpoint(const char *text, struct cl_err *e); /* address:port */
int cfg_check_extra_arg(const char *text, struct cl_err *e);
int cfg_check_host_entry(const char *text, struct cl_err *e); /* name:IPv4 */
int cfg_check_host_pattern(const char *text, struct cl_err *e);
int cfg_check_https_base(const char *text, struct cl_err *e); /* https://host[:port] */
int cfg_check_id(const char *text, struct cl_err *e);
int cfg_check_image(const char *text, struct cl_err *e);
int cfg_check_label(const char *text, struct cl_err *e);  /* "name=value" */
int cfg_check_listen(const char *text, struct cl_err *e); /* host:port */
int cfg_check_network(const char *text, struct cl_err *e);
int cfg_check_oci_runtime(const char *text, struct cl_err *e);
int cfg_check_plain_registry(const char *text, struct cl_err *e); /* host:port of loopback */
int cfg_check_origin(const char *text, struct cl_err *e);         /* http or https, no path */
int cfg_check_path(const char *text, struct cl_err *e);           /* absolute */
int cfg_check_pool(const char *text, struct cl_err *e);
int cfg_check_resolver(const char *text, struct cl_err *e); /* address, address:port */

/* ---- the reader's state ---- */

struct cfg_reader {
	struct cl_doc *d;
	struct cfg *c;
	struct cfg_executor *executor; /* whose keys are being read, or NULL */
	char *stop, *stop_fix;         /* why no executor is in service, or NULL */
};

/* One value out of parent[key] by its row; NULL with *e when it is bad. Owned (config_value.c). */
json_t *cfg_value_read(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e);
/* The same of a default's text; NULL text gives NULL. */
json_t *cfg_value_default(const struct cfg_key *k, const char *text);

/* Notes an issue at a place of the file (config.c); msg and fix are copied. */
void cfg_note(struct cfg *c, enum cfg_severity severity, const char *key, unsigned line,
	unsigned column, const char *msg, const char *fix);
/* Takes an executor out of service; the first reason stays (config.c). */
void cfg_disable(struct cfg_executor *x, const char *reason, const char *fix);
/* Fills the typed members of an executor from c->values, and judges it as a whole. */
void cfg_executor_fill(struct cfg *c, struct cfg_executor *x);
/* True when a list of the store of values has the entry. */
const json_t *cfg_json_value(const struct cfg *c, const char *base, const char *name);

#endif
