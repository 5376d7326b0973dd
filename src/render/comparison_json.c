/*
 * comparison_json.c - a comparison as JSON: every sample, the order in which they were taken, one verdict per pair.
 *
 * `commands` and `comparisons` are flat lists; a comparison names its two commands by their place in `commands`, from 0.
 */
#include "base/clock.h"
#include "base/json.h"
#include "render/comparison.h"

#include <math.h>

static void put_interval(struct json *json, const char *key, const struct interval *interval)
{
	json_object_begin(json, key);
	json_put_number(json, "estimate", interval->estimate);
	json_put_number(json, "low", interval->exists ? interval->low : NAN);
	json_put_number(json, "high", interval->exists ? interval->high : NAN);
	json_put_number(json, "level", interval->level);
	json_put_string(json, "method", interval_method_words(interval->method));
	json_object_end(json);
}

static void put_numbers(struct json *json, const char *key, const double *values, size_t n)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < n; i++)
		json_put_number(json, NULL, values[i]);
	json_array_end(json);
}

static void put_series(struct json *json, int metric, const struct comparison_series *series)
{
	json_object_begin(json, metrics[metric].name);
	json_put_string(json, "unit", metric_unit_name(metrics[metric].unit));
	json_put_string(json, "method", "exact");
	json_put_integer(json, "n", (int64_t)series->about.n);
	json_put_number(json, "median", series->about.median);
	json_put_number(json, "mean", series->about.mean);
	json_put_number(json, "sd", series->about.sd);
	json_put_number(json, "min", series->about.min);
	json_put_number(json, "max", series->about.max);
	put_interval(json, "mean_interval", &series->mean);
	put_interval(json, "median_interval", &series->median);
	put_numbers(json, "samples", series->values.items, series->values.len);
	json_array_begin(json, "outliers");
	for (size_t i = 0; i < series->values.len; i++)
		if (series->outlier[i])
			json_put_integer(json, NULL, (int64_t)i);
	json_array_end(json);
	json_object_end(json);
}

static void put_params(struct json *json, const struct comparison_subject *subject)
{
	json_object_begin(json, "parameters");
	for (size_t i = 0; i < subject->params.len; i++)
		json_put_string(json, subject->params.items[i].name, subject->params.items[i].value);
	json_object_end(json);
}

static void put_subject(struct json *json, const struct comparison *comparison,
			const struct comparison_subject *subject)
{
	bool files = subject->runs.len && subject->runs.items[0].run_file;
	json_object_begin(json, NULL);
	json_put_string(json, "label", subject->label);
	json_put_string(json, "command", subject->command);
	put_params(json, subject);
	json_put_integer(json, "runs", (int64_t)subject->runs.len);
	json_put_integer(json, "failures", (int64_t)subject->failures);
	json_array_begin(json, "exit_codes");
	for (size_t i = 0; i < subject->runs.len; i++) {
		const struct comparison_run *run = &subject->runs.items[i];
		if (run->exit_code >= 0)
			json_put_integer(json, NULL, run->exit_code);
		else
			json_put_null(json, NULL);
	}
	json_array_end(json);
	if (files) {
		json_array_begin(json, "run_files");
		for (size_t i = 0; i < subject->runs.len; i++)
			json_put_string(json, NULL, subject->runs.items[i].run_file);
		json_array_end(json);
	}
	json_object_begin(json, "metrics");
	for (size_t m = 0; m < comparison->metrics.len; m++)
		put_series(json, comparison->metrics.items[m], &subject->series.items[m]);
	json_object_end(json);
	json_object_end(json);
}

static void put_change(struct json *json, const struct change_result *result)
{
	json_put_string(json, "verdict", change_name(result->verdict));
	json_put_string(json, "why", result->why);
	json_put_number(json, "ratio", result->ratio);
	json_put_number(json, "ratio_low", result->low);
	json_put_number(json, "ratio_high", result->high);
	json_put_number(json, "level", result->level);
	json_put_string(json, "method", result->method);
	json_put_number(json, "p", result->p);
	json_put_number(json, "detectable_change", result->detectable);
}

static void put_pair(struct json *json, const struct comparison *comparison, const struct comparison_pair *pair)
{
	json_object_begin(json, NULL);
	json_put_integer(json, "reference", (int64_t)pair->reference);
	json_put_integer(json, "command", (int64_t)pair->subject);
	put_params(json, &comparison->subjects.items[pair->subject]);
	json_put_string(json, "metric", metrics[comparison->metrics.items[comparison->primary]].name);
	put_change(json, comparison_primary(comparison, pair));
	put_interval(json, "ratio_of_medians", &pair->medians);
	json_object_begin(json, "other_metrics");
	for (size_t m = 0; m < comparison->metrics.len; m++) {
		if (m == comparison->primary)
			continue;
		json_object_begin(json, metrics[comparison->metrics.items[m]].name);
		put_change(json, &pair->changes.items[m]);
		json_object_end(json);
	}
	json_object_end(json);
	json_object_end(json);
}

static void put_group(struct json *json, const struct comparison_group *group)
{
	json_object_begin(json, NULL);
	json_put_integer(json, "first_command", (int64_t)group->first);
	json_put_integer(json, "commands", (int64_t)group->count);
	json_put_integer(json, "reference", (int64_t)group->reference);
	json_put_integer(json, "blocks", (int64_t)group->blocks);
	json_put_string(json, "stopped_by", comparison_stop_name(group->stop));
	json_put_number(json, "half_width", group->half_width);
	json_array_begin(json, "order");
	for (size_t i = 0; i < group->order.len; i++)
		json_put_integer(json, NULL, (int64_t)group->order.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_host(struct json *json, const struct comparison_host *host)
{
	json_object_begin(json, "host");
	json_put_integer(json, "cpus", host->cpus);
	json_put_number(json, "measuring_s", host->elapsed_s);
	json_put_number(json, "busy_core_s", host->known ? host->busy_s : NAN);
	json_put_number(json, "own_core_s", host->own_s);
	json_put_number(json, "steal_s", host->known ? host->steal_s : NAN);
	json_object_end(json);
}

static void put_settings(struct json *json, const struct comparison *comparison)
{
	const struct comparison_settings *settings = &comparison->settings;
	char when[24];
	clock_format_utc(comparison->started_utc_ns, when, sizeof(when));
	json_put_string(json, "format", "pitot-compare");
	json_put_integer(json, "version", 1);
	json_put_string(json, "pitot_version", PITOT_VERSION);
	json_put_string(json, "timestamp_utc", when);
	json_put_string(json, "metric", metrics[comparison->metrics.items[comparison->primary]].name);
	json_put_number(json, "threshold", settings->change.threshold);
	json_put_number(json, "precision", settings->precision);
	json_put_number(json, "alpha", settings->change.alpha);
	json_put_integer(json, "seed", (int64_t)settings->seed);
	json_put_integer(json, "warmup", (int64_t)settings->warmup);
	json_put_number(json, "budget_s", settings->budget_s);
	json_put_number(json, "elapsed_s", comparison->elapsed_s);
}

static void render(const struct comparison *comparison, const struct render_options *options, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	(void)options;
	json_object_begin(&json, NULL);
	put_settings(&json, comparison);
	put_host(&json, &comparison->host);
	json_array_begin(&json, "comparisons");
	for (size_t i = 0; i < comparison->pairs.len; i++)
		put_pair(&json, comparison, &comparison->pairs.items[i]);
	json_array_end(&json);
	json_array_begin(&json, "commands");
	for (size_t i = 0; i < comparison->subjects.len; i++)
		put_subject(&json, comparison, &comparison->subjects.items[i]);
	json_array_end(&json);
	json_array_begin(&json, "groups");
	for (size_t i = 0; i < comparison->groups.len; i++)
		put_group(&json, &comparison->groups.items[i]);
	json_array_end(&json);
	json_array_begin(&json, "warnings");
	for (size_t i = 0; i < comparison->notes.len; i++) {
		struct str text = {0};
		comparison_note_text(comparison, &comparison->notes.items[i], &text);
		json_put_string(&json, NULL, str_text(&text));
		str_fini(&text);
	}
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
}

const struct comparison_renderer comparison_json = {"json", render};
