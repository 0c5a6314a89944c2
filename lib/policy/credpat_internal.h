/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the detectors share; nobody else includes this. */
#ifndef CL_POLICY_CREDPAT_INTERNAL_H
#define CL_POLICY_CREDPAT_INTERNAL_H

#include "base/text.h"
#include "policy/credpat.h"

#define CP_WORD CL_ALNUM "_-"
#define CP_URL  CL_ALNUM "_-."
#define CP_B64  CL_ALNUM "+/="

/* A text being looked at from `at`, where the detector's lead stands. */
struct cp_text {
	const char *p;
	size_t len, at;
	bool whole;
};

/* What a body is judged by; hostile text must not make each byte cost a long look. */
#define CP_JUDGED 256

/* Bytes of the set from `from` on, never more than CP_MAX, or than max. */
size_t cp_run(const struct cp_text *t, size_t from, const char *set);
size_t cp_run_to(const struct cp_text *t, size_t from, const char *set, size_t max);
/* True when the text ends at `pos` and may go on. */
bool cp_open(const struct cp_text *t, size_t pos);
/* The byte before `at`, or ' '. */
char cp_before(const struct cp_text *t);
bool cp_is_word(char c);
/* One character makes up more than half of it. */
bool cp_monotonous(const char *s, size_t n);
bool cp_has(const char *s, size_t n, const char *set);
/* A digit, a capital inside, or 32 characters and more; no template, no placeholder. */
bool cp_generated(const char *s, size_t n);
enum cp_verdict cp_more(struct cp_match *m, size_t from);
enum cp_verdict cp_yes(struct cp_match *m, size_t from, size_t to, const char *set);
/* The whole run of the set from `body` on is the credential, or may be when the text ends. */
enum cp_verdict cp_yes_run(
	const struct cp_text *t, struct cp_match *m, size_t from, size_t body, const char *set);

/* Detectors of words with a value behind them; the lead is matched already. */
enum cp_verdict cp_field(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_key_data(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_aws_secret(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_authorization(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_bearer(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_userinfo(const struct cp_text *t, size_t lead, struct cp_match *m);
enum cp_verdict cp_pem(const struct cp_text *t, size_t lead, struct cp_match *m);

#endif
