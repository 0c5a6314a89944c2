/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a dry run cannot see in a grant: that the executor could not hand over what it opens, or that
 * the hardware is not here. A run is refused for either, so who asks is told.
 */
#ifndef CLOOP_SECRET_HERE_H
#define CLOOP_SECRET_HERE_H

#include "dry.h"

/*
 * Of what d's lease would deliver to a run of d's project on d's executor, where that is one of this
 * hub: an array of {grant_id, code, reason, remediation}, owned; remediation may be null. Nothing is
 * said of an executor that this hub does not have, nor when none was named: its hardware is not here
 * to be looked at. What the project's sandbox.yaml does not select is not looked at either.
 */
json_t *here_look(const struct dry *d);
#endif
