/*
 * comparison_hyperfine.c - the JSON that hyperfine 1.15 writes with --export-json, so that its scripts and plots work.
 *
 * `user` and `system` are means, as hyperfine's are; `stddev` is null for a single run; `exit_codes` holds null for a
 * run that ended by a signal; `parameters` is there only where there are any. memory_usage_byte is the key that later
 * versions of hyperfine use.
 */
#include "base/json.h"
#include "render/comparison.h"

#include <math.h>

static const struct comparison_series *series_of(const struct comparison *comparison,
						 const struct comparison_subject *subject, int metric)
{
	for (size_t i = 0; i < comparison->metrics.len; i++)
		if (comparison->metrics.items[i] == metric)
			return &subject->series.items[i];
	return NULL;
}

static void put_mean(struct json *json, const char *key, const struct comparison_series *series)
{
	json_put_number(json, key, series ? series->about.mean : NAN);
}

static void put_values(struct json *json, const char *key, const struct comparison_series *series)
{
	if (!series)
		return;
	json_array_begin(json, key);
	for (size_t i = 0; i < series->values.len; i++)
		json_put_number(json, NULL, series->values.items[i]);
	json_array_end(json);
}

static void put_result(struct json *json, const struct comparison *comparison, const struct comparison_subject *subject)
{
	const struct comparison_series *wall = series_of(comparison, subject, METRIC_WALL);
	json_object_begin(json, NULL);
	json_put_string(json, "command", subject->label);
	json_put_number(json, "mean", wall->about.mean);
	json_put_number(json, "stddev", wall->about.sd);
	json_put_number(json, "median", wall->about.median);
	put_mean(json, "user", series_of(comparison, subject, METRIC_CPU_USER));
	put_mean(json, "system", series_of(comparison, subject, METRIC_CPU_SYSTEM));
	json_put_number(json, "min", wall->about.min);
	json_put_number(json, "max", wall->about.max);
	put_values(json, "times", wall);
	put_values(json, "memory_usage_byte", series_of(comparison, subject, METRIC_RSS_PROCESS_PEAK));
	json_array_begin(json, "exit_codes");
	for (size_t i = 0; i < subject->runs.len; i++) {
		if (subject->runs.items[i].exit_code >= 0)
			json_put_integer(json, NULL, subject->runs.items[i].exit_code);
		else
			json_put_null(json, NULL);
	}
	json_array_end(json);
	if (subject->params.len) {
		json_object_begin(json, "parameters");
		for (size_t i = 0; i < subject->params.len; i++)
			json_put_string(json, subject->params.items[i].name, subject->params.items[i].value);
		json_object_end(json);
	}
	json_object_end(json);
}

static void render(const struct comparison *comparison, const struct render_options *options, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	(void)options;
	json_object_begin(&json, NULL);
	json_array_begin(&json, "results");
	for (size_t i = 0; i < comparison->subjects.len; i++)
		put_result(&json, comparison, &comparison->subjects.items[i]);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
}

const struct comparison_renderer comparison_hyperfine = {"hyperfine", render};
