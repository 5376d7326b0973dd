/*
 * values.h - the values of weights, buffers, constants and inputs, whether they lie in a file or are made up.
 *
 * Nothing is kept: each call reads or makes them anew, so that a model of many gigabytes costs no memory until it is run. Made-up
 * values depend on the seed and the tensor's name only, not on the order of the calls.
 */
#ifndef PITOT_MODEL_VALUES_H
#define PITOT_MODEL_VALUES_H

#include "model/graph.h"

/* All elements as float; `out` has room for shape_elements() of them. The tensor is shaped and no activation. */
void values_read_float(const struct graph_tensor *tensor, uint64_t seed, float *out);
/* The same as whole numbers: of an integer tensor exactly, of others truncated. */
void values_read_int(const struct graph_tensor *tensor, uint64_t seed, int64_t *out);
/* One element of a TENSOR_FILLED or TENSOR_BYTES tensor. */
double values_element(const struct graph_tensor *tensor, int64_t index);

#endif
