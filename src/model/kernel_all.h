/*
 * kernel_all.h - makes the set of kernels of one instruction set. A file that includes this has defined SIMD_LANES and begun the
 * compiler's target; KERNEL_SET gives its one definition.
 */
#ifndef PITOT_MODEL_KERNEL_ALL_H
#define PITOT_MODEL_KERNEL_ALL_H

#include "model/kernel_image.h"
#include "model/kernel_row.h"
#include "model/kernel_tile.h"
#include "model/kernel_unary.h"

#define KERNEL_SET(name, has)                                                                                          \
	const struct kernel_set kernel_set_##name = {                                                                  \
		.isa = #name,                                                                                          \
		.available = has,                                                                                      \
		.tile_rows = TILE_ROWS,                                                                                \
		.tile_columns = TILE_COLUMNS,                                                                          \
		.tile = tile,                                                                                          \
		.pack = pack,                                                                                          \
		.unary = unary,                                                                                        \
		.unary_back = unary_back,                                                                              \
		.binary = binary,                                                                                      \
		.add_scaled = add_scaled,                                                                              \
		.scale = scale,                                                                                        \
		.dot = dot,                                                                                            \
		.sum = sum,                                                                                            \
		.moments = moments,                                                                                    \
		.softmax = softmax,                                                                                    \
		.softmax_back = softmax_back,                                                                          \
		.log_sum_exp = log_sum_exp,                                                                            \
		.normalize = normalize,                                                                                \
		.finish = finish,                                                                                      \
		.gather = gather,                                                                                      \
		.taps = taps,                                                                                          \
		.most = most,                                                                                          \
		.halve = halve,                                                                                        \
		.adam = adam,                                                                                          \
	}

#endif
