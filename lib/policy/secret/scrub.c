/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many values at once, by samples: every form has SCRUB_MIN bytes or more, so of all blocks of
 * four bytes that start at every `step`th place of the stream one lies inside each occurrence.
 * A bit set says in one look whether a block is in any form near its beginning; only then is
 * anything compared. What is found is a set of spans, which are taken out whole.
 */
#include "policy/secret/scrub.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/credpat.h"
#include "policy/secret/scrub_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLOCK    4
#define BITS_MIN 10          /* of a block's hash */
#define BITS_MAX 18          /* 32 KiB of bits stay in the cache */
#define PIECE    (64u << 10) /* of the stream at once */
#define STEP     13

/* A block of a form near its beginning; those with one hash are chained. */
struct block {
	uint32_t word, form, offset, next;
};

struct span {
	size_t from, to;
};

struct scrub {
	struct scrub_form *forms;
	size_t nforms, forms_cap;
	size_t first; /* of the value that is being learned */
	size_t longest;
	/* Made of the forms; rebuilt when one was learned. */
	bool stale;
	size_t step;
	unsigned hash_bits;      /* one block in sixteen places, so that few look like another */
	uint64_t *bits, *starts; /* 1 << hash_bits of each, in one allocation */
	bool begin[256];         /* bytes that a form starts with */
	struct block *blocks;    /* [0] is none */
	size_t nblocks, blocks_cap;
	uint32_t *heads;      /* a quarter as many chains */
	unsigned char *leads; /* NULL: not looked for */
	struct scrub_skip skip;
	/* The stream: bytes that left (for what they say of those that follow), then held ones. */
	struct cl_buf buf;
	size_t left;
	size_t covered;  /* of the held ones, taken out already */
	size_t shown;    /* of the held ones, left already because it was quiet */
	unsigned follow; /* what goes on with a credential that was too long to hold */
	struct span *spans;
	size_t nspans, spans_cap;
	unsigned long long count;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are read as little endian");

struct scrub *scrub_new(bool patterns)
{
	struct scrub *s = cl_calloc(1, sizeof(*s));

	s->stale = true;
	s->buf = CL_BUF_SECRET;
	if (patterns) {
		s->leads = cl_malloc(CP_TABLE);
		cp_filter(s->leads);
		scrub_skip_init(&s->skip);
	}
	return s;
}

/* They hold pieces of the values, which growing them in place would leave behind. */
static void drop_blocks(struct scrub *s)
{
	if (s->blocks)
		explicit_bzero(s->blocks, s->blocks_cap * sizeof(*s->blocks));
	free(s->blocks);
	s->blocks = NULL;
	s->blocks_cap = 0;
	if (s->bits)
		explicit_bzero(s->bits, (UINT64_C(2) << s->hash_bits) / 8);
	free(s->bits);
	free(s->heads);
	s->bits = s->starts = NULL;
	s->heads = NULL;
}

void scrub_free(struct scrub *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nforms; i++) {
		explicit_bzero(s->forms[i].p, s->forms[i].len);
		free(s->forms[i].p);
	}
	free(s->forms);
	drop_blocks(s);
	free(s->leads);
	free(s->spans);
	cl_buf_release(&s->buf);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

void scrub_freep(struct scrub **s)
{
	scrub_free(*s);
}

size_t scrub_held(const struct scrub *s)
{
	return s->buf.len - s->left - s->shown;
}

unsigned long long scrub_count(const struct scrub *s)
{
	return s->count;
}

/* ---- learning ---- */

static void take_form(void *ctx, const char *form, size_t len, enum scrub_how how)
{
	struct scrub *s = ctx;
	struct scrub_form f = {NULL, len, how};
	size_t span = scrub_span(&f);

	if (len < SCRUB_MIN)
		return;
	for (size_t i = s->first; i < s->nforms; i++)
		if (s->forms[i].len == len && s->forms[i].how == how &&
			!memcmp(s->forms[i].p, form, len))
			return;
	s->forms = cl_grow(s->forms, &s->forms_cap, s->nforms + 1, sizeof(*s->forms));
	f.p = cl_strndup(form, len);
	s->forms[s->nforms++] = f;
	s->longest = span > s->longest ? span : s->longest;
	s->stale = true;
}

/* Blanks around it are no part of it. */
static const char *trimmed(const char *p, size_t *len)
{
	static const char blanks[] = " \t\r\n\v\f";

	while (*len && *p && strchr(blanks, *p))
		p++, (*len)--;
	while (*len && p[*len - 1] && strchr(blanks, p[*len - 1]))
		(*len)--;
	return p;
}

static bool known(const struct scrub *s, const char *p, size_t len)
{
	for (size_t i = 0; i < s->nforms; i++)
		if (s->forms[i].len == len && !memcmp(s->forms[i].p, p, len))
			return true;
	return false;
}

static void learn(struct scrub *s, const char *p, size_t len)
{
	if (known(s, p, len))
		return;
	s->first = s->nforms;
	scrub_forms(p, len, take_form, s);
}

/* Whoever sorts, filters or indents what is printed takes it apart line by line. */
static void learn_lines(struct scrub *s, const char *p, size_t len)
{
	for (size_t i = 0; i < SCRUB_LINES && len; i++) {
		const char *nl = memchr(p, '\n', len);
		size_t n = nl ? (size_t)(nl - p) : len, keep = n;
		const char *line = trimmed(p, &keep);

		if (keep >= SCRUB_LINE_MIN && memcmp(line, "-----", 5) != 0)
			learn(s, line, keep);
		p += n + (nl != NULL);
		len -= n + (nl != NULL);
	}
}

/* "[redacted]", "<redacted: ...>": all of it, for a secret may begin so. */
static bool placeholder(const char *p, size_t len)
{
	return len > 9 && (*p == '[' || *p == '<') && !strncasecmp(p + 1, "redacted", 8) &&
	       memchr(p, *p == '[' ? ']' : '>', len) == p + len - 1;
}

bool scrub_add(struct scrub *s, const void *value, size_t len)
{
	const char *p = trimmed(value, &len);

	if (len < SCRUB_MIN || len > SCRUB_VALUE_MAX || placeholder(p, len))
		return false;
	learn(s, p, len);
	if (memchr(p, '\n', len))
		learn_lines(s, p, len);
	return true;
}

static uint32_t word_at(const char *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static uint32_t hash(const struct scrub *s, uint32_t w)
{
	return w * 0x9e3779b1u >> (32 - s->hash_bits);
}

/* The first of the blocks whose hash is like this one. */
static uint32_t *chain(const struct scrub *s, uint32_t h)
{
	return &s->heads[h & ((1u << (s->hash_bits - 2)) - 1)];
}

static void set_bit(uint64_t *bits, uint32_t h)
{
	bits[h / 64] |= UINT64_C(1) << h % 64;
}

static bool has_bit(const uint64_t *bits, uint32_t h)
{
	return bits[h / 64] >> h % 64 & 1;
}

static void add_block(struct scrub *s, size_t form, size_t offset)
{
	uint32_t w = word_at(s->forms[form].p + offset), h = hash(s, w);

	set_bit(s->bits, h);
	if (!offset)
		set_bit(s->starts, h);
	s->blocks[s->nblocks] = (struct block){w, (uint32_t)form, (uint32_t)offset, *chain(s, h)};
	*chain(s, h) = (uint32_t)s->nblocks++;
}

static void rebuild(struct scrub *s)
{
	size_t places = 0;

	s->stale = false;
	drop_blocks(s);
	memset(s->begin, 0, sizeof(s->begin));
	s->step = STEP;
	for (size_t i = 0; i < s->nforms; i++) {
		size_t step = scrub_step(&s->forms[i], BLOCK);

		s->step = step < s->step ? step : s->step;
		s->begin[(unsigned char)*s->forms[i].p] = true;
	}
	for (size_t i = 0; i < s->nforms; i++)
		places += scrub_places(&s->forms[i], BLOCK, s->step);
	s->blocks = cl_grow(NULL, &s->blocks_cap, places + 1, sizeof(*s->blocks));
	s->nblocks = 1;
	s->hash_bits = BITS_MIN;
	while (s->hash_bits < BITS_MAX && (1u << s->hash_bits) / 16 < places)
		s->hash_bits++;
	s->bits = cl_calloc((2u << s->hash_bits) / 64, sizeof(*s->bits));
	s->starts = s->bits + (1u << s->hash_bits) / 64;
	s->heads = cl_calloc(1u << (s->hash_bits - 2), sizeof(*s->heads));
	for (size_t i = 0; i < s->nforms; i++)
		for (size_t k = 0; k < scrub_places(&s->forms[i], BLOCK, s->step); k++)
			add_block(s, i, k);
}

/* ---- finding ---- */

/* Spans are kept sorted, and those that overlap are one. */
static void add_span(struct scrub *s, size_t from, size_t to)
{
	size_t at = s->nspans, end;

	while (at && s->spans[at - 1].to > from)
		at--;
	for (end = at; end < s->nspans && s->spans[end].from < to; end++) {
		from = s->spans[end].from < from ? s->spans[end].from : from;
		to = s->spans[end].to > to ? s->spans[end].to : to;
	}
	if (end == at) {
		s->spans = cl_grow(s->spans, &s->spans_cap, s->nspans + 1, sizeof(*s->spans));
		memmove(s->spans + at + 1, s->spans + at, (s->nspans - at) * sizeof(*s->spans));
		s->nspans++;
	} else {
		memmove(s->spans + at + 1, s->spans + end, (s->nspans - end) * sizeof(*s->spans));
		s->nspans -= end - at - 1;
	}
	s->spans[at] = (struct span){from, to};
}

/* The forms that have this block at this place. */
static void compare(struct scrub *s, size_t at, uint32_t w, uint32_t h)
{
	for (uint32_t b = *chain(s, h); b; b = s->blocks[b].next) {
		const struct scrub_form *f = &s->forms[s->blocks[b].form];
		size_t from = at, n;

		if (s->blocks[b].word != w ||
			!scrub_back(f, s->blocks[b].offset, s->buf.p, s->left, &from))
			continue;
		n = scrub_match(f, s->buf.p + from, s->buf.len - from);
		if (n && n <= s->buf.len - from)
			add_span(s, from, from + n);
	}
}

static void find_values(struct scrub *s)
{
	const char *p = s->buf.p;
	size_t n = s->buf.len;

	for (size_t i = s->left; i + BLOCK <= n; i += s->step) {
		uint32_t w = word_at(p + i), h = hash(s, w);

		if (__builtin_expect(has_bit(s->bits, h), 0))
			compare(s, i, w, h);
	}
}

/* True when what stands from `at` on to the end is the beginning of a form. */
static bool begins_one(const struct scrub *s, size_t at)
{
	size_t n = s->buf.len - at;
	const char *p = s->buf.p + at;
	uint32_t w, h;

	if (!s->begin[(unsigned char)*p])
		return false;
	if (n < BLOCK) {
		for (size_t i = 0; i < s->nforms; i++)
			if (!memcmp(s->forms[i].p, p, n))
				return true;
		return false;
	}
	w = word_at(p);
	h = hash(s, w);
	if (!has_bit(s->starts, h))
		return false;
	for (uint32_t b = *chain(s, h); b; b = s->blocks[b].next) {
		const struct scrub_form *f = &s->forms[s->blocks[b].form];

		if (s->blocks[b].word == w && !s->blocks[b].offset && scrub_match(f, p, n) > n)
			return true;
	}
	return false;
}

/* Where the first value starts that is not there whole; the end when there is none. */
static size_t find_begun(const struct scrub *s)
{
	size_t n = s->buf.len, at = s->left;

	if (s->longest && n - at >= s->longest)
		at = n - s->longest + 1;
	for (; at < n && s->longest; at++)
		if (begins_one(s, at))
			return at;
	return n;
}

/* A credential that was found by its beginning only goes on as long as its characters do. */
static size_t go_on(struct scrub *s, const struct cp_match *m)
{
	size_t to = m->to;

	if (m->to - m->from < CP_MAX - CP_CONTEXT)
		return to;
	while (to < s->buf.len && cp_in(m->set, s->buf.p[to]))
		to++;
	s->follow = to == s->buf.len ? m->set : 0;
	return to;
}

/* The hint of the three bytes at a place. */
static unsigned hint_at(const struct scrub *s, size_t i)
{
	const unsigned char *p = (const unsigned char *)s->buf.p + i;

	return s->leads[cp_hash(p[0] | (unsigned)p[1] << 8 | (unsigned)p[2] << 16)];
}

/* Six places of each eight bytes: the first at which a lead may stand, or one of the last eight. */
static size_t skip_narrow(const struct scrub *s, size_t i)
{
	const unsigned char *t = s->leads;

	for (; i + 8 <= s->buf.len; i += 6) {
		uint64_t q;

		memcpy(&q, s->buf.p + i, sizeof(q));
		if (__builtin_expect(t[cp_hash((unsigned)q)] | t[cp_hash((unsigned)(q >> 8))] |
					     t[cp_hash((unsigned)(q >> 16))] |
					     t[cp_hash((unsigned)(q >> 24))] |
					     t[cp_hash((unsigned)(q >> 32))] |
					     t[cp_hash((unsigned)(q >> 40))],
			    0))
			break;
	}
	return i;
}

/* The next place from `i` on where a credential's lead may stand, or the end. */
static size_t next_lead(const struct scrub *s, size_t i, unsigned *hint)
{
	size_t n = s->buf.len;

	for (; i + 2 < n; i++) {
		i = s->skip.wide ? scrub_skip(&s->skip, s->buf.p, i, n) : skip_narrow(s, i);
		for (size_t end = i + (s->skip.wide ? 1 : 6); i + 2 < n && i < end; i++) {
			*hint = hint_at(s, i);
			if (*hint)
				return i;
		}
		i--;
	}
	return n;
}

/* Adds the spans of credentials and returns where one begins that is not whole. */
static size_t find_credentials(struct scrub *s, bool whole)
{
	size_t hold = s->buf.len;
	unsigned hint;

	for (size_t i = next_lead(s, 0, &hint); i < hold; i = next_lead(s, i, &hint)) {
		struct cp_match m;
		enum cp_verdict v = cp_at_hint(s->buf.p, s->buf.len, i++, whole, hint, &m);

		if (v == CP_MORE) {
			m.from = m.from < s->left ? s->left : m.from;
			hold = m.from < hold ? m.from : hold;
		}
		if (v != CP_YES)
			continue;
		m.to = go_on(s, &m);
		if (m.to > s->left)
			add_span(s, m.from, m.to);
		i = m.to > i ? m.to : i;
	}
	return hold;
}

/* ---- letting go ---- */

/* What is before `hold` leaves, the spans taken out; those that reach beyond stay in mind. */
static void emit(struct scrub *s, size_t hold, struct cl_buf *out)
{
	size_t gone = s->left + s->covered,
	       done = s->shown > s->covered ? s->left + s->shown : gone;

	for (size_t i = 0; i < s->nspans; i++) {
		size_t from = s->spans[i].from < s->left ? s->left : s->spans[i].from;

		if (from >= hold && from >= done)
			break;
		/* Of one whose beginning was shown, the rest. */
		if (from >= done || (from >= gone && s->spans[i].to > done)) {
			cl_buf_add(out, s->buf.p + done, from > done ? from - done : 0);
			cl_buf_adds(out, CP_REDACTED);
			s->count++;
		}
		done = s->spans[i].to > done ? s->spans[i].to : done;
	}
	if (done < hold)
		cl_buf_add(out, s->buf.p + done, hold - done);
	s->covered = done > hold && done > s->left + s->shown ? done - hold : 0;
	s->shown = s->left + s->shown > hold ? s->left + s->shown - hold : 0;
}

/* Keeps the held bytes, and in front of them what a detector may have to look back at. */
static void keep(struct scrub *s, size_t hold)
{
	size_t drop = hold > CP_CONTEXT ? hold - CP_CONTEXT : 0;

	memmove(s->buf.p, s->buf.p + drop, s->buf.len - drop);
	s->buf.len -= drop;
	s->buf.p[s->buf.len] = '\0';
	s->left = hold - drop;
}

/* What goes on with a credential that was taken out by its beginning. */
static void follow(struct scrub *s)
{
	size_t at = s->left + s->covered;

	while (at < s->buf.len && cp_in(s->follow, s->buf.p[at]))
		at++;
	s->covered = at - s->left;
	if (at < s->buf.len)
		s->follow = 0;
}

static void piece(struct scrub *s, const char *in, size_t len, struct cl_buf *out)
{
	size_t hold, begun;

	cl_buf_add(&s->buf, in, len);
	if (s->follow)
		follow(s);
	s->nspans = 0;
	hold = s->leads ? find_credentials(s, false) : s->buf.len;
	if (s->nforms)
		find_values(s);
	begun = find_begun(s);
	hold = begun < hold ? begun : hold;
	emit(s, hold, out);
	keep(s, hold);
}

void scrub_feed(struct scrub *s, const void *in, size_t len, struct cl_buf *out)
{
	const char *p = in;

	if (s->stale && s->nforms)
		rebuild(s);
	while (len) {
		size_t n = len < PIECE ? len : PIECE;

		piece(s, p, n, out);
		p += n;
		len -= n;
	}
}

/* Where what is held may be a credential already, were it to end here; the end if it is none. */
static size_t find_pending(struct scrub *s)
{
	size_t more = find_credentials(s, false), n = s->buf.len;

	if (more == n)
		return n;
	(void)find_credentials(s, true);
	return s->nspans && s->spans[s->nspans - 1].to == n ? more : n;
}

void scrub_quiet(struct scrub *s, struct cl_buf *out)
{
	size_t hold, begun;

	if (s->stale && s->nforms)
		rebuild(s);
	s->nspans = 0;
	hold = s->leads ? find_pending(s) : s->buf.len;
	if (s->nforms)
		find_values(s);
	begun = find_begun(s);
	if (begun < hold && s->buf.len - begun >= SCRUB_MIN)
		hold = begun;
	emit(s, hold, out);
	if (begun < hold) {
		s->shown += hold - begun;
		s->covered += s->covered ? hold - begun : 0;
		hold = begun;
	}
	keep(s, hold);
}

void scrub_flush(struct scrub *s, struct cl_buf *out)
{
	size_t begun;

	if (s->stale && s->nforms)
		rebuild(s);
	s->nspans = 0;
	if (s->leads)
		(void)find_credentials(s, true);
	if (s->nforms)
		find_values(s);
	begun = find_begun(s);
	if (s->buf.len - begun >= SCRUB_MIN)
		add_span(s, begun, s->buf.len);
	emit(s, s->buf.len, out);
	cl_buf_reset(&s->buf);
	s->left = s->covered = s->shown = 0;
	s->follow = 0;
}
