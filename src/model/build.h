/*
 * build.h - puts operators together, one line each: what the built-in architectures and the text format are written in.
 *
 * A build keeps its first error and does nothing after it, so that an architecture reads as a list of layers and is checked
 * once at the end. Operators are named by the scope and a leaf: inside scope "layer1.0", "conv1" is "layer1.0.conv1" and belongs to
 * the layer "layer1.0". Tensors are named after the operator that writes them; weights get PyTorch's endings. Each function
 * returns the tensor that it writes.
 */
#ifndef PITOT_MODEL_BUILD_H
#define PITOT_MODEL_BUILD_H

#include "base/str.h"
#include "model/graph.h"

struct build {
	struct graph *graph; /* borrowed */
	struct err *err;
	int code; /* the first error */
	struct str scope;
};

void build_fini(struct build *build);
/* Enters "scope.name"; what it returns leaves it again. */
size_t build_enter(struct build *build, const char *format, ...) __attribute__((format(printf, 2, 3)));
void build_leave(struct build *build, size_t mark);
int build_fail(struct build *build, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An input of the model: of floats, or of whole numbers below `below` where that is not 0. */
size_t build_input(struct build *build, const char *name, const struct shape *shape, int64_t below);
/* A weight in the present scope: normal with that deviation. */
size_t build_weight(struct build *build, const char *leaf, const struct shape *shape, double deviation);
size_t build_filled(struct build *build, const char *leaf, enum tensor_role role, const struct shape *shape,
		    double value);

struct build_conv {
	int64_t out, kernel, stride, pad, dilation, groups; /* 0: 1, of pad 0 */
	int64_t output_pad;                                 /* of the transposed one */
	bool no_bias, transpose;
};
size_t build_conv(struct build *build, const char *leaf, size_t x, const struct build_conv *conv);
size_t build_linear(struct build *build, const char *leaf, size_t x, int64_t out, bool bias);
/* With weights that are there already: out×in, or in×out. `bias` may be GRAPH_NONE. */
size_t build_linear_with(struct build *build, const char *leaf, size_t x, size_t weight, size_t bias, bool in_major);
struct build_pool {
	int64_t kernel, stride, pad, pad_end; /* stride 0: the kernel; pad_end beyond pad, for uneven ones */
	bool ceil_mode;
};
size_t build_pool(struct build *build, const char *leaf, enum op_kind kind, size_t x, const struct build_pool *pool);
size_t build_adaptive_pool(struct build *build, const char *leaf, size_t x, int64_t size);
/* OP_BATCH_NORM, OP_LAYER_NORM (the last dimension), OP_RMS_NORM, OP_GROUP_NORM. */
size_t build_norm(struct build *build, const char *leaf, enum op_kind kind, size_t x, double epsilon, int64_t groups);
size_t build_unary(struct build *build, const char *leaf, size_t x, enum unary_fn fn);
size_t build_clip(struct build *build, const char *leaf, size_t x, double low, double high);
size_t build_binary(struct build *build, const char *leaf, enum binary_fn fn, size_t a, size_t b);
size_t build_axis(struct build *build, const char *leaf, enum op_kind kind, size_t x, int64_t axis); /* softmax */
size_t build_lrn(struct build *build, const char *leaf, size_t x, int64_t size, double alpha, double beta, double bias);
/* `k` and `v` GRAPH_NONE: x is all three side by side. */
size_t build_attention(struct build *build, const char *leaf, size_t q, size_t k, size_t v,
		       const struct op_attention *attention);
size_t build_embedding(struct build *build, const char *leaf, size_t table, size_t ids);
size_t build_reshape(struct build *build, const char *leaf, size_t x, const struct shape *shape);
size_t build_flatten(struct build *build, const char *leaf, size_t x, size_t from);
size_t build_transpose(struct build *build, const char *leaf, size_t x, size_t a, size_t b); /* swaps two dimensions */
size_t build_concat(struct build *build, const char *leaf, size_t a, size_t b, int64_t axis);
size_t build_expand(struct build *build, const char *leaf, size_t x, const struct shape *shape);
/* `count` elements of a dimension, from `first` on. */
size_t build_slice(struct build *build, const char *leaf, size_t x, int64_t axis, int64_t first, int64_t count);
size_t build_mean(struct build *build, const char *leaf, size_t x, int64_t axis);
size_t build_identity(struct build *build, const char *leaf, size_t x);
/* LSTM, GRU or RNN with weights of its own, `steps × batch × features` in and `… × hidden` out. */
size_t build_recurrent(struct build *build, const char *leaf, enum op_kind kind, size_t x, int64_t hidden,
		       size_t directions);

const struct shape *build_shape(const struct build *build, size_t tensor);
/* Marks the result and checks the graph; the first error. */
int build_finish(struct build *build, size_t result);

#endif
