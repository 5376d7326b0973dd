/*
 * infer_site.h - what the parts of shape inference share: the operator at hand, its shapes, its complaints. Only infer*.c
 * include it.
 */
#ifndef PITOT_MODEL_INFER_SITE_H
#define PITOT_MODEL_INFER_SITE_H

#include "model/infer.h"

struct infer_site {
	struct graph *graph;
	struct graph_op *op;
	struct err *err;
};

/* The shape of an input; NULL where it is absent. */
const struct shape *infer_in(const struct infer_site *site, size_t index);
/* Gives an output its shape, where there is such an output. */
int infer_set(const struct infer_site *site, size_t index, const struct shape *shape);
int infer_bad(const struct infer_site *site, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Between `low` and INFER_MAX_DIM, or a complaint about `what`. */
int infer_range(const struct infer_site *site, const char *what, int64_t value, int64_t low);

int infer_conv(const struct infer_site *site);
int infer_conv_transpose(const struct infer_site *site);
int infer_pool(const struct infer_site *site);
int infer_linear(const struct infer_site *site);
int infer_matmul(const struct infer_site *site);
int infer_gemm(const struct infer_site *site);
int infer_attention(const struct infer_site *site);
int infer_recurrent(const struct infer_site *site);

int infer_transpose(const struct infer_site *site);
int infer_concat(const struct infer_site *site);
int infer_split(const struct infer_site *site);
int infer_slice(const struct infer_site *site);
int infer_expand(const struct infer_site *site);
int infer_pad(const struct infer_site *site);
int infer_resize(const struct infer_site *site);
int infer_reshape(const struct infer_site *site);
int infer_cast(const struct infer_site *site);
int infer_embedding(const struct infer_site *site);
int infer_gather(const struct infer_site *site);
int infer_reduce(const struct infer_site *site);

#endif
