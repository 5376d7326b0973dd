/*
 * term.c - the report for a person at a terminal: what ran, where the time went, what held it up, what failed, what is
 * not known, and what the measuring cost.
 *
 * No line is wider than the terminal (20 columns are the least that is respected), and nothing that a stage printed or
 * was named can reach the terminal as anything but text.
 */
#include "render/term.h"
#include "base/clock.h"
#include "render/code_term.h"
#include "render/findings.h"
#include "render/format.h"
#include "render/memory_term.h"
#include "render/model.h"
#include "render/renderers.h"
#include "render/span_render.h"
#include "render/text.h"
#include "render/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMNS_LEAST = 20,
	COLUMNS_DEFAULT = 80,
	LOG_LINES = 15,
	VERDICTS_ALL = 10, /* up to so many stages, each gets its line */
	EVENTS_MOST = 12,
	SPARK_LEAST = 8,
	SPARK_MOST = 60,
	SPARK_NUMBER = 11, /* the largest value after it, and the gap */
};
static const double verdict_share = 0.05; /* with more stages, those from this share on */

struct flow term_flow(const struct term *term)
{
	return (struct flow){
		.out = term->out, .columns = term->columns, .color = term->color, .unicode = term->unicode};
}

enum style term_status_style(enum stage_status status)
{
	static const enum style styles[STATUS_COUNT] = {
		[STATUS_OK] = STYLE_GOOD,          [STATUS_ERROR] = STYLE_BAD,   [STATUS_TIMEOUT] = STYLE_BAD,
		[STATUS_INTERRUPTED] = STYLE_WARN, [STATUS_SKIPPED] = STYLE_DIM, [STATUS_MANUAL] = STYLE_DIM,
	};
	return styles[status];
}

const char *term_status_mark(const struct term *term, const struct report_stage *stage)
{
	static const char *const marks[STATUS_COUNT][2] = {
		[STATUS_OK] = {"+", "✓"},          [STATUS_ERROR] = {"x", "✗"},   [STATUS_TIMEOUT] = {"x", "✗"},
		[STATUS_INTERRUPTED] = {"!", "!"}, [STATUS_SKIPPED] = {"-", "–"}, [STATUS_MANUAL] = {"-", "–"},
	};
	if (words_stage_running(term->report, stage))
		return term->unicode ? "▶" : ">";
	return marks[stage->status][term->unicode];
}

void term_end_line(const struct term *term)
{
	struct str *out = term->out;
	while (out->len && out->text[out->len - 1] == ' ')
		out->text[--out->len] = '\0';
	str_append_char(out, '\n');
}

void term_heading(const struct term *term, const char *text)
{
	struct flow flow = term_flow(term);
	str_append_char(term->out, '\n');
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_BOLD, text);
	flow_end(&flow);
}

static void put_separator(struct flow *flow)
{
	flow_word(flow, STYLE_DIM, "·");
}

static void put_header(const struct term *term, const char *title)
{
	const struct report *report = term->report;
	const struct run_row *row = &report->record->row;
	char when[32], total[FORMAT_SIZE];
	struct flow flow = term_flow(term);
	clock_format_utc(row->started_utc_ns, when, sizeof(when));
	format_value(METRIC_WALL, &report->values[METRIC_WALL], total);
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_BOLD, title);
	put_separator(&flow);
	flow_word(&flow, term_status_style(row->status), words_run_status(report));
	put_separator(&flow);
	flow_word(&flow, STYLE_BOLD, total);
	put_separator(&flow);
	flow_word(&flow, STYLE_PLAIN, when);
	flow_end(&flow);
}

static void put_repetitions(struct flow *flow, const struct report *report)
{
	const struct run_row *row = &report->record->row;
	char words[96];
	if (report->total.n > 1) {
		snprintf(words, sizeof(words), "medians of %zu repetitions", report->total.n);
		put_separator(flow);
		flow_text(flow, STYLE_DIM, words);
	}
	if (row->warmup > 0) {
		snprintf(words, sizeof(words), "%d warm-up%s left out", row->warmup, row->warmup == 1 ? "" : "s");
		put_separator(flow);
		flow_text(flow, STYLE_DIM, words);
	}
	if (row->jobs > 1) {
		snprintf(words, sizeof(words), "up to %d stages side by side", row->jobs);
		put_separator(flow);
		flow_text(flow, STYLE_DIM, words);
	}
}

/* Everything before the first "·" is the machine; the rest is there only where it says something. */
static void put_circumstances(const struct term *term)
{
	const char *commit = term->report->record->row.git_commit;
	struct str host = {0};
	struct flow flow = term_flow(term);
	words_host_line(term->report, &host);
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_DIM, host.len ? str_text(&host) : "host not recorded");
	if (commit) {
		char words[64];
		bool dirty = str_ends(commit, "+dirty");
		snprintf(words, sizeof(words), "commit %.10s%s", commit, dirty ? "+dirty" : "");
		put_separator(&flow);
		flow_word(&flow, STYLE_DIM, words);
	}
	put_repetitions(&flow, term->report);
	flow_end(&flow);
	str_fini(&host);
}

static void put_bottleneck(const struct term *term)
{
	struct str words = {0};
	words_bottleneck(term->report, &words);
	if (words.len) {
		struct flow flow = term_flow(term);
		str_append_char(&words, '.');
		str_append_char(term->out, '\n');
		flow_begin(&flow, 0);
		flow_word(&flow, STYLE_WARN, "▶");
		flow_tab(&flow, 2);
		flow_text(&flow, STYLE_BOLD, str_text(&words));
		flow_end(&flow);
	}
	str_fini(&words);
}

/* The first series of that unit whose name begins with one of the words. */
static const struct series *find_series(const struct report_stage *stage, enum metric_unit unit,
					const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < stage->series.items.len; i++) {
			const struct series *series = &stage->series.items.items[i];
			if (series->unit == unit && str_starts(series->name, *names))
				return series;
		}
	return NULL;
}

/* One value per column: the highest mean of the slices that share it; a slice without a sample keeps the level before
 * it. The largest value that was seen comes back. */
static double resample(const struct series *series, double *values, size_t count)
{
	double top = 0;
	for (size_t i = 0; i < count; i++)
		values[i] = NAN;
	for (size_t i = 0; i < series->buckets.len; i++) {
		const struct series_bucket *bucket = &series->buckets.items[i];
		double *value = &values[i * count / series->buckets.len];
		if (bucket->count && !(bucket->mean <= *value))
			*value = bucket->mean;
		top = bucket->count && bucket->max > top ? bucket->max : top;
	}
	for (size_t i = 1; i < count; i++)
		values[i] = isnan(values[i]) ? values[i - 1] : values[i];
	return top;
}

static void put_sparkline(const struct term *term, const struct series *series, const char *label, int width)
{
	double values[SPARK_MOST];
	size_t count = series->buckets.len < (size_t)width ? series->buckets.len : (size_t)width;
	double top = resample(series, values, count);
	char number[FORMAT_SIZE];
	format_metric(series->unit, top, number);
	char *clean = text_clean(number, term->unicode);
	style_append(term->out, STYLE_DIM, term->color, label);
	format_sparkline(values, count, top, term->unicode, term->out);
	str_appendf(term->out, " %-*s", SPARK_NUMBER - 1, clean);
	free(clean);
}

static void put_spaces(struct str *out, int count)
{
	str_appendf(out, "%*s", count, "");
}

void term_sparklines(const struct term *term, const struct report_stage *stage, int indent)
{
	static const char *const cpu_names[] = {"cpu", NULL}, *const memory_names[] = {"memory_anon", "memory", "rss",
										       NULL};
	const struct series *cpu = find_series(stage, UNIT_PERCENT, cpu_names);
	const struct series *memory = find_series(stage, UNIT_BYTES, memory_names);
	int labels = (int)strlen("CPU ") + (int)strlen("memory ") + 2 * SPARK_NUMBER;
	int width = (term->columns - indent - labels) / 2;
	width = width > SPARK_MOST ? SPARK_MOST : width;
	bool has_cpu = cpu && cpu->buckets.len, has_memory = memory && memory->buckets.len;
	if (width < SPARK_LEAST || (!has_cpu && !has_memory))
		return;
	put_spaces(term->out, indent);
	if (has_cpu)
		put_sparkline(term, cpu, "CPU ", width);
	if (has_memory)
		put_sparkline(term, memory, "memory ", width);
	term_end_line(term);
}

static void put_verdict(struct flow *flow, const struct report_stage *stage, enum style style)
{
	struct str words = {0};
	str_append(&words, verdict_name(stage->verdict));
	str_append_char(&words, ':');
	flow_text(flow, style, str_text(&words));
	flow_text(flow, STYLE_PLAIN, stage->evidence);
	flow_end(flow);
	str_fini(&words);
}

static void put_verdicts(const struct term *term)
{
	const struct report *report = term->report;
	bool all = report->stages.len <= VERDICTS_ALL, any = false;
	int indent = term->columns >= 70 ? 20 : 4;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (!stage->ran || stage->verdict == VERDICT_NONE || (!all && stage->share < verdict_share))
			continue;
		if (!any)
			term_heading(term, "What held the stages up");
		any = true;
		struct flow flow = term_flow(term);
		flow_begin(&flow, 2);
		flow_text(&flow, i == report->bottleneck ? STYLE_BOLD : STYLE_PLAIN, stage->name);
		flow_tab(&flow, indent);
		put_verdict(&flow, stage, i == report->bottleneck ? STYLE_WARN : STYLE_BOLD);
		term_sparklines(term, stage, indent);
	}
}

static void put_quality(const struct term *term)
{
	const struct run_record *record = term->report->record;
	if (record->quality.len)
		term_heading(term, "Quality");
	for (size_t i = 0; i < record->quality.len; i++) {
		const struct quality_row *quality = &record->quality.items[i];
		struct flow flow = term_flow(term);
		const char *suffix, *title = words_quality_title(quality->name, &suffix);
		char number[64];
		snprintf(number, sizeof(number), "%.6g%s", quality->value, suffix);
		flow_begin(&flow, 2);
		flow_text(&flow, STYLE_PLAIN, title);
		flow_tab(&flow, 16);
		flow_word(&flow, quality->known ? STYLE_BOLD : STYLE_DIM, quality->known ? number : "n/a");
		flow_tab(&flow, 28);
		const char *why = quality->known ? quality->source : quality->reason;
		flow_text(&flow, STYLE_DIM, why ? why : "");
		flow_end(&flow);
	}
}

static void put_log(const struct term *term, const struct stage_record *stage)
{
	const char *at = text_tail(stage->log, LOG_LINES);
	bool cut = at != stage->log || stage->log_dropped_lines;
	if (cut)
		style_append(term->out, STYLE_DIM, term->color, term->unicode ? "    …\n" : "    ...\n");
	while (*at) {
		size_t length = strcspn(at, "\n");
		struct str line = {0}, cell = {0};
		text_append_log_line(&line, at, length, term->unicode);
		int width = (int)str_columns(str_text(&line)), room = term->columns - 4;
		text_append_cell(&cell, str_text(&line), width < room ? width : room, false, term->unicode);
		str_appendf(term->out, "%s%s\n", cell.len ? "    " : "", str_text(&cell));
		str_fini(&line);
		str_fini(&cell);
		at += length;
		at += *at == '\n';
	}
}

static void put_failures(const struct term *term)
{
	const struct report *report = term->report;
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (!words_is_failure(stage->status) || words_stage_running(report, stage))
			continue;
		if (!any)
			term_heading(term, "Failed");
		any = true;
		struct flow flow = term_flow(term);
		struct str name = {0}, words = {0};
		str_appendf(&name, "%s:", stage->name);
		str_appendf(&words, "%s, ", status_name(stage->status));
		words_failure(stage, &words);
		flow_begin(&flow, 0);
		flow_word(&flow, term_status_style(stage->status), term_status_mark(term, stage));
		flow_tab(&flow, 2);
		flow_text(&flow, STYLE_BOLD, str_text(&name));
		flow_text(&flow, term_status_style(stage->status), str_text(&words));
		flow_end(&flow);
		str_fini(&name);
		str_fini(&words);
		if (stage->worst->log && *stage->worst->log)
			put_log(term, stage->worst);
	}
}

static void put_event(const struct term *term, const struct told_event *told)
{
	bool warning = told->event->kind && strcmp(told->event->kind, "warning") == 0;
	struct flow flow = term_flow(term);
	char times[32];
	flow_begin(&flow, 0);
	flow_word(&flow, warning ? STYLE_WARN : STYLE_DIM, warning ? "!" : "·");
	flow_tab(&flow, 2);
	if (told->stage) {
		struct str name = {0};
		str_appendf(&name, "%s:", told->stage);
		flow_text(&flow, STYLE_BOLD, str_text(&name));
		str_fini(&name);
	}
	flow_text(&flow, STYLE_PLAIN, told->event->text);
	snprintf(times, sizeof(times), "(%zu times)", told->times);
	flow_text(&flow, STYLE_DIM, told->times > 1 ? times : "");
	flow_end(&flow);
}

static void put_events(const struct term *term)
{
	struct told_events events = {0};
	words_events(term->report, term->verbose, &events);
	size_t shown = events.items.len > EVENTS_MOST && !term->verbose ? EVENTS_MOST : events.items.len;
	if (shown)
		term_heading(term, "Worth knowing");
	for (size_t i = 0; i < shown; i++)
		put_event(term, &events.items.items[i]);
	if (shown < events.items.len) {
		char words[64];
		struct flow flow = term_flow(term);
		snprintf(words, sizeof(words), "… and %zu more (--verbose lists all)", events.items.len - shown);
		flow_begin(&flow, 2);
		flow_text(&flow, STYLE_DIM, words);
		flow_end(&flow);
	}
	vec_fini(&events.items);
}

static void put_absent(const struct term *term)
{
	struct reason_groups groups = {0};
	if (term->report->bottleneck == SIZE_MAX) {
		term_heading(term, "No stage has been measured");
		return;
	}
	words_absent(term->report->values, &groups);
	if (groups.items.len)
		term_heading(term, "Not measured");
	for (size_t i = 0; i < groups.items.len; i++) {
		const struct reason_group *group = &groups.items.items[i];
		struct flow flow = term_flow(term);
		flow_begin(&flow, 2);
		flow.indent = term->columns > 40 ? 4 : 2;
		for (size_t k = 0; k < group->metrics.len; k++) {
			char name[64];
			bool last = k + 1 == group->metrics.len;
			snprintf(name, sizeof(name), "%s%s", metrics[group->metrics.items[k]].name, last ? ":" : ",");
			flow_word(&flow, STYLE_PLAIN, name);
		}
		flow_text(&flow, STYLE_DIM, group->reason);
		flow_end(&flow);
	}
	words_absent_fini(&groups);
}

static void put_own_cost(const struct term *term)
{
	struct str words = {0};
	words_own_cost(term->report, &words);
	if (words.len) {
		struct flow flow = term_flow(term);
		str_append_char(term->out, '\n');
		flow_begin(&flow, 0);
		flow_text(&flow, STYLE_DIM, "pitot itself:");
		flow_text(&flow, STYLE_DIM, str_text(&words));
		flow_end(&flow);
	}
	str_fini(&words);
}

static void put_every_metric(const struct term *term)
{
	const struct report *report = term->report;
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].ran)
			term_all_metrics(term, report->stages.items[i].name, report->stages.items[i].values);
	term_all_metrics(term, "The whole run", report->values);
}

/* One command, no pipeline file: its numbers are the report. */
static void put_command(const struct term *term)
{
	const struct report_stage *stage = &term->report->stages.items[0];
	const char *command = stage->last->row.command;
	put_header(term, command && *command ? command : stage->name);
	put_circumstances(term);
	str_append_char(term->out, '\n');
	term_command_block(term, stage);
	if (stage->ran && stage->verdict != VERDICT_NONE) {
		struct flow flow = term_flow(term);
		str_append_char(term->out, '\n');
		flow_begin(&flow, 2);
		put_verdict(&flow, stage, STYLE_WARN);
	}
}

static void put_pipeline(const struct term *term)
{
	const char *name = term->report->record->row.name;
	put_header(term, name && *name ? name : "pipeline");
	put_circumstances(term);
	str_append_char(term->out, '\n');
	term_table(term);
	put_bottleneck(term);
	put_verdicts(term);
}

/* Where a part of the code profile was asked for, the rest of the page is not. */
static void put_code_only(const struct term *term)
{
	const char *name = term->report->record->row.name;
	put_header(term, name && *name ? name : "pipeline");
	if (!term->weight)
		code_term(term);
	memory_term(term);
}

static int render_term(const struct report *report, const struct render_options *options, struct str *out,
		       struct err *err)
{
	(void)err;
	int columns = options->columns > 0 ? options->columns : COLUMNS_DEFAULT;
	struct term term = {.report = report,
			    .out = out,
			    .columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns,
			    .color = options->color,
			    .unicode = options->unicode,
			    .verbose = options->verbose,
			    .top = options->top,
			    .weight = options->weight};
	if (options->only_code) {
		put_code_only(&term);
		return 0;
	}
	if (report->stages.len == 1 && !report->record->row.config_path)
		put_command(&term);
	else
		put_pipeline(&term);
	span_term(&term);
	if (report->models) {
		str_append_char(out, '\n');
		model_term(&(struct model_view){.profile = report->models}, options, out);
	}
	code_term(&term);
	memory_term(&term);
	findings_term(&term);
	put_quality(&term);
	put_failures(&term);
	put_events(&term);
	put_absent(&term);
	if (term.verbose)
		put_every_metric(&term);
	put_own_cost(&term);
	return 0;
}

const struct renderer renderer_term = {"term", "for people, as wide as the terminal", render_term};
