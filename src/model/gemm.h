/*
 * gemm.h - matrix products by OpenBLAS, which is looked for when it is first wanted.
 *
 * It is not linked: its constructor starts a pool of threads and takes twice pitot's memory, and every stage that pitot starts
 * would begin at that size.
 */
#ifndef PITOT_MODEL_GEMM_H
#define PITOT_MODEL_GEMM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct gemm;

/* ERR_UNAVAILABLE where there is no OpenBLAS. $PITOT_OPENBLAS names another file. */
int gemm_open(struct gemm **out, struct err *err);
void gemm_close(struct gemm *gemm);                /* the library stays: its threads do */
const char *gemm_version(const struct gemm *gemm); /* "OpenBLAS 0.3.21 ... Haswell" */

/* Of the calls that follow, in all. */
void gemm_set_threads(struct gemm *gemm, int threads);

/* C = A·B, or += where `add`, in fp32, row by row. A is m × k, k × m where it is turned; the strides are those of rows in memory. */
struct gemm_product {
	size_t m, n, k;
	const float *a, *b;
	float *c;
	bool a_turned, b_turned, add;
	size_t a_stride, b_stride, c_stride;
};
void gemm_product(struct gemm *gemm, const struct gemm_product *product);

/* C = A × B of n × n numbers, row by row, in fp64 where `wide`. 2·n³ operations. */
void gemm_multiply(struct gemm *gemm, bool wide, size_t n, const void *a, const void *b, void *c);

#endif
