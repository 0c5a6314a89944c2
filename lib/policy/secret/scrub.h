/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes secrets out of a stream: every value that was delivered, as it stands and as base64 (line
 * ends in it or not), percent-encoded and JSON text, and whatever looks like a credential
 * (credpat.h). But for the digits that end a line, fewer than four, no part of a
 * value leaves before it is known whether the rest follows, however the stream is cut into
 * pieces; what cannot be the beginning of one leaves at once. Memory does not grow with the
 * stream. Pure.
 */
#ifndef CL_POLICY_SCRUB_H
#define CL_POLICY_SCRUB_H

#include "base/buf.h"

#include <stdbool.h>

#define SCRUB_MIN       8           /* a shorter value is no secret that could be found */
#define SCRUB_VALUE_MAX (256 << 10) /* a longer one is not looked for */
#define SCRUB_LINE_MIN  16          /* of a value of several, a line is looked for by itself too */
#define SCRUB_LINES     256         /* so many of them, the first */

struct scrub;

/* `patterns`: look for what looks like a credential too. */
struct scrub *scrub_new(bool patterns);
void scrub_free(struct scrub *s); /* wipes; NULL is fine */
void scrub_freep(struct scrub **s);
#define cleanup_scrub __attribute__((cleanup(scrub_freep)))

/*
 * Learns a value, at any time: from the next byte fed on it is taken out. Blanks around it do
 * not count; one that is shorter than SCRUB_MIN, longer than SCRUB_VALUE_MAX or itself a
 * placeholder is passed over (false).
 */
bool scrub_add(struct scrub *s, const void *value, size_t len);
/* Takes the next bytes of the stream and adds to *out what may leave. */
void scrub_feed(struct scrub *s, const void *in, size_t len, struct cl_buf *out);
/*
 * The stream ends: what was held back leaves, without the beginning of a value when it is
 * SCRUB_MIN bytes or more. The scrubber can be used for another stream.
 */
void scrub_flush(struct scrub *s, struct cl_buf *out);
/*
 * Nothing has come for a while, and somebody may wait for what is held back: the beginning of a
 * value that is shorter than SCRUB_MIN leaves, and so does what is no credential as it stands.
 * What goes on with it is still known for what it is: the rest of it is taken out.
 */
void scrub_quiet(struct scrub *s, struct cl_buf *out);
/* Bytes that are held back, and how many times something was taken out so far. */
size_t scrub_held(const struct scrub *s);
unsigned long long scrub_count(const struct scrub *s);

#endif
