/*
 * shape.h - the size of a tensor in each dimension, and the element types.
 *
 * Dimensions are never negative here; what is not known at all is a tensor without a shape (graph.h), not a shape with holes.
 * Every product is checked: a file may claim any dimension, and a count that does not fit is an answer, not a wrapped number.
 */
#ifndef PITOT_MODEL_SHAPE_H
#define PITOT_MODEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHAPE_MAX_RANK = 8, SHAPE_TEXT_SIZE = 176 };

struct shape {
	size_t rank; /* 0: a scalar, one element */
	int64_t dims[SHAPE_MAX_RANK];
};

/* id, name, bytes of one element */
#define ELEMENT_LIST(X)                                                                                                \
	X(F32, "float32", 4)                                                                                           \
	X(F64, "float64", 8)                                                                                           \
	X(F16, "float16", 2)                                                                                           \
	X(BF16, "bfloat16", 2)                                                                                         \
	X(I64, "int64", 8)                                                                                             \
	X(I32, "int32", 4)                                                                                             \
	X(I16, "int16", 2)                                                                                             \
	X(I8, "int8", 1)                                                                                               \
	X(U64, "uint64", 8)                                                                                            \
	X(U32, "uint32", 4)                                                                                            \
	X(U16, "uint16", 2)                                                                                            \
	X(U8, "uint8", 1)                                                                                              \
	X(BOOL, "bool", 1)

enum element {
#define ELEMENT_ID(id, name, bytes) ELEMENT_##id,
	ELEMENT_LIST(ELEMENT_ID)
#undef ELEMENT_ID
		ELEMENT_COUNT
};

const char *element_name(enum element element);
size_t element_bytes(enum element element);
bool element_is_float(enum element element);

/* A shape from its dimensions; an object, so that its address can be taken. */
#define SHAPE(...) ((struct shape){.rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = {__VA_ARGS__}})
struct shape shape_of(size_t rank, const int64_t *dims); /* rank at most SHAPE_MAX_RANK */
bool shape_equal(const struct shape *a, const struct shape *b);

/* Product of the dimensions `from` up to, not including, `to`; false where it does not fit into an int64_t. */
bool shape_product(const struct shape *shape, size_t from, size_t to, int64_t *out);
/* Number of elements, -1 where it does not fit. */
int64_t shape_elements(const struct shape *shape);
/* -1 counts from the end, as in ONNX; false where there is no such axis. */
bool shape_axis(const struct shape *shape, int64_t axis, size_t *out);
/* By the rule of NumPy: aligned at the last dimension, 1 stretches. False where they do not fit together. */
bool shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out);
/* "32×3×224×224", "scalar"; `out` has SHAPE_TEXT_SIZE bytes. Returns `out`. */
const char *shape_text(const struct shape *shape, char *out);

/* *total += a × b; false on overflow or a negative factor, *total is then untouched. */
bool count_add_product(int64_t *total, int64_t a, int64_t b);
bool count_multiply(int64_t a, int64_t b, int64_t *out);

#endif
