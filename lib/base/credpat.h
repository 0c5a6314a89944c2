/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What looks like a credential, by its form: facts/secrets.md 12. For text in which nobody
 * knows which secrets there are: names that somebody typed, reasons, output. Only the
 * credential is found, what stands around it is not; templates ($TOKEN), placeholders and
 * bodies that are mostly one character are none. Pure.
 */
#ifndef CL_BASE_CREDPAT_H
#define CL_BASE_CREDPAT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define CP_REDACTED "[redacted]"
/* A credential is found whole up to this length; a longer one by its beginning. */
#define CP_MAX 16384
/* Nothing before a credential that makes it one is longer. */
#define CP_CONTEXT 64

struct cp_match {
	const char *detector; /* static: "github-token", "jwt", ... */
	size_t from, to;      /* the credential, in the text */
	unsigned set;         /* the characters that would go on with it, for cp_in */
};

/* True when the character is one of the set. */
bool cp_in(unsigned set, char c);

enum cp_verdict {
	CP_NO,
	CP_MORE, /* the text ends before it can be told: match->from is where it would start */
	CP_YES,
};
/*
 * What starts at text[at]: a credential or the words that stand before one. `whole`: the text
 * goes on no further, and CP_MORE is not an answer.
 */
enum cp_verdict cp_at(const char *text, size_t len, size_t at, bool whole, struct cp_match *match);
/* The same when the filter below was asked: `hint` is what it said. */
enum cp_verdict cp_at_hint(
	const char *text, size_t len, size_t at, bool whole, unsigned hint, struct cp_match *match);
/*
 * Whether three bytes can start one: a filter in front of cp_at. table[cp_hash(w)] is a hint, not 0,
 * for them; w has the three bytes, little endian, in its low 24 bits.
 */
#define CP_TABLE 32768u
void cp_filter(unsigned char table[CP_TABLE]);
/*
 * The same as sets of nibbles, for what looks at sixteen places at once: a place can start one
 * when some bit is in all of mask[2k][b & 15] and mask[2k + 1][b >> 4], b the byte at place + k.
 */
void cp_nibbles(unsigned char mask[6][16]);
static inline unsigned cp_hash(unsigned w)
{
	return ((w & 0xffffffu) * 0x9e3779b1u) >> 17;
}

/* Adds the text with each credential replaced by CP_REDACTED; returns how many. */
size_t cp_scrub(const char *text, size_t len, struct cl_buf *out);

/* The text with each credential replaced by CP_REDACTED; owned. */
char *cp_redact(const char *text);

/* Every detector's name, in the order in which they are tried; NULL at the end. */
extern const char *const cp_detectors[];

/*
 * What may be repeated of a reference that somebody typed, when nothing has that name: people
 * paste tokens as names. At most 12 characters, "…" behind them when it goes on.
 */
#define CP_ECHO 64
void cp_echo(const char *text, char out[CP_ECHO]);

#endif
