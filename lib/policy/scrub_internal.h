/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the engine of the scrubber and the forms of a value; nobody else includes this. */
#ifndef CL_POLICY_SCRUB_INTERNAL_H
#define CL_POLICY_SCRUB_INTERNAL_H

#include <stddef.h>

/* Calls take for each form in which the value could be printed; some may come twice. */
void scrub_forms(const char *value, size_t len,
	void (*take)(void *ctx, const char *form, size_t len), void *ctx);

#endif
