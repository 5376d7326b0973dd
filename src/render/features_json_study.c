/* features_json_study.c - see features.h: the experiments within the report. */
#include "render/features.h"

#include <math.h>

static void put_series(struct json *json, const char *key, const struct study_series *series)
{
	if (!series->runs) {
		json_put_null(json, key);
		return;
	}
	json_object_begin(json, key);
	json_put_integer(json, "runs", (int64_t)series->runs);
	json_array_begin(json, "latency_s");
	for (size_t i = 0; i < series->runs; i++)
		json_put_number(json, NULL, series->wall_s[i]);
	json_array_end(json);
	json_put_number(json, "mean_s", series->about.mean);
	json_put_number(json, "sd_s", series->about.sd);
	json_put_number(json, "median_s", series->about.median);
	json_put_number(json, "p95_s", series->p95_s);
	json_put_string(json, "p95_reason", series->p95_reason);
	json_object_begin(json, "mean_interval");
	json_put_number(json, "low_s", series->mean.low);
	json_put_number(json, "high_s", series->mean.high);
	json_put_number(json, "level", series->mean.exists ? series->mean.level : NAN);
	json_put_string(json, "method", interval_method_words(series->mean.method));
	json_put_string(json, "reason", series->mean.reason);
	json_object_end(json);
	json_object_end(json);
}

static void put_comparison(struct json *json, const struct study_benchmark *benchmark)
{
	if (isnan(benchmark->mean_difference_s)) {
		json_put_null(json, "comparison");
		return;
	}
	json_object_begin(json, "comparison");
	json_put_number(json, "mean_difference_s", benchmark->mean_difference_s);
	json_put_number(json, "p_value", benchmark->difference.p);
	json_put_string(json, "method", benchmark->difference.method);
	json_put_number(json, "smallest_possible_p",
			compare_smallest_p(benchmark->batch.runs, benchmark->streaming.runs));
	json_object_end(json);
}

static void put_curve(struct json *json, const char *key, const struct study_curve *curve, const char *x, const char *y)
{
	json_array_begin(json, key);
	for (size_t i = 0; curve && i < curve->count; i++) {
		json_object_begin(json, NULL);
		json_put_number(json, x, curve->x[i]);
		json_put_number(json, y, curve->y[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_benchmark(struct json *json, const struct features_view *view)
{
	static const struct study_benchmark none = {.mean_difference_s = NAN};
	const struct study_benchmark *benchmark = view->benchmark ? view->benchmark : &none;
	const struct study_run *streaming = view->streaming;
	json_object_begin(json, "benchmark");
	json_put_integer(json, "runs_asked", (int64_t)benchmark->asked);
	put_series(json, "batch", &benchmark->batch);
	put_series(json, "streaming", &benchmark->streaming);
	put_comparison(json, benchmark);
	put_curve(json, "latency_by_rows", streaming ? &streaming->latency_by_rows : NULL, "rows", "latency_s");
	put_curve(json, "throughput_by_memory", streaming ? &streaming->throughput_by_memory : NULL, "memory_mb",
		  "rows_s");
	json_object_end(json);
}

static void put_constraint(struct json *json, const struct study_constraint *item)
{
	json_object_begin(json, NULL);
	json_put_number(json, "chunk_size", item->chunk_asked);
	json_put_number(json, "max_memory_mb", item->memory_mb);
	json_put_number(json, "max_compute_units", item->compute);
	json_put_integer(json, "effective_chunk_size", (int64_t)item->chunk_rows);
	json_put_integer(json, "rows", (int64_t)item->rows);
	json_put_number(json, "latency_s", item->latency_s);
	json_put_number(json, "throughput_rows_s", item->rows_s);
	json_put_number(json, "mean_chunk_latency_s", item->chunk_latency_s);
	json_put_number(json, "memory_peak_mb", item->known ? (double)item->memory_peak_bytes / 1048576 : NAN);
	json_put_number(json, "r2", item->r2);
	json_put_number(json, "rmse", item->rmse);
	json_put_bool(json, "pareto_optimal", item->pareto);
	json_put_string(json, "failure", item->failure);
	json_object_end(json);
}

static void put_constraints(struct json *json, const struct study_constraints *constraints)
{
	if (!constraints) {
		json_put_null(json, "constraint_experiment");
		return;
	}
	json_object_begin(json, "constraint_experiment");
	json_put_integer(json, "most_rows", (int64_t)constraints->most_rows);
	json_array_begin(json, "settings");
	for (size_t i = 0; i < constraints->items.len; i++)
		put_constraint(json, &constraints->items.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_tune(struct json *json, const struct study_tune *tune)
{
	if (!tune || !tune->points.len) {
		json_put_null(json, "tune");
		return;
	}
	json_object_begin(json, "tune");
	json_put_integer(json, "rows", (int64_t)tune->rows);
	json_put_integer(json, "best_chunk_size", (int64_t)tune->points.items[tune->best].chunk_rows);
	json_put_integer(json, "advised_chunk_size", (int64_t)tune->points.items[tune->advised].chunk_rows);
	json_array_begin(json, "points");
	for (size_t i = 0; i < tune->points.len; i++) {
		const struct study_tune_point *point = &tune->points.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "chunk_size", (int64_t)point->chunk_rows);
		json_put_number(json, "throughput_rows_s", point->rows_s);
		json_put_number(json, "worst_rows_s", point->worst_rows_s);
		json_put_number(json, "memory_peak_mb", (double)point->memory_peak_bytes / 1048576);
		json_put_integer(json, "runs", (int64_t)point->runs);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void features_json_study(struct json *json, const struct features_view *view)
{
	put_benchmark(json, view);
	put_constraints(json, view->constraints);
	put_tune(json, view->tune);
}
