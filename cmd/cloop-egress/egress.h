/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_EGRESS_H
#define CMD_EGRESS_H

#include "base/doc.h"
#include "cli/cli.h"
#include "policy/egress/egress_stack.h"

extern const struct cl_spec egress_spec;

/* `firewall`: what a policy installs, or what it answers. */
int egress_firewall(struct cl_ctx *c, struct cl_err *e);

/* `firewall test`: does a policy keep what is expected of it? 0: yes, 1: no, -1 with *e. */
int egress_test(struct cl_ctx *c, struct cl_err *e);

/* `blocked`: what sandboxes were refused. */
int egress_blocked(struct cl_ctx *c, struct cl_err *e);
/* `firewall diff`: what a change opens. 0: nothing, 1: something, -1 with *e. */
int egress_diff(struct cl_ctx *c, struct cl_err *e);
/* `rules set`, `rules show`, `rules clear`: stored rule sets. */
int egress_rules_set(struct cl_ctx *c, struct cl_err *e);
int egress_rules_show(struct cl_ctx *c, struct cl_err *e);
int egress_rules_clear(struct cl_ctx *c, struct cl_err *e);
/* `effective`: what a run would reach, as `firewall` answers. */
int egress_effective(struct cl_ctx *c, struct cl_err *e);
/* `fits`: does one level lie inside another? 0: yes, 1: no, -1 with *e. */
int egress_fits(struct cl_ctx *c, struct cl_err *e);

/*
 * `firewall verify`: does a table in the kernel mean what a policy says? 0: yes, 1: no, -1
 * with *e.
 */
int egress_firewall_verify(struct cl_ctx *c, struct cl_err *e);
/* `verify`: does every filter mean what it should that the store says should stand? The same. */
int egress_verify(struct cl_ctx *c, struct cl_err *e);
/* `watch`: follows the kernel and puts back what is changed, until SIGTERM. */
int egress_watch(struct cl_ctx *c, struct cl_err *e);

/*
 * The policy that the command line asks about, from flags, from a file or from an
 * executor's configuration; source is what the listing says it is from, owned. *out is
 * EG_STACK_INIT.
 */
int egress_stack(struct cl_ctx *c, struct eg_stack *out, char **source, struct cl_err *e);

/* The most that is read of one policy: EG_MAX_CIDRS_FILE ranges twice. */
#define EGRESS_MAX_FILE (32u << 20)
/* A policy from text, JSON or YAML; `name` is the file's for messages. *out is EG_STACK_INIT. */
int egress_policy_text(
	const char *name, const struct cl_buf *text, struct eg_stack *out, struct cl_err *e);
/*
 * The authorisation of the options internet, all-ports, ports, cidrs, deny, resolver, broker,
 * block-special-use and silent, and with `hosts` of host.
 */
int egress_flags(struct cl_ctx *c, bool hosts, struct eg_auth *out, struct cl_err *e);
/* What stands before the sandboxes of an executor of the hub. CL_ECONFIG when nothing does. */
int egress_executor(struct cl_ctx *c, const char *id, struct eg_stack *out, struct cl_err *e);

/* What there is to say of a policy that was read from `source` (NULL: flags). */
void egress_notes(const struct cl_ctx *c, const struct eg_stack *s, const char *source);

/* The name of the nft table, and of the NetworkPolicy made of it, when none is given. */
#define EGRESS_TABLE "cloop_sbx_preview"

/*
 * --format networkpolicy, or what its options contradict when another format is chosen:
 * CL_EUSAGE.
 */
int egress_networkpolicy_options(struct cl_ctx *c, bool chosen, struct cl_err *e);
int egress_networkpolicy(struct cl_ctx *c, const struct eg_policy *p, struct cl_err *e);

/*
 * Answers every --check; source: where the policy is from. 0: all allowed, 1: one was
 * dropped, -1 with *e.
 */
int egress_check(struct cl_ctx *c, const struct eg_policy *p, const char *source, struct cl_err *e);
/* Answers every line of --check-file. As egress_check. */
int egress_check_file(
	struct cl_ctx *c, const struct eg_policy *p, const char *source, struct cl_err *e);

#endif
