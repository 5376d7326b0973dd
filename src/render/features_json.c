/*
 * features_json.c - reports/pipeline_report.json: what was read, with which settings, what came out, what it cost.
 *
 * docs/features.schema.json describes it. Part of a report that was not asked for, or not reached, is null; a number that is not
 * known is null, with a reason beside it where one could wonder.
 */
#include "base/clock.h"
#include "render/features.h"
#include "render/metric_json.h"

#include <math.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, MOST_WEIGHTS = 20 };

static const double bytes_per_mb = 1048576;

static void put_strings(struct json *json, const char *key, char *const *items, size_t count)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < count; i++)
		json_put_string(json, NULL, items[i]);
	json_array_end(json);
}

static void put_fingerprint(struct json *json, const struct features_view *view)
{
	const struct study_run *run = features_main_run(view);
	json_object_begin(json, "data_fingerprint");
	json_put_string(json, "input", view->input);
	json_put_string(json, "sha256", view->sha256);
	json_put_integer(json, "bytes", (int64_t)view->input_bytes);
	if (run) {
		json_put_integer(json, "rows", (int64_t)run->result.rows);
		json_put_integer(json, "columns", (int64_t)run->result.columns);
	} else {
		json_put_null(json, "rows");
		json_put_null(json, "columns");
	}
	json_object_end(json);
}

static void put_reproducibility(struct json *json, const struct features_view *view)
{
	json_object_begin(json, "reproducibility");
	json_put_integer(json, "random_seed", (int64_t)view->seed);
	json_put_string(json, "pitot_version", PITOT_VERSION);
	json_object_begin(json, "settings");
	for (size_t i = 0; i < view->settings.len; i++) {
		const struct features_setting *setting = &view->settings.items[i];
		if (setting->is_bool)
			json_put_bool(json, setting->name, setting->number != 0);
		else if (setting->text || isnan(setting->number))
			json_put_string(json, setting->name, setting->text);
		else
			json_put_number(json, setting->name, setting->number);
	}
	json_object_end(json);
	json_put_string(json, "recipe", view->recipe);
	json_put_string(json, "host_fingerprint", view->host->fingerprint);
	json_object_begin(json, "host");
	for (size_t i = 0; i < view->host->facts.len; i++)
		json_put_string(json, view->host->facts.items[i].key, view->host->facts.items[i].value);
	json_object_end(json);
	json_object_end(json);
}

static void put_input_counts(struct json *json, const struct csv_counts *input)
{
	json_object_begin(json, "input");
	json_put_integer(json, "file_bytes", (int64_t)input->file_bytes);
	json_put_integer(json, "text_bytes", (int64_t)input->text_bytes);
	json_put_integer(json, "padded", (int64_t)input->padded);
	json_put_integer(json, "truncated", (int64_t)input->truncated);
	json_put_integer(json, "skipped", (int64_t)input->skipped);
	json_put_integer(json, "replaced_bytes", (int64_t)input->replaced);
	json_put_integer(json, "renamed_columns", (int64_t)input->renamed);
	json_object_end(json);
}

static void put_model(struct json *json, const struct engine_result *result)
{
	if (!result->model.known) {
		json_put_null(json, "model");
		return;
	}
	json_object_begin(json, "model");
	json_put_string(json, "method", result->model.method);
	json_put_integer(json, "rows", (int64_t)result->model.rows);
	json_put_number(json, "r2", result->model.r2);
	json_put_number(json, "rmse", result->model.rmse);
	json_put_number(json, "mae", result->model.mae);
	json_array_begin(json, "weights");
	for (size_t i = 0; i < result->model.weights.len && i < MOST_WEIGHTS; i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "name", result->model.weights.items[i].name);
		json_put_number(json, "weight", result->model.weights.items[i].weight);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_chunk_latency(struct json *json, const struct study_run *run)
{
	double mean, median, p95;
	features_chunk_latency(run, &mean, &median, &p95);
	json_object_begin(json, "chunk_latency");
	json_put_number(json, "mean_s", mean);
	json_put_number(json, "median_s", median);
	json_put_number(json, "p95_s", p95);
	json_put_number(json, "max_s", (double)run->chunks->longest_ns / 1e9);
	json_put_integer(json, "chunks", (int64_t)run->chunks->seen);
	json_put_integer(json, "chunks_sampled", (int64_t)run->chunks->count);
	json_object_end(json);
}

static void put_run(struct json *json, const char *key, const struct study_run *run)
{
	if (!run) {
		json_put_null(json, key);
		return;
	}
	const struct engine_result *result = &run->result;
	json_object_begin(json, key);
	json_put_string(json, "status", !run->code ? "ok" : run->code == ERR_INTERRUPTED ? "interrupted" : "failed");
	json_put_string(json, "reason", run->failure);
	json_put_integer(json, "rows", (int64_t)result->rows);
	json_put_integer(json, "columns", (int64_t)result->columns);
	json_put_integer(json, "features", (int64_t)result->features.len);
	json_put_number(json, "latency_s", study_wall_s(run));
	json_put_number(json, "cpu_s", (double)result->cpu_ns / 1e9);
	json_put_number(json, "throughput_rows_s", study_rows_per_s(run));
	json_put_number(json, "input_mb_s",
			result->wall_ns ? (double)result->input.text_bytes / bytes_per_mb / study_wall_s(run) : NAN);
	json_put_integer(json, run->mode == ENGINE_BATCH ? "batch_size" : "chunk_size",
			 (int64_t)(run->effective_rows ? run->effective_rows : result->rows));
	json_put_integer(json, "splits", (int64_t)result->splits);
	json_put_integer(json, "spills", (int64_t)result->spills);
	json_put_integer(json, "memory_peak_bytes", (int64_t)result->memory_peak_bytes);
	put_chunk_latency(json, run);
	put_input_counts(json, &result->input);
	put_strings(json, "dropped_by_multicollinearity", result->dropped.items, result->dropped.len);
	put_strings(json, "kept_numeric", result->kept_numbers.items, result->kept_numbers.len);
	put_strings(json, "feature_names", result->features.items, result->features.len);
	put_model(json, result);
	put_strings(json, "warnings", result->warnings.items, result->warnings.len);
	json_object_end(json);
}

static void put_value(struct json *json, const char *key, const struct metric_value *value, double divisor)
{
	json_put_number(json, key, value->state == METRIC_KNOWN ? value->value / divisor : NAN);
}

static void put_telemetry_of(struct json *json, const char *key, const struct study_run *run)
{
	if (!run) {
		json_put_null(json, key);
		return;
	}
	const struct metric_value *energy = &run->values[METRIC_ENERGY];
	json_object_begin(json, key);
	put_value(json, "cpu_percent", &run->values[METRIC_CPU_PERCENT_AVG], 1);
	put_value(json, "process_memory_peak_mb", &run->values[METRIC_RSS_PROCESS_PEAK], bytes_per_mb);
	put_value(json, "system_memory_available_mb", &run->values[METRIC_SYSTEM_AVAILABLE_MIN], bytes_per_mb);
	put_value(json, "system_cpu_percent", &run->values[METRIC_SYSTEM_CPU_PERCENT], 1);
	put_value(json, "energy_j", energy, 1);
	json_put_string(json, "energy_method", metric_method_name(energy->method));
	json_put_string(json, "energy_source", energy->source);
	json_object_begin(json, "metrics");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (run->values[metric].state != METRIC_UNSET)
			metric_json_put(json, metric, &run->values[metric]);
	json_object_end(json);
	json_object_end(json);
}

static void put_operators_of(struct json *json, const char *key, const struct study_run *run)
{
	struct features_operator operators[FEATURES_OPERATORS];
	if (!run) {
		json_put_null(json, key);
		return;
	}
	features_operators(run, operators);
	json_array_begin(json, key);
	for (int i = 0; i < FEATURES_OPERATORS; i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "operator", operators[i].name);
		json_put_number(json, "total_s", operators[i].total_s);
		json_put_number(json, "share", operators[i].share);
		json_put_number(json, "median_per_chunk_s", operators[i].median_s);
		json_put_number(json, "p95_per_chunk_s", operators[i].p95_s);
		for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++)
			json_put_number(json, pmu_thread_event_name((enum pmu_thread_event)event),
					operators[i].counts[event]);
		json_put_number(json, "counters_coverage", operators[i].counts_coverage);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_counters_of(struct json *json, const char *key, const struct study_run *run)
{
	if (!run) {
		json_put_null(json, key);
		return;
	}
	json_object_begin(json, key);
	json_put_string(json, "source", run->result.counts_source);
	json_put_string(json, "reason", run->result.counts_reason);
	json_object_end(json);
}

static void put_column_quality(struct json *json, const struct quality_column *column)
{
	bool number = column->kind == COLUMN_NUMBER;
	json_object_begin(json, column->name);
	json_put_string(json, "type", number ? "numeric" : column->kind == COLUMN_DATE ? "date" : "categorical");
	json_put_number(json, "missing_ratio", column->missing_ratio);
	json_put_integer(json, "rows_counted", (int64_t)column->counted);
	json_put_number(json, "missing_ratio_after_clean", column->missing_after);
	json_put_integer(json, "unparsed", (int64_t)column->unparsed);
	if (number) {
		json_put_number(json, "outlier_rate", column->outlier_rate);
		json_put_number(json, "ks", column->ks);
		json_put_number(json, "mean_shift", column->mean_shift);
	} else {
		json_put_number(json, "l1_drift", column->l1);
	}
	json_object_end(json);
}

static void put_temporal(struct json *json, const struct quality *quality)
{
	for (size_t i = 0; quality->target && i < quality->columns.len; i++) {
		const struct quality_column *column = &quality->columns.items[i];
		if (strcmp(column->name, quality->target) != 0)
			continue;
		json_object_begin(json, "temporal_drift");
		json_put_string(json, "column", column->name);
		json_put_number(json, "ks", column->ks);
		json_put_number(json, "early_mean", column->early_mean);
		json_put_number(json, "late_mean", column->late_mean);
		json_object_end(json);
		return;
	}
	json_put_null(json, "temporal_drift");
}

static void put_quality(struct json *json, const struct features_view *view)
{
	const struct study_run *run = features_main_run(view);
	if (!run) {
		json_put_null(json, "quality");
		return;
	}
	const struct quality *quality = &run->quality;
	json_object_begin(json, "quality");
	json_put_string(json, "of", run->mode == ENGINE_BATCH ? "batch" : "streaming");
	json_put_integer(json, "rows", (int64_t)quality->rows);
	json_put_integer(json, "rows_used", (int64_t)quality->rows_used);
	json_put_string(json, "method", quality->sampled ? "sampled" : "exact");
	json_put_number(json, "missing_ratio", quality->missing_ratio);
	json_put_number(json, "outlier_rate", quality->outlier_rate);
	json_object_begin(json, "columns");
	for (size_t i = 0; i < quality->columns.len; i++)
		put_column_quality(json, &quality->columns.items[i]);
	json_object_end(json);
	put_temporal(json, quality);
	json_object_begin(json, "schema");
	json_put_bool(json, "ok", quality->problems.len == 0);
	put_strings(json, "problems", quality->problems.items, quality->problems.len);
	json_object_end(json);
	json_object_end(json);
}

void features_json(const struct features_view *view, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	char date[32];
	clock_format_utc(view->started_utc_ns, date, sizeof(date));
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", SCHEMA_VERSION);
	json_put_string(&json, "pitot_version", PITOT_VERSION);
	json_put_string(&json, "timestamp_utc", date);
	json_put_string(&json, "status", view->status);
	json_put_number(&json, "elapsed_s", view->elapsed_s);
	put_fingerprint(&json, view);
	put_reproducibility(&json, view);
	put_run(&json, "batch", view->batch);
	put_run(&json, "streaming", view->streaming);
	json_object_begin(&json, "telemetry");
	put_telemetry_of(&json, "batch", view->batch);
	put_telemetry_of(&json, "streaming", view->streaming);
	json_object_end(&json);
	json_object_begin(&json, "operator_summary");
	put_operators_of(&json, "batch", view->batch);
	put_operators_of(&json, "streaming", view->streaming);
	json_object_begin(&json, "counters");
	put_counters_of(&json, "batch", view->batch);
	put_counters_of(&json, "streaming", view->streaming);
	json_object_end(&json);
	json_object_end(&json);
	features_json_study(&json, view);
	put_quality(&json, view);
	put_strings(&json, "artifacts", view->artifacts.items, view->artifacts.len);
	json_put_string(&json, "run_file", view->run_path);
	json_object_end(&json);
	str_append_char(out, '\n');
}
