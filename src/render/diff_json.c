/* diff_json.c - a comparison as JSON: everything, as docs/delta.schema.json describes it. */
#include "base/clock.h"
#include "base/json.h"
#include "render/delta_formats.h"
#include "render/diff_words.h"

#include <math.h>

static const char *const presence_names[] = {
	[DIFF_IN_BOTH] = "both", [DIFF_ADDED] = "added", [DIFF_REMOVED] = "removed"};

static void put_run(struct json *json, const struct run_record *run)
{
	char when[32];
	clock_format_utc(run->row.started_utc_ns, when, sizeof(when));
	json_object_begin(json, NULL);
	json_put_string(json, "path", run->path);
	json_put_string(json, "name", run->row.name);
	json_put_string(json, "timestamp_utc", when);
	json_put_string(json, "status", status_name(run->row.status));
	json_put_bool(json, "live", run->live);
	json_put_string(json, "git_commit", run->row.git_commit);
	json_put_string(json, "host_fingerprint", run->row.fingerprint);
	json_put_string(json, "pitot_version", run->row.pitot_version);
	json_object_end(json);
}

static void put_side(struct json *json, const char *key, const struct side *side)
{
	json_object_begin(json, key);
	json_put_integer(json, "repetitions", (int64_t)side->run.repetitions);
	json_put_integer(json, "failed", (int64_t)side->run.failed);
	json_array_begin(json, "runs");
	for (size_t i = 0; i < side->runs.len; i++)
		put_run(json, side->runs.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_sample(struct json *json, const char *key, size_t n, double median, const char *reason)
{
	json_object_begin(json, key);
	json_put_integer(json, "n", (int64_t)n);
	json_put_number(json, "median", median);
	if (reason)
		json_put_string(json, "reason", reason);
	json_object_end(json);
}

static void put_row(struct json *json, const struct diff_row *row)
{
	const struct change_result *result = &row->result;
	bool interval = !isnan(result->low);
	json_object_begin(json, NULL);
	json_put_string(json, "name", row->name);
	json_put_string(json, "unit", metric_unit_name(row->unit));
	json_put_string(json, "better", metric_direction_name(row->direction));
	json_put_bool(json, "better_guessed", row->direction_guessed);
	json_put_string(json, "noise", metric_noise_name(row->noise));
	json_put_string(json, "presence", presence_names[row->presence]);
	json_put_bool(json, "minor", row->minor);
	put_sample(json, "a", result->n_base, result->median_base, row->reasons[0]);
	put_sample(json, "b", result->n_new, result->median_new, row->reasons[1]);
	json_put_number(json, "difference", row->difference);
	json_put_number(json, "ratio", result->ratio);
	json_put_number(json, "ratio_low", result->low);
	json_put_number(json, "ratio_high", result->high);
	json_put_number(json, "level", interval ? result->level : NAN);
	json_put_number(json, "p", result->p);
	json_put_number(json, "detectable", result->detectable);
	json_put_string(json, "verdict", change_name(result->verdict));
	json_put_string(json, "why", result->why);
	json_put_string(json, "method", result->method);
	json_object_end(json);
}

static void put_table(struct json *json, const struct diff_table *table)
{
	json_object_begin(json, NULL);
	json_put_string(json, "scope", diff_scope_name(table->scope));
	json_put_string(json, "name", table->name);
	json_put_string(json, "presence", presence_names[table->presence]);
	json_array_begin(json, "rows");
	for (size_t i = 0; i < table->rows.len; i++)
		put_row(json, &table->rows.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_check(struct json *json, const struct gate_check *check)
{
	const struct threshold *threshold = &check->threshold;
	bool status = isnan(check->limit);
	json_object_begin(json, NULL);
	json_put_string(json, "name", check->name);
	json_put_string(json, "kind", status ? "status" : threshold_kind_words(threshold->kind));
	json_put_string(json, "metric", threshold->metric >= 0 ? metrics[threshold->metric].name : threshold->quality);
	json_put_string(json, "stage", threshold->stage);
	json_put_number(json, "limit", check->limit);
	json_put_string(json, "unit", check->percent ? "percent" : metric_unit_name(check->unit));
	put_sample(json, "a", check->n[0], check->medians[0], NULL);
	put_sample(json, "b", check->n[1], check->medians[1], NULL);
	json_put_number(json, "observed", check->observed);
	json_put_number(json, "low", check->low);
	json_put_number(json, "high", check->high);
	json_put_number(json, "level", check->level);
	json_put_number(json, "p", check->p);
	json_put_string(json, "outcome", gate_outcome_name(check->outcome));
	json_put_string(json, "why", check->why);
	json_put_string(json, "method", check->method);
	json_object_end(json);
}

static void put_gate(struct json *json, const struct gate *gate)
{
	if (!gate) {
		json_put_null(json, "gate");
		return;
	}
	json_object_begin(json, "gate");
	json_put_string(json, "outcome", gate_outcome_name(gate->outcome));
	json_object_begin(json, "counts");
	for (int i = 0; i < GATE_OUTCOMES; i++)
		json_put_integer(json, gate_outcome_name(i), (int64_t)gate->counts[i]);
	json_object_end(json);
	json_array_begin(json, "checks");
	for (size_t i = 0; i < gate->checks.len; i++)
		put_check(json, &gate->checks.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_verdict(struct json *json, const struct diff *diff)
{
	struct str headline = {0};
	diff_words_headline(diff, &headline);
	json_put_string(json, "verdict", change_name(diff->verdict));
	json_put_string(json, "summary", str_text(&headline));
	json_put_number(json, "threshold_pct", 100 * diff->options.threshold);
	json_put_number(json, "confidence_pct", 100 * (1 - 2 * diff->options.alpha));
	json_object_begin(json, "counts");
	for (int i = 0; i < DIFF_CHANGES; i++)
		json_put_integer(json, change_name(i), (int64_t)diff->counts[i]);
	json_object_end(json);
	str_fini(&headline);
}

static void render_json(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	const struct diff *diff = delta->diff;
	struct json json = {.out = out, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", 1);
	json_put_string(&json, "pitot_version", PITOT_VERSION);
	put_verdict(&json, diff);
	put_gate(&json, delta->gate);
	json_object_begin(&json, "sides");
	put_side(&json, "a", &diff->sides[0]);
	put_side(&json, "b", &diff->sides[1]);
	json_object_end(&json);
	json_array_begin(&json, "warnings");
	for (size_t i = 0; i < diff->warnings.len; i++) {
		json_object_begin(&json, NULL);
		json_put_string(&json, "kind", diff->warnings.items[i].kind);
		json_put_string(&json, "text", diff->warnings.items[i].text);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "tables");
	for (size_t i = 0; i < diff->tables.len; i++)
		put_table(&json, &diff->tables.items[i]);
	json_array_end(&json);
	json_object_end(&json);
}

const struct delta_renderer delta_json = {"json", render_json};
