/*
 * chunk_sample.h - what is kept of a run's chunks: totals of all, and an even sample of them one by one.
 *
 * A chunk is kept where its place in the run is a multiple of a stride, which doubles whenever CHUNK_SAMPLE_MOST are held; so the
 * sample is spread evenly over the run, and the memory for it is bounded.
 */
#ifndef PITOT_TABLE_CHUNK_SAMPLE_H
#define PITOT_TABLE_CHUNK_SAMPLE_H

#include "table/engine.h"

enum { CHUNK_SAMPLE_MOST = 4096 };

struct chunk_note {
	uint64_t id, rows, rows_done, input_bytes, start_ns, latency_ns, read_ns;
	uint64_t operator_ns[ENGINE_OPERATOR_COUNT], operator_start_ns[ENGINE_OPERATOR_COUNT];
	size_t memory_after_bytes;
};

struct chunk_sample {
	struct chunk_note *notes;
	size_t count;
	uint64_t seen, stride;
	/* Of all chunks: */
	uint64_t rows, input_bytes, latency_ns, longest_ns, exceeded, retries;
};

struct chunk_sample *chunk_sample_new(void);
void chunk_sample_add(struct chunk_sample *sample, const struct engine_chunk *chunk);
void chunk_sample_free(struct chunk_sample *sample); /* NULL is allowed */

#endif
