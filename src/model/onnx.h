/*
 * onnx.h - reads an ONNX file into a graph.
 *
 * The file is mapped, not read: weights stay where they are until somebody asks for them (values.h), so a file of many gigabytes
 * costs no more than its list of operators. Shapes are inferred from the inputs' for the batch and sequence length that are
 * asked for; arithmetic on shapes that exporters leave in the graph is done while reading, and its operators vanish.
 * Operators that pitot does not know, and control flow, stay in the graph as OP_OTHER with the reason.
 *
 * Nothing in the file is trusted: lengths, dimensions, offsets, names and the order of operators are checked, and memory is only
 * taken in proportion to the size of the file.
 */
#ifndef PITOT_MODEL_ONNX_H
#define PITOT_MODEL_ONNX_H

#include "model/graph.h"

struct onnx_dim {
	const char *name;
	int64_t value;
};

struct onnx_options {
	int64_t batch, seq;          /* 0: as the file says, else 1 and 128 */
	const struct onnx_dim *dims; /* of dimensions that have names in the file */
	size_t dim_count;
};

/* ERR_INPUT with the reason; *graph is then untouched. */
int onnx_load(const char *path, const struct onnx_options *options, struct graph *graph, struct err *err);
/* The same from memory that outlives the graph. `folder` is where external data may lie; NULL: nowhere. */
int onnx_parse(const unsigned char *bytes, size_t size, const char *folder, const struct onnx_options *options,
	       struct graph *graph, struct err *err);

#endif
