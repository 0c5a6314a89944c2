/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sixteen places at once, after Teddy of Hyperscan: a byte's two nibbles each look up the set of
 * leads that may have it there, and a place is one where some lead is in all six sets. pshufb is in
 * every x86-64 processor since 2006, but not in what a compiler may assume, so it is asked for.
 */
#include "policy/secret/scrub_internal.h"
#include "base/credpat.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <tmmintrin.h>

static bool has_wide(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3);
}

/* Which leads may have these bytes at their k-th place. */
__attribute__((target("ssse3"))) static inline __m128i sets(
	const unsigned char mask[2][16], __m128i bytes)
{
	const __m128i low = _mm_set1_epi8(15);
	__m128i lo = _mm_loadu_si128((const __m128i *)(const void *)mask[0]);
	__m128i hi = _mm_loadu_si128((const __m128i *)(const void *)mask[1]);

	return _mm_and_si128(_mm_shuffle_epi8(lo, _mm_and_si128(bytes, low)),
		_mm_shuffle_epi8(hi, _mm_and_si128(_mm_srli_epi16(bytes, 4), low)));
}

__attribute__((target("ssse3"))) static inline __m128i at(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

__attribute__((target("ssse3"))) static size_t skip_wide(
	const unsigned char mask[6][16], const char *p, size_t i, size_t n)
{
	const __m128i none = _mm_setzero_si128();

	for (; i + 18 <= n; i += 16) {
		__m128i r = _mm_and_si128(sets(mask, at(p + i)), sets(mask + 2, at(p + i + 1)));
		unsigned empty;

		r = _mm_and_si128(r, sets(mask + 4, at(p + i + 2)));
		empty = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(r, none));
		if (empty != 0xffff)
			return i + (size_t)__builtin_ctz(~empty);
	}
	return i;
}
#else
static bool has_wide(void)
{
	return false;
}

static size_t skip_wide(const unsigned char mask[6][16], const char *p, size_t i, size_t n)
{
	(void)mask, (void)p, (void)n;
	return i;
}
#endif

void scrub_skip_init(struct scrub_skip *s)
{
	cp_nibbles(s->mask);
	s->wide = has_wide();
}

size_t scrub_skip(const struct scrub_skip *s, const char *p, size_t from, size_t n)
{
	return s->wide ? skip_wide(s->mask, p, from, n) : from;
}
