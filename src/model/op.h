/*
 * op.h - the kinds of operators, what each takes, and the attributes that tell one convolution from another.
 *
 * Layouts are fixed: images are N×C×spatial, weights of a convolution Cout×(Cin/groups)×kernel, of a transposed one
 * Cin×(Cout/groups)×kernel, sequences N×S×D. A reader turns what it finds into these. Dropout is OP_IDENTITY: models are
 * profiled as they run, and a random mask is no part of that.
 */
#ifndef PITOT_MODEL_OP_H
#define PITOT_MODEL_OP_H

#include "model/shape.h"

/* What an operator does to memory and how its work is counted. */
enum op_class {
	OP_CLASS_PRODUCT, /* multiply-accumulates: counted as MACs */
	OP_CLASS_POINT,   /* a fixed number of operations per element of the output or input: FLOPs, no MACs */
	OP_CLASS_MOVE,    /* copies elements: bytes, no FLOPs */
	OP_CLASS_VIEW,    /* the output is the input under another shape: nothing happens */
	OP_CLASS_UNKNOWN, /* not counted, said so */
};

/*
 * id, name, class: inputs → outputs. [x] may be absent (GRAPH_NONE or left off at the end).
 *
 * CONV            x, weight, [bias] → y                      .window
 * CONV_TRANSPOSE  x, weight, [bias] → y                      .window
 * LINEAR          x[…, in], weight, [bias] → y[…, out]       .linear: weight out×in, or in×out where .in_major
 * MATMUL          a[…, m, k], b[…, k, n] → y                 batches broadcast; a vector is treated as in NumPy
 * GEMM            a, b, [c] → alpha·op(a)·op(b) + beta·c     .gemm; two dimensions
 * ATTENTION       q, k, v, [mask] → y; or qkv → y            .attention: q N×Sq×(heads·d), k and v N×Sk×(kv_heads·d);
 *                                                            one input is q, k, v side by side in the last dimension.
 *                                                            mask is added to the scores, broadcast to N×heads×Sq×Sk.
 *                                                            Causal: query i sees keys up to i + Sk − Sq.
 * LSTM, GRU, RNN  x[T, N, in], w[dirs, g·h, in], r[dirs, g·h, h], [b[dirs, 2·g·h]], [h0], [c0] → y[T, dirs, N, h], [hT], [cT]
 *                                                            .recurrent; gates in ONNX's order (iofc; zrh)
 * MAX_POOL, AVG_POOL   x → y                                 .window
 * ADAPTIVE_AVG_POOL    x → y                                 .adaptive; GLOBAL pools are those with size 1
 * GLOBAL_MAX_POOL      x → y
 * BATCH_NORM      x, scale, bias, mean, variance → y         .norm
 * LAYER_NORM      x, scale, [bias] → y                       .norm: from .axis to the last dimension
 * RMS_NORM        x, scale → y                               .norm: the same without the mean
 * GROUP_NORM      x, scale, bias → y                         .norm: .groups; instance norm has groups = channels
 * LRN             x → y                                      .lrn: across channels
 * SOFTMAX, LOG_SOFTMAX  x → y                                .axis
 * UNARY           x → y                                      .unary
 * CLIP            x → y                                      .clip
 * BINARY          a, b → y                                   .binary, broadcast
 * WHERE           condition, a, b → y                        broadcast
 * REDUCE          x → y                                      .reduce
 * EMBEDDING       table[V, D], ids → y[…, D]
 * GATHER          x, ids → y                                 .axis
 * IDENTITY        x → y
 * RESHAPE         x → y                                      the output's shape says all; flatten, squeeze, unsqueeze too
 * TRANSPOSE       x → y                                      .perm
 * CONCAT          x… → y                                     .axis
 * SPLIT           x → y…                                     .axis; the outputs' shapes say the sizes
 * SLICE           x → y                                      .slice: every dimension
 * EXPAND          x → y                                      broadcast to the output's shape
 * PAD             x → y                                      .pad
 * CAST            x → y                                      the output's type says all
 * RESIZE          x → y                                      .resize
 * OTHER           … → …                                      what the reader does not know; `type` has its name
 */
#define OP_LIST(X)                                                                                                     \
	X(CONV, "conv", OP_CLASS_PRODUCT)                                                                              \
	X(CONV_TRANSPOSE, "conv_transpose", OP_CLASS_PRODUCT)                                                          \
	X(LINEAR, "linear", OP_CLASS_PRODUCT)                                                                          \
	X(MATMUL, "matmul", OP_CLASS_PRODUCT)                                                                          \
	X(GEMM, "gemm", OP_CLASS_PRODUCT)                                                                              \
	X(ATTENTION, "attention", OP_CLASS_PRODUCT)                                                                    \
	X(LSTM, "lstm", OP_CLASS_PRODUCT)                                                                              \
	X(GRU, "gru", OP_CLASS_PRODUCT)                                                                                \
	X(RNN, "rnn", OP_CLASS_PRODUCT)                                                                                \
	X(MAX_POOL, "max_pool", OP_CLASS_POINT)                                                                        \
	X(AVG_POOL, "avg_pool", OP_CLASS_POINT)                                                                        \
	X(ADAPTIVE_AVG_POOL, "adaptive_avg_pool", OP_CLASS_POINT)                                                      \
	X(GLOBAL_MAX_POOL, "global_max_pool", OP_CLASS_POINT)                                                          \
	X(BATCH_NORM, "batch_norm", OP_CLASS_POINT)                                                                    \
	X(LAYER_NORM, "layer_norm", OP_CLASS_POINT)                                                                    \
	X(RMS_NORM, "rms_norm", OP_CLASS_POINT)                                                                        \
	X(GROUP_NORM, "group_norm", OP_CLASS_POINT)                                                                    \
	X(LRN, "lrn", OP_CLASS_POINT)                                                                                  \
	X(SOFTMAX, "softmax", OP_CLASS_POINT)                                                                          \
	X(LOG_SOFTMAX, "log_softmax", OP_CLASS_POINT)                                                                  \
	X(UNARY, "unary", OP_CLASS_POINT)                                                                              \
	X(CLIP, "clip", OP_CLASS_POINT)                                                                                \
	X(BINARY, "binary", OP_CLASS_POINT)                                                                            \
	X(WHERE, "where", OP_CLASS_POINT)                                                                              \
	X(REDUCE, "reduce", OP_CLASS_POINT)                                                                            \
	X(EMBEDDING, "embedding", OP_CLASS_MOVE)                                                                       \
	X(GATHER, "gather", OP_CLASS_MOVE)                                                                             \
	X(IDENTITY, "identity", OP_CLASS_VIEW)                                                                         \
	X(RESHAPE, "reshape", OP_CLASS_VIEW)                                                                           \
	X(TRANSPOSE, "transpose", OP_CLASS_MOVE)                                                                       \
	X(CONCAT, "concat", OP_CLASS_MOVE)                                                                             \
	X(SPLIT, "split", OP_CLASS_MOVE)                                                                               \
	X(SLICE, "slice", OP_CLASS_MOVE)                                                                               \
	X(EXPAND, "expand", OP_CLASS_MOVE)                                                                             \
	X(PAD, "pad", OP_CLASS_MOVE)                                                                                   \
	X(CAST, "cast", OP_CLASS_MOVE)                                                                                 \
	X(RESIZE, "resize", OP_CLASS_MOVE)                                                                             \
	X(OTHER, "other", OP_CLASS_UNKNOWN)

enum op_kind {
#define OP_ID(id, name, class) OP_##id,
	OP_LIST(OP_ID)
#undef OP_ID
		OP_KIND_COUNT
};

/* id, name, operations per element as they are counted: one per arithmetic step, one per call of a function */
#define UNARY_LIST(X)                                                                                                  \
	X(RELU, "relu", 1)                                                                                             \
	X(LEAKY_RELU, "leaky_relu", 2)                                                                                 \
	X(SIGMOID, "sigmoid", 4)                                                                                       \
	X(HARD_SIGMOID, "hard_sigmoid", 4)                                                                             \
	X(TANH, "tanh", 1)                                                                                             \
	X(GELU, "gelu", 5)           /* x/2 · (1 + erf(x/√2)) */                                                    \
	X(GELU_TANH, "gelu_tanh", 9) /* the tanh approximation */                                                      \
	X(SILU, "silu", 5)                                                                                             \
	X(HARD_SWISH, "hard_swish", 5)                                                                                 \
	X(ELU, "elu", 3)                                                                                               \
	X(SOFTPLUS, "softplus", 3)                                                                                     \
	X(ERF, "erf", 1)                                                                                               \
	X(EXP, "exp", 1)                                                                                               \
	X(LOG, "log", 1)                                                                                               \
	X(SQRT, "sqrt", 1)                                                                                             \
	X(RECIPROCAL, "reciprocal", 1)                                                                                 \
	X(NEG, "neg", 1)                                                                                               \
	X(ABS, "abs", 1)                                                                                               \
	X(FLOOR, "floor", 1)                                                                                           \
	X(CEIL, "ceil", 1)                                                                                             \
	X(ROUND, "round", 1)                                                                                           \
	X(SIGN, "sign", 1)                                                                                             \
	X(SIN, "sin", 1)                                                                                               \
	X(COS, "cos", 1)                                                                                               \
	X(NOT, "not", 0)

enum unary_fn {
#define UNARY_ID(id, name, cost) UNARY_##id,
	UNARY_LIST(UNARY_ID)
#undef UNARY_ID
		UNARY_COUNT
};

#define BINARY_LIST(X)                                                                                                 \
	X(ADD, "add", 1)                                                                                               \
	X(SUB, "sub", 1)                                                                                               \
	X(MUL, "mul", 1)                                                                                               \
	X(DIV, "div", 1)                                                                                               \
	X(POW, "pow", 1)                                                                                               \
	X(MIN, "min", 1)                                                                                               \
	X(MAX, "max", 1)                                                                                               \
	X(MOD, "mod", 1)                                                                                               \
	X(EQUAL, "equal", 1)                                                                                           \
	X(LESS, "less", 1)                                                                                             \
	X(LESS_EQUAL, "less_equal", 1)                                                                                 \
	X(GREATER, "greater", 1)                                                                                       \
	X(GREATER_EQUAL, "greater_equal", 1)                                                                           \
	X(AND, "and", 0)                                                                                               \
	X(OR, "or", 0)                                                                                                 \
	X(XOR, "xor", 0)

enum binary_fn {
#define BINARY_ID(id, name, cost) BINARY_##id,
	BINARY_LIST(BINARY_ID)
#undef BINARY_ID
		BINARY_COUNT
};

enum reduce_fn { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_L2, REDUCE_FN_COUNT };

enum { OP_MAX_SPATIAL = 3 };

struct op_window {
	size_t spatial; /* 1 to OP_MAX_SPATIAL */
	int64_t kernel[OP_MAX_SPATIAL], stride[OP_MAX_SPATIAL], dilation[OP_MAX_SPATIAL];
	int64_t pad_begin[OP_MAX_SPATIAL], pad_end[OP_MAX_SPATIAL];
	int64_t output_pad[OP_MAX_SPATIAL]; /* CONV_TRANSPOSE */
	int64_t groups;                     /* convolutions */
	bool ceil_mode, count_pad;          /* pools: round the output size up; the average includes the padding */
};

struct op_attention {
	int64_t heads, kv_heads; /* heads is a multiple of kv_heads */
	bool causal;
	double scale; /* 0: 1/√d */
};

struct op_recurrent {
	int64_t hidden;
	size_t directions;        /* 1 or 2 */
	bool reverse;             /* one direction, from the end */
	bool linear_before_reset; /* GRU */
};

union op_attributes {
	struct op_window window;
	struct {
		bool in_major;
	} linear;
	struct {
		double alpha, beta;
		bool transpose_a, transpose_b;
	} gemm;
	struct op_attention attention;
	struct op_recurrent recurrent;
	struct {
		int64_t size[OP_MAX_SPATIAL]; /* of the output */
	} adaptive;
	struct {
		double epsilon;
		size_t axis;    /* LAYER_NORM, RMS_NORM */
		int64_t groups; /* GROUP_NORM */
	} norm;
	struct {
		int64_t size;
		double alpha, beta, bias;
	} lrn;
	size_t axis; /* SOFTMAX, LOG_SOFTMAX, GATHER, CONCAT, SPLIT */
	struct {
		enum unary_fn fn;
		double alpha, beta; /* slope of LEAKY_RELU and ELU; of HARD_SIGMOID max(0, min(1, alpha·x + beta)) */
	} unary;
	struct {
		double low, high; /* may be infinite */
	} clip;
	struct {
		enum binary_fn fn;
	} binary;
	struct {
		enum reduce_fn fn;
		bool axes[SHAPE_MAX_RANK]; /* which dimensions go */
		bool keep;
	} reduce;
	size_t perm[SHAPE_MAX_RANK];
	struct {
		int64_t start[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK]; /* in range; the output's shape says how many */
	} slice;
	struct {
		int64_t begin[SHAPE_MAX_RANK], end[SHAPE_MAX_RANK];
		double value;
	} pad;
	struct {
		bool linear; /* else nearest */
	} resize;
};

const char *op_kind_name(enum op_kind kind);
enum op_class op_kind_class(enum op_kind kind);
const char *unary_name(enum unary_fn fn);
int unary_cost(enum unary_fn fn);
const char *binary_name(enum binary_fn fn);
int binary_cost(enum binary_fn fn);

#endif
