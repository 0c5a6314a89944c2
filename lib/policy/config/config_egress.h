/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The egress filter of a run: what its executor is configured with, and what is left of it. Pure. */
#ifndef POLICY_CONFIG_EGRESS_H
#define POLICY_CONFIG_EGRESS_H

#include "policy/config/config.h"
#include "policy/sandbox/sandbox.h"

/*
 * The one way from an executor's configuration to an authorisation (DECISIONS E5): what
 * stands on the executor, narrowed by what the project's spec makes of the network
 * (SB_NET_UNTOUCHED: nothing, as for `cloop egress firewall --executor`). *out is EG_AUTH_INIT
 * and is filled where *filtered is true; else no filter stands before the workload, because it
 * has no network or because the executor has no filter. CL_EREFUSED with constraint
 * "egress_scope" or "egress" for a scope that the executor cannot give.
 */
int cfg_egress(const struct cfg_executor *x, enum sb_net net, struct eg_auth *out, bool *filtered,
	struct cl_err *e);

#endif
