/*
 * lanes.h - four numbers at a time, the same way on every machine.
 *
 * The vector types of the compiler: one AVX instruction, or two of SSE2 or NEON, or plain code. Sums are kept in four lanes whatever the
 * instructions, so results do not depend on the machine. A loop is written once, as LANES_INLINE, and made twice:
 *
 *	LANES_INLINE void body(...) { ... }
 *	static void plain(...) { body(...); }
 *	LANES_WIDE static void wide(...) { body(...); }
 *	... (lanes_are_wide() ? wide : plain)(...)
 */
#ifndef PITOT_TABLE_LANES_H
#define PITOT_TABLE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define LANES_WIDE __attribute__((target("avx2")))
static inline bool lanes_are_wide(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define LANES_WIDE
static inline bool lanes_are_wide(void)
{
	return false;
}
#endif

typedef double lanes __attribute__((vector_size(32)));
typedef int64_t lanes_bits __attribute__((vector_size(32)));

/* Macros, not functions: a vector that is passed by value is passed differently with and without AVX. */
#define LANES_LOAD(from)                                                                                               \
	__extension__({                                                                                                \
		lanes loaded;                                                                                          \
		memcpy(&loaded, (from), sizeof(loaded));                                                               \
		loaded;                                                                                                \
	})
#define LANES_STORE(to, value)                                                                                         \
	do {                                                                                                           \
		lanes stored = (value);                                                                                \
		memcpy((to), &stored, sizeof(stored));                                                                 \
	} while (0)
/* `a` in the lanes where the mask is set, else `b`. */
#define LANES_PICK(mask, a, b) ((lanes)(((mask) & (lanes_bits)(a)) | (~(mask) & (lanes_bits)(b))))

#endif
