/* whatif.c - what `pitot whatif` prints: the run with other stage times, as words, as a table, and as data. */
#include "render/whatif.h"
#include "base/json.h"
#include "render/flow.h"
#include "render/format.h"
#include "render/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_INDENT = 2, VALUE_INDENT = 12, NAME_LEAST = 5, NAME_MOST = 24, CELL_WIDTH = 9, TABLE_CELLS = 6 };

static double speed_up(double old_s, double new_s)
{
	return new_s > 0 ? old_s / new_s : INFINITY;
}

static void put_times_as_fast(struct str *out, double ratio)
{
	if (isinf(ratio))
		str_append(out, "infinitely fast");
	else
		str_appendf(out, "%.2f times as fast", ratio);
}

static void put_row(const struct render_options *options, const char *label, const char *text, struct str *out)
{
	struct flow flow = {
		.out = out, .columns = options->columns, .color = options->color, .unicode = options->unicode};
	flow_begin(&flow, LABEL_INDENT);
	flow_text(&flow, STYLE_DIM, label);
	flow_tab(&flow, VALUE_INDENT);
	flow_text(&flow, STYLE_PLAIN, text);
	flow_end(&flow);
}

static void put_changes(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	for (size_t i = 0; i < whatif->changes.len; i++) {
		const struct whatif_change *change = &whatif->changes.items[i];
		char old_time[FORMAT_SIZE], new_time[FORMAT_SIZE];
		struct str text = {0};
		format_seconds(change->old_s, old_time);
		format_seconds(change->new_s, new_time);
		bool critical = whatif->before.slots.items[change->stage].critical;
		str_appendf(&text, "%s takes %s instead of %s%s", whatif->plan->stages.items[change->stage].name,
			    new_time, old_time, critical ? "" : "; it is not on the critical path");
		put_row(options, i ? "" : "if", str_text(&text), out);
		str_fini(&text);
	}
	if (whatif->jobs != whatif->plan->jobs) {
		char words[96];
		snprintf(words, sizeof(words), "up to %d stages run side by side instead of %d", whatif->jobs,
			 whatif->plan->jobs);
		put_row(options, whatif->changes.len ? "" : "if", words, out);
	}
}

static void put_total(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	char old_time[FORMAT_SIZE], new_time[FORMAT_SIZE], apart[FORMAT_SIZE], percent[FORMAT_SIZE];
	struct str text = {0};
	format_seconds(whatif->old_s, old_time);
	format_seconds(whatif->new_s, new_time);
	format_seconds(fabs(whatif->old_s - whatif->new_s), apart);
	format_percent(100 * fabs(1 - whatif->new_s / whatif->old_s), percent);
	str_appendf(&text, "%s instead of %s: ", new_time, old_time);
	put_times_as_fast(&text, speed_up(whatif->old_s, whatif->new_s));
	str_appendf(&text, ", %s %s (%s)", apart, whatif->new_s <= whatif->old_s ? "saved" : "lost", percent);
	put_row(options, "the run", str_text(&text), out);
	str_fini(&text);
}

static void put_limit(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	char limit[FORMAT_SIZE];
	struct str text = {0};
	if (whatif->changes.len == 0)
		return;
	format_seconds(whatif->limit_s, limit);
	str_appendf(&text, "%s, ", limit);
	put_times_as_fast(&text, speed_up(whatif->old_s, whatif->limit_s));
	bool part = false;
	for (size_t i = 0; i < whatif->changes.len; i++)
		part = part || whatif->changes.items[i].part;
	str_appendf(&text, ", however fast %s",
		    part                       ? "that gets"
		    : whatif->changes.len == 1 ? "that stage gets"
					       : "those stages get");
	put_row(options, "at best", str_text(&text), out);
	str_fini(&text);
}

static void put_next(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	char seconds[FORMAT_SIZE], percent[FORMAT_SIZE];
	struct str text = {0};
	if (whatif->next == SIZE_MAX || !(whatif->new_s > 0))
		return;
	format_seconds(whatif->next_s, seconds);
	format_percent(100 * fmin(whatif->next_s / whatif->new_s, 1), percent);
	str_appendf(&text, "%s is what the run then waits for most: %s, %s of it",
		    whatif->plan->stages.items[whatif->next].name, seconds, percent);
	put_row(options, "next", str_text(&text), out);
	str_clear(&text);
	for (size_t i = 0; i < whatif->after.path.len; i++)
		str_appendf(&text, "%s%s", i ? " → " : "",
			    whatif->plan->stages.items[whatif->after.path.items[i]].name);
	put_row(options, "path", str_text(&text), out);
	str_fini(&text);
}

void whatif_term(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	put_changes(whatif, options, out);
	put_total(whatif, options, out);
	put_limit(whatif, options, out);
	put_next(whatif, options, out);
}

static int name_width(const struct whatif *whatif, const struct render_options *options)
{
	int widest = NAME_LEAST, room = options->columns - LABEL_INDENT - TABLE_CELLS * CELL_WIDTH;
	for (size_t i = 0; i < whatif->plan->stages.len; i++) {
		char *name = text_clean(whatif->plan->stages.items[i].name, options->unicode);
		int columns = (int)str_columns(name);
		widest = columns > widest ? columns : widest;
		free(name);
	}
	widest = widest > NAME_MOST ? NAME_MOST : widest;
	return widest > room ? (room > NAME_LEAST ? room : NAME_LEAST) : widest;
}

static void put_cell(const struct render_options *options, const char *text, struct str *out)
{
	char *clean = text_clean(text, options->unicode);
	text_append_cell(out, clean, CELL_WIDTH, true, options->unicode);
	free(clean);
}

static void put_head(const struct render_options *options, int width, struct str *out)
{
	static const char *const heads[2][TABLE_CELLS] = {{"", "", "twice as", "fast", "no time", "at all"},
							  {"time", "share", "run", "speed-up", "run", "speed-up"}};
	for (int line = 0; line < 2; line++) {
		struct str row = {0};
		str_appendf(&row, "%*s%-*s", LABEL_INDENT, "", width, line ? "stage" : "");
		for (int i = 0; i < TABLE_CELLS; i++)
			put_cell(options, heads[line][i], &row);
		style_append(out, STYLE_BOLD, options->color, str_text(&row));
		str_append_char(out, '\n');
		str_fini(&row);
	}
}

static void put_prediction(const struct whatif *whatif, size_t stage, double new_s,
			   const struct render_options *options, struct str *out)
{
	char text[FORMAT_SIZE];
	double total = whatif_single_s(whatif->plan, stage, new_s, whatif->jobs);
	double ratio = speed_up(whatif->old_s, total);
	format_seconds(total, text);
	put_cell(options, text, out);
	snprintf(text, sizeof(text), ratio < 1000 ? "%.2fx" : "> 999x", ratio);
	put_cell(options, text, out);
}

void whatif_table_term(const struct whatif *whatif, const struct render_options *options, struct str *out)
{
	int width = name_width(whatif, options);
	bool aside = false;
	put_head(options, width, out);
	for (size_t i = 0; i < whatif->plan->stages.len; i++) {
		const struct plan_stage *stage = &whatif->plan->stages.items[i];
		char text[FORMAT_SIZE], *name = text_clean(stage->name, options->unicode);
		bool critical = whatif->before.slots.items[i].critical;
		if (stage->wall_s > 0) {
			str_append(out, critical ? "  " : "* ");
			aside = aside || !critical;
			text_append_cell(out, name, width, false, options->unicode);
			format_seconds(stage->wall_s, text);
			put_cell(options, text, out);
			format_percent(100 * stage->wall_s / whatif->old_s, text);
			put_cell(options, text, out);
			put_prediction(whatif, i, stage->wall_s / 2, options, out);
			put_prediction(whatif, i, 0, options, out);
			str_append_char(out, '\n');
		}
		free(name);
	}
	if (aside)
		put_row(options, "*", "not on the critical path: the run does not wait for it", out);
}

static void put_path(struct json *json, const struct whatif *whatif, const struct schedule *schedule, const char *key)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < schedule->path.len; i++)
		json_put_string(json, NULL, whatif->plan->stages.items[schedule->path.items[i]].name);
	json_array_end(json);
}

static void put_stage(struct json *json, const struct whatif *whatif, size_t index)
{
	const struct plan_stage *stage = &whatif->plan->stages.items[index];
	double twice = whatif_single_s(whatif->plan, index, stage->wall_s / 2, whatif->jobs);
	double none = whatif_single_s(whatif->plan, index, 0, whatif->jobs);
	json_object_begin(json, NULL);
	json_put_string(json, "stage", stage->name);
	json_put_number(json, "duration_s", stage->wall_s);
	json_put_bool(json, "critical", whatif->before.slots.items[index].critical);
	json_put_number(json, "twice_as_fast_total_s", twice);
	json_put_number(json, "twice_as_fast_speedup", speed_up(whatif->old_s, twice));
	json_put_number(json, "no_time_total_s", none);
	json_put_number(json, "no_time_speedup", speed_up(whatif->old_s, none));
	json_object_end(json);
}

void whatif_json(const struct whatif *whatif, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_number(&json, "total_s", whatif->old_s);
	json_put_number(&json, "predicted_total_s", whatif->new_s);
	json_put_number(&json, "saved_s", whatif->old_s - whatif->new_s);
	json_put_number(&json, "speedup", speed_up(whatif->old_s, whatif->new_s));
	json_put_number(&json, "limit_total_s", whatif->limit_s);
	json_put_integer(&json, "jobs", whatif->plan->jobs);
	json_put_integer(&json, "predicted_jobs", whatif->jobs);
	json_put_string(&json, "next_bottleneck",
			whatif->next == SIZE_MAX ? NULL : whatif->plan->stages.items[whatif->next].name);
	put_path(&json, whatif, &whatif->before, "critical_path");
	put_path(&json, whatif, &whatif->after, "predicted_critical_path");
	json_array_begin(&json, "changes");
	for (size_t i = 0; i < whatif->changes.len; i++) {
		const struct whatif_change *change = &whatif->changes.items[i];
		json_object_begin(&json, NULL);
		json_put_string(&json, "stage", whatif->plan->stages.items[change->stage].name);
		json_put_number(&json, "duration_s", change->old_s);
		json_put_number(&json, "predicted_duration_s", change->new_s);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "stages");
	for (size_t i = 0; i < whatif->plan->stages.len; i++)
		if (whatif->plan->stages.items[i].wall_s > 0)
			put_stage(&json, whatif, i);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
}
