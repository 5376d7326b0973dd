/*
 * sha256.c - see sha256.h.
 *
 * The names of the standard: a message schedule of 64 words per block, 64 rounds over eight variables. On x86-64 with the
 * SHA extensions four rounds are two instructions; the state then lies in two registers as ABEF and CDGH.
 */
#include "base/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum { ROUNDS = 64 };

static const uint32_t round_words[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, int by)
{
	return word >> by | word << (32 - by);
}

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void make_schedule(const unsigned char *block, uint32_t w[ROUNDS])
{
	for (int i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
}

static void blocks_plain(uint32_t state[8], const unsigned char *bytes, size_t count)
{
	for (; count; count--, bytes += SHA256_BLOCK) {
		uint32_t w[ROUNDS], v[8];
		make_schedule(bytes, w);
		memcpy(v, state, sizeof(v));
		for (int i = 0; i < ROUNDS; i++) {
			uint32_t e = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
			uint32_t a = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
			uint32_t first = v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_words[i] + w[i];
			uint32_t second = a + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
			memmove(v + 1, v, 7 * sizeof(v[0]));
			v[4] += first;
			v[0] = first + second;
		}
		for (int i = 0; i < 8; i++)
			state[i] += v[i];
	}
}

#if defined(__x86_64__)

static int has_sha_instructions(void)
{
	unsigned a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
		return 0;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

/* The 16 words of a block go round in `m`: those of rounds 4i to 4i+3 lie in m[i % 4]. */
__attribute__((target("sha,sse4.1,ssse3"))) static void blocks_sha(uint32_t state[8], const unsigned char *bytes,
								   size_t count)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xB1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1B);
	__m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
	for (; count; count--, bytes += SHA256_BLOCK) {
		__m128i abef_before = abef, cdgh_before = cdgh, m[4];
		for (int i = 0; i < 4; i++)
			m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i)), swap);
#pragma GCC unroll 16
		for (int i = 0; i < ROUNDS / 4; i++) {
			const __m128i *constants = (const __m128i *)(const void *)(round_words + 4 * i);
			__m128i word = _mm_add_epi32(m[i % 4], _mm_loadu_si128(constants));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, word);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(word, 0x0E));
			__m128i next = _mm_sha256msg1_epu32(m[i % 4], m[(i + 1) % 4]);
			next = _mm_add_epi32(next, _mm_alignr_epi8(m[(i + 3) % 4], m[(i + 2) % 4], 4));
			m[i % 4] = _mm_sha256msg2_epu32(next, m[(i + 3) % 4]);
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	low = _mm_shuffle_epi32(abef, 0x1B);
	high = _mm_shuffle_epi32(cdgh, 0xB1);
	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xF0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

#endif

void sha256_init_plain(struct sha256 *sha)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	memset(sha, 0, sizeof(*sha));
	memcpy(sha->state, start, sizeof(start));
	sha->blocks = blocks_plain;
}

void sha256_init(struct sha256 *sha)
{
	sha256_init_plain(sha);
#if defined(__x86_64__)
	if (has_sha_instructions())
		sha->blocks = blocks_sha;
#endif
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	size_t held = sha->bytes % SHA256_BLOCK;
	sha->bytes += size;
	if (held) {
		size_t take = size < SHA256_BLOCK - held ? size : SHA256_BLOCK - held;
		memcpy(sha->rest + held, at, take);
		at += take;
		size -= take;
		if (held + take < SHA256_BLOCK)
			return;
		sha->blocks(sha->state, sha->rest, 1);
	}
	sha->blocks(sha->state, at, size / SHA256_BLOCK);
	if (size % SHA256_BLOCK)
		memcpy(sha->rest, at + size - size % SHA256_BLOCK, size % SHA256_BLOCK);
}

void sha256_hex(struct sha256 *sha, char out[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char tail[2 * SHA256_BLOCK] = {0x80};
	uint64_t bits = sha->bytes * 8;
	size_t pad = SHA256_BLOCK - (sha->bytes + 8) % SHA256_BLOCK;
	for (int i = 0; i < 8; i++)
		tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(sha, tail, pad + 8);
	for (int i = 0; i < 64; i++)
		out[i] = digits[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	out[64] = '\0';
}
