/*
 * infer.h - the shapes of an operator's outputs, from the shapes of its inputs and its attributes.
 *
 * One place for all readers, so that a preset, a text file and an ONNX file that describe the same operator agree, and so that
 * whoever counts or runs an operator may rely on its shapes fitting together. Operators whose output shape is an attribute in
 * disguise (OP_RESHAPE, OP_EXPAND, OP_SLICE, OP_SPLIT, OP_PAD, OP_CAST, OP_RESIZE) get it set by the reader before; it is checked.
 */
#ifndef PITOT_MODEL_INFER_H
#define PITOT_MODEL_INFER_H

#include "model/graph.h"

/* No dimension, padding or step may be larger: sums of a few of them never overflow. */
#define INFER_MAX_DIM ((int64_t)1 << 40)

/* ERR_INPUT, "operator 'conv1' (Conv): …", where the shapes do not fit. An input without a shape, or OP_OTHER, is no error:
 * the outputs stay without one and the operator's `unknown` says why. */
int infer_op(struct graph *graph, size_t op, struct err *err);

#endif
