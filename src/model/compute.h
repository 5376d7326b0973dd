/*
 * compute.h - what every operator computes with: the kernels, the threads, and each thread's scratch memory.
 */
#ifndef PITOT_MODEL_COMPUTE_H
#define PITOT_MODEL_COMPUTE_H

#include "model/crew.h"
#include "model/gemm.h"
#include "model/kernel.h"

enum { COMPUTE_ALIGN_FLOATS = 16 };

struct compute {
	const struct kernel_set *set;
	struct crew *crew;
	struct gemm *blas;     /* NULL: own kernels */
	float *scratch;        /* of all members, one after the other */
	size_t scratch_floats; /* of each */
};

/* So many floats that what follows them begins at a cache line. */
static inline size_t compute_rounded(size_t floats)
{
	return (floats + COMPUTE_ALIGN_FLOATS - 1) / COMPUTE_ALIGN_FLOATS * COMPUTE_ALIGN_FLOATS;
}

static inline float *compute_scratch(const struct compute *compute, size_t member)
{
	return compute->scratch + member * compute->scratch_floats;
}

/* Elementwise work is cut into pieces of this many numbers, so that two threads do not share a cache line and a piece is worth
 * the handing out. */
enum { COMPUTE_PIECE = 16384 };

static inline size_t compute_pieces(size_t count)
{
	return (count + COMPUTE_PIECE - 1) / COMPUTE_PIECE;
}

static inline size_t compute_piece_size(size_t count, size_t piece)
{
	size_t begin = piece * COMPUTE_PIECE;
	return count - begin < COMPUTE_PIECE ? count - begin : COMPUTE_PIECE;
}

#endif
