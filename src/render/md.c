/*
 * md.c - the report as a Markdown page: for a pull request, a wiki, a mail.
 *
 * The Summary table has exactly the header that scripts look for. Everything that came from outside (names, reasons,
 * commands) is escaped, so that it stays one cell of its table; a log stands in a fence longer than any inside it.
 */
#include "base/clock.h"
#include "render/code_md.h"
#include "render/findings.h"
#include "render/format.h"
#include "render/markup.h"
#include "render/memory_md.h"
#include "render/model.h"
#include "render/renderers.h"
#include "render/span_render.h"
#include "render/text.h"
#include "render/words.h"

#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 40, LOG_LINES = 50 };

static void put_escaped(struct str *out, const char *text)
{
	markup_markdown(out, text);
}

static size_t longest_backticks(const char *text)
{
	size_t longest = 0;
	while (*text) {
		size_t run = strspn(text, "`");
		longest = run > longest ? run : longest;
		text += run ? run : 1;
	}
	return longest;
}

static void put_backticks(struct str *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		str_append_char(out, '`');
}

/* Code within a line. In a table cell a pipe ends the cell even inside code, so there it is escaped. */
static void put_code(struct str *out, const char *text)
{
	char *clean = text_clean(text, true);
	size_t ticks = longest_backticks(clean) + 1;
	bool space = clean[0] == '`' || str_ends(clean, "`") || *clean == '\0';
	put_backticks(out, ticks);
	str_appendf(out, "%s%s%s", space ? " " : "", clean, space ? " " : "");
	put_backticks(out, ticks);
	free(clean);
}

static void put_value(struct str *out, const struct metric_value *values, int metric)
{
	char text[FORMAT_SIZE];
	format_value(metric, &values[metric], text);
	str_append(out, " ");
	put_escaped(out, text);
	str_append(out, " |");
}

static void put_name_cell(struct str *out, const char *name)
{
	str_append(out, "| ");
	put_escaped(out, name);
	str_append(out, " |");
}

static void put_head(struct str *out, const struct report *report)
{
	const struct run_row *row = &report->record->row;
	char when[32], total[FORMAT_SIZE];
	struct str words = {0};
	clock_format_utc(row->started_utc_ns, when, sizeof(when));
	format_value(METRIC_WALL, &report->values[METRIC_WALL], total);
	str_append(out, "# Pipeline Profile Report\n\n**");
	put_escaped(out, row->name && *row->name ? row->name : "pipeline");
	str_appendf(out, "**: %s in %s, started %s", words_run_status(report), total, when);
	if (report->total.n > 1)
		str_appendf(out, "; medians of %zu repetitions", report->total.n);
	str_append(out, ".\n");
	words_bottleneck(report, &words);
	if (words.len && report->stages.len > 1) {
		str_append(out, "\nBottleneck: ");
		put_escaped(out, str_text(&words));
		str_append(out, ".\n");
	}
	str_fini(&words);
}

static void put_summary(struct str *out, const struct report *report)
{
	str_append(out, "\n## Summary\n\n| Stage | Duration | CPU Avg | RAM Max | GPU Util | Status |\n"
			"|-------|----------|---------|---------|----------|--------|\n");
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		put_name_cell(out, stage->name);
		put_value(out, stage->values, METRIC_WALL);
		put_value(out, stage->values, METRIC_CPU_PERCENT_AVG);
		put_value(out, stage->values, words_memory_metric(stage->values));
		put_value(out, stage->values, METRIC_GPU_UTIL_AVG);
		str_appendf(out, " %s |\n", words_stage_status(report, stage));
	}
}

static const struct {
	const char *title;
	int metric;
} resource_columns[] = {
	{"CPU user", METRIC_CPU_USER},
	{"CPU system", METRIC_CPU_SYSTEM},
	{"Memory peak", METRIC_MEMORY_PEAK},
	{"Without page cache", METRIC_MEMORY_ANON_PEAK},
	{"Read", METRIC_IO_READ},
	{"Written", METRIC_IO_WRITE},
	{"From devices", METRIC_IO_DEVICE_READ},
	{"To devices", METRIC_IO_DEVICE_WRITE},
	{"Processes", METRIC_PROCESSES},
};
enum { RESOURCE_COLUMNS = sizeof(resource_columns) / sizeof(resource_columns[0]) };

static void put_resources(struct str *out, const struct report *report)
{
	str_append(out, "\n## Resource Utilization\n\n| Stage |");
	for (size_t i = 0; i < RESOURCE_COLUMNS; i++)
		str_appendf(out, " %s |", resource_columns[i].title);
	str_append(out, " Held up by |\n|---|");
	for (size_t i = 0; i < RESOURCE_COLUMNS; i++)
		str_append(out, "---:|");
	str_append(out, "---|\n");
	for (size_t k = 0; k < report->stages.len; k++) {
		const struct report_stage *stage = &report->stages.items[k];
		put_name_cell(out, stage->name);
		for (size_t i = 0; i < RESOURCE_COLUMNS; i++)
			put_value(out, stage->values, resource_columns[i].metric);
		str_appendf(out, " %s |\n", stage->verdict == VERDICT_NONE ? "–" : verdict_name(stage->verdict));
	}
	str_append(out, "| **Total** |");
	for (size_t i = 0; i < RESOURCE_COLUMNS; i++)
		put_value(out, report->values, resource_columns[i].metric);
	str_append(out, " |\n");
}

static void put_verdicts(struct str *out, const struct report *report)
{
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (stage->verdict == VERDICT_NONE)
			continue;
		str_append(out, any ? "- **" : "\nWhat held the stages up:\n\n- **");
		any = true;
		put_escaped(out, stage->name);
		str_appendf(out, "** is %s (%s): ", verdict_name(stage->verdict), verdict_meaning(stage->verdict));
		put_escaped(out, stage->evidence);
		str_append(out, "\n");
	}
}

/* Bars of the duration, in a block whose columns line up. */
static void put_chart(struct str *out, const struct report *report)
{
	enum { NAME_MOST = 28 };
	int width = 0;
	for (size_t i = 0; i < report->stages.len; i++) {
		char *name = text_clean(report->stages.items[i].name, true);
		int columns = (int)str_columns(name);
		width = columns > width ? columns : width;
		free(name);
	}
	width = width > NAME_MOST ? NAME_MOST : width;
	str_append(out, "\n## Where the Time Went\n\n");
	struct str chart = {0};
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		char time[FORMAT_SIZE], share[FORMAT_SIZE], *name = text_clean(stage->name, true);
		format_value(METRIC_WALL, &stage->values[METRIC_WALL], time);
		format_percent(stage->share * 100, share);
		text_append_cell(&chart, name, width, false, true);
		str_append(&chart, "  ");
		format_bar(stage->share, BAR_WIDTH, true, &chart);
		str_append(&chart, "  ");
		text_append_cell(&chart, stage->wall.n ? share : "", 6, true, true);
		str_append(&chart, "  ");
		str_append(&chart, stage->wall.n ? time : words_stage_status(report, stage));
		str_append_char(&chart, '\n');
		free(name);
	}
	size_t ticks = longest_backticks(str_text(&chart)) + 1;
	ticks = ticks < 3 ? 3 : ticks;
	put_backticks(out, ticks);
	str_appendf(out, "text\n%s", str_text(&chart));
	put_backticks(out, ticks);
	str_append_char(out, '\n');
	str_fini(&chart);
}

static void put_repetitions(struct str *out, const struct report *report)
{
	if (report->total.n < 2)
		return;
	str_append(out, "\n## Repetitions\n\n| Stage | n | Median | Mean | SD | Min | Max "
			"|\n|---|---:|---:|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct description *wall = &report->stages.items[i].wall;
		const double numbers[] = {wall->median, wall->mean, wall->sd, wall->min, wall->max};
		put_name_cell(out, report->stages.items[i].name);
		str_appendf(out, " %zu |", wall->n);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			char text[FORMAT_SIZE];
			format_seconds(numbers[k], text);
			str_appendf(out, " %s |", text);
		}
		str_append_char(out, '\n');
	}
}

static void put_quality(struct str *out, const struct report *report)
{
	const struct run_record *record = report->record;
	if (record->quality.len)
		str_append(out, "\n## Quality\n\n");
	for (size_t i = 0; i < record->quality.len; i++) {
		const struct quality_row *quality = &record->quality.items[i];
		const char *suffix, *title = words_quality_title(quality->name, &suffix);
		str_append(out, "- ");
		put_escaped(out, title);
		if (quality->known)
			str_appendf(out, ": %.6g%s", quality->value, suffix);
		else
			str_append(out, ": n/a");
		if (!quality->known && quality->reason) {
			str_append(out, " (");
			put_escaped(out, quality->reason);
			str_append(out, ")");
		}
		str_append_char(out, '\n');
	}
}

static void put_log(struct str *out, const struct stage_record *stage)
{
	struct str log = {0};
	const char *at = text_tail(stage->log, LOG_LINES);
	if (at != stage->log || stage->log_dropped_lines)
		str_append(&log, "…\n");
	while (*at) {
		size_t length = strcspn(at, "\n");
		text_append_log_line(&log, at, length, true);
		str_append_char(&log, '\n');
		at += length;
		at += *at == '\n';
	}
	size_t ticks = longest_backticks(str_text(&log)) + 1;
	ticks = ticks < 3 ? 3 : ticks;
	put_backticks(out, ticks);
	str_appendf(out, "text\n%s", str_text(&log));
	put_backticks(out, ticks);
	str_append_char(out, '\n');
	str_fini(&log);
}

static void put_failures(struct str *out, const struct report *report)
{
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (!words_is_failure(stage->status) || words_stage_running(report, stage))
			continue;
		struct str words = {0};
		words_failure(stage, &words);
		str_append(out, any ? "" : "\n## Failures\n");
		any = true;
		str_append(out, "\n### ");
		put_escaped(out, stage->name);
		str_appendf(out, "\n\n%s: ", status_name(stage->status));
		put_escaped(out, str_text(&words));
		str_append(out, "\n\nCommand: ");
		put_code(out, stage->worst->row.command ? stage->worst->row.command : "");
		str_append(out, "\n\n");
		if (stage->worst->log && *stage->worst->log)
			put_log(out, stage->worst);
		else
			str_append(out, "It printed nothing.\n");
		str_fini(&words);
	}
}

static void put_events(struct str *out, const struct report *report)
{
	struct told_events events = {0};
	words_events(report, false, &events);
	str_append(out, events.items.len ? "\n## Warnings and Notes\n\n" : "");
	for (size_t i = 0; i < events.items.len; i++) {
		const struct told_event *told = &events.items.items[i];
		str_append(out, "- ");
		if (told->stage) {
			put_escaped(out, told->stage);
			str_append(out, ": ");
		}
		put_escaped(out, told->event->text);
		if (told->times > 1)
			str_appendf(out, " (%zu times)", told->times);
		str_append_char(out, '\n');
	}
	vec_fini(&events.items);
}

static void put_absent(struct str *out, const struct report *report)
{
	struct reason_groups groups = {0};
	words_absent(report->values, &groups);
	if (groups.items.len)
		str_append(out, "\n## Not Measured\n\n");
	for (size_t i = 0; i < groups.items.len; i++) {
		const struct reason_group *group = &groups.items.items[i];
		str_append(out, "- ");
		for (size_t k = 0; k < group->metrics.len; k++)
			str_appendf(out, "%s`%s`", k ? ", " : "", metrics[group->metrics.items[k]].name);
		str_append(out, ": ");
		put_escaped(out, group->reason);
		str_append_char(out, '\n');
	}
	words_absent_fini(&groups);
}

/* Where the run's numbers come from: the metrics that share a source share a line. */
static void put_sources(struct str *out, const struct report *report)
{
	bool done[METRIC_COUNT] = {false};
	str_append(out, "\n## Provenance\n\n");
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		if (done[metric] || report->values[metric].state != METRIC_KNOWN)
			continue;
		struct str words = {0};
		words_provenance(&report->values[metric], &words);
		str_append(out, "- ");
		for (int other = metric; other < METRIC_COUNT; other++) {
			struct str same = {0};
			if (report->values[other].state == METRIC_KNOWN)
				words_provenance(&report->values[other], &same);
			if (strcmp(str_text(&same), str_text(&words)) == 0) {
				str_appendf(out, "%s`%s`", other == metric ? "" : ", ", metrics[other].name);
				done[other] = true;
			}
			str_fini(&same);
		}
		str_append(out, ": ");
		put_escaped(out, str_text(&words));
		str_append_char(out, '\n');
		str_fini(&words);
	}
}

static void put_footer(struct str *out, const struct report *report)
{
	const struct run_row *row = &report->record->row;
	struct str words = {0};
	words_host_line(report, &words);
	if (words.len) {
		str_append(out, "\nMachine: ");
		put_escaped(out, str_text(&words));
		str_append(out, "\n");
	}
	if (row->git_commit) {
		str_append(out, "\nCommit: ");
		put_code(out, row->git_commit);
		str_append(out, "\n");
	}
	str_clear(&words);
	words_own_cost(report, &words);
	if (words.len) {
		str_append(out, "\nCost of measuring: ");
		put_escaped(out, str_text(&words));
		str_append(out, "\n");
	}
	str_appendf(out,
		    "\n“≥” marks a lower bound, “~” an estimate, “n/a” what is not known. Memory: RAM Max leaves page "
		    "cache out. CPU: 100 %% is one core.\n");
	str_fini(&words);
}

static int render_md(const struct report *report, const struct render_options *options, struct str *out,
		     struct err *err)
{
	(void)err;
	put_head(out, report);
	if (options->only_code) {
		if (!options->weight)
			code_md(report, options->top, put_escaped, out);
		memory_md(report, options->top, put_escaped, out);
		return 0;
	}
	put_summary(out, report);
	put_resources(out, report);
	put_verdicts(out, report);
	findings_md(report, put_escaped, out);
	put_chart(out, report);
	span_md(report, options->top, put_escaped, out);
	if (report->models)
		model_md(&(struct model_view){.profile = report->models}, options, out);
	code_md(report, options->top, put_escaped, out);
	memory_md(report, options->top, put_escaped, out);
	put_repetitions(out, report);
	put_quality(out, report);
	put_failures(out, report);
	put_events(out, report);
	put_absent(out, report);
	put_sources(out, report);
	put_footer(out, report);
	return 0;
}

const struct renderer renderer_md = {"md", "a Markdown page", render_md};
