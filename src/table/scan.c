/*
 * scan.c - see scan.h. One loop for all instruction sets: each gives a function that makes the masks of 64 bytes, and the loop is
 * inlined around it.
 */
#include "table/scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SCAN_INLINE static inline __attribute__((always_inline))

struct scan_masks {
	uint64_t delimiter, quote, lf, cr, wide;
};

typedef void scan_masks_fn(const char *text, char delimiter, struct scan_masks *out);
typedef uint32_t *scan_emit_fn(uint32_t *out, uint32_t base, uint64_t mask);

/* Bit i of the result: an odd number of quotes stand at or before i. */
SCAN_INLINE uint64_t scan_parity(uint64_t quotes)
{
	for (int shift = 1; shift < 64; shift *= 2)
		quotes ^= quotes << shift;
	return quotes;
}

SCAN_INLINE uint64_t scan_valid(size_t left)
{
	return left >= 64 ? ~0ull : (1ull << left) - 1;
}

SCAN_INLINE void scan_tally_loop(const char *text, size_t size, char delimiter, struct scan_tally *out,
				 scan_masks_fn *make)
{
	uint64_t quotes = 0, delimiters = 0, lines = 0, after_cr = 0;
	for (size_t at = 0; at < size; at += 64) {
		struct scan_masks masks;
		make(text + at, delimiter, &masks);
		uint64_t valid = scan_valid(size - at);
		delimiters += (uint64_t)__builtin_popcountll(masks.delimiter & valid);
		quotes += (uint64_t)__builtin_popcountll(masks.quote & valid);
		uint64_t ends = masks.cr | (masks.lf & ~(masks.cr << 1 | after_cr));
		lines += (uint64_t)__builtin_popcountll(ends & valid);
		after_cr = masks.cr >> 63;
	}
	out->quotes = quotes;
	out->delimiters = delimiters;
	out->lines = lines;
}

/* Eight at a time without looking: most groups of 64 bytes have that many or fewer, and a loop that ends after a different number
 * of rounds each time is what the branch predictor likes least. */
SCAN_INLINE uint32_t *scan_emit_plain(uint32_t *out, uint32_t base, uint64_t mask)
{
	uint32_t *end = out + __builtin_popcountll(mask);
	while (mask) {
		for (int i = 0; i < 8; i++) {
			out[i] = base + (uint32_t)__builtin_ctzll(mask | 1ull << 63);
			mask &= mask - 1;
		}
		out += 8;
	}
	return end;
}

SCAN_INLINE void scan_index_loop(const char *text, size_t size, char delimiter, struct scan_index *out,
				 scan_masks_fn *make, scan_emit_fn *emit)
{
	uint32_t *cell = out->cells, *record = out->records;
	uint64_t within = 0, after_cr = 0, quotes = 0, wide = 0;
	for (size_t at = 0; at < size; at += 64) {
		struct scan_masks masks;
		make(text + at, delimiter, &masks);
		uint64_t valid = scan_valid(size - at);
		uint64_t ends = (masks.cr | (masks.lf & ~(masks.cr << 1 | after_cr))) & valid;
		uint64_t cells = (masks.delimiter & valid) | ends;
		after_cr = masks.cr >> 63;
		wide |= masks.wide & valid;
		if (masks.quote | within) {
			uint64_t inside = scan_parity(masks.quote & valid) ^ within;
			within = inside >> 63 ? ~0ull : 0;
			quotes |= masks.quote;
			cells &= ~inside;
			ends &= ~inside;
		}
		for (; ends; ends &= ends - 1) {
			uint64_t up_to = ends ^ (ends - 1);
			*record++ = (uint32_t)(cell - out->cells) + (uint32_t)__builtin_popcountll(cells & up_to);
		}
		cell = emit(cell, (uint32_t)at, cells);
	}
	out->cell_count = (size_t)(cell - out->cells);
	out->record_count = (size_t)(record - out->records);
	out->quoted = quotes != 0;
	out->wide = wide != 0;
}

#define SCAN_KERNEL(set, emit, attributes)                                                                             \
	attributes static void scan_tally_##set(const char *text, size_t size, char delimiter, struct scan_tally *out) \
	{                                                                                                              \
		scan_tally_loop(text, size, delimiter, out, scan_masks_##set);                                         \
	}                                                                                                              \
	attributes static void scan_index_##set(const char *text, size_t size, char delimiter, struct scan_index *out) \
	{                                                                                                              \
		scan_index_loop(text, size, delimiter, out, scan_masks_##set, emit);                                   \
	}

/* Plain code: eight bytes at a time. */
SCAN_INLINE uint64_t scan_equal_plain(uint64_t word, char byte)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7full;
	uint64_t x = word ^ (0x0101010101010101ull * (unsigned char)byte);
	uint64_t zero = ~(((x & low) + low) | x | low); /* 0x80 where the byte is the same */
	return (zero >> 7) * 0x0102040810204080ull >> 56;
}

static inline void scan_masks_plain(const char *text, char delimiter, struct scan_masks *out)
{
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < 8; i++) {
		uint64_t word;
		memcpy(&word, text + i * 8, 8);
		out->delimiter |= scan_equal_plain(word, delimiter) << i * 8;
		out->quote |= scan_equal_plain(word, '"') << i * 8;
		out->lf |= scan_equal_plain(word, '\n') << i * 8;
		out->cr |= scan_equal_plain(word, '\r') << i * 8;
		uint64_t high = word & 0x8080808080808080ull;
		out->wide |= ((high >> 7) * 0x0102040810204080ull >> 56) << i * 8;
	}
}

SCAN_KERNEL(plain, scan_emit_plain, )

#if defined(__x86_64__)

#define SCAN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,popcnt")))

SCAN_AVX512 static inline void scan_masks_avx512(const char *text, char delimiter, struct scan_masks *out)
{
	__m512i bytes = _mm512_loadu_si512(text);
	out->delimiter = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(delimiter));
	out->quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
	out->lf = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n'));
	out->cr = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
	out->wide = _mm512_movepi8_mask(bytes);
}

/* The numbers of the set bits by one instruction; sixteen of them, widened, are more than 64 bytes mostly have. */
SCAN_AVX512 static inline uint32_t *scan_emit_avx512(uint32_t *out, uint32_t base, uint64_t mask)
{
	const __m512i numbers =
		_mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42,
				41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,
				19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	__m512i found = _mm512_maskz_compress_epi8(mask, numbers), first = _mm512_set1_epi32((int)base);
	size_t count = (size_t)__builtin_popcountll(mask);
	_mm512_storeu_si512(out, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), first));
	for (size_t at = 16; __builtin_expect(at < count, 0); at += 16) {
		found = _mm512_shuffle_i64x2(found, found, 0x39); /* the next sixteen */
		_mm512_storeu_si512(out + at,
				    _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), first));
	}
	return out + count;
}

SCAN_KERNEL(avx512, scan_emit_avx512, SCAN_AVX512)

__attribute__((target("avx2,bmi,popcnt"))) static inline void scan_masks_avx2(const char *text, char delimiter,
									      struct scan_masks *out)
{
	__m256i low = _mm256_loadu_si256((const __m256i *)text);
	__m256i high = _mm256_loadu_si256((const __m256i *)(text + 32));
#define SCAN_EQUAL(byte)                                                                                               \
	((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, _mm256_set1_epi8(byte))) |                    \
	 (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, _mm256_set1_epi8(byte))) << 32)
	out->delimiter = SCAN_EQUAL(delimiter);
	out->quote = SCAN_EQUAL('"');
	out->lf = SCAN_EQUAL('\n');
	out->cr = SCAN_EQUAL('\r');
	out->wide = (uint64_t)(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
									    << 32;
#undef SCAN_EQUAL
}

SCAN_KERNEL(avx2, scan_emit_plain, __attribute__((target("avx2,bmi,popcnt"))))

static inline void scan_masks_sse2(const char *text, char delimiter, struct scan_masks *out)
{
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < 64; i += 16) {
		__m128i part = _mm_loadu_si128((const __m128i *)(text + i));
#define SCAN_EQUAL(byte) ((uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte))) << i)
		out->delimiter |= SCAN_EQUAL(delimiter);
		out->quote |= SCAN_EQUAL('"');
		out->lf |= SCAN_EQUAL('\n');
		out->cr |= SCAN_EQUAL('\r');
		out->wide |= (uint64_t)(uint32_t)_mm_movemask_epi8(part) << i;
#undef SCAN_EQUAL
	}
}

SCAN_KERNEL(sse2, scan_emit_plain, )

#elif defined(__aarch64__)

SCAN_INLINE uint64_t scan_bits_neon(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
	const uint8x16_t weight = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t low = vpaddq_u8(vandq_u8(a, weight), vandq_u8(b, weight));
	uint8x16_t high = vpaddq_u8(vandq_u8(c, weight), vandq_u8(d, weight));
	low = vpaddq_u8(low, high);
	low = vpaddq_u8(low, low);
	return vgetq_lane_u64(vreinterpretq_u64_u8(low), 0);
}

static inline void scan_masks_neon(const char *text, char delimiter, struct scan_masks *out)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint8x16_t a = vld1q_u8(bytes), b = vld1q_u8(bytes + 16), c = vld1q_u8(bytes + 32), d = vld1q_u8(bytes + 48);
#define SCAN_EQUAL(byte)                                                                                               \
	scan_bits_neon(vceqq_u8(a, vdupq_n_u8((uint8_t)(byte))), vceqq_u8(b, vdupq_n_u8((uint8_t)(byte))),             \
		       vceqq_u8(c, vdupq_n_u8((uint8_t)(byte))), vceqq_u8(d, vdupq_n_u8((uint8_t)(byte))))
	out->delimiter = SCAN_EQUAL(delimiter);
	out->quote = SCAN_EQUAL('"');
	out->lf = SCAN_EQUAL('\n');
	out->cr = SCAN_EQUAL('\r');
	uint8x16_t top = vdupq_n_u8(0x80);
	out->wide = scan_bits_neon(vtstq_u8(a, top), vtstq_u8(b, top), vtstq_u8(c, top), vtstq_u8(d, top));
#undef SCAN_EQUAL
}

SCAN_KERNEL(neon, scan_emit_plain, )

#endif

static const struct scan_kernel scan_table[] = {
#if defined(__x86_64__)
	{"avx512", scan_tally_avx512, scan_index_avx512},
	{"avx2", scan_tally_avx2, scan_index_avx2},
	{"sse2", scan_tally_sse2, scan_index_sse2},
#elif defined(__aarch64__)
	{"neon", scan_tally_neon, scan_index_neon},
#endif
	{"plain", scan_tally_plain, scan_index_plain},
};

size_t scan_kernels(const struct scan_kernel **out)
{
	size_t count = sizeof(scan_table) / sizeof(scan_table[0]), first = 0;
#if defined(__x86_64__)
	__builtin_cpu_init();
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		      __builtin_cpu_supports("avx512vbmi2");
	first = avx512 ? 0 : avx2 ? 1 : 2;
#endif
	*out = scan_table + first;
	return count - first;
}

const struct scan_kernel *scan_kernel_best(void)
{
	const struct scan_kernel *kernels;
	scan_kernels(&kernels);
	return kernels;
}
