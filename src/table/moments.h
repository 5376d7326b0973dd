/*
 * moments.h - count, mean, spread and range of numbers, kept over chunks; and the sample that a running median needs.
 *
 * A chunk's moments are computed in two passes and merged with what was there, so that the result is as exact as if all numbers
 * had been there at once. NaN is not counted.
 *
 * The sample is systematic: every stride-th number, thinned to half when it is full. Its median is exact as long as fewer than
 * SKETCH_ROOM numbers were seen; after that it is that of at least SKETCH_ROOM / 2 numbers evenly spread over all of them. Where the
 * account refuses the room, the sample is smaller.
 */
#ifndef PITOT_TABLE_MOMENTS_H
#define PITOT_TABLE_MOMENTS_H

#include "table/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moments {
	uint64_t count;
	double mean, m2; /* sum of squared distances from the mean */
	double min, max;
};

void moments_of(const double *numbers, size_t count, struct moments *out);
/* The same without `m2`, which is 0; false where numbers were missing. */
bool moments_of_first(const double *numbers, size_t count, struct moments *out);
void moments_merge(struct moments *into, const struct moments *more);
void moments_add(struct moments *into, double number);         /* one; NaN is passed over */
double moments_sd(const struct moments *moments, bool sample); /* 0 where there are too few */

enum { SKETCH_ROOM = 4096, SKETCH_FIRST = 64 };

struct sketch {
	struct memory *memory;
	size_t most; /* a power of two, SKETCH_ROOM or less */
	double *numbers;
	size_t count, room;
	uint64_t stride, skip; /* `skip` numbers to pass over before the next is taken */
};

/* `columns` is how many such samples there will be: with very many, each is smaller. */
void sketch_init(struct sketch *sketch, size_t columns, struct memory *memory);
void sketch_add(struct sketch *sketch, const double *numbers, size_t count);
/* NaN where nothing was seen. `scratch` has SKETCH_ROOM places. */
double sketch_median(const struct sketch *sketch, double *scratch);
void sketch_fini(struct sketch *sketch);

/* The median of the numbers that are not NaN; NaN where there are none. `scratch` has `count` places. */
double moments_median(const double *numbers, size_t count, double *scratch);

#endif
