/*
 * json_report.c - the report for machines. docs/report.schema.json describes every key; a change here changes it there,
 * and one that could break a reader raises SCHEMA_VERSION.
 *
 * Two layers lie in one document. The first is small and flat (stages[].duration_s, cpu_percent_avg, rss_mb_max, …) and
 * null where a number is not known; the second, `metrics`, has every metric of the registry with its provenance or the
 * reason why it is absent. Both come from the same values.
 */
#include "render/json_report.h"
#include "base/clock.h"
#include "base/json.h"
#include "render/argv.h"
#include "render/code_json.h"
#include "render/findings.h"
#include "render/memory_json.h"
#include "render/metric_json.h"
#include "render/model.h"
#include "render/renderers.h"
#include "render/span_render.h"
#include "render/words.h"

#include <math.h>
#include <string.h>

enum { SCHEMA_VERSION = 1 };

static const double bytes_per_mb = 1048576; /* the flat keys' "MB", as psutil users divide it */

static void put_known(struct json *json, const char *key, const struct metric_value *value, double divisor)
{
	if (value->state == METRIC_KNOWN)
		json_put_number(json, key, value->value / divisor);
	else
		json_put_null(json, key);
}

static void put_metrics(struct json *json, const struct metric_value *values)
{
	json_object_begin(json, "metrics");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		metric_json_put(json, metric, &values[metric]);
	json_object_end(json);
}

/* A number that is not there (no repetition, or sd of one) becomes null. */
static void put_description(struct json *json, const char *key, const struct description *description,
			    const double *values, size_t count)
{
	json_object_begin(json, key);
	json_put_integer(json, "n", (int64_t)description->n);
	json_put_number(json, "mean", description->mean);
	json_put_number(json, "sd", description->sd);
	json_put_number(json, "median", description->median);
	json_put_number(json, "min", description->min);
	json_put_number(json, "max", description->max);
	if (values || count) {
		json_array_begin(json, "values");
		for (size_t i = 0; i < count; i++)
			json_put_number(json, NULL, values[i]);
		json_array_end(json);
	}
	json_object_end(json);
}

static const char *param_value(const struct run_record *record, const char *name)
{
	for (size_t i = 0; i < record->params.len; i++)
		if (strcmp(record->params.items[i].name, name) == 0)
			return record->params.items[i].value;
	return NULL;
}

/* The seed's keys at the top. */
static void put_flat_run(struct json *json, const struct report *report)
{
	const struct run_record *record = report->record;
	char timestamp[32];
	double epochs;
	const char *epochs_text = param_value(record, "train_epochs");
	clock_format_utc(record->row.started_utc_ns, timestamp, sizeof(timestamp));
	json_put_string(json, "timestamp_utc", timestamp);
	json_put_string(json, "dataset", param_value(record, "dataset"));
	if (epochs_text && str_to_double(epochs_text, &epochs))
		json_put_number(json, "train_epochs", epochs);
	else
		json_put_null(json, "train_epochs");
	put_known(json, "total_duration_s", &report->values[METRIC_WALL], 1);
}

static void put_flat_stage(struct json *json, const struct report_stage *stage)
{
	const struct metric_value *values = stage->values;
	json_put_string(json, "stage", stage->name);
	json_put_string(json, "status", status_name(stage->status));
	put_known(json, "duration_s", &values[METRIC_WALL], 1);
	put_known(json, "cpu_percent_avg", &values[METRIC_CPU_PERCENT_AVG], 1);
	put_known(json, "cpu_percent_max", &values[METRIC_CPU_PERCENT_MAX], 1);
	put_known(json, "rss_mb_max", &values[words_memory_metric(values)], bytes_per_mb);
	put_known(json, "gpu_util_percent_avg", &values[METRIC_GPU_UTIL_AVG], 1);
	put_known(json, "gpu_mem_mb_max", &values[METRIC_GPU_MEMORY_PEAK], bytes_per_mb);
}

static void put_argv(struct json *json, const char *text)
{
	struct argv_list argv;
	if (argv_parse(text, &argv) < 0) {
		json_put_null(json, "argv");
		return;
	}
	json_array_begin(json, "argv");
	for (size_t i = 0; i < argv.items.len; i++)
		json_put_string(json, NULL, argv.items.items[i]);
	json_array_end(json);
	argv_fini(&argv);
}

static void put_run(struct json *json, const struct report *report)
{
	const struct run_row *row = &report->record->row;
	json_object_begin(json, "run");
	json_put_string(json, "name", row->name);
	json_put_string(json, "id", row->uuid);
	json_put_string(json, "status", status_name(row->status));
	json_put_bool(json, "live", report->record->live);
	put_argv(json, row->argv_json);
	json_put_string(json, "cwd", row->cwd);
	json_put_string(json, "git_commit", row->git_commit);
	json_put_string(json, "config_path", row->config_path);
	json_put_integer(json, "repeat", row->repeat);
	json_put_integer(json, "warmup", row->warmup);
	json_put_integer(json, "jobs", row->jobs);
	json_put_number(json, "interval_s", (double)row->interval_ns / 1e9);
	json_put_string(json, "host_fingerprint", row->fingerprint);
	put_description(json, "repetitions", &report->total, NULL, 0);
	json_object_end(json);
}

static void put_params_and_host(struct json *json, const struct run_record *record)
{
	json_object_begin(json, "params");
	for (size_t i = 0; i < record->params.len; i++) {
		const struct name_value *param = &record->params.items[i];
		json_object_begin(json, param->name);
		json_put_string(json, "value", param->value);
		json_put_string(json, "source", param->source);
		json_object_end(json);
	}
	json_object_end(json);
	json_object_begin(json, "host");
	for (size_t i = 0; i < record->host.len; i++)
		json_put_string(json, record->host.items[i].name, record->host.items[i].value);
	json_object_end(json);
}

/* A metric that was printed again counts as it was printed last. */
static bool quality_is_last(const struct run_record *record, size_t at)
{
	for (size_t i = at + 1; i < record->quality.len; i++)
		if (strcmp(record->quality.items[i].name, record->quality.items[at].name) == 0)
			return false;
	return true;
}

static void put_quality_value(struct json *json, const char *key, const struct quality_row *quality)
{
	if (quality->known)
		json_put_number(json, key, quality->value);
	else
		json_put_null(json, key);
}

static void put_quality(struct json *json, const struct run_record *record)
{
	json_object_begin(json, "quality_metrics");
	for (size_t i = 0; i < record->quality.len; i++)
		if (quality_is_last(record, i))
			put_quality_value(json, record->quality.items[i].name, &record->quality.items[i]);
	json_object_end(json);
	json_array_begin(json, "quality");
	for (size_t i = 0; i < record->quality.len; i++) {
		const struct quality_row *quality = &record->quality.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "name", quality->name);
		put_quality_value(json, "value", quality);
		json_put_string(json, "source", quality->source);
		json_put_string(json, "reason", quality->reason);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_events(struct json *json, const struct report *report)
{
	json_array_begin(json, "warnings");
	for (size_t i = 0; i < report->record->events.len; i++) {
		const struct event_row *event = &report->record->events.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "kind", event->kind);
		json_put_string(json, "stage", words_event_stage(report, event));
		json_put_number(json, "at_s", (double)event->at_ns / 1e9);
		json_put_string(json, "text", event->text);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_needs(struct json *json, const char *needs)
{
	json_array_begin(json, "needs");
	while (needs && *needs) {
		size_t length = strcspn(needs, ",");
		char *name = mem_strndup(needs, length);
		json_put_string(json, NULL, name);
		free(name);
		needs += length;
		needs += *needs == ',';
	}
	json_array_end(json);
}

/* A time within the run, or null where it never came. */
static void put_moment(struct json *json, const char *key, bool came, uint64_t ns)
{
	if (came)
		json_put_number(json, key, (double)ns / 1e9);
	else
		json_put_null(json, key);
}

static void put_artifacts(struct json *json, const struct stage_record *stage)
{
	json_array_begin(json, "artifacts");
	for (size_t i = 0; i < stage->artifacts.len; i++) {
		const struct artifact *artifact = &stage->artifacts.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "kind", artifact->is_output ? "output" : "input");
		json_put_string(json, "path", artifact->path);
		json_put_bool(json, "exists", artifact->exists);
		if (artifact->exists)
			json_put_integer(json, "bytes", (int64_t)artifact->bytes);
		else
			json_put_null(json, "bytes");
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_process(struct json *json, const struct process_row *process)
{
	json_object_begin(json, NULL);
	json_put_integer(json, "pid", process->pid);
	json_put_integer(json, "ppid", process->ppid);
	json_put_string(json, "command", process->command);
	json_put_number(json, "start_s", (double)process->start_ns / 1e9);
	put_moment(json, "end_s", process->end_ns != 0, process->end_ns);
	json_put_bool(json, "ended", process->ended);
	if (process->exit_code >= 0)
		json_put_integer(json, "exit_code", process->exit_code);
	else
		json_put_null(json, "exit_code");
	if (process->term_signal)
		json_put_integer(json, "term_signal", process->term_signal);
	else
		json_put_null(json, "term_signal");
	json_put_number(json, "cpu_user_s", process->cpu_user_s);
	json_put_number(json, "cpu_system_s", process->cpu_system_s);
	json_put_integer(json, "rss_peak_bytes", (int64_t)process->rss_peak_bytes);
	json_put_integer(json, "io_read_bytes", (int64_t)process->io_read_bytes);
	json_put_integer(json, "io_write_bytes", (int64_t)process->io_write_bytes);
	json_put_integer(json, "io_device_read_bytes", (int64_t)process->io_device_read_bytes);
	json_put_integer(json, "io_device_write_bytes", (int64_t)process->io_device_write_bytes);
	json_put_integer(json, "page_faults_minor", (int64_t)process->page_faults_minor);
	json_put_integer(json, "page_faults_major", (int64_t)process->page_faults_major);
	json_put_integer(json, "context_switches_voluntary", (int64_t)process->context_switches_voluntary);
	json_put_integer(json, "context_switches_forced", (int64_t)process->context_switches_forced);
	json_put_string(json, "source", process_source_name(process->source));
	json_object_end(json);
}

/* Points on one line each: a series is long. */
static void put_points(struct json *json, const struct series *series)
{
	json_array_begin(json, "points");
	for (size_t i = 0; i < series->buckets.len; i++) {
		const struct series_bucket *bucket = &series->buckets.items[i];
		if (bucket->count == 0)
			continue;
		bool pretty = json->pretty;
		json_array_begin(json, NULL);
		json->pretty = false;
		json_put_number(json, NULL, (double)bucket->at_ns / 1e9);
		json_put_number(json, NULL, bucket->min);
		json_put_number(json, NULL, bucket->mean);
		json_put_number(json, NULL, bucket->max);
		json_array_end(json);
		json->pretty = pretty;
	}
	json_array_end(json);
}

static void put_series(struct json *json, const struct series_list *list)
{
	json_object_begin(json, "series");
	for (size_t i = 0; i < list->items.len; i++) {
		const struct series *series = &list->items.items[i];
		json_object_begin(json, series->name);
		json_put_string(json, "unit", metric_unit_name(series->unit));
		put_points(json, series);
		json_object_end(json);
	}
	json_object_end(json);
}

static void put_outcome(struct json *json, const struct report_stage *stage)
{
	const struct stage_row *row = &stage->worst->row;
	json_put_string(json, "reason", row->reason);
	if (row->exit_code >= 0)
		json_put_integer(json, "exit_code", row->exit_code);
	else
		json_put_null(json, "exit_code");
	if (row->term_signal)
		json_put_integer(json, "term_signal", row->term_signal);
	else
		json_put_null(json, "term_signal");
	json_put_integer(json, "attempts", row->attempts);
	json_put_string(json, "log_tail", stage->worst->log);
	json_put_integer(json, "log_dropped_lines", (int64_t)stage->worst->log_dropped_lines);
}

static void put_stage(struct json *json, const struct report_stage *stage, size_t top)
{
	const struct stage_row *row = &stage->last->row;
	json_object_begin(json, NULL);
	put_flat_stage(json, stage);
	json_put_number(json, "share", stage->share);
	json_put_string(json, "verdict", verdict_name(stage->verdict));
	json_put_string(json, "evidence", stage->evidence);
	json_put_string(json, "command", row->command);
	put_needs(json, row->needs);
	json_put_string(json, "tier", row->tier);
	put_moment(json, "start_s", row->start_ns || row->end_ns, row->start_ns);
	put_moment(json, "end_s", row->end_ns != 0, row->end_ns);
	put_outcome(json, stage);
	put_description(json, "repetitions", &stage->wall, stage->walls.items, stage->walls.len);
	put_metrics(json, stage->values);
	put_artifacts(json, stage->last);
	json_put_integer(json, "processes_recorded", (int64_t)stage->last->processes);
	json_array_begin(json, "processes_top");
	for (size_t i = 0; i < stage->processes.items.len; i++)
		put_process(json, &stage->processes.items.items[i]);
	json_array_end(json);
	put_series(json, &stage->series);
	code_json(json, stage->code, top);
	span_json(json, stage->spans, top);
	memory_json(json, stage->memory, top);
	json_object_end(json);
}

void report_json(struct json *json, const char *key, const struct report *report, size_t top)
{
	json_object_begin(json, key);
	json_put_integer(json, "schema_version", SCHEMA_VERSION);
	json_put_string(json, "pitot_version", report->record->row.pitot_version);
	put_flat_run(json, report);
	json_array_begin(json, "stages");
	for (size_t i = 0; i < report->stages.len; i++)
		put_stage(json, &report->stages.items[i], top);
	json_array_end(json);
	put_quality(json, report->record);
	bool any = report->bottleneck < report->stages.len;
	json_put_string(json, "bottleneck", any ? report->stages.items[report->bottleneck].name : NULL);
	findings_json(json, report);
	put_metrics(json, report->values);
	put_run(json, report);
	put_params_and_host(json, report->record);
	put_events(json, report);
	if (report->models)
		model_json_members(&(struct model_view){.profile = report->models}, json);
	json_object_end(json);
}

static int render_json(const struct report *report, const struct render_options *options, struct str *out,
		       struct err *err)
{
	(void)err;
	struct json json = {.out = out, .pretty = true};
	report_json(&json, NULL, report, options->top);
	return 0;
}

const struct renderer renderer_json = {"json", "everything, for programs; described by docs/report.schema.json",
				       render_json};
