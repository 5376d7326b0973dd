/*
 * work.h - how much work a piece of a model is: one list of counts, which sums, columns of the run file and JSON follow.
 *
 * A multiply-accumulate (MAC) is 2 FLOPs. What each count means stands in model/count.h, which makes them.
 */
#ifndef PITOT_BASE_WORK_H
#define PITOT_BASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* name: of the member, the column and the key */
#define WORK_LIST(X)                                                                                                   \
	X(parameters)           /* learned values */                                                                   \
	X(buffers)              /* values kept with them but not learned */                                            \
	X(macs)                 /* products, causal attention as the whole square */                                   \
	X(causal_macs)          /* only the pairs that a causal mask leaves */                                         \
	X(backward_macs)        /* twice `macs` */                                                                     \
	X(needed_backward_macs) /* twice `causal_macs`, without the gradient of the model's own input */               \
	X(point_ops)            /* everything that is no product */                                                    \
	X(weight_bytes)         /* that are read */                                                                    \
	X(read_bytes)           /* of other operands */                                                                \
	X(written_bytes)                                                                                               \
	X(uncounted) /* operators */

struct work {
#define WORK_MEMBER(name) int64_t name;
	WORK_LIST(WORK_MEMBER)
#undef WORK_MEMBER
};

/* False where a sum would be larger than 2^60; `to` is then partly added to. */
bool work_add(struct work *to, const struct work *from);
/* FLOPs that have to be done: 2 × causal MACs + point operations; in the backward pass 2 × needed MACs + twice the points. */
int64_t work_flops(const struct work *work);
int64_t work_backward_flops(const struct work *work);
/* All bytes that have to move. */
int64_t work_bytes(const struct work *work);
/* FLOP per byte; NaN without bytes. */
double work_intensity(const struct work *work);

#endif
