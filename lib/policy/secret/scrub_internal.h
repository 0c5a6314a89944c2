/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the parts of the scrubber; nobody else includes this. */
#ifndef CL_POLICY_SCRUB_INTERNAL_H
#define CL_POLICY_SCRUB_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* How a form may stand in the stream. */
enum scrub_how {
	SCRUB_PLAIN, /* as it is */
	/*
	 * Base64, which writers break into lines: a line end may stand in it behind its first
	 * SCRUB_HEAD digits, and another behind SCRUB_LINE more.
	 */
	SCRUB_WRAPS,
	SCRUB_TAIL, /* the same without its first digits, which a line end may have cut off */
};
#define SCRUB_HEAD 4
#define SCRUB_LINE 32

struct scrub_form {
	char *p;
	size_t len;
	enum scrub_how how;
};
/* What it takes up at most, with line ends of two bytes in it. */
size_t scrub_span(const struct scrub_form *f);
/*
 * Bytes of p[0..n) that are the form, its line ends with it; 0 when it does not stand there, and
 * more than n when all that is there begins it.
 */
size_t scrub_match(const struct scrub_form *f, const char *p, size_t n);
/*
 * Moves *at from where the form's byte k would be to where its first would, which is not before
 * `first`; false when there is no room. What lies between is not compared.
 */
bool scrub_back(const struct scrub_form *f, size_t k, const char *p, size_t first, size_t *at);
/*
 * How far apart samples of `block` bytes may be taken, that whatever line end cuts the form one
 * lies on one line of it; and with samples `step` apart, up to which place of it one may begin.
 */
size_t scrub_step(const struct scrub_form *f, size_t block);
size_t scrub_places(const struct scrub_form *f, size_t block, size_t step);

/* Calls take for each form in which the value could be printed; some may come twice. */
typedef void scrub_take(void *ctx, const char *form, size_t len, enum scrub_how how);
void scrub_forms(const char *value, size_t len, scrub_take *take, void *ctx);

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
