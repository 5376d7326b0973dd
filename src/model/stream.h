/*
 * stream.h - kernels that move memory, after McCalpin's STREAM: copy, scale, add and triad on doubles, and a pure read.
 *
 * Bytes are counted as STREAM counts them: what the kernel reads plus what it writes. An ordinary store first reads the line
 * that it is going to overwrite (write-allocate), and that read is not counted; a non-temporal store goes past the caches
 * and has none, so its figure is also what the memory moved. `read` sums one array: the most that a program which only
 * reads, such as one streaming weights, could get.
 */
#ifndef PITOT_MODEL_STREAM_H
#define PITOT_MODEL_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum { STREAM_STEP = 32 }; /* counts are multiples of so many doubles; arrays are aligned to 64 bytes */

/* `to` is not touched by read; `y` is used by add and triad only. Returns something that depends on what was read. */
typedef double stream_fn(double *to, const double *x, const double *y, size_t count);

#define STREAM_KERNELS(X)                                                                                              \
	X(READ, "read", 1) X(COPY, "copy", 2) X(SCALE, "scale", 2) X(ADD, "add", 3) X(TRIAD, "triad", 3)

enum stream_kernel {
#define STREAM_ID(id, name, words) STREAM_##id,
	STREAM_KERNELS(STREAM_ID)
#undef STREAM_ID
		STREAM_KERNEL_COUNT
};

const char *stream_name(enum stream_kernel kernel);
/* Bytes that one pass over `count` doubles moves. */
double stream_bytes(enum stream_kernel kernel, size_t count);

/* The widest that this CPU can run; NULL where there is none (non-temporal reads do not exist). */
stream_fn *stream_find(enum stream_kernel kernel, bool non_temporal);
const char *stream_isa(void); /* "avx512", "avx2", "sse2", "neon", "C" */

#endif
