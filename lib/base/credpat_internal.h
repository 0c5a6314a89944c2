/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the detectors share; nobody else includes this. */
#ifndef CL_BASE_CREDPAT_INTERNAL_H
#define CL_BASE_CREDPAT_INTERNAL_H

#include "base/credpat.h"

/* Sets of characters, as bits of the table in credpat.c. */
enum {
	CP_LOWER = 1,
	CP_UPPER = 2,
	CP_DIGITS = 4,
	CP_UNDER = 8,
	CP_DASH = 16,
	CP_DOT = 32,
	CP_PLUS = 64, /* + = */
	CP_SLASH = 128,
	CP_TILDE = 256,
	CP_COLON = 512,
	CP_SIGIL = 1024, /* $ % */
	CP_MARKS = 2048, /* the rest of what RFC 3986 takes in userinfo */
	CP_BLANK = 4096,
	CP_LINE = 8192, /* CR LF */
	CP_ALNUM = CP_LOWER | CP_UPPER | CP_DIGITS,
	CP_WORD = CP_ALNUM | CP_UNDER | CP_DASH,
	CP_URL = CP_WORD | CP_DOT,
	CP_B64 = CP_ALNUM | CP_PLUS | CP_SLASH,
	CP_VALUE = CP_URL | CP_PLUS | CP_SLASH | CP_TILDE | CP_COLON | CP_SIGIL,
};

/* A text being looked at from `at`, where the detector's lead stands. */
struct cp_text {
	const char *p;
	size_t len, at;
	bool whole;
};

/* What a body is judged by; hostile text must not make each byte cost a long look. */
#define CP_JUDGED 256

/* Bytes of the set from `from` on, never more than CP_MAX, or than max. */
size_t cp_run(const struct cp_text *t, size_t from, unsigned set);
size_t cp_run_to(const struct cp_text *t, size_t from, unsigned set, size_t max);
/* True when the text ends at `pos` and may go on. */
bool cp_open(const struct cp_text *t, size_t pos);
/* The byte before `at`, or ' '. */
char cp_before(const struct cp_text *t);
bool cp_is_word(char c);
/* One character makes up more than half of it. */
bool cp_monotonous(const char *s, size_t n);
bool cp_has(const char *s, size_t n, unsigned set);
/* A digit, a capital inside, or 32 characters and more; no template, no placeholder. */
bool cp_generated(const char *s, size_t n);
enum cp_verdict cp_more(struct cp_match *m, size_t from);
enum cp_verdict cp_yes(struct cp_match *m, size_t from, size_t to, unsigned set);
/* The whole run of the set from `body` on is the credential, or may be when the text ends. */
enum cp_verdict cp_yes_run(
	const struct cp_text *t, struct cp_match *m, size_t from, size_t body, unsigned set);

/* Detectors of words with a value behind them; the lead is matched already. */
enum cp_verdict cp_field(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_key_data(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_aws_secret(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_authorization(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_bearer(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_userinfo(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_pem(const struct cp_text *t, size_t lead, struct cp_match *m);

#endif
