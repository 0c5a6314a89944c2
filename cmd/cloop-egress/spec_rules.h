/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of `rules ...` and `effective`, apart from spec.c. */
#ifndef CMD_EGRESS_SPEC_RULES_H
#define CMD_EGRESS_SPEC_RULES_H

#include "cli/spec.h"

extern const struct cl_opt egress_rules_set_opts[], egress_rules_show_opts[],
	egress_rules_clear_opts[], egress_effective_opts[];
extern const struct cl_exit egress_rules_set_exits[], egress_rules_show_exits[],
	egress_effective_exits[];
extern const struct cl_example egress_rules_set_examples[], egress_rules_show_examples[],
	egress_rules_clear_examples[], egress_effective_examples[];

#endif
