/*
 * page_history.c - the history for the page: its runs, and the way of one metric through them. See page.h.
 */
#include "base/clock.h"
#include "probe/host.h"
#include "render/page.h"
#include "render/trend.h"
#include "store/history.h"

#include <string.h>

static void put_run(struct json *json, const struct history_entry *entry)
{
	char when[24];
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	json_object_begin(json, NULL);
	json_put_string(json, "file", trend_file_name(entry));
	json_put_string(json, "damaged", entry->damaged);
	json_put_string(json, "name", entry->damaged ? NULL : entry->name);
	json_put_string(json, "started_utc", entry->damaged ? NULL : when);
	if (entry->wall_ns)
		json_put_number(json, "wall_s", (double)entry->wall_ns / 1e9);
	else
		json_put_null(json, "wall_s");
	json_put_string(json, "status", entry->damaged ? NULL : status_name(entry->status));
	json_put_string(json, "git_commit", entry->git_commit);
	json_put_string(json, "machine", entry->fingerprint);
	json_put_integer(json, "stages", (int64_t)entry->stages);
	json_put_bool(json, "live", entry->live);
	json_array_begin(json, "tags");
	for (size_t i = 0; i < entry->tags.len; i++)
		json_put_string(json, NULL, entry->tags.items[i]);
	json_array_end(json);
	json_object_end(json);
}

int page_runs_json(const char *dir, struct str *out, struct err *err)
{
	struct history history = {0};
	struct json json = {.out = out};
	int code = history_open(dir, &history, err);
	if (code)
		return code;
	json_object_begin(&json, NULL);
	json_put_integer(&json, "page_model", PAGE_MODEL_VERSION);
	json_put_string(&json, "history", history.dir);
	json_array_begin(&json, "metrics");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		json_put_string(&json, NULL, metrics[metric].name);
	json_array_end(&json);
	json_array_begin(&json, "runs");
	for (size_t i = 0; i < history.entries.len; i++)
		put_run(&json, &history.entries.items[i]);
	json_array_end(&json);
	json_object_end(&json);
	history_fini(&history);
	return 0;
}

/* Runs that failed are left out: where a run stops early, its numbers mean something else. */
static void choose(const struct history *history, struct trend_view *view, const struct history_entry **chosen,
		   size_t *count)
{
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		view->damaged += entry->damaged != NULL;
		if (entry->damaged || strcmp(entry->name, view->run_name) != 0)
			continue;
		if (entry->live)
			view->running++;
		else if (entry->status != STATUS_OK)
			view->failed++;
		else
			chosen[(*count)++] = entry;
	}
}

int page_trend_json(const char *dir, const char *run_name, const char *metric_name, const char *stage, struct str *out,
		    struct err *err)
{
	struct history history = {0};
	struct trend_report report = {0};
	struct host_facts facts = {0};
	size_t count = 0;
	int metric = metric_find(metric_name);
	if (metric < 0)
		return err_set(err, ERR_USAGE, "there is no metric '%s' (pitot metrics lists them)", metric_name);
	struct history_request request = {.fold = trend_fold, .run_name = run_name, .stage = stage, .metric = metric};
	int code = history_open_with(dir, &request, &history, err);
	if (code)
		return code;
	struct trend_view view = {.run_name = run_name,
				  .what = metric_name,
				  .stage = stage,
				  .meaning = metrics[metric].meaning,
				  .unit = metrics[metric].unit,
				  .direction = metrics[metric].direction,
				  .report = &report};
	const struct history_entry **chosen = mem_alloc((history.entries.len + 1) * sizeof(*chosen));
	choose(&history, &view, chosen, &count);
	host_facts_read(&facts);
	view.this_machine = facts.fingerprint;
	trend_compute(chosen, count, &(struct trend_question){.direction = view.direction}, &report);
	trend_json(&view, out);
	trend_report_fini(&report);
	host_facts_fini(&facts);
	free(chosen);
	history_fini(&history);
	return 0;
}
