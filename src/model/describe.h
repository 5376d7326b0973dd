/*
 * describe.h - own models in a small text format.
 *
 *	# comment
 *	option width 64                      a size that --width changes; $width from here on
 *	input x 3 32 32                      one example; the batch comes first by itself
 *	input ids $seq below 1000            whole numbers
 *	conv $width kernel=3 pad=1           reads what the line before wrote
 *	relu
 *	block.conv = conv 64 kernel=3 pad=1  a name; dots make layers
 *	y = relu of block.conv
 *	sum = add of x y
 *	repeat 4 as stage                    the lines up to `end` four times, in layers stage.0 to stage.3
 *	  linear 4*$width
 *	  gelu
 *	end
 *
 * Numbers are whole numbers, $options, or products of them with `*`. Names inside a repeat belong to the turn; what is not found
 * there is looked for outside. Errors name file and line. docs/models.md lists the operators.
 */
#ifndef PITOT_MODEL_DESCRIBE_H
#define PITOT_MODEL_DESCRIBE_H

#include "model/arch.h"

int describe_load(const char *path, const struct sizes *sizes, struct graph *graph, struct err *err);
/* `name` is told in errors. */
int describe_parse(const char *text, const char *name, const struct sizes *sizes, struct graph *graph, struct err *err);

#endif
