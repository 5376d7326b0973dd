/*
 * chunk.h - the rows that are worked on together: taken from pieces in order, filled, sorted, and their columns computed.
 *
 * What it holds per row is known from the plan, so whether a chunk of a given size fits the memory limit is decided before any of its
 * rows are taken. Batch is one chunk that grows until the input ends.
 */
#ifndef PITOT_TABLE_CHUNK_H
#define PITOT_TABLE_CHUNK_H

#include "table/crew.h"
#include "table/moments.h"

struct chunk_settings {
	bool alone; /* statistics of the chunk by itself: batch, or per chunk */
	bool batch;
	size_t dictionary_cap;
	enum recipe_sd sd;
};

struct chunk {
	const struct plan *plan;
	struct memory *memory;
	struct chunk_settings settings;
	size_t room, rows;
	double **numbers;             /* by slot */
	uint32_t **codes;             /* by slot */
	struct dictionary *values;    /* by slot */
	atomic_bool *given_up;        /* by slot: a text whose codes nobody needs any more */
	struct sketch *sketches;      /* by slot: for running medians */
	struct moments *moments;      /* by slot: for running means */
	uint64_t *missing, *unparsed; /* by slot, in these rows */
	double *scratch;              /* `room` places */
	uint32_t *code_scratch, *order;
	struct expr_run run;
	struct frame frame;
	/* Of the rows taken: */
	uint64_t bytes, read_ns, clean_ns, derive_ns;
	struct pmu_tally read_counts, clean_counts, derive_counts;
};

int chunk_init(struct chunk *chunk, const struct plan *plan, const struct chunk_settings *settings,
	       struct memory *memory, struct err *err);
void chunk_fini(struct chunk *chunk);
/* Bytes that one row of room takes. */
size_t chunk_row_bytes(const struct plan *plan);
/* Room for so many rows, keeping those that are there; false where the account refuses it. */
bool chunk_reserve(struct chunk *chunk, size_t rows);
void chunk_begin(struct chunk *chunk);
/* Takes up to `most` rows of the piece. */
int chunk_take(struct chunk *chunk, struct piece *piece, size_t most, struct err *err);
void chunk_fill(struct chunk *chunk);
/* Sorts and computes; then `frame` is complete. */
int chunk_derive(struct chunk *chunk, struct err *err);
/* Stops coding the texts that have more values than can be encoded and that nothing else needs. */
void chunk_give_up(struct chunk *chunk);

#endif
