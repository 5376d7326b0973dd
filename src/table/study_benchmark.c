/* study_benchmark.c - see study.h: both modes again and again, alternating, and what their times say. */
#include "base/clock.h"
#include "base/mem.h"
#include "table/study_measure.h"

#include <math.h>
#include <stdlib.h>

static void series_reserve(struct study_series *series, size_t runs)
{
	series->wall_s = mem_alloc((runs + 1) * sizeof(*series->wall_s));
	series->rows_s = mem_alloc((runs + 1) * sizeof(*series->rows_s));
	series->cpu_s = mem_alloc((runs + 1) * sizeof(*series->cpu_s));
	series->start_ns = mem_alloc((runs + 1) * sizeof(*series->start_ns));
	series->memory_bytes = mem_alloc((runs + 1) * sizeof(*series->memory_bytes));
}

static int run_one(const struct study_settings *settings, enum engine_mode mode, size_t chunk_rows,
		   struct study_series *series, struct err *err)
{
	struct study_measured measured;
	uint64_t start_ns = clock_mono_ns();
	int code = study_measure(settings, mode, chunk_rows, 0, &measured, err);
	if (!code && measured.result.wall_ns) {
		double wall_s = (double)measured.result.wall_ns / 1e9;
		series->start_ns[series->runs] = start_ns;
		series->wall_s[series->runs] = wall_s;
		series->cpu_s[series->runs] = (double)measured.result.cpu_ns / 1e9;
		series->rows_s[series->runs] = (double)measured.result.rows / wall_s;
		series->memory_bytes[series->runs++] = measured.result.memory_peak_bytes;
	}
	engine_result_fini(&measured.result);
	return code;
}

static void summarise(struct study_series *series, uint64_t seed)
{
	struct bootstrap how = {.method = INTERVAL_PERCENTILE, .level = 0.95, .seed = seed};
	series->p95_s = NAN;
	series->p95_reason = "no runs";
	if (!series->runs)
		return;
	describe(series->wall_s, series->runs, &series->about);
	interval_bootstrap(series->wall_s, series->runs, statistic_mean, NULL, &how, &series->mean);
	series->p95_reason = "needs 20 runs: with fewer it would be the slowest one";
	if (series->runs >= STUDY_P95_LEAST) {
		series->p95_s = quantile(series->wall_s, series->runs, 0.95);
		series->p95_reason = NULL;
	}
}

static void compare_modes(struct study_benchmark *benchmark, uint64_t seed)
{
	const struct study_series *batch = &benchmark->batch, *streaming = &benchmark->streaming;
	struct permutation how = {.of = PERMUTATION_MEANS, .seed = seed};
	benchmark->mean_difference_s = NAN;
	benchmark->difference = (struct test){.p = NAN};
	if (!batch->runs || !streaming->runs)
		return;
	benchmark->mean_difference_s = streaming->about.mean - batch->about.mean;
	compare_permutation(batch->wall_s, batch->runs, streaming->wall_s, streaming->runs, &how,
			    &benchmark->difference);
}

int study_benchmark_run(const struct study_settings *settings, size_t runs, size_t chunk_rows, bool batch,
			bool streaming, const struct study_progress *progress, struct study_benchmark *out,
			struct err *err)
{
	size_t total = runs * (size_t)(batch + streaming), done = 0;
	int code = 0;
	*out = (struct study_benchmark){.asked = runs};
	series_reserve(&out->batch, runs);
	series_reserve(&out->streaming, runs);
	for (size_t i = 0; i < 2 * runs && !code && !study_stopped(settings); i++) {
		/* batch, streaming, streaming, batch, … */
		bool is_batch = (i % 4 == 0) || (i % 4 == 3);
		if (!(is_batch ? batch : streaming))
			continue;
		if (progress->tell)
			progress->tell(progress->context, is_batch ? "benchmark: batch" : "benchmark: streaming", done,
				       total);
		code = run_one(settings, is_batch ? ENGINE_BATCH : ENGINE_STREAMING, chunk_rows,
			       is_batch ? &out->batch : &out->streaming, err);
		done++;
	}
	summarise(&out->batch, settings->seed);
	summarise(&out->streaming, settings->seed);
	compare_modes(out, settings->seed);
	return code;
}

static void series_fini(struct study_series *series)
{
	free(series->wall_s);
	free(series->rows_s);
	free(series->cpu_s);
	free(series->start_ns);
	free(series->memory_bytes);
}

void study_benchmark_fini(struct study_benchmark *benchmark)
{
	series_fini(&benchmark->batch);
	series_fini(&benchmark->streaming);
	*benchmark = (struct study_benchmark){0};
}
