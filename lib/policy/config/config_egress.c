/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/config/config_egress.h"

#include <string.h>

static int no_network(const struct cfg_executor *x, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"capabilities.egress is public, and executor '%s' has network: none: that would "
		"add "
		"access",
		x->id);
	(void)cl_constraint(e, "egress_scope");
	return cl_fix(e, "set network: bridge on the executor, or ask for egress: none");
}

int cfg_egress(const struct cfg_executor *x, enum sb_net net, struct eg_auth *out, bool *filtered,
	struct cl_err *e)
{
	const struct cfg_egress *f = &x->egress;

	*filtered = false;
	if (net == SB_NET_OFF)
		return 0;
	if (net == SB_NET_PUBLIC || net == SB_NET_GRANT_PUBLIC) {
		if (!strcmp(x->network, "none"))
			return no_network(x, e);
		*filtered = true;
		return eg_narrow_public(&f->auth, f->enabled, f->internal, out, e);
	}
	*filtered = f->enabled;
	if (f->enabled)
		eg_auth_copy(&f->auth, out);
	return 0;
}
