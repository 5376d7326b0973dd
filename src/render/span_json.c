/* span_json.c - operators and chunks for machines; docs/report.schema.json describes them. What is not known is null. */
#include "render/span_render.h"
#include "render/span_words.h"

#include <math.h>

static void put_percentiles(struct json *json, const char *key, const struct span_percentiles *percentiles)
{
	json_object_begin(json, key);
	json_put_number(json, "p50", percentiles->p50);
	json_put_number(json, "p90", percentiles->p90);
	json_put_number(json, "p95", percentiles->p95);
	json_put_number(json, "p99", percentiles->p99);
	json_object_end(json);
}

static void put_trend(struct json *json, const char *key, const struct interval *trend)
{
	json_object_begin(json, key);
	json_put_number(json, "estimate", trend->estimate);
	json_put_number(json, "low", trend->low);
	json_put_number(json, "high", trend->high);
	json_object_end(json);
}

static void put_counts(struct json *json, const struct operator_line *line)
{
	static const char *const names[][2] = {{"instructions", "self_instructions"},
					       {"cycles", "self_cycles"},
					       {"cache_misses", "self_cache_misses"}};
	for (int event = 0; event < OPERATOR_EVENTS; event++) {
		json_put_number(json, names[event][0], line->counts[event]);
		json_put_number(json, names[event][1], line->self_counts[event]);
	}
	json_put_number(json, "counter_coverage", line->count_coverage);
}

static void put_operator(struct json *json, const struct span_report *spans, const struct operator_line *line)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", line->name);
	json_put_string(json, "path", line->path);
	json_put_string(json, "parent", line->parent == SIZE_MAX ? NULL : spans->operators.items[line->parent].path);
	json_put_number(json, "calls", line->calls);
	json_put_integer(json, "unended", (int64_t)line->unended);
	json_put_number(json, "total_s", line->total_s);
	json_put_number(json, "self_s", line->self_s);
	json_put_number(json, "self_share", line->share);
	json_put_number(json, "min_s", line->min_s);
	json_put_number(json, "max_s", line->max_s);
	json_put_integer(json, "chunks", (int64_t)line->chunks);
	put_percentiles(json, "per_call_s", &line->per_call);
	put_percentiles(json, "per_chunk_s", &line->per_chunk);
	put_trend(json, "trend", &line->trend);
	json_put_number(json, "rows_per_s", line->rows_per_s);
	json_put_number(json, "bytes_per_s", line->bytes_per_s);
	json_put_number(json, "flops", line->flops);
	json_put_number(json, "flops_per_s", line->total_s > 0 ? line->flops / line->total_s : NAN);
	json_put_number(json, "bytes_moved", line->bytes);
	json_put_number(json, "cpu_s", line->cpu_s);
	json_put_number(json, "cpu_coverage", line->cpu_coverage);
	json_put_number(json, "rss_change_bytes", line->memory_bytes);
	put_counts(json, line);
	json_object_end(json);
}

static void put_chunks(struct json *json, const struct span_report *spans)
{
	json_object_begin(json, "chunks");
	json_put_integer(json, "count", (int64_t)spans->chunks.len);
	json_put_number(json, "rows", spans->rows);
	json_put_number(json, "bytes_in", spans->bytes_in);
	json_put_number(json, "rows_per_s", spans->rows_per_s);
	json_put_number(json, "bytes_per_s", spans->bytes_per_s);
	put_percentiles(json, "latency_s", &spans->latency);
	put_trend(json, "latency_trend", &spans->latency_trend);
	put_trend(json, "rss_bytes_per_chunk", &spans->memory_trend);
	json_object_end(json);
}

static void put_named(struct json *json, const struct span_report *spans)
{
	json_array_begin(json, "counters");
	for (size_t i = 0; i < spans->counters.len; i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "name", spans->counters.items[i].name);
		json_put_number(json, "total", spans->counters.items[i].total);
		json_put_number(json, "calls", spans->counters.items[i].calls);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "gauges");
	for (size_t i = 0; i < spans->gauges.len; i++) {
		const struct span_named *gauge = &spans->gauges.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "name", gauge->name);
		json_put_number(json, "last", gauge->last);
		json_put_number(json, "min", gauge->min);
		json_put_number(json, "max", gauge->max);
		json_put_number(json, "mean", gauge->mean);
		json_object_end(json);
	}
	json_array_end(json);
}

void span_json(struct json *json, const struct span_report *spans, size_t top)
{
	if (!spans)
		return;
	json_object_begin(json, "spans");
	json_put_integer(json, "recorded", (int64_t)spans->recorded);
	json_put_integer(json, "kept", (int64_t)spans->kept);
	json_put_integer(json, "lost", (int64_t)spans->lost);
	json_put_integer(json, "unbalanced", (int64_t)spans->unbalanced);
	json_put_integer(json, "processes", (int64_t)spans->processes);
	json_put_integer(json, "threads", (int64_t)spans->threads);
	json_object_begin(json, "operator_counters");
	json_put_bool(json, "asked", spans->asked_counts);
	json_put_string(json, "source", spans->counts_source);
	json_put_string(json, "reason", span_words_no_counts(spans));
	json_object_end(json);
	json_array_begin(json, "operators");
	for (size_t i = 0; i < spans->operators.len && (!top || i < top); i++)
		put_operator(json, spans, &spans->operators.items[i]);
	json_array_end(json);
	put_chunks(json, spans);
	put_named(json, spans);
	json_object_end(json);
}
