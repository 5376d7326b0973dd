/* study.c - see study.h: one run of a mode, with everything that is kept of it. */
#include "table/study.h"
#include "base/clock.h"
#include "base/mem.h"
#include "table/sizes.h"

#include <math.h>
#include <stdlib.h>

struct study_context {
	const struct study_watch *watch;
	struct study_run *run;
	struct quality_sample *sample; /* streaming */
	const char *target;
};

static int on_chunk(void *pointer, const struct engine_chunk *chunk, struct err *err)
{
	struct study_context *context = pointer;
	chunk_sample_add(context->run->chunks, chunk);
	if (context->sample)
		quality_sample_add(context->sample, chunk->frame);
	else if (chunk->part == 0)
		quality_of_frame(chunk->frame, context->target, &context->run->quality);
	return context->watch->chunk ? context->watch->chunk(context->watch->context, chunk, err) : 0;
}

static void add_point(struct study_curve *curve, double x, double y)
{
	if (curve->count < STUDY_POINTS) {
		curve->x[curve->count] = x;
		curve->y[curve->count++] = y;
	}
}

static int compare_memory(const void *a, const void *b)
{
	const struct chunk_note *one = a, *other = b;
	return (one->memory_after_bytes > other->memory_after_bytes) -
	       (one->memory_after_bytes < other->memory_after_bytes);
}

/* Points at even distances, the last one always among them. */
static size_t point_index(size_t point, size_t points, size_t count)
{
	return points < 2 ? count - 1 : point * (count - 1) / (points - 1);
}

static void draw_curves(struct study_run *run)
{
	const struct chunk_sample *chunks = run->chunks;
	size_t points = chunks->count < STUDY_POINTS ? chunks->count : STUDY_POINTS;
	for (size_t i = 0; i < points; i++) {
		const struct chunk_note *note = &chunks->notes[point_index(i, points, chunks->count)];
		uint64_t end_ns = note->start_ns + note->latency_ns;
		add_point(&run->latency_by_rows, (double)note->rows_done,
			  end_ns > run->start_ns ? (double)(end_ns - run->start_ns) / 1e9 : 0);
	}
	struct chunk_note *sorted = mem_alloc((chunks->count + 1) * sizeof(*sorted));
	for (size_t i = 0; i < chunks->count; i++)
		sorted[i] = chunks->notes[i];
	qsort(sorted, chunks->count, sizeof(*sorted), compare_memory);
	for (size_t i = 0; i < points; i++) {
		const struct chunk_note *note = &sorted[point_index(i, points, chunks->count)];
		if (note->latency_ns)
			add_point(&run->throughput_by_memory, (double)note->memory_after_bytes / (1 << 20),
				  (double)note->rows * 1e9 / (double)note->latency_ns);
	}
	free(sorted);
}

static void fill_settings(const struct study_settings *settings, const struct study_watch *watch,
			  const struct study_run *run, struct engine_settings *out)
{
	*out = (struct engine_settings){.threads = settings->threads,
					.max_compute = settings->max_compute,
					.per_chunk = settings->per_chunk,
					.count = true,
					.spill_dir = settings->spill_dir,
					.seed = settings->seed,
					.watch = watch->bytes,
					.watch_context = watch->bytes_context,
					.name = settings->name,
					.stop = settings->stop};
	out->max_memory_bytes = (size_t)(settings->max_memory_mb * (1 << 20));
	if (run->mode == ENGINE_STREAMING)
		out->chunk_rows = run->effective_rows;
	else
		out->batch_rows = run->effective_rows;
}

static int run_engine(const struct study_settings *settings, const struct study_watch *watch,
		      struct study_context *context, struct err *err)
{
	struct study_run *run = context->run;
	struct engine_settings engine_settings;
	struct engine *engine = NULL;
	struct engine_watcher watcher = {.chunk = on_chunk, .context = context};
	fill_settings(settings, watch, run, &engine_settings);
	int code = engine_open(settings->path, settings->recipe, &engine_settings, &engine, err);
	if (code)
		return code;
	context->target = settings->recipe->target;
	code = engine_run(engine, run->mode, &watcher, &run->result, err);
	engine_close(engine);
	return code;
}

/* Of all operators and the reading: what the engine itself did, in all its threads. */
static void put_counts(struct study_run *run)
{
	static const int ids[PMU_THREAD_EVENT_COUNT] = {METRIC_INSTRUCTIONS, METRIC_CYCLES, METRIC_CACHE_MISSES};
	const struct engine_result *result = &run->result;
	const char *reason = result->counts_reason ? result->counts_reason : "no chunk was worked on";
	struct pmu_tally all = result->read_counts;
	for (int op = 0; op < ENGINE_OPERATOR_COUNT; op++)
		pmu_tally_add(&all, &result->operator_counts[op]);
	double coverage = pmu_tally_coverage(&all);
	for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++) {
		struct metric_value *value = &run->values[ids[event]];
		double count = pmu_tally_value(&all, (enum pmu_thread_event)event);
		if (isnan(count)) {
			metric_set_absent(value, "%s", reason);
			continue;
		}
		metric_set(value, count, coverage > 0.9995 ? METHOD_EXACT : METHOD_ESTIMATED,
			   "%s; of operators and reading", result->counts_source);
		value->coverage = coverage;
	}
}

int study_run(const struct study_settings *settings, enum engine_mode mode, const struct study_watch *watch,
	      struct probe_set *probes, struct study_run *out, struct err *err)
{
	struct study_context context = {.watch = watch, .run = out};
	size_t asked = mode == ENGINE_STREAMING ? settings->chunk_rows : settings->batch_rows;
	double scale = sizes_scale(settings->max_memory_mb, settings->max_compute);
	*out = (struct study_run){.mode = mode, .ran = true, .asked_rows = asked, .chunks = chunk_sample_new()};
	out->effective_rows = asked ? sizes_rows(asked, scale, 0) : 0;
	context.sample = mode == ENGINE_STREAMING ? quality_sample_new() : NULL;
	struct telemetry *telemetry = telemetry_start(probes);
	out->start_ns = clock_mono_ns();
	out->code = run_engine(settings, watch, &context, err);
	if (out->code)
		out->failure = mem_strdup(err->text);
	telemetry_stop(telemetry, mode == ENGINE_BATCH ? TELEMETRY_WATTS_BATCH : TELEMETRY_WATTS_STREAMING,
		       out->values);
	put_counts(out);
	if (context.sample)
		quality_sample_end(context.sample, context.target, &out->quality);
	quality_check_schema(&out->result.input, &out->quality);
	draw_curves(out);
	return out->code;
}

void study_run_fini(struct study_run *run)
{
	engine_result_fini(&run->result);
	quality_fini(&run->quality);
	chunk_sample_free(run->chunks);
	free(run->failure);
	*run = (struct study_run){0};
}

double study_wall_s(const struct study_run *run)
{
	return (double)run->result.wall_ns / 1e9;
}

double study_rows_per_s(const struct study_run *run)
{
	return run->result.wall_ns ? (double)run->result.rows * 1e9 / (double)run->result.wall_ns : NAN;
}
