/*
 * page_trials.c - "trials" of the page's model: the constraint experiment of `pitot features`. See docs/page-model.md.
 */
#include "render/page_parts.h"
#include "store/limit.h"

static void put_trial(struct json *json, const struct limit_trial *trial)
{
	json_object_begin(json, NULL);
	json_put_number(json, "chunk_asked", trial->chunk_asked);
	json_put_integer(json, "memory_limit_bytes", (int64_t)trial->memory_limit_bytes);
	json_put_number(json, "compute_limit", trial->compute_limit);
	json_put_integer(json, "chunk_rows", (int64_t)trial->chunk_rows);
	json_put_integer(json, "rows", (int64_t)trial->rows);
	json_put_number(json, "latency_s", trial->latency_s);
	json_put_number(json, "rows_per_s", trial->rows_per_s);
	json_put_number(json, "chunk_latency_s", trial->chunk_latency_s);
	json_put_number(json, "memory_peak_bytes", trial->memory_peak_bytes);
	json_put_number(json, "r2", trial->r2);
	json_put_number(json, "rmse", trial->rmse);
	json_put_bool(json, "pareto", trial->pareto);
	json_put_string(json, "failure", trial->failure);
	json_object_end(json);
}

int page_trials(struct json *json, const struct opened_run *run, struct err *err)
{
	struct limit_trials trials = {0};
	int code = store_limits_load(run->record->path, &trials, err);
	if (code)
		return code;
	if (!trials.items.len) {
		str_append(json->out, "null");
		return 0;
	}
	json_array_begin(json, NULL);
	for (size_t i = 0; i < trials.items.len; i++)
		put_trial(json, &trials.items.items[i]);
	json_array_end(json);
	limit_trials_fini(&trials);
	return 0;
}
