/* chunk_sample.c - see chunk_sample.h. */
#include "table/chunk_sample.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct chunk_sample *chunk_sample_new(void)
{
	struct chunk_sample *sample = mem_alloc(sizeof(*sample));
	sample->notes = mem_alloc(CHUNK_SAMPLE_MOST * sizeof(*sample->notes));
	sample->stride = 1;
	return sample;
}

static void halve(struct chunk_sample *sample)
{
	for (size_t i = 0; 2 * i < sample->count; i++)
		sample->notes[i] = sample->notes[2 * i];
	sample->count = (sample->count + 1) / 2;
	sample->stride *= 2;
}

void chunk_sample_add(struct chunk_sample *sample, const struct engine_chunk *chunk)
{
	uint64_t place = sample->seen++;
	sample->rows += chunk->rows;
	sample->input_bytes += chunk->input_bytes;
	sample->latency_ns += chunk->latency_ns;
	sample->longest_ns = chunk->latency_ns > sample->longest_ns ? chunk->latency_ns : sample->longest_ns;
	sample->exceeded += chunk->memory_exceeded;
	sample->retries += chunk->retries;
	if (place % sample->stride != 0)
		return;
	if (sample->count == CHUNK_SAMPLE_MOST)
		halve(sample);
	if (place % sample->stride != 0)
		return;
	struct chunk_note *note = &sample->notes[sample->count++];
	*note = (struct chunk_note){.id = chunk->id,
				    .rows = chunk->rows,
				    .rows_done = chunk->rows_done,
				    .input_bytes = chunk->input_bytes,
				    .start_ns = chunk->start_ns,
				    .latency_ns = chunk->latency_ns,
				    .read_ns = chunk->read_ns,
				    .memory_after_bytes = chunk->memory_after_bytes};
	memcpy(note->operator_ns, chunk->operator_ns, sizeof(note->operator_ns));
	memcpy(note->operator_start_ns, chunk->operator_start_ns, sizeof(note->operator_start_ns));
}

void chunk_sample_free(struct chunk_sample *sample)
{
	if (sample)
		free(sample->notes);
	free(sample);
}
