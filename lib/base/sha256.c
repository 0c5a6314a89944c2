/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sha256.h"
#include "base/text.h"

#include <sha2.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 64

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <immintrin.h>
#include <sys/platform/x86.h>

static const uint32_t rounds[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
	0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6,
	0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
	0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
	0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/*
 * Four rounds a step; a state is kept as (a b e f) and (c d g h), which is what the instructions
 * want. Ten times libmd's speed, and every audit row is hashed.
 */
__attribute__((target("sha,sse4.1"))) static void by_instructions(
	uint32_t state[8], const unsigned char *p, size_t n)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i low =
		_mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(
		_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);

	for (; n; n--, p += BLOCK) {
		__m128i w[4], k, abef_before = abef, cdgh_before = cdgh;

		for (size_t i = 0; i < 16; i++) {
			__m128i *now = &w[i & 3], before = w[(i + 3) & 3];

			if (i < 4)
				*now = _mm_shuffle_epi8(
					_mm_loadu_si128((const __m128i *)(const void *)p + i),
					swap);
			else
				*now = _mm_sha256msg2_epu32(
					_mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) & 3]),
						_mm_alignr_epi8(before, w[(i + 2) & 3], 4)),
					before);
			k = _mm_add_epi32(
				*now, _mm_loadu_si128((const __m128i *)(const void *)rounds + i));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	low = _mm_shuffle_epi32(abef, 0x1b);
	high = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static bool has_instructions(void)
{
	return x86_cpu_active(x86_cpu_SHA) && x86_cpu_active(x86_cpu_SSE4_1);
}
#else
static void by_instructions(uint32_t state[8], const unsigned char *p, size_t n)
{
	for (; n; n--, p += BLOCK)
		SHA256Transform(state, p);
}

static bool has_instructions(void)
{
	return false;
}
#endif

void cl_sha256_portable(const void *p, size_t len, unsigned char out[CL_SHA256_LEN])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, p, len);
	SHA256Final(out, &ctx);
}

void cl_sha256(const void *p, size_t len, unsigned char out[CL_SHA256_LEN])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		0x1f83d9ab, 0x5be0cd19};
	unsigned char end[2 * BLOCK] = {0};
	size_t whole = len / BLOCK, rest = len % BLOCK, ends = rest < BLOCK - 8 ? 1 : 2;

	if (!has_instructions()) {
		cl_sha256_portable(p, len, out);
		return;
	}
	by_instructions(state, p, whole);
	if (rest)
		memcpy(end, (const unsigned char *)p + whole * BLOCK, rest);
	end[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		end[ends * BLOCK - 1 - i] = (unsigned char)((uint64_t)len << 3 >> (8 * i));
	by_instructions(state, end, ends);
	for (size_t i = 0; i < CL_SHA256_LEN; i++)
		out[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void cl_sha256_hex(const void *p, size_t len, char out[CL_SHA256_HEX])
{
	unsigned char digest[CL_SHA256_LEN];

	cl_sha256(p, len, digest);
	cl_hex(digest, sizeof(digest), out);
}
