/*
 * encode.h - the encoded matrix of a chunk: numbers scaled, texts as codes (engine.h says what a matrix is).
 *
 * A number column's missing values become its median, then (x - mean) / population sd, where an sd of 0 counts as 1. A text column is
 * encoded as long as it has fewer distinct values than the recipe allows. Statistics are running ones, or those of the chunk.
 */
#ifndef PITOT_TABLE_ENCODE_H
#define PITOT_TABLE_ENCODE_H

#include "table/engine.h"
#include "table/moments.h"
#include "table/plan.h"

struct encode {
	const struct plan *plan;
	struct memory *memory;
	bool alone;              /* each chunk by itself */
	size_t room;             /* rows of the buffers below */
	double **numbers;        /* by column of the frame, or NULL */
	uint32_t **codes;        /* the same, for chunks by themselves */
	struct moments *moments; /* by column: of all rows so far */
	struct sketch *sketches; /* by column: for medians of what is missing */
	uint32_t **orders;       /* by column: dictionary code of each dense column */
	uint32_t *identity;      /* 0, 1, 2, … up to the most values */
	uint32_t *places;        /* scratch: by code + 1, the dense column + 1 */
	size_t place_room;
	struct matrix matrix;
	size_t *columns; /* of the frame, by block */
	double *scratch; /* `room` places, for medians */
};

int encode_init(struct encode *encode, const struct plan *plan, bool alone, struct memory *memory, struct err *err);
void encode_fini(struct encode *encode);
/* Bytes that one more row of room takes. */
size_t encode_row_bytes(const struct plan *plan, bool alone);
bool encode_reserve(struct encode *encode, size_t rows);
/* `dropped` by column of the frame; `chunk` the moments that are known already, by column (count 0: not known). */
int encode_chunk(struct encode *encode, const struct frame *frame, const bool *dropped, const struct moments *chunk,
		 struct err *err);

#endif
