/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the parts of the scrubber; nobody else includes this. */
#ifndef CL_POLICY_SCRUB_INTERNAL_H
#define CL_POLICY_SCRUB_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* Calls take for each form in which the value could be printed; some may come twice. */
void scrub_forms(const char *value, size_t len,
	void (*take)(void *ctx, const char *form, size_t len), void *ctx);

/* Passing over places at which no credential can start. */
struct scrub_skip {
	bool wide; /* this processor looks at sixteen places at once */
	unsigned char mask[6][16];
};
void scrub_skip_init(struct scrub_skip *s);
/*
 * The first place of p[from..n) at which one could start, or one of the last eighteen: those are
 * not looked at.
 */
size_t scrub_skip(const struct scrub_skip *s, const char *p, size_t from, size_t n);

#endif
