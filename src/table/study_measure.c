/* study_measure.c - see study_measure.h. */
#include "table/study_measure.h"

#include <math.h>

struct limit {
	uint64_t most_rows, chunks, latency_ns;
	bool reached;
};

static int on_chunk(void *pointer, const struct engine_chunk *chunk, struct err *err)
{
	struct limit *limit = pointer;
	limit->chunks++;
	limit->latency_ns += chunk->latency_ns;
	limit->reached = limit->most_rows && chunk->rows_done >= limit->most_rows;
	return limit->reached ? err_set(err, ERR_INTERRUPTED, "enough rows") : 0;
}

int study_measure(const struct study_settings *settings, enum engine_mode mode, size_t chunk_rows, uint64_t most_rows,
		  struct study_measured *out, struct err *err)
{
	struct engine_settings engine_settings = {.chunk_rows = chunk_rows,
						  .batch_rows = settings->batch_rows,
						  .threads = settings->threads,
						  .max_memory_bytes = (size_t)(settings->max_memory_mb * (1 << 20)),
						  .max_compute = settings->max_compute,
						  .per_chunk = settings->per_chunk,
						  .spill_dir = settings->spill_dir,
						  .seed = settings->seed,
						  .name = settings->name,
						  .stop = settings->stop};
	struct limit limit = {.most_rows = mode == ENGINE_STREAMING ? most_rows : 0};
	struct engine_watcher watcher = {.chunk = on_chunk, .context = &limit};
	struct engine *engine = NULL;
	*out = (struct study_measured){.chunk_latency_s = NAN};
	int code = engine_open(settings->path, settings->recipe, &engine_settings, &engine, err);
	if (code)
		return code;
	code = engine_run(engine, mode, &watcher, &out->result, err);
	engine_close(engine);
	if (limit.chunks)
		out->chunk_latency_s = (double)limit.latency_ns / (double)limit.chunks / 1e9;
	return limit.reached ? 0 : code;
}

bool study_stopped(const struct study_settings *settings)
{
	return settings->stop && *settings->stop;
}
