/* trend_data.c - a trend for programs: JSON with everything, CSV with one row per run. See trend.h. */
#include "base/clock.h"
#include "base/json.h"
#include "render/csv_field.h"
#include "render/trend.h"

#include <string.h>

static void put_moment(struct json *json, const char *key, const struct history_entry *entry)
{
	char when[24];
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	json_put_string(json, key, when);
}

static void put_interval(struct json *json, const char *key, const struct interval *interval)
{
	json_object_begin(json, key);
	json_put_number(json, "estimate", interval->estimate);
	json_put_number(json, "low", interval->low);
	json_put_number(json, "high", interval->high);
	json_put_number(json, "level", interval->exists ? interval->level : 0);
	json_put_string(json, "method", interval_method_words(interval->method));
	json_object_end(json);
}

static void put_description(struct json *json, const struct description *values)
{
	json_put_integer(json, "runs", (int64_t)values->n);
	json_put_number(json, "median", values->median);
	json_put_number(json, "mean", values->mean);
	json_put_number(json, "sd", values->sd);
	json_put_number(json, "min", values->min);
	json_put_number(json, "max", values->max);
}

static void put_change(struct json *json, const struct trend_machine *machine, const struct trend_change *change)
{
	const struct trend_point *first = &machine->points.items[change->index];
	json_object_begin(json, NULL);
	json_put_integer(json, "index", (int64_t)change->index);
	put_moment(json, "timestamp_utc", first->entry);
	json_put_string(json, "git_commit", change->commit);
	json_put_string(json, "git_commit_before", change->commit_before);
	json_put_string(json, "path", first->entry->path);
	json_put_string(json, "path_before", (first - 1)->entry->path);
	json_put_number(json, "median_before", change->before);
	json_put_number(json, "median_after", change->after);
	put_interval(json, change->is_ratio ? "ratio" : "difference", &change->size);
	json_put_number(json, "p", change->p);
	json_put_string(json, "direction", trend_way_name(change->way));
	json_put_string(json, "note", change->note);
	json_object_end(json);
}

static void put_point(struct json *json, const struct trend_point *point)
{
	json_object_begin(json, NULL);
	put_moment(json, "timestamp_utc", point->entry);
	json_put_number(json, "value", point->value);
	json_put_integer(json, "stretch", (int64_t)point->stretch);
	json_put_string(json, "git_commit", point->entry->git_commit);
	json_put_string(json, "path", point->entry->path);
	json_array_begin(json, "tags");
	for (size_t i = 0; i < point->entry->tags.len; i++)
		json_put_string(json, NULL, point->entry->tags.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_machine(struct json *json, const struct trend_view *view, const struct trend_machine *machine)
{
	json_object_begin(json, NULL);
	json_put_string(json, "host_fingerprint", machine->fingerprint[0] ? machine->fingerprint : NULL);
	json_put_bool(json, "is_this", strcmp(machine->fingerprint, view->this_machine) == 0);
	put_description(json, &machine->all);
	json_array_begin(json, "changes");
	for (size_t i = 0; i < machine->changes.len; i++)
		put_change(json, machine, &machine->changes.items[i]);
	json_array_end(json);
	json_array_begin(json, "stretches");
	for (size_t i = 0; i < machine->stretches.len; i++) {
		json_object_begin(json, NULL);
		json_put_integer(json, "index", (int64_t)machine->stretches.items[i].begin);
		put_description(json, &machine->stretches.items[i].values);
		json_object_end(json);
	}
	json_array_end(json);
	if (machine->drift_runs) {
		put_interval(json, "drift_per_run", &machine->drift);
		json_put_integer(json, "drift_runs", (int64_t)machine->drift_runs);
	} else {
		json_put_null(json, "drift_per_run");
	}
	json_array_begin(json, "points");
	for (size_t i = 0; i < machine->points.len; i++)
		put_point(json, &machine->points.items[i]);
	json_array_end(json);
	json_object_end(json);
}

void trend_json(const struct trend_view *view, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_string(&json, "name", view->run_name);
	json_put_string(&json, view->is_quality ? "quality" : "metric", view->what);
	json_put_string(&json, "stage", view->stage);
	json_put_string(&json, "unit", view->is_quality ? NULL : metric_unit_name(view->unit));
	json_put_string(&json, "better", metric_direction_name(view->direction));
	json_object_begin(&json, "left_out");
	json_put_integer(&json, "without_value", (int64_t)view->report->without_value);
	json_put_integer(&json, "failed", (int64_t)view->failed);
	json_put_integer(&json, "running", (int64_t)view->running);
	json_put_integer(&json, "older", (int64_t)view->older);
	json_put_integer(&json, "damaged", (int64_t)view->damaged);
	json_object_end(&json);
	json_array_begin(&json, "machines");
	for (size_t i = 0; i < view->report->machines.len; i++)
		put_machine(&json, view, &view->report->machines.items[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static void put_row(struct str *out, const struct trend_machine *machine, const struct trend_point *point)
{
	char when[24], number[40];
	struct str tags = {0};
	const struct history_entry *entry = point->entry;
	for (size_t i = 0; i < entry->tags.len; i++)
		str_appendf(&tags, "%s%s", i ? " " : "", entry->tags.items[i]);
	clock_format_utc(entry->started_utc_ns, when, sizeof(when));
	json_format_number(point->value, number, sizeof(number));
	const char *fields[] = {machine->fingerprint, when,  trend_file_name(entry), entry->git_commit,
				str_text(&tags),      number};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		csv_put_field(out, fields[i]);
		str_append_char(out, ',');
	}
	bool changed = point > machine->points.items && point->stretch != (point - 1)->stretch;
	str_appendf(out, "%zu,%d\r\n", point->stretch, changed);
	str_fini(&tags);
}

void trend_csv(const struct trend_view *view, struct str *out)
{
	str_append(out, "host_fingerprint,timestamp_utc,file,git_commit,tags,value,stretch,change\r\n");
	for (size_t i = 0; i < view->report->machines.len; i++) {
		const struct trend_machine *machine = &view->report->machines.items[i];
		for (size_t at = 0; at < machine->points.len; at++)
			put_row(out, machine, &machine->points.items[at]);
	}
}
